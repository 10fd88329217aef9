/* What is minimised for each model: how long what takes. All of it is a time, so that regret is the same
 * share of whatever is minimised. */
#ifndef RUE_GOAL_H
#define RUE_GOAL_H

#include "trial.h"

/* X(symbol, what people type, what reports call its times, what it is for people). Times are in ns. */
#define RUE_GOALS(X)                                                                               \
    X(TIME, "time", "end_to_end_ns", "the time of the job")                                        \
    X(THROUGHPUT, "throughput", "steady_ns_per_image", "the time of an image in the steady state") \
    X(FIRST_BATCH, "first-batch", "first_batch_ns", "the time until the first batch")

enum rue_goal {
#define X(symbol, name, key, words) RUE_GOAL_##symbol,
    RUE_GOALS(X)
#undef X
        RUE_GOAL_COUNT
};

extern const char *const rue_goal_names[RUE_GOAL_COUNT + 1]; /* NULL at the end */
extern const char *const rue_goal_keys[RUE_GOAL_COUNT];
extern const char *const rue_goal_words[RUE_GOAL_COUNT];

/* What an ok joint `result` says of a job of `job_images`; NaN, or not positive, where it says nothing.
 * `*predicted`: it is extended from a trial that was shorter than the job. What a cut trial says of the
 * steady state or the first batch is not extended. */
double rue_goal_cost_ns(enum rue_goal goal, const struct rue_trial_result *result, uint64_t job_images,
                        bool drop_last, bool *predicted);

#endif
