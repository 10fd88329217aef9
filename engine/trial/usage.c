#include "usage.h"

#include <stdio.h>
#include <sys/resource.h>

static uint64_t timeval_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * UINT64_C(1000000000) + (uint64_t)time.tv_usec * 1000;
}

/* Adds the numbers of "key: number" lines, times `scale`, to `sums`; formats and sums are paired. */
static void read_keys(const char *path, uint64_t scale, const char *const *formats, uint64_t *const *sums)
{
    FILE *file = fopen(path, "re");
    if (!file) return;
    char line[256];
    unsigned long long value;
    while (fgets(line, sizeof line, file))
        for (int i = 0; formats[i]; i++)
            if (sscanf(line, formats[i], &value) == 1) *sums[i] += value * scale;
    fclose(file);
}

uint64_t rue_usage_cpu_ns(void)
{
    struct rusage times;
    return getrusage(RUSAGE_SELF, &times) == 0 ? timeval_ns(times.ru_utime) + timeval_ns(times.ru_stime) : 0;
}

struct rue_usage rue_usage_read(void)
{
    struct rue_usage usage = {.cpus = rue_cpu_times_read("", true), .waited_s = rue_pressure_s("", "cpu")};
    usage.cpu_ns = rue_usage_cpu_ns();
    read_keys("/proc/self/io", 1, (const char *const[]){"read_bytes: %llu", NULL},
              (uint64_t *const[]){&usage.read_bytes});
    read_keys(
        "/proc/self/status", 1024,
        (const char *const[]){"RssAnon: %llu", "RssFile: %llu", "RssShmem: %llu", "VmHWM: %llu", NULL},
        (uint64_t *const[]){&usage.anon_bytes, &usage.file_bytes, &usage.file_bytes, &usage.peak_bytes});
    return usage;
}

void rue_usage_reset_peak(void)
{
    FILE *file = fopen("/proc/self/clear_refs", "we");
    if (!file) return;
    fputs("5\n", file); /* proc(5): resets the peak resident set size */
    fclose(file);
}
