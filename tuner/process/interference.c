#include "interference.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "clock.h"

enum { GROUPS_MAX = 16, HOT_CPUS_MAX = 16, PRESSURES = 3, TEXT_BYTES = 1024 };

struct rue_interference {
    int stat;                /* descriptors; -1: not there */
    int pressure[PRESSURES]; /* of CPU, storage, memory */
    int group_count, old_count, hot_count;
    int groups[GROUPS_MAX]; /* [group_count] cpu.stat of version 2 */
    int old[GROUPS_MAX];    /* [old_count] of version 1 */
    int hot[HOT_CPUS_MAX];  /* [hot_count] */
    double ticks_per_s;
};

static int open_below(const char *root, const char *path)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    return open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static void close_all(const int *files, int count)
{
    for (int i = 0; i < count; i++)
        if (files[i] >= 0) close(files[i]);
}

void rue_interference_close(struct rue_interference *interference)
{
    if (!interference) return;
    close_all(&interference->stat, 1);
    close_all(interference->pressure, PRESSURES);
    close_all(interference->groups, interference->group_count);
    close_all(interference->old, interference->old_count);
    close_all(interference->hot, interference->hot_count);
    free(interference);
}

rue_status rue_interference_open(const char *root, struct rue_interference **out, rue_error *error)
{
    static const char *const pressures[PRESSURES] = {"/proc/pressure/cpu", "/proc/pressure/io",
                                                     "/proc/pressure/memory"};
    struct rue_interference *interference = calloc(1, sizeof *interference);
    if (!interference) return rue_fail_memory(error, "counters", sizeof *interference);
    interference->stat = open_below(root, "/proc/stat");
    for (int i = 0; i < PRESSURES; i++) interference->pressure[i] = open_below(root, pressures[i]);
    interference->group_count = rue_cgroup_open_all(root, NULL, "cpu.stat", interference->groups, GROUPS_MAX);
    interference->old_count = rue_cgroup_open_all(root, "cpu", "cpu.stat", interference->old, GROUPS_MAX);
    for (int cpu = 0; cpu < HOT_CPUS_MAX; cpu++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count",
                 cpu);
        int file = open_below(root, path);
        if (file >= 0) interference->hot[interference->hot_count++] = file;
    }
    interference->ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    *out = interference;
    return RUE_OK;
}

/* The beginning of a file as text; false where there is none. */
static bool read_text(int file, char out[TEXT_BYTES])
{
    ssize_t got = file < 0 ? -1 : pread(file, out, TEXT_BYTES - 1, 0);
    out[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* The number behind `key` at the beginning of a line; NaN without it. */
static double number_of(const char *text, const char *key)
{
    size_t length = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += line != text;
        if (strncmp(line, key, length) != 0) continue;
        char *end;
        double value = strtod(line + length, &end);
        return end > line + length && isfinite(value) && value >= 0 ? value : NAN;
    }
    return NAN;
}

/* user nice system idle iowait irq softirq steal; what guests use is in user already. */
static void read_stat(const struct rue_interference *from, struct rue_interference_reading *out)
{
    enum { IDLE = 3, WAITING = 4, STOLEN = 7, FIELDS = 8 };
    char text[TEXT_BYTES], *at = text + 3;
    double ticks[FIELDS], sum = 0;
    out->cpu_s = out->busy_s = out->stolen_s = NAN;
    if (!read_text(from->stat, text) || strncmp(text, "cpu ", 4) != 0) return;
    for (int i = 0; i < FIELDS; i++) {
        char *end;
        ticks[i] = strtod(at, &end);
        if (end == at || !(ticks[i] >= 0 && isfinite(ticks[i]))) return;
        at = end;
        sum += ticks[i];
    }
    out->cpu_s = sum / from->ticks_per_s;
    out->stolen_s = ticks[STOLEN] / from->ticks_per_s;
    out->busy_s = (sum - ticks[IDLE] - ticks[WAITING] - ticks[STOLEN]) / from->ticks_per_s;
}

/* The most of any group; NaN where none tells. */
static double read_throttled(const int *files, int count, const char *key, double unit_s)
{
    char text[TEXT_BYTES];
    double most = NAN;
    for (int i = 0; i < count; i++)
        if (read_text(files[i], text)) most = fmax(most, number_of(text, key) * unit_s);
    return most;
}

static double read_pressure(int file)
{
    char text[TEXT_BYTES];
    const char *total =
        read_text(file, text) && strncmp(text, "some ", 5) == 0 ? strstr(text, "total=") : NULL;
    return total ? number_of(total, "total=") / 1e6 : NAN;
}

struct rue_interference_reading rue_interference_read(const struct rue_interference *interference)
{
    struct rue_interference_reading reading = {.at_s = (double)rue_clock_now_ns() / 1e9, .heat_events = NAN};
    char text[TEXT_BYTES];
    read_stat(interference, &reading);
    reading.throttled_s =
        fmax(read_throttled(interference->groups, interference->group_count, "throttled_usec ", 1e-6),
             read_throttled(interference->old, interference->old_count, "throttled_time ", 1e-9));
    for (int i = 0; i < interference->hot_count; i++) {
        double count = read_text(interference->hot[i], text) ? number_of(text, "") : NAN;
        if (!isnan(count))
            reading.heat_events = (isnan(reading.heat_events) ? 0 : reading.heat_events) + count;
    }
    reading.waited_cpu_s = read_pressure(interference->pressure[0]);
    reading.waited_io_s = read_pressure(interference->pressure[1]);
    reading.waited_memory_s = read_pressure(interference->pressure[2]);
    return reading;
}

/* Counters may be set back (a group that is made anew): that says nothing. */
static double grown(double from, double to)
{
    return to >= from ? to - from : NAN;
}

struct rue_interference_shares rue_interference_between(const struct rue_interference_reading *from,
                                                        const struct rue_interference_reading *to)
{
    double time_s = to->at_s > from->at_s ? to->at_s - from->at_s : NAN;
    double cpu_s = grown(from->cpu_s, to->cpu_s);
    return (struct rue_interference_shares){
        .stolen_ratio = cpu_s > 0 ? grown(from->stolen_s, to->stolen_s) / cpu_s : NAN,
        .throttled_ratio = grown(from->throttled_s, to->throttled_s) / time_s,
        .heat_events = grown(from->heat_events, to->heat_events),
        .busy_cpus = grown(from->busy_s, to->busy_s) / time_s,
        .waited_cpu_ratio = grown(from->waited_cpu_s, to->waited_cpu_s) / time_s,
        .waited_io_ratio = grown(from->waited_io_s, to->waited_io_s) / time_s,
        .waited_memory_ratio = grown(from->waited_memory_s, to->waited_memory_s) / time_s,
    };
}
