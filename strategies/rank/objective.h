/* The definition of "best". The regret of a configuration on a model is its time over the model's shortest
 * time, minus 1. Over several models the objective is the mean regret, or the largest regret (minimax
 * regret). */
#ifndef RUE_OBJECTIVE_H
#define RUE_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "trial.h"

/* The defaults: the tolerated excess of mean regret, and the confidence of an answer. */
#define RUE_DEFAULT_EPSILON 0.005
/* A predicted configuration is recommended in place of a measured one if its regret is less by more. */
#define RUE_MEASURED_ADVANTAGE RUE_DEFAULT_EPSILON
#define RUE_DEFAULT_CONFIDENCE 0.95

enum rue_objective { RUE_OBJECTIVE_MEAN, RUE_OBJECTIVE_WORST, RUE_OBJECTIVE_COUNT };

/* Their names, NULL at the end. */
extern const char *const rue_objective_names[];

/* The regrets of one configuration over all models; starts as zeros. */
struct rue_regret_summary {
    double sum, weights;
    double worst;
    size_t worst_model; /* the first model with the largest regret; 0 for no models */
};

static inline void rue_regret_summary_add(struct rue_regret_summary *summary, size_t model, double weight,
                                          double regret)
{
    if (summary->weights == 0 || regret > summary->worst) {
        summary->worst = regret;
        summary->worst_model = model;
    }
    summary->sum += weight * regret;
    summary->weights += weight;
}

/* Times, model × configuration. */
struct rue_objective_times {
    size_t models, configs;
    const double *weights; /* [models]; NULL: equal; a model of weight 0 is ignored */
    double (*time)(const void *context, size_t model, size_t config); /* NaN: unknown */
    const void *context;
    double *scratch; /* [configs], for the duration of the call */
};

/* Summarises the regrets of all configurations into `out` [configs]; NaN for one without a time on some
 * model. */
void rue_objective_summarise(const struct rue_objective_times *times, struct rue_regret_summary *out);

static inline double rue_objective_weight(const double *weights, size_t model)
{
    return weights ? weights[model] : 1;
}

/* The value of the objective; smaller is better. */
double rue_regret_summary_value(const struct rue_regret_summary *summary, enum rue_objective objective);

/* Whether `one` is better than `other`: by the objective, then by the mean. NaN is worse than any number. */
bool rue_regret_summary_is_better(const struct rue_regret_summary *one,
                                  const struct rue_regret_summary *other, enum rue_objective objective);

/* The goal: what is minimised on each model. All goals are times, so regret is a ratio of the same kind. */
/* X(symbol, option value, name of the times in reports, text for people). Times are in ns. */
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

/* The cost that an ok joint `result` gives for a job of `job_images`; NaN, or not positive: unknown.
 * `*predicted`: extended from a shorter trial. Steady state and first batch of a truncated trial are used as
 * they are. */
double rue_goal_cost_ns(enum rue_goal goal, const struct rue_trial_result *result, uint64_t job_images,
                        bool drop_last, bool *predicted);

#endif
