#include "goal.h"

#include <math.h>

#include "job_time.h"

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
