#include "contention.h"

#include <math.h>

#include "slowdown.h"

static const double least_ratio = 1.1; /* less is the usual work of the system */
static const double most_ratio = 8;
static const double idle_share =
    0.25; /* of the CPUs needed for; with more idle, workers waited for storage */
static const int64_t least_ns = 200000000; /* of a trial; idle CPU time has steps of 10 ms */
static const double error_share = 0.15;    /* of the logarithm of a correction: its standard deviation */

struct rue_contention rue_contention_find(const struct rue_trial_result *result, int cpus)
{
    struct rue_contention none = {.load_ratio = 1, .whole_ratio = 1};
    double had = result->cpu_ratio + result->cpu_idle_ratio,
           needed = fmin(fmax(1, (double)result->config.value[RUE_NUM_WORKERS]), cpus);
    if (result->outcome != RUE_TRIAL_OK || !(had > 0) || !(needed / had > least_ratio)) return none;
    if (result->end_to_end_ns < least_ns || result->cpu_idle_ratio > idle_share * needed) return none;
    struct rue_contention found = {.load_ratio = fmin(needed / had, most_ratio), .other_cpus = needed - had};
    struct rue_speed speed = {.load = log(found.load_ratio)};
    found.whole_ratio = rue_speed_ratio(speed, result);
    found.sd = error_share * log(found.whole_ratio);
    return found;
}
