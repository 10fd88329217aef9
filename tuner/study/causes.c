#include "causes.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "interference.h"
#include "machine.h"
#include "usage.h"

static const double min_growth = 0.02;
static const double growth = 1.5;      /* reported if over 1.5 times the former share plus `min_growth` */
static const double spare_ratio = 0.1; /* of the usable CPUs; others may use them without a warning */

struct moment {
    size_t trial;
    struct rue_interference_reading reading;
    double own_s; /* CPU time of the tuner and the runner's trials so far; NaN: unknown */
};

struct rue_causes {
    const char *root; /* of /proc and /sys */
    double runner_s;
    size_t count, capacity;
    struct moment *moments; /* [count] */
};

static rue_status add_reading(struct rue_causes *causes, size_t trial, rue_error *error)
{
    rue_status status = rue_array_grow(&causes->moments, &causes->capacity, causes->count + 1,
                                       sizeof *causes->moments, "readings", error);
    if (status != RUE_OK) return status;
    double own_s = (double)rue_usage_cpu_ns() / 1e9 + causes->runner_s;
    causes->moments[causes->count++] = (struct moment){trial, rue_interference_read(causes->root), own_s};
    return RUE_OK;
}

void rue_causes_close(struct rue_causes *causes)
{
    if (!causes) return;
    free(causes->moments);
    free(causes);
}

rue_status rue_causes_open(const char *root, struct rue_causes **out, rue_error *error)
{
    struct rue_causes *causes = calloc(1, sizeof *causes);
    if (!causes) return rue_fail_memory(error, "readings", sizeof *causes);
    causes->root = root;
    rue_status status = add_reading(causes, 0, error);
    if (status != RUE_OK) return rue_causes_close(causes), status;
    *out = causes;
    return RUE_OK;
}

rue_status rue_causes_record(struct rue_causes *causes, size_t trial, double cpu_s, rue_error *error)
{
    causes->runner_s += cpu_s;
    return add_reading(causes, trial, error);
}

static const struct {
    const char *format;
    double unit;  /* factor from the share to the number in the text */
    double least; /* smaller shares are not reported */
    bool alone;   /* reported even if the machine has not become slower */
} cause_texts[RUE_INTERFERENCES] = {
    [RUE_STOLEN] = {"%.0f %% of the CPU time was stolen by the hypervisor", 100, 0.05, true},
    [RUE_THROTTLED] = {"the CPU quota of the control group stopped the program for %.0f %% of the time", 100,
                       0.05, true},
    [RUE_HEAT] = {"hot CPUs slowed down %.0f times a second", 1, 0.05, true},
    [RUE_BUSY] = {"other processes used %.1f CPUs", 1, 0.3, false},
    [RUE_WAITED_CPU] = {"processes waited for a CPU %.0f %% of the time", 100, 0.3, false},
    [RUE_WAITED_IO] = {"processes waited for storage %.0f %% of the time", 100, 0.1, false},
    [RUE_WAITED_MEMORY] = {"processes waited for memory %.0f %% of the time", 100, 0.05, false},
};

/* Shares of the time between two readings. RUE_BUSY counts CPUs, without those that rue itself used. */
static void measure_shares(const struct moment *from, const struct moment *to, double out[RUE_INTERFERENCES])
{
    rue_interference_rates(&from->reading, &to->reading, out);
    out[RUE_BUSY] -= (to->own_s - from->own_s) / (to->reading.time_s - from->reading.time_s);
}

/* Writes the shares to report. `before`: only shares that are worse than these. `alone`: only causes that
 * count without a slowdown. `idle`: enough CPUs are idle, so the use by other processes is not reported. */
static void write_shares(const double shares[RUE_INTERFERENCES], const double *before, bool alone, bool idle,
                         char out[RUE_CAUSES_BYTES])
{
    out[0] = 0;
    for (int c = 0; c < RUE_INTERFERENCES; c++) {
        size_t used = strlen(out);
        bool more = !before || isnan(before[c]) || shares[c] > growth * before[c] + min_growth;
        if (!(shares[c] >= cause_texts[c].least) || !more || (alone && !cause_texts[c].alone) ||
            (idle && c == RUE_BUSY))
            continue;
        used += (size_t)snprintf(out + used, RUE_CAUSES_BYTES - used, "%s", used ? ", " : "");
        if (used < RUE_CAUSES_BYTES)
            snprintf(out + used, RUE_CAUSES_BYTES - used, cause_texts[c].format,
                     fmin(shares[c], cause_texts[c].unit > 1 ? 1 : INFINITY) * cause_texts[c].unit);
    }
}

void rue_causes_explain(const struct rue_causes *causes, size_t since, char out[RUE_CAUSES_BYTES])
{
    const struct moment *first = causes->moments, *last = &causes->moments[causes->count - 1],
                        *between = first;
    double before[RUE_INTERFERENCES], after[RUE_INTERFERENCES];
    while (between < last && between[1].trial < since) between++;
    measure_shares(first, between, before);
    measure_shares(between, last, after);
    write_shares(after, before, false, false, out);
}

void rue_causes_summarise(const struct rue_causes *causes, char out[RUE_CAUSES_BYTES])
{
    double shares[RUE_INTERFERENCES];
    measure_shares(causes->moments, &causes->moments[causes->count - 1], shares);
    write_shares(shares, NULL, true, false, out);
}

void rue_causes_judge(const struct rue_causes *causes, int online_cpus, int usable_cpus,
                      char out[RUE_CAUSES_BYTES])
{
    double shares[RUE_INTERFERENCES];
    measure_shares(causes->moments, &causes->moments[causes->count - 1], shares);
    bool idle = online_cpus - shares[RUE_BUSY] >= (1 - spare_ratio) * usable_cpus;
    write_shares(shares, NULL, false, idle, out);
}

static const uint64_t look_max_ns = 50000000; /* 5 ticks of the kernel's CPU time counters */
enum { BUDGET_PART = 20 };

rue_status rue_causes_check_idle(const struct rue_study_setup *setup, const char *when,
                                 char out[RUE_CAUSES_BYTES], rue_error *error)
{
    struct rue_causes *causes;
    uint64_t budget_ns = setup->goal.search.budget.time_ns, look_ns = look_max_ns;
    bool recommends = budget_ns || setup->goal.search.budget.trials;
    if (!recommends || setup->goal.output.dry_run || rue_study_hello(setup)->virtual_clock) return RUE_OK;
    if (budget_ns && budget_ns / BUDGET_PART < look_ns) look_ns = budget_ns / BUDGET_PART;
    rue_status status = rue_causes_open("", &causes, error);
    if (status != RUE_OK) return status;
    rue_clock_sleep_until(rue_clock_now_ns() + look_ns);
    status = rue_causes_record(causes, 1, 0, error);
    struct rue_machine machine = rue_machine_read();
    if (status == RUE_OK) rue_causes_judge(causes, machine.online_cpus, machine.usable_cpus, out);
    if (status == RUE_OK && out[0])
        rue_progress_note(setup->progress, "the machine was busy %s, so the result has low confidence: %s",
                          when, out);
    rue_causes_close(causes);
    return status;
}
