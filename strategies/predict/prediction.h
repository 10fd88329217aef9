/* The job's time in every cell, model × configuration, of one variant, as the pipeline model has it: the
 * loader's parameters from load-only trials, the models from compute-only ones; where a runner has joint
 * trials alone, they tell everything. What an earlier study knows (setup->known.prior) stands in for trials,
 * until they contradict. */
#ifndef RUE_PREDICTION_H
#define RUE_PREDICTION_H

#include "belief.h"
#include "question.h"
#include "trial_log.h"

struct rue_prediction;

/* `setup` is borrowed for the prediction's life, and stays as it is. RUE_MEMORY. */
rue_status rue_prediction_open(const struct rue_strategy_setup *setup, struct rue_prediction **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_prediction_close(struct rue_prediction *prediction);

/* Notes an ok trial; RUE_MEMORY. `seconds`: since the first trial, on the study's clock. */
rue_status rue_prediction_add(struct rue_prediction *prediction, const struct rue_ask *ask,
                              const struct rue_trial_result *result, double seconds,
                              rue_error *error) RUE_MUST_CHECK;

/* The machine was slower by `change` from the trial `since` on: those that are noted already and those to
 * come; to be followed by an update. Job times stay those of the beginning. */
void rue_prediction_shift(struct rue_prediction *prediction, size_t since, struct rue_speed change);

/* The joint trials noted so far. */
const struct rue_trial_log *rue_prediction_joints(const struct rue_prediction *prediction);

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

/* Whether the model's compute was measured at the batch size of `config`, with batches that lie as it says,
 * or an earlier study knows it that trials have not contradicted. */
bool rue_prediction_knows_compute(const struct rue_prediction *prediction, size_t model, size_t config);

/* What is believed of the logarithms of the parameters before any joint trial, as a belief is opened with it;
 * borrowed until the next update. */
void rue_prediction_parameters(const struct rue_prediction *prediction, struct rue_belief_setup *out);

/* Predicts with other parameters of the loader, by so much in their logarithms,
 * [RUE_PIPELINE_PARAMETER_COUNT]; false where joint trials alone tell what they are. */
bool rue_prediction_move(struct rue_prediction *prediction, const double *log_step);

/* Whether the trials so far bear out what the prior says of loader and models; false without a prior. */
bool rue_prediction_trusts_prior(const struct rue_prediction *prediction);

/* What a later study can start from, closed by the caller; NULL before the first update. RUE_MEMORY. */
rue_status rue_prediction_learned(const struct rue_prediction *prediction, struct rue_knowledge **out,
                                  rue_error *error) RUE_MUST_CHECK;

/* The same of times of jobs, where an earlier study kept nothing else: of some of `time_s` [models][configs],
 * seconds, NaN where not known, spread over the space. RUE_USAGE without any; RUE_MEMORY; RUE_INTERNAL where
 * nothing fits. */
rue_status rue_prediction_learn_jobs(const struct rue_strategy_setup *setup, const double *time_s,
                                     struct rue_knowledge **out, rue_error *error) RUE_MUST_CHECK;

/* How the time of a trial of `images` depends on what is believed. */
struct rue_belief_point rue_prediction_point(const struct rue_prediction *prediction, size_t model,
                                             size_t config, uint64_t images);

#endif
