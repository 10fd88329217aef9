#include "monitor.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "gpu.h"
#include "interrupt.h"
#include "process_tree.h"
#include "suspension.h"
#include "units.h"

struct rue_monitor {
    struct rue_process_tree tree;
    struct rue_gpu *gpu;
    uint64_t zero_ns, period_ns;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* guarded by `lock`; the thread owns the rest until it is joined */
    uint64_t last_ns;
    struct rue_tree_usage last;
    struct rue_usage_sample *samples;
    size_t count, capacity;
};

static void add_sample(struct rue_monitor *monitor)
{
    struct rue_tree_usage usage, last = monitor->last;
    struct rue_gpu_usage gpu;
    rue_process_tree_read(&monitor->tree, &usage);
    rue_gpu_read(monitor->gpu, &gpu);
    uint64_t now_ns = rue_suspension_awake_ns();
    double passed_ns = (double)(now_ns - monitor->last_ns);
    if (now_ns <= monitor->last_ns) return;
    if (rue_array_grow(&monitor->samples, &monitor->capacity, monitor->count + 1, sizeof *monitor->samples,
                       "samples", NULL) != RUE_OK)
        return;
    monitor->samples[monitor->count++] =
        (struct rue_usage_sample){.time_s = (double)(now_ns - monitor->zero_ns) / 1e9,
                                  .processes = usage.processes,
                                  .threads = usage.threads,
                                  .cpu_percent = 100 * (double)(usage.cpu_ns - last.cpu_ns) / passed_ns,
                                  .rss_mb = (double)usage.rss_bytes / 1e6,
                                  .read_mb = (double)(usage.read_bytes - last.read_bytes) / 1e6,
                                  .write_mb = (double)(usage.write_bytes - last.write_bytes) / 1e6,
                                  .gpu_percent = gpu.busy_percent,
                                  .gpu_memory_mb = gpu.memory_bytes / 1e6};
    monitor->last_ns = now_ns;
    monitor->last = usage;
}

static struct timespec to_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / RUE_NS_PER_S), .tv_nsec = (long)(ns % RUE_NS_PER_S)};
}

static void *monitor_main(void *context)
{
    struct rue_monitor *monitor = context;
    uint64_t next = rue_clock_now_ns() + monitor->period_ns;
    pthread_mutex_lock(&monitor->lock);
    while (!monitor->stop) {
        struct timespec until = to_timespec(next);
        int result = pthread_cond_clockwait(&monitor->wake, &monitor->lock, CLOCK_MONOTONIC, &until);
        if (result != ETIMEDOUT || monitor->stop) continue;
        pthread_mutex_unlock(&monitor->lock);
        add_sample(monitor);
        uint64_t now = rue_clock_now_ns();
        next += (now > next ? (now - next) / monitor->period_ns + 1 : 1) * monitor->period_ns;
        pthread_mutex_lock(&monitor->lock);
    }
    pthread_mutex_unlock(&monitor->lock);
    return NULL;
}

rue_status rue_monitor_open(uint64_t zero_ns, uint64_t period_ns, struct rue_monitor **out, rue_error *error)
{
    struct rue_monitor *monitor = calloc(1, sizeof *monitor);
    if (!monitor) return rue_fail_memory(error, "a monitor", sizeof *monitor);
    monitor->tree.root = getpid();
    monitor->gpu = rue_gpu_open();
    monitor->zero_ns = zero_ns;
    monitor->period_ns = period_ns;
    monitor->last_ns = rue_suspension_awake_ns();
    rue_process_tree_read(&monitor->tree, &monitor->last);
    pthread_mutex_init(&monitor->lock, NULL);
    pthread_cond_init(&monitor->wake, NULL);
    int failed = rue_interrupt_start_thread(&monitor->thread, monitor_main, monitor);
    if (failed) {
        monitor->stop = true;
        rue_monitor_close(monitor);
        return rue_fail(error, RUE_INTERNAL, "cannot start the thread that measures usage: %s",
                        strerror(failed));
    }
    *out = monitor;
    return RUE_OK;
}

void rue_monitor_stop(struct rue_monitor *monitor)
{
    if (monitor->stop) return;
    pthread_mutex_lock(&monitor->lock);
    monitor->stop = true;
    pthread_cond_signal(&monitor->wake);
    pthread_mutex_unlock(&monitor->lock);
    pthread_join(monitor->thread, NULL);
    add_sample(monitor);
}

void rue_monitor_close(struct rue_monitor *monitor)
{
    if (!monitor) return;
    rue_monitor_stop(monitor);
    pthread_cond_destroy(&monitor->wake);
    pthread_mutex_destroy(&monitor->lock);
    rue_descendants_close(&monitor->tree.below);
    rue_gpu_close(monitor->gpu);
    free(monitor->samples);
    free(monitor);
}

size_t rue_monitor_samples(const struct rue_monitor *monitor, const struct rue_usage_sample **out)
{
    *out = monitor->samples;
    return monitor->count;
}
