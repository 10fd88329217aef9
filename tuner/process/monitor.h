/* Watches what this process and those below it use, and the GPUs: a thread that looks every half second or
 * so. */
#ifndef RUE_MONITOR_H
#define RUE_MONITOR_H

#include "error.h"
#include "scaling.h"

struct rue_monitor;

/* Begins to watch, with a sample every `period_ns`. Their times are on the clock of rue_suspension_awake_ns,
 * from `zero_ns`. RUE_MEMORY; RUE_INTERNAL where there can be no thread. */
rue_status rue_monitor_open(uint64_t zero_ns, uint64_t period_ns, struct rue_monitor **out,
                            rue_error *error) RUE_MUST_CHECK;
void rue_monitor_close(struct rue_monitor *monitor);

/* Takes a last sample and ends the watch; returns once the thread is gone. */
void rue_monitor_stop(struct rue_monitor *monitor);

/* After the stop. Where memory is out, those before that. */
size_t rue_monitor_samples(const struct rue_monitor *monitor, const struct rue_usage_sample **out);

#endif
