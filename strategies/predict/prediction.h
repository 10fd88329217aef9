/* The job's time in every cell, model × configuration, of one variant, as the pipeline model has it: the
 * loader's parameters from load-only trials, the models from compute-only ones; where a runner has joint
 * trials alone, they tell everything. What an earlier study knows (setup->known.prior) stands in for trials.
 */
#ifndef RUE_PREDICTION_H
#define RUE_PREDICTION_H

#include "pipeline_fit.h"
#include "posterior.h"
#include "question.h"

/* An ok trial, as it was measured. */
struct rue_logged_trial {
    size_t model, config;
    uint64_t images, batches;
    struct rue_pipeline_times times; /* NaN where not told; a shutdown that is not told is none */
    double consumer_s;               /* of the consumer's thread; NaN where not told */
    double cpu_ratio;                /* CPU seconds per second; NaN where not told */
    double seconds;                  /* when */
    size_t trial;                    /* its number, as of struct rue_question */
};

struct rue_trial_log {
    size_t count, capacity;
    struct rue_logged_trial *at; /* [count] in the order of asking */
};

/* To be read. */
struct rue_prediction {
    const struct rue_strategy_setup *setup;
    size_t models, configs, consumers;
    struct rue_trial_log logs[RUE_MEASURE_COUNT];
    struct rue_speed_history speeds; /* of the machine */
    struct rue_knowledge *known;     /* what was measured of consumers, and what is believed of other sizes */
    bool *joined;                    /* [consumers] a joint trial tells of it */
    struct rue_pipeline_fit *fit;    /* NULL before the first update */
    bool stale;                      /* trials tell anything new of loader and models */
    struct rue_cached_prediction *answers; /* [answer_count], [models + 1][configs][some]; where two fall into
                                              one place the later one stays */
    size_t answer_count;
};

/* `setup` is borrowed for the prediction's life, and stays as it is. RUE_MEMORY. */
rue_status rue_prediction_open(const struct rue_strategy_setup *setup, struct rue_prediction **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_prediction_close(struct rue_prediction *prediction);

/* Notes an ok trial; RUE_MEMORY. `seconds`: since the first trial, on the study's clock. */
rue_status rue_prediction_add(struct rue_prediction *prediction, const struct rue_question *ask,
                              const struct rue_trial_result *result, double seconds,
                              rue_error *error) RUE_MUST_CHECK;

/* The machine was slower by `change` from the trial `since` on: those that are noted already and those to
 * come; to be followed by an update. Job times stay those of the beginning. */
void rue_prediction_add_speed_change(struct rue_prediction *prediction, size_t since,
                                     struct rue_speed change);

/* Of the machine when it made the trial. */
struct rue_speed rue_prediction_speed(const struct rue_prediction *prediction,
                                      const struct rue_logged_trial *trial);

/* Fits the pipeline to all trials; `*changed`: there were new trials of loader or models, so that other
 * times are predicted. RUE_USAGE before any load or joint trial where there is no prior; RUE_INTERNAL where
 * nothing fits; RUE_MEMORY. */
rue_status rue_prediction_update(struct rue_prediction *prediction, bool *changed,
                                 rue_error *error) RUE_MUST_CHECK;

/* ---- after an update ---- */

/* Seconds of a trial, or a job, of `images` on a machine of that speed; of the measure load with `model`
 * RUE_PREDICTION_NO_MODEL. NaN before the first update, and without memory. */
#define RUE_PREDICTION_NO_MODEL SIZE_MAX
double rue_prediction_time_s(const struct rue_prediction *prediction, size_t model, size_t config,
                             uint64_t images, struct rue_speed speed);

/* The same as the machine is now. */
double rue_prediction_trial_s(const struct rue_prediction *prediction, size_t model, size_t config,
                              uint64_t images);

/* Seconds until the first batch of the job in a cell. */
double rue_prediction_first_batch_s(const struct rue_prediction *prediction, size_t model, size_t config);

/* Predicts with other parameters of the loader, by so much in their logarithms,
 * [RUE_PIPELINE_PARAMETER_COUNT]; false where joint trials alone tell what they are. */
bool rue_prediction_move_parameters(struct rue_prediction *prediction, const double *log_step);

/* What a later study can start from, closed by the caller; NULL before the first update. RUE_MEMORY. */
rue_status rue_prediction_knowledge(const struct rue_prediction *prediction, struct rue_knowledge **out,
                                    rue_error *error) RUE_MUST_CHECK;

/* The same of times of jobs, where an earlier study kept nothing else: of some of `time_s` [models][configs],
 * seconds, NaN where not known, spread over the space. RUE_USAGE without any; RUE_MEMORY; RUE_INTERNAL where
 * nothing fits. */
rue_status rue_knowledge_from_jobs(const struct rue_strategy_setup *setup, const double *time_s,
                                   struct rue_knowledge **out, rue_error *error) RUE_MUST_CHECK;

/* How the time of a trial of `images` depends on what is believed. */
struct rue_posterior_point rue_prediction_point(const struct rue_prediction *prediction, size_t model,
                                                size_t config, uint64_t images);

#endif
