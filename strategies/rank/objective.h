/* What "best" means, everywhere: the regret of a configuration on a model is by how much its time is above
 * the least of that model, as a ratio; over several models a configuration is judged by the mean of its
 * regrets, or by the worst of them (minimax regret). */
#ifndef RUE_OBJECTIVE_H
#define RUE_OBJECTIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "trial.h"

/* What is good enough, as a ratio of regret, and how sure an answer is, where nobody says otherwise. */
#define RUE_DEFAULT_EPSILON    0.005
#define RUE_DEFAULT_CONFIDENCE 0.95

enum rue_objective { RUE_OBJECTIVE_MEAN, RUE_OBJECTIVE_WORST, RUE_OBJECTIVE_COUNT };

/* Their names, NULL at the end. */
extern const char *const rue_objective_names[];

/* The regrets of one configuration, model by model; starts as zeros. */
struct rue_regret_summary {
    double sum, weights;
    double worst;
    size_t worst_model; /* the first of those; of no model: 0 */
};

static inline void rue_regret_summary_add(struct rue_regret_summary *joined, size_t model, double weight,
                                          double regret)
{
    if (joined->weights == 0 || regret > joined->worst) {
        joined->worst = regret;
        joined->worst_model = model;
    }
    joined->sum += weight * regret;
    joined->weights += weight;
}

/* Times, model × configuration. */
struct rue_objective_times {
    size_t models, configs;
    const double *weights; /* [models]; NULL: all alike; a model of weight 0 does not count */
    double (*time)(const void *context, size_t model, size_t config); /* NaN: there is none */
    const void *context;
    double *room; /* [configs] for the time of a call */
};

/* The regrets of all configurations into `out` [configs]; NaN for one without a time on some model. */
void rue_objective_summarise(const struct rue_objective_times *times, struct rue_regret_summary *out);

static inline double rue_objective_weight(const double *weights, size_t model)
{
    return weights ? weights[model] : 1;
}

/* What the configuration is judged by; the less the better. */
double rue_regret_summary_value(const struct rue_regret_summary *joined, enum rue_objective objective);

/* Whether `one` is better than `other`: by its value, and where these are equal by its mean. A NaN is not. */
bool rue_regret_summary_is_better(const struct rue_regret_summary *one,
                                  const struct rue_regret_summary *other, enum rue_objective objective);

/* What is minimised for each model: how long what takes. All of it is a time, so that regret is the same
 * share of whatever is minimised. */
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
