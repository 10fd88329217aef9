/* The interface of strategies: setup, questions, estimates and claims. */
#ifndef RUE_QUESTION_H
#define RUE_QUESTION_H

#include <math.h>
#include <stdbool.h>

#include "error.h"
#include "objective.h"
#include "trial.h"

struct rue_prior;

enum { RUE_NODES_MAX = 64 };

/* The input of a strategy. Pointers are borrowed for the strategy's life. */
struct rue_strategy_setup {
    struct rue_setup_grid {
        size_t scenario_count, config_count;
        const struct rue_config *configs; /* [config_count], grid order */
    } grid;
    struct rue_setup_job {
        uint64_t images;            /* of the job; a last batch that is not full counts unless drop_last */
        bool drop_last;             /* skip a last batch that is not full */
        double first_batch_limit_s; /* a later first batch is not acceptable; 0: no
                                       limit */
    } job;
    struct rue_setup_aim {
        enum rue_objective objective;
        const double *weights; /* [scenario_count], positive; NULL: equal */
        double epsilon_ratio;  /* tolerated excess of mean regret over the best */
        double confidence;     /* of the bound and the intervals */
        int repeats;           /* of each cell, at least 1; for strategies without predictions */
    } aim;
    struct rue_setup_budget {
        double seconds; /* cost of the trials, on each node; INFINITY: no limit */
        size_t trials;  /* new trials, without stored ones; 0: no limit */
    } budget;
    struct rue_setup_runner {
        bool measures[RUE_MEASURE_COUNT];
        bool whole_jobs;         /* every joint trial runs the whole job */
        size_t distinct_results; /* number of different results for the same question, limited for recorded
                                    times; 0: no limit */
        int cpus;                /* shared by the workers */
        bool round_robin; /* worker i loads every num_workers-th batch (processes); else a free worker loads
                             the next */
        size_t nodes; /* like machines that make trials at the same time, numbered from 1; 0: one machine */
    } runner;
    struct rue_setup_known {
        const struct rue_prior *prior; /* (optional) knowledge of an earlier study */
        size_t baseline_count;
        const size_t *baselines; /* [baseline_count] columns in use today, most important last */
    } known;
    uint64_t seed;
    /* (optional) Called often during long computations. A status other than RUE_OK ends them: the strategy
     * asks no more questions, and estimates from the trials so far. */
    rue_status (*stop)(void);
};

/* The defaults: one repeat, mean regret, default epsilon and confidence, no limits, no prior; a runner of
 * threads on one CPU that makes joint trials. */
static inline struct rue_strategy_setup rue_strategy_setup_default(struct rue_setup_grid grid,
                                                                   uint64_t job_images)
{
    return (struct rue_strategy_setup){
        .grid = grid,
        .job.images = job_images,
        .aim = {RUE_OBJECTIVE_MEAN, NULL, RUE_DEFAULT_EPSILON, RUE_DEFAULT_CONFIDENCE, 1},
        .budget.seconds = INFINITY,
        .runner = {.measures[RUE_JOINT] = true, .cpus = 1}};
}

static inline RUE_MUST_CHECK rue_status rue_setup_check_stop(const struct rue_strategy_setup *setup,
                                                             rue_error *error)
{
    rue_status status = setup->stop ? setup->stop() : RUE_OK;
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "interrupted");
}

/* The images that a trial or job of `images` consumes with `config`, without a skipped last batch. */
static inline uint64_t rue_setup_images(const struct rue_strategy_setup *setup, size_t config,
                                        uint64_t images)
{
    return rue_config_images(&setup->grid.configs[config], setup->job.drop_last, images);
}

struct rue_question {
    enum rue_measure measure;
    size_t scenario;   /* row; ignored for the measure load */
    size_t config;     /* column */
    uint64_t images;   /* for load and joint; 0: the whole job */
    uint64_t batches;  /* for compute */
    double expected_s; /* predicted seconds; 0: unknown */
    bool stored;       /* set by the caller before `observe`: made in an earlier run, costs no budget */
    int repeat;        /* 0, 1, ...: number of this repeat */
    size_t node;       /* that makes the trial; 0: one machine */
    size_t block;      /* questions of a block are made on the same node; 0: no block */
    bool retried;      /* its trial has failed on a node */
    bool failed;       /* set in a history: its trial failed, too */
    size_t avoided;    /* the node on which it failed; 0: none, or the only one */
    size_t trial; /* set by the caller before `observe`: numbers rise in the order of trials, over all runs of
                     a study */
};

/* Whether another node repeats the trial, because the failure may be the first node's. */
static inline bool rue_question_is_repeated(const struct rue_question *question,
                                            const struct rue_trial_result *result)
{
    return question->node && !question->retried && !question->stored && result->outcome != RUE_TRIAL_OK;
}

/* A predicting strategy's estimate of a cell. */
struct rue_estimate {
    double time_s;        /* of the job */
    double sd;            /* of its logarithm; NaN: unknown */
    size_t trials;        /* joint trials of this cell */
    bool full;            /* one of them ran the whole job */
    double first_batch_s; /* predicted; NaN: unknown */
};

/* The claim about a configuration, by default the one that the strategy would recommend now. With
 * `confidence`, no configuration has a regret that is lower by more than `bound_ratio`. */
struct rue_claim {
    size_t config;
    double bound_ratio;
    double prediction_error_ratio; /* 0: the bound covers all configurations. Else prediction errors are this
                                      multiple of their uncertainty, and the bound covers only those measured
                                      on every model */
    bool verified;                 /* has joint trials on every model */
    double mean_low, mean_high, worst_low, worst_high; /* intervals of its regrets */
};

#endif
