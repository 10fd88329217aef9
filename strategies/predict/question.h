/* What a strategy is given, what it asks, and what it knows of a cell. */
#ifndef RUE_QUESTION_H
#define RUE_QUESTION_H

#include <math.h>
#include <stdbool.h>

#include "error.h"
#include "knowledge.h"
#include "objective.h"
#include "slowdown.h"
#include "trial.h"

/* What a strategy starts from. What it points to is borrowed for the strategy's life. */
struct rue_strategy_setup {
    struct rue_setup_grid {
        size_t scenario_count, config_count;
        const struct rue_config *configs; /* [config_count], grid order */
    } grid;
    struct rue_setup_job {
        uint64_t images;            /* that the job consumes, but for a last batch that is left out */
        bool drop_last;             /* the last batch is left out where it is not full */
        double first_batch_limit_s; /* what has its first batch later is not recommended; 0: no limit */
    } job;
    struct rue_setup_aim {
        enum rue_objective objective;
        const double *weights; /* [scenario_count], positive; NULL: all alike */
        double epsilon_ratio;  /* good enough: so much mean regret more than the best */
        double confidence;     /* of that */
        int repeats;           /* of each cell, at least 1; for strategies that do not predict */
    } aim;
    struct rue_setup_budget {
        double seconds; /* that the trials may cost; INFINITY: no limit */
        size_t trials;  /* that may be made, stored ones aside; 0: no limit */
    } budget;
    struct rue_setup_runner {
        bool measures[RUE_MEASURE_COUNT];
        bool whole_jobs;         /* its joint trials run the whole job, however many images are asked for */
        size_t distinct_results; /* different ones to the same question, more of which tells nothing; 0: no
                                    limit */
        int cpus;                /* that workers share */
        bool round_robin;        /* workers take batches in turn (processes), not whoever is free */
    } runner;
    struct rue_setup_known {
        const struct rue_prior *prior; /* (optional) what is known before the first trial */
        size_t baseline_count;
        const size_t
            *baselines; /* [baseline_count] columns of what people use anyway, the most telling last */
    } known;
    uint64_t seed;
    /* (optional) Asked often while it thinks for long. What it returns other than RUE_OK ends that: it asks
     * nothing more, and estimates by what it knew. */
    rue_status (*stop)(void);
};

/* One repeat, the mean regret as near and as sure as is usual, no limits, nothing known, and a runner
 * of threads on one CPU that makes joint trials. */
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

/* That a trial, or a job, of `images` consumes; all of them where not one batch is full. */
static inline uint64_t rue_setup_images(const struct rue_strategy_setup *setup, size_t config,
                                        uint64_t images)
{
    return rue_config_images(&setup->grid.configs[config], setup->job.drop_last, images);
}

struct rue_question {
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
    double
        prediction_error_ratio; /* 0: the bound is about all configurations. Else predictions were off by so
                          many times their own uncertainty, and it is about those measured on every model */
    bool verified;              /* measured jointly on every model */
    double mean_low, mean_high, worst_low, worst_high; /* intervals of its regrets, of that confidence */
};

#endif
