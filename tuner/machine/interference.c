#include "interference.h"

#include <math.h>
#include <stdio.h>

#include "cgroup.h"
#include "clock.h"
#include "cpu_times.h"

enum { HOT_CPUS_MAX = 16 };

static double read_heat(const char *root)
{
    double events = NAN;
    for (int cpu = 0; cpu < HOT_CPUS_MAX; cpu++) {
        char path[96];
        double count;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/thermal_throttle/core_throttle_count",
                 cpu);
        FILE *file = rue_kernel_file_open(root, path);
        if (file && fscanf(file, "%lf", &count) == 1 && isfinite(count) && count >= 0)
            events = fmax(events, 0) + count;
        if (file) fclose(file);
    }
    return events;
}

struct rue_interference_reading rue_interference_read(const char *root)
{
    struct rue_cpu_times times = rue_cpu_times_read(root, false);
    struct rue_interference_reading reading = {
        .cpu_s = times.busy_s + times.idle_s + times.stolen_s,
        .time_s = (double)rue_clock_now_ns() / 1e9,
        .counter = {[RUE_THROTTLED] =
                        fmax(rue_cgroup_max_value(root, NULL, "cpu.stat", "throttled_usec") / 1e6,
                             rue_cgroup_max_value(root, "cpu", "cpu.stat", "throttled_time") / 1e9),
                    [RUE_HEAT] = read_heat(root),
                    [RUE_BUSY] = times.busy_s,
                    [RUE_STOLEN] = times.stolen_s,
                    [RUE_WAITED_CPU] = rue_pressure_s(root, "cpu"),
                    [RUE_WAITED_IO] = rue_pressure_s(root, "io"),
                    [RUE_WAITED_MEMORY] = rue_pressure_s(root, "memory")}};
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
