#include "speed.h"

#include <math.h>

#include "job_time.h"

static const double waits = 0.05; /* a share of the trial: the loader is the slower side */

struct rue_speed rue_speed_sum(struct rue_speed a, struct rue_speed b)
{
    return (struct rue_speed){a.load + b.load, a.compute + b.compute};
}

bool rue_speed_differs(struct rue_speed a, struct rue_speed b)
{
    return a.load != b.load || a.compute != b.compute;
}

void rue_speed_history_add(struct rue_speed_history *history, size_t since, struct rue_speed by)
{
    if (history->count < RUE_SPEED_CHANGES_MAX) {
        history->at[history->count++] = (struct rue_speed_change){since, by};
        return;
    }
    struct rue_speed_change *last = &history->at[RUE_SPEED_CHANGES_MAX - 1];
    last->by = rue_speed_sum(last->by, by);
}

struct rue_speed rue_speed_history_at(const struct rue_speed_history *history, size_t trial)
{
    struct rue_speed speed = {0, 0};
    for (size_t i = 0; i < history->count; i++)
        if (trial >= history->at[i].since) speed = rue_speed_sum(speed, history->at[i].by);
    return speed;
}

double rue_speed_ratio(struct rue_speed speed, const struct rue_trial_result *result)
{
    double load = exp(speed.load), compute = exp(speed.compute), whole = (double)result->end_to_end_ns;
    if (speed.load == speed.compute || result->compute_ns < 0 || result->compute_ns > result->end_to_end_ns)
        return load;
    double computing = (double)result->compute_ns / compute;
    double beside = (whole - (double)result->compute_ns) / load;
    bool told = result->load_wait_ns >= 0 && result->first_batch_ns >= 0;
    double waiting = told ? (double)(result->load_wait_ns - result->first_batch_ns) : 0;
    if (rue_trial_is_inline(&result->config) || waiting < waits * whole) return whole / (computing + beside);
    double ends =
        (double)result->first_batch_ns + (result->shutdown_ns > 0 ? (double)result->shutdown_ns : 0);
    return whole / fmax(whole / load, computing + ends / load);
}
