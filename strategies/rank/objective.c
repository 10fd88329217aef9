#include "objective.h"

#include <math.h>

#include "job_time.h"

const char *const rue_objective_names[] = {
    [RUE_OBJECTIVE_MEAN] = "mean", [RUE_OBJECTIVE_WORST] = "worst", NULL};

void rue_objective_summarise(const struct rue_objective_times *times, struct rue_regret_summary *out)
{
    double *model_times = times->scratch;
    for (size_t c = 0; c < times->configs; c++) out[c] = (struct rue_regret_summary){0};
    for (size_t m = 0; m < times->models; m++) {
        double best = INFINITY, weight = rue_objective_weight(times->weights, m);
        if (weight == 0) continue;
        for (size_t c = 0; c < times->configs; c++) {
            model_times[c] = times->time(times->context, m, c);
            if (model_times[c] < best) best = model_times[c]; /* false for NaN */
        }
        for (size_t c = 0; c < times->configs; c++)
            rue_regret_summary_add(&out[c], m, weight, (model_times[c] - best) / best);
    }
}

double rue_regret_summary_value(const struct rue_regret_summary *summary, enum rue_objective objective)
{
    return objective == RUE_OBJECTIVE_WORST && !isnan(summary->sum) ? summary->worst
                                                                    : summary->sum / summary->weights;
}

bool rue_regret_summary_is_better(const struct rue_regret_summary *one,
                                  const struct rue_regret_summary *other, enum rue_objective objective)
{
    double value = rue_regret_summary_value(one, objective),
           rival = rue_regret_summary_value(other, objective);
    if (value != rival) return value < rival || (!isnan(value) && isnan(rival));
    return one->sum / one->weights < other->sum / other->weights;
}

const char *const rue_goal_names[RUE_GOAL_COUNT + 1] = {
#define X(symbol, name, key, words) name,
    RUE_GOALS(X)
#undef X
};

const char *const rue_goal_keys[RUE_GOAL_COUNT] = {
#define X(symbol, name, key, words) key,
    RUE_GOALS(X)
#undef X
};

const char *const rue_goal_words[RUE_GOAL_COUNT] = {
#define X(symbol, name, key, words) words,
    RUE_GOALS(X)
#undef X
};

double rue_goal_cost_ns(enum rue_goal goal, const struct rue_trial_result *result, uint64_t job_images,
                        bool drop_last, bool *predicted)
{
    *predicted = false;
    if (goal == RUE_GOAL_TIME) return rue_job_time_ns(result, job_images, drop_last, predicted);
    if (goal == RUE_GOAL_THROUGHPUT) return rue_job_steady_ns(result);
    return result->first_batch_ns == RUE_ABSENT ? NAN : (double)result->first_batch_ns;
}
