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

/* The beginning of a file as text. False: no text. */
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

/* The number at the beginning of a text; NaN: none. */
static double parse_number(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    return end > text && isfinite(value) && value >= 0 ? value : NAN;
}

/* Fields: user nice system idle iowait irq softirq steal. user includes the time of guests. */
static void read_stat(const char *root, struct rue_interference_reading *out)
{
    enum { IDLE = 3, WAITING = 4, STOLEN = 7, FIELDS = 8 };
    char text[TEXT_BYTES], *at = text + 3;
    double ticks[FIELDS], sum = 0;
    out->cpu_s = out->counter[RUE_BUSY] = out->counter[RUE_STOLEN] = NAN;
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
    out->counter[RUE_STOLEN] = ticks[STOLEN] / ticks_per_s;
    out->counter[RUE_BUSY] = (sum - ticks[IDLE] - ticks[WAITING] - ticks[STOLEN]) / ticks_per_s;
}

static double read_pressure(const char *root, const char *path)
{
    static const char key[] = "total=";
    char text[TEXT_BYTES];
    const char *total =
        read_text(root, path, text) && strncmp(text, "some ", 5) == 0 ? strstr(text, key) : NULL;
    return total ? parse_number(total + sizeof key - 1) / 1e6 : NAN;
}

static double read_heat(const char *root)
{
    double events = NAN;
    for (int cpu = 0; cpu < HOT_CPUS_MAX; cpu++) {
        char path[96], text[TEXT_BYTES];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count",
                 cpu);
        double count = read_text(root, path, text) ? parse_number(text) : NAN;
        if (!isnan(count)) events = fmax(events, 0) + count;
    }
    return events;
}

struct rue_interference_reading rue_interference_read(const char *root)
{
    struct rue_interference_reading reading = {
        .time_s = (double)rue_clock_now_ns() / 1e9,
        .counter = {[RUE_THROTTLED] =
                        fmax(rue_cgroup_max_value(root, NULL, "cpu.stat", "throttled_usec") / 1e6,
                             rue_cgroup_max_value(root, "cpu", "cpu.stat", "throttled_time") / 1e9),
                    [RUE_HEAT] = read_heat(root),
                    [RUE_WAITED_CPU] = read_pressure(root, "/proc/pressure/cpu"),
                    [RUE_WAITED_IO] = read_pressure(root, "/proc/pressure/io"),
                    [RUE_WAITED_MEMORY] = read_pressure(root, "/proc/pressure/memory")}};
    read_stat(root, &reading);
    return reading;
}

/* NaN for a counter that was reset, as by a new control group. */
static double counter_increase(double from, double to)
{
    return to >= from ? to - from : NAN;
}

void rue_interference_rates(const struct rue_interference_reading *from,
                            const struct rue_interference_reading *to, double out[RUE_INTERFERENCES])
{
    double elapsed_s = to->time_s > from->time_s ? to->time_s - from->time_s : NAN;
    double cpu_s = to->cpu_s > from->cpu_s ? to->cpu_s - from->cpu_s : NAN;
    for (int i = 0; i < RUE_INTERFERENCES; i++)
        out[i] = counter_increase(from->counter[i], to->counter[i]) / (i == RUE_STOLEN ? cpu_s : elapsed_s);
}
