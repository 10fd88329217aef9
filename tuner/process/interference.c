#include "interference.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "clock.h"

enum { HOT_CPUS_MAX = 16, TEXT_BYTES = 1024 };

/* The beginning of a file as text; false where there is none. */
static bool read_text(const char *root, const char *path, char out[TEXT_BYTES])
{
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    int file = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = file < 0 ? -1 : read(file, out, TEXT_BYTES - 1);
    if (file >= 0) close(file);
    out[got > 0 ? got : 0] = 0;
    return got > 0;
}

/* The number at the beginning of a text; NaN where there is none. */
static double number_of(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    return end > text && isfinite(value) && value >= 0 ? value : NAN;
}

/* user nice system idle iowait irq softirq steal; what guests use is in user already. */
static void read_stat(const char *root, struct rue_interference_reading *out)
{
    enum { IDLE = 3, WAITING = 4, STOLEN = 7, FIELDS = 8 };
    char text[TEXT_BYTES], *at = text + 3;
    double ticks[FIELDS], sum = 0;
    out->cpu_s = out->busy_s = out->stolen_s = NAN;
    if (!read_text(root, "/proc/stat", text) || strncmp(text, "cpu ", 4) != 0) return;
    for (int i = 0; i < FIELDS; i++) {
        char *end;
        ticks[i] = strtod(at, &end);
        if (end == at || !(ticks[i] >= 0 && isfinite(ticks[i]))) return;
        at = end;
        sum += ticks[i];
    }
    double ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    out->cpu_s = sum / ticks_per_s;
    out->stolen_s = ticks[STOLEN] / ticks_per_s;
    out->busy_s = (sum - ticks[IDLE] - ticks[WAITING] - ticks[STOLEN]) / ticks_per_s;
}

static double read_pressure(const char *root, const char *path)
{
    static const char key[] = "total=";
    char text[TEXT_BYTES];
    const char *total =
        read_text(root, path, text) && strncmp(text, "some ", 5) == 0 ? strstr(text, key) : NULL;
    return total ? number_of(total + sizeof key - 1) / 1e6 : NAN;
}

struct rue_interference_reading rue_interference_read(const char *root)
{
    struct rue_interference_reading reading = {
        .at_s = (double)rue_clock_now_ns() / 1e9,
        .throttled_s = fmax(rue_cgroup_most(root, NULL, "cpu.stat", "throttled_usec") / 1e6,
                            rue_cgroup_most(root, "cpu", "cpu.stat", "throttled_time") / 1e9),
        .heat_events = NAN,
        .waited_cpu_s = read_pressure(root, "/proc/pressure/cpu"),
        .waited_io_s = read_pressure(root, "/proc/pressure/io"),
        .waited_memory_s = read_pressure(root, "/proc/pressure/memory")};
    read_stat(root, &reading);
    for (int cpu = 0; cpu < HOT_CPUS_MAX; cpu++) {
        char path[96], text[TEXT_BYTES];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count",
                 cpu);
        double count = read_text(root, path, text) ? number_of(text) : NAN;
        if (!isnan(count))
            reading.heat_events = (isnan(reading.heat_events) ? 0 : reading.heat_events) + count;
    }
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
