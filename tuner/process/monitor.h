/* Watches what a process tree, and the GPUs, do: a thread that looks every half second or so. */
#ifndef RUE_MONITOR_H
#define RUE_MONITOR_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "error.h"
#include "gpu.h"
#include "scaling.h"

/* Counters (time, CPU seconds, bytes read and written) are from the beginning of the watch. */
struct rue_monitor_sample {
    double time_s;
    double processes, threads;
    double cpu_s, cpu_percent; /* of one CPU, since the sample before; 0 of the first */
    double rss_mb, pss_mb;     /* NaN where PSS was not asked for: seldom, where asking takes long */
    double read_mb, write_mb;
    double gpu_percent, gpu_memory_mb; /* NaN without a GPU */
};

struct rue_monitor;

/* Begins to watch the processes below `root` (process_tree.h), one sample at once, one every `period_ns`.
 * `gpu` is nullable and borrowed. RUE_MEMORY; RUE_INTERNAL where there can be no thread. */
rue_status rue_monitor_open(pid_t root, const struct rue_gpu *gpu, uint64_t period_ns,
                            struct rue_monitor **out, rue_error *error) RUE_MUST_CHECK;
void rue_monitor_close(struct rue_monitor *monitor);

/* Takes the last sample and ends the watch; returns once the thread is gone. */
void rue_monitor_stop(struct rue_monitor *monitor);

/* After the stop: at least one. Where memory is out, those before that. */
size_t rue_monitor_samples(const struct rue_monitor *monitor, const struct rue_monitor_sample **out);

/* After the stop: keeps the samples of the last `last_ns`, and the one before them, as if the watch had begun
 * with that. */
void rue_monitor_cut(struct rue_monitor *monitor, uint64_t last_ns);

/* Means over the time watched, and peaks. */
void rue_monitor_sum_up(const struct rue_monitor_sample *samples, size_t count,
                        struct rue_scaling_usage *out);

/* The samples as CSV; `trial`, the number of the trial watched, is in each line. Failures show in
 * ferror(stream). */
#define RUE_MONITOR_MARK "time_s,processes,threads," /* what they begin with */
void rue_monitor_write(const struct rue_monitor_sample *samples, size_t count, uint64_t trial, FILE *stream);

/* Reads what was written: the trial's number, and the samples summed up. False where there is no such file,
 * or it is damaged. */
bool rue_monitor_read(const char *path, uint64_t *trial, struct rue_scaling_usage *out);

#endif
