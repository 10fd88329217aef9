#include "monitor.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "clock.h"
#include "process_tree.h"
#include "units.h"

static const double megabyte = 1e6;

/* So many times as long as asking for PSS took it is not asked for again: half a percent of a CPU. */
enum { PSS_REST = 200 };

struct rue_monitor {
    struct rue_process_tree tree;
    const struct rue_gpu *gpu;
    uint64_t period_ns, start_ns, pss_from_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* guarded by `lock`; the rest is the thread's until it is joined */
    struct rue_monitor_sample *samples;
    size_t count, capacity;
};

static struct rue_monitor_sample *add_sample(struct rue_monitor *monitor)
{
    rue_status status = rue_array_grow(&monitor->samples, &monitor->capacity, monitor->count + 1,
                                       sizeof *monitor->samples, "samples", NULL);
    if (status != RUE_OK) return NULL;
    return &monitor->samples[monitor->count++];
}

static void look_at_gpu(const struct rue_gpu *gpu, struct rue_monitor_sample *sample)
{
    struct rue_gpu_usage usage;
    sample->gpu_percent = sample->gpu_memory_bytes = NAN;
    if (!gpu) return;
    rue_gpu_read(gpu, &usage);
    sample->gpu_percent = usage.busy_percent;
    sample->gpu_memory_bytes = usage.memory_bytes;
}

/* The first look only says where counting begins. */
static void take_sample(struct rue_monitor *monitor)
{
    struct rue_tree_usage usage;
    uint64_t begin = rue_clock_now_ns();
    bool pss = begin >= monitor->pss_from_ns;
    rue_process_tree_read(&monitor->tree, pss, &usage);
    uint64_t now = rue_clock_now_ns();
    if (pss) monitor->pss_from_ns = now + PSS_REST * (now - begin);
    struct rue_monitor_sample *sample = add_sample(monitor);
    if (!sample) return;
    *sample = (struct rue_monitor_sample){.at_ns = now - monitor->start_ns,
                                          .cpu_ns = usage.cpu_ns,
                                          .read_bytes = usage.read_bytes,
                                          .write_bytes = usage.write_bytes,
                                          .rss_bytes = usage.rss_bytes,
                                          .pss_bytes = pss && usage.pss_bytes ? (double)usage.pss_bytes : NAN,
                                          .processes = usage.processes,
                                          .threads = usage.threads};
    look_at_gpu(monitor->gpu, sample);
    if (monitor->count < 2) return;
    const struct rue_monitor_sample *before = sample - 1;
    if (sample->at_ns > before->at_ns)
        sample->cpu_percent =
            100 * (double)(sample->cpu_ns - before->cpu_ns) / (double)(sample->at_ns - before->at_ns);
}

static struct timespec time_of(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / RUE_NS_PER_S), .tv_nsec = (long)(ns % RUE_NS_PER_S)};
}

static void *watch(void *context)
{
    struct rue_monitor *monitor = context;
    uint64_t next = monitor->start_ns + monitor->period_ns;
    pthread_mutex_lock(&monitor->lock);
    while (!monitor->stop) {
        struct timespec until = time_of(next);
        int how = pthread_cond_clockwait(&monitor->wake, &monitor->lock, CLOCK_MONOTONIC, &until);
        if (how != ETIMEDOUT || monitor->stop) continue;
        pthread_mutex_unlock(&monitor->lock);
        take_sample(monitor);
        uint64_t now = rue_clock_now_ns();
        next += (now > next ? (now - next) / monitor->period_ns + 1 : 1) * monitor->period_ns;
        pthread_mutex_lock(&monitor->lock);
    }
    pthread_mutex_unlock(&monitor->lock);
    return NULL;
}

/* Signals are for the other threads. */
static int start_thread(struct rue_monitor *monitor)
{
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    int failed = pthread_create(&monitor->thread, NULL, watch, monitor);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return failed;
}

rue_status rue_monitor_open(pid_t root, const struct rue_gpu *gpu, uint64_t period_ns,
                            struct rue_monitor **out, rue_error *error)
{
    struct rue_monitor *monitor = calloc(1, sizeof *monitor);
    if (!monitor) return rue_fail_memory(error, "a monitor", sizeof *monitor);
    monitor->tree = rue_process_tree_open(root);
    monitor->gpu = gpu;
    monitor->period_ns = period_ns;
    monitor->start_ns = rue_clock_now_ns();
    pthread_mutex_init(&monitor->lock, NULL);
    pthread_cond_init(&monitor->wake, NULL);
    take_sample(monitor);
    int failed = monitor->count ? start_thread(monitor) : ENOMEM;
    if (failed) {
        monitor->stop = true;
        rue_monitor_close(monitor);
        return rue_fail(error, failed == ENOMEM ? RUE_MEMORY : RUE_INTERNAL, "cannot start a monitor: %s",
                        strerror(failed));
    }
    *out = monitor;
    return RUE_OK;
}

/* A last sample right behind the one before says little by itself: it takes its place. */
static void end_samples(struct rue_monitor *monitor)
{
    uint64_t now = rue_clock_now_ns() - monitor->start_ns;
    bool close =
        monitor->count > 1 && now - monitor->samples[monitor->count - 1].at_ns < monitor->period_ns / 4;
    if (close) monitor->count--;
    take_sample(monitor);
}

void rue_monitor_stop(struct rue_monitor *monitor)
{
    if (monitor->stop) return;
    pthread_mutex_lock(&monitor->lock);
    monitor->stop = true;
    pthread_cond_signal(&monitor->wake);
    pthread_mutex_unlock(&monitor->lock);
    pthread_join(monitor->thread, NULL);
    end_samples(monitor);
}

void rue_monitor_close(struct rue_monitor *monitor)
{
    if (!monitor) return;
    rue_monitor_stop(monitor);
    pthread_cond_destroy(&monitor->wake);
    pthread_mutex_destroy(&monitor->lock);
    rue_process_tree_close(&monitor->tree);
    free(monitor->samples);
    free(monitor);
}

size_t rue_monitor_samples(const struct rue_monitor *monitor, const struct rue_monitor_sample **out)
{
    *out = monitor->samples;
    return monitor->count;
}

void rue_monitor_cut(struct rue_monitor *monitor, uint64_t last_ns)
{
    struct rue_monitor_sample *samples = monitor->samples;
    if (monitor->count < 2) return;
    uint64_t end_ns = samples[monitor->count - 1].at_ns;
    size_t begin = monitor->count - 2;
    while (begin > 0 && end_ns - samples[begin].at_ns < last_ns) begin--;
    const struct rue_monitor_sample zero = samples[begin];
    monitor->count -= begin;
    memmove(samples, samples + begin, monitor->count * sizeof *samples);
    for (size_t i = 0; i < monitor->count; i++) {
        samples[i].at_ns -= zero.at_ns;
        samples[i].cpu_ns -= zero.cpu_ns;
        samples[i].read_bytes -= zero.read_bytes;
        samples[i].write_bytes -= zero.write_bytes;
    }
    samples[0].cpu_percent = 0;
}

/* ---- sums ---- */

static void note(struct rue_scaling_figure *figure, double value, double *sum, size_t *count)
{
    if (isnan(value)) return;
    figure->peak = fmax(figure->peak, value);
    *sum += value;
    ++*count;
}

void rue_monitor_sum_up(const struct rue_monitor_sample *samples, size_t count, struct rue_scaling_usage *out)
{
    struct rue_scaling_figure *const figures[] = {&out->rss_mb, &out->pss_mb, &out->gpu_percent,
                                                  &out->gpu_memory_mb};
    enum { FIGURES = sizeof figures / sizeof *figures };
    double sums[FIGURES] = {0};
    size_t counts[FIGURES] = {0};
    *out = rue_scaling_usage_unknown();
    if (!count) return;
    for (size_t i = 0; i < count; i++) {
        const double values[FIGURES] = {(double)samples[i].rss_bytes / megabyte,
                                        samples[i].pss_bytes / megabyte, samples[i].gpu_percent,
                                        samples[i].gpu_memory_bytes / megabyte};
        for (int f = 0; f < FIGURES; f++) note(figures[f], values[f], &sums[f], &counts[f]);
        if (i) out->cpu_percent.peak = fmax(out->cpu_percent.peak, samples[i].cpu_percent);
    }
    for (int f = 0; f < FIGURES; f++)
        if (counts[f]) figures[f]->mean = sums[f] / (double)counts[f];
    const struct rue_monitor_sample *first = &samples[0], *last = &samples[count - 1];
    if (last->at_ns > first->at_ns)
        out->cpu_percent.mean =
            100 * (double)(last->cpu_ns - first->cpu_ns) / (double)(last->at_ns - first->at_ns);
    out->read_mb = (double)(last->read_bytes - first->read_bytes) / megabyte;
    out->write_mb = (double)(last->write_bytes - first->write_bytes) / megabyte;
    out->samples = count;
}

/* ---- the file ---- */

static const char header[] = RUE_MONITOR_MARK "cpu_s,cpu_percent,rss_mb,pss_mb,read_mb,write_mb,"
                                              "gpu_percent,gpu_memory_mb,trial";
enum { TIME, PROCESSES, THREADS, CPU, CPU_PERCENT, RSS, PSS, READ, WRITE, GPU, GPU_MEMORY, TRIAL, COLUMNS };

static void put(FILE *stream, const char *format, double value)
{
    if (!isnan(value)) fprintf(stream, format, value);
    fputc(',', stream);
}

void rue_monitor_write(const struct rue_monitor_sample *samples, size_t count, uint64_t trial, FILE *stream)
{
    fprintf(stream, "%s\n", header);
    for (size_t i = 0; i < count; i++) {
        const struct rue_monitor_sample *at = &samples[i];
        fprintf(stream, "%.3f,%u,%u,%.2f,%.1f,%.6f,", (double)at->at_ns / 1e9, at->processes, at->threads,
                (double)at->cpu_ns / 1e9, at->cpu_percent, (double)at->rss_bytes / megabyte);
        put(stream, "%.6f", at->pss_bytes / megabyte);
        fprintf(stream, "%.6f,%.6f,", (double)at->read_bytes / megabyte, (double)at->write_bytes / megabyte);
        put(stream, "%.0f", at->gpu_percent);
        put(stream, "%.6f", at->gpu_memory_bytes / megabyte);
        fprintf(stream, "%" PRIu64 "\n", trial);
    }
}

/* A count as it was before it was written in millions. */
static uint64_t whole(double value, double unit)
{
    return value > 0 ? (uint64_t)llround(value * unit) : 0;
}

static bool read_line(char *line, double *trial, struct rue_monitor_sample *out)
{
    double value[COLUMNS];
    char *rest = line, *end;
    int column = 0;
    for (char *field; (field = strsep(&rest, ",\n")) && column < COLUMNS; column++) {
        value[column] = *field ? strtod(field, &end) : NAN;
        if (*field && *end) return false;
    }
    if (column < COLUMNS || !(value[TRIAL] > 0) || (*trial > 0 && value[TRIAL] != *trial)) return false;
    *trial = value[TRIAL];
    *out = (struct rue_monitor_sample){.at_ns = whole(value[TIME], 1e9),
                                       .cpu_ns = whole(value[CPU], 1e9),
                                       .cpu_percent = value[CPU_PERCENT],
                                       .rss_bytes = whole(value[RSS], megabyte),
                                       .pss_bytes = value[PSS] * megabyte,
                                       .read_bytes = whole(value[READ], megabyte),
                                       .write_bytes = whole(value[WRITE], megabyte),
                                       .gpu_percent = value[GPU],
                                       .gpu_memory_bytes = value[GPU_MEMORY] * megabyte};
    return true;
}

bool rue_monitor_read(const char *path, uint64_t *trial, struct rue_scaling_usage *out)
{
    double number = 0;
    struct rue_monitor kept = {0};
    char line[512];
    FILE *file = fopen(path, "re");
    bool good = file && fgets(line, sizeof line, file) && strncmp(line, header, sizeof header - 1) == 0;
    while (good && fgets(line, sizeof line, file)) {
        struct rue_monitor_sample *sample = add_sample(&kept);
        good = sample && strchr(line, '\n') && read_line(line, &number, sample);
    }
    if (file) fclose(file);
    good &= kept.count > 0;
    if (good) rue_monitor_sum_up(kept.samples, kept.count, out);
    *trial = good ? (uint64_t)number : 0;
    free(kept.samples);
    return good;
}
