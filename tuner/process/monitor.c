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

/* The first look only says where counting begins. */
static void take_sample(struct rue_monitor *monitor)
{
    struct rue_tree_usage usage;
    struct rue_gpu_usage gpu;
    uint64_t begin = rue_clock_now_ns();
    bool pss = begin >= monitor->pss_from_ns;
    rue_process_tree_read(&monitor->tree, pss, &usage);
    uint64_t now = rue_clock_now_ns();
    if (pss) monitor->pss_from_ns = now + PSS_REST * (now - begin);
    rue_gpu_read(monitor->gpu, &gpu);
    struct rue_monitor_sample *sample = add_sample(monitor);
    if (!sample) return;
    *sample =
        (struct rue_monitor_sample){.time_s = (double)(now - monitor->start_ns) / 1e9,
                                    .processes = usage.processes,
                                    .threads = usage.threads,
                                    .cpu_s = (double)usage.cpu_ns / 1e9,
                                    .rss_mb = (double)usage.rss_bytes / 1e6,
                                    .pss_mb = pss && usage.pss_bytes ? (double)usage.pss_bytes / 1e6 : NAN,
                                    .read_mb = (double)usage.read_bytes / 1e6,
                                    .write_mb = (double)usage.write_bytes / 1e6,
                                    .gpu_percent = gpu.busy_percent,
                                    .gpu_memory_mb = gpu.memory_bytes / 1e6};
    if (monitor->count < 2) return;
    const struct rue_monitor_sample *before = sample - 1;
    if (sample->time_s > before->time_s)
        sample->cpu_percent = 100 * (sample->cpu_s - before->cpu_s) / (sample->time_s - before->time_s);
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
    double now_s = (double)(rue_clock_now_ns() - monitor->start_ns) / 1e9;
    bool close = monitor->count > 1 &&
                 now_s - monitor->samples[monitor->count - 1].time_s < (double)monitor->period_ns / 4e9;
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

/* ---- columns ---- */

static const struct column {
    const char *name, *format;
    size_t offset; /* of a double in a sample */
    bool counts;   /* from the beginning of the watch */
} columns[] = {
#define COLUMN(name, format, counts)                                     \
    {                                                                    \
#        name, format, offsetof(struct rue_monitor_sample, name), counts \
    }
    COLUMN(time_s, "%.3f", true),       COLUMN(processes, "%.0f", false),     COLUMN(threads, "%.0f", false),
    COLUMN(cpu_s, "%.2f", true),        COLUMN(cpu_percent, "%.1f", false),   COLUMN(rss_mb, "%.6f", false),
    COLUMN(pss_mb, "%.6f", false),      COLUMN(read_mb, "%.6f", true),        COLUMN(write_mb, "%.6f", true),
    COLUMN(gpu_percent, "%.0f", false), COLUMN(gpu_memory_mb, "%.6f", false),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static double value_of(const struct rue_monitor_sample *sample, size_t offset)
{
    return *(const double *)((const char *)sample + offset);
}

static double *place_of(struct rue_monitor_sample *sample, size_t offset)
{
    return (double *)((char *)sample + offset);
}

void rue_monitor_cut(struct rue_monitor *monitor, uint64_t last_ns)
{
    struct rue_monitor_sample *samples = monitor->samples;
    if (monitor->count < 2) return;
    double end_s = samples[monitor->count - 1].time_s;
    size_t begin = monitor->count - 2;
    while (begin > 0 && end_s - samples[begin].time_s < (double)last_ns / 1e9) begin--;
    const struct rue_monitor_sample zero = samples[begin];
    monitor->count -= begin;
    memmove(samples, samples + begin, monitor->count * sizeof *samples);
    for (size_t i = 0; i < monitor->count; i++)
        for (size_t c = 0; c < COLUMNS; c++)
            if (columns[c].counts)
                *place_of(&samples[i], columns[c].offset) -= value_of(&zero, columns[c].offset);
    samples[0].cpu_percent = 0;
}

/* The mean and the peak of the values that are known. */
static void sum_up_column(const struct rue_monitor_sample *samples, size_t count, size_t offset,
                          struct rue_scaling_figure *out)
{
    double sum = 0;
    size_t known = 0;
    for (size_t i = 0; i < count; i++) {
        double value = value_of(&samples[i], offset);
        if (isnan(value)) continue;
        out->peak = fmax(out->peak, value);
        sum += value;
        known++;
    }
    if (known) out->mean = sum / (double)known;
}

void rue_monitor_sum_up(const struct rue_monitor_sample *samples, size_t count, struct rue_scaling_usage *out)
{
    *out = rue_scaling_usage_unknown();
    if (!count) return;
    const struct rue_monitor_sample *first = &samples[0], *last = &samples[count - 1];
#define SUM_UP(name) sum_up_column(samples, count, offsetof(struct rue_monitor_sample, name), &out->name)
    SUM_UP(cpu_percent);
    SUM_UP(rss_mb);
    SUM_UP(pss_mb);
    SUM_UP(gpu_percent);
    SUM_UP(gpu_memory_mb);
    out->cpu_percent.mean = last->time_s > first->time_s
                                ? 100 * (last->cpu_s - first->cpu_s) / (last->time_s - first->time_s)
                                : NAN;
    out->read_mb = last->read_mb - first->read_mb;
    out->write_mb = last->write_mb - first->write_mb;
    out->samples = count;
}

/* ---- the file ---- */

void rue_monitor_write(const struct rue_monitor_sample *samples, size_t count, uint64_t trial, FILE *stream)
{
    for (size_t c = 0; c < COLUMNS; c++) fprintf(stream, "%s,", columns[c].name);
    fputs("trial\n", stream);
    for (size_t i = 0; i < count; i++) {
        for (size_t c = 0; c < COLUMNS; c++) {
            double value = value_of(&samples[i], columns[c].offset);
            if (!isnan(value)) fprintf(stream, columns[c].format, value);
            fputc(',', stream);
        }
        fprintf(stream, "%" PRIu64 "\n", trial);
    }
}

/* All lines of a file are about one trial: `*trial` is 0 before the first. */
static bool read_line(char *line, double *trial, struct rue_monitor_sample *out)
{
    char *rest = line, *end;
    for (size_t c = 0; c <= COLUMNS; c++) {
        const char *field = strsep(&rest, ",\n");
        if (!field) return false;
        double value = *field ? strtod(field, &end) : NAN;
        if (*field && *end) return false;
        if (c < COLUMNS) {
            *place_of(out, columns[c].offset) = value;
            continue;
        }
        if (!(value > 0) || (*trial > 0 && value != *trial)) return false;
        *trial = value;
    }
    return true;
}

bool rue_monitor_read(const char *path, uint64_t *trial, struct rue_scaling_usage *out)
{
    double number = 0;
    struct rue_monitor kept = {0};
    char line[512];
    FILE *file = fopen(path, "re");
    bool good = file && fgets(line, sizeof line, file) &&
                strncmp(line, RUE_MONITOR_MARK, sizeof RUE_MONITOR_MARK - 1) == 0;
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
