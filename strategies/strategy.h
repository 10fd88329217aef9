/* A strategy chooses the next trial: ask and tell, deterministic for a seed, no I/O, no clock. */
#ifndef RUE_STRATEGY_H
#define RUE_STRATEGY_H

#include <stdbool.h>

#include "error.h"
#include "knowledge.h"
#include "objective.h"
#include "speed.h"
#include "trial.h"

struct rue_strategy_setup {
    size_t scenario_count;
    size_t config_count;
    const struct rue_config *configs; /* [config_count], grid order; borrowed for the strategy's life */
    uint64_t job_images;              /* that the job consumes, but for a last batch that is left out */
    bool drop_last;                   /* the last batch is left out where it is not full */
    int repeats;                      /* at least 1 */
    uint64_t seed;
    enum rue_objective objective;
    const double *weights; /* [scenario_count], positive; NULL: all alike; borrowed likewise */
    /* For strategies that predict. */
    bool measures[RUE_MEASURE_COUNT]; /* what the runner can do */
    bool whole_jobs;      /* its joint trials run the whole job, however many images are asked for */
    size_t answers;       /* different ones to the same question, more of which tells nothing; 0: no limit */
    int cpus;             /* that workers share */
    bool in_turn;         /* workers take batches in turn (processes), not whoever is free */
    double budget_s;      /* that the trials may cost; INFINITY: no limit */
    size_t budget_trials; /* that may be made, stored ones aside; 0: no limit */
    double first_batch_limit_s;    /* what has its first batch later is not recommended; 0: no limit */
    double epsilon_ratio;          /* good enough: so much mean regret more than the best */
    double confidence;             /* of that, 0.95 */
    const struct rue_prior *prior; /* (optional) what is known before the first trial */
    size_t baseline_count;
    const size_t *baselines; /* [baseline_count] columns of what people use anyway, the most telling last;
                                borrowed likewise */
    /* (optional) Asked often while it thinks for long. What it returns other than RUE_OK ends that: it asks
     * nothing more, and estimates by what it knew. */
    rue_status (*stop)(void);
};

static inline RUE_MUST_CHECK rue_status rue_setup_check_stop(const struct rue_strategy_setup *setup,
                                                             rue_error *error)
{
    rue_status status = setup->stop ? setup->stop() : RUE_OK;
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "interrupted");
}

/* That a trial, or a job, of `images` consumes; all of them where not one batch is full. */
static inline uint64_t rue_setup_images(const struct rue_strategy_setup *setup, size_t config,
                                        uint64_t images)
{
    return rue_config_images(&setup->configs[config], setup->drop_last, images);
}

struct rue_ask {
    enum rue_measure measure;
    size_t scenario;   /* row; of the measure load any */
    size_t config;     /* column */
    uint64_t images;   /* of load and joint; 0: the whole job */
    uint64_t batches;  /* of compute */
    double expected_s; /* that it takes; 0: not known */
    bool stored; /* set for tell by who answers: the trial was made earlier and costs nothing of the budget */
    int repeat;  /* 0, 1, ...: which repeat of this question it is */
    size_t trial; /* set for tell by who answers: its number; numbers rise in the order of making, through all
                     runs of a study */
};

/* What a strategy that predicts knows of a cell. */
struct rue_estimate {
    double time_s;        /* of the job */
    double sd;            /* of its logarithm; NaN where nothing is known of it */
    size_t trials;        /* joint ones of this cell */
    bool full;            /* one of them ran the whole job */
    double first_batch_s; /* when the first batch is expected; NaN where that is not known */
};

/* What is claimed of a configuration, the one that it would recommend now: with `confidence` no configuration
 * has a mean regret that is smaller by more than `bound_ratio`. */
struct rue_claim {
    size_t config;
    double bound_ratio;
    double far_off_ratio; /* 0: the bound is about all configurations. Else predictions were off by so many
                             times their own uncertainty, and it is about those measured on every model */
    bool verified;        /* measured jointly on every model */
    double mean_low, mean_high, worst_low, worst_high; /* intervals of its regrets, of that confidence */
};

struct rue_strategy_ops {
    const char *name;
    const char *help;
    /* `*state` is owned by the caller, who closes it. RUE_USAGE for a setup without a trial; RUE_MEMORY. */
    rue_status (*open)(const struct rue_strategy_setup *setup, void **state, rue_error *error);
    /* False when it has nothing more to ask. One question is open at a time: ask, tell, ask, tell. A question
     * that is never told counts as answered. */
    bool (*ask)(void *state, struct rue_ask *out);
    /* The answer to the last question; its cost_ns is known. A cell whose trial was not ok is not asked for
     * again. (optional) */
    void (*tell)(void *state, const struct rue_ask *ask, const struct rue_trial_result *result);
    /* False before it knows enough. (optional, both or none) */
    bool (*estimate)(void *state, size_t scenario, size_t config, struct rue_estimate *out);
    /* Of `config`, or of its own choice where that is SIZE_MAX. */
    bool (*claim)(void *state, size_t config, struct rue_claim *out);
    /* What a later study may start from, closed by the caller; RUE_OK with NULL before it knows enough.
     * RUE_MEMORY. (optional) */
    rue_status (*learned)(const void *state, struct rue_knowledge **out, rue_error *error);
    /* Why it asks nothing more: RUE_OK where it has done its work. (optional) */
    rue_status (*status)(void *state, rue_error *error);
    /* What the joint trial `ask` is expected to take now, and the standard deviation of its logarithm; false
     * where nothing is known. (optional) */
    bool (*expect)(void *state, const struct rue_ask *ask, double *time_s, double *sd);
    /* From the trial of that number on, the machine was slower by `change`. Without it the strategy predicts
     * nothing. (optional) */
    void (*shift)(void *state, size_t trial, struct rue_speed change);
    /* The study spent that of the budget on something else, so many trials. (optional) */
    void (*spend)(void *state, double seconds, size_t trials);
    /* Sets what of the budget it needs to recommend anything, where it needs anything more. (optional) */
    void (*reserve)(void *state, double *seconds, size_t *trials);
    /* Seconds of a job of `images` in a cell that has an estimate, as it is believed now; NaN where that is
     * not known. (optional) */
    double (*job_s)(void *state, size_t scenario, size_t config, uint64_t images);
    void (*close)(void *state); /* of NULL: nothing */
};

extern const struct rue_strategy_ops rue_strategy_grid; /* every cell, in blocks of complete configurations */
extern const struct rue_strategy_ops rue_strategy_duel; /* predicts, and measures what decides */

/* The known strategies, NULL at the end. */
extern const struct rue_strategy_ops *const rue_strategies[];
extern const char *const rue_strategy_names[]; /* RUE_STRATEGY_AUTO and those of them, in their order */

/* Stands for the one that suits, which only who knows costs and budget can tell. */
#define RUE_STRATEGY_AUTO "auto"

/* The strategy of that name, or NULL; of RUE_STRATEGY_AUTO NULL. */
const struct rue_strategy_ops *rue_strategy_find(const char *name);

#endif
