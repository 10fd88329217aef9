/* What is believed of the job's time in every cell, model × configuration, of one variant: the prediction of
 * the pipeline model, and what joint trials say of how far that is off. */
#ifndef RUE_FORECAST_H
#define RUE_FORECAST_H

#include "candidates.h"
#include "posterior.h"
#include "prediction.h"

struct rue_forecast;

/* `setup` is borrowed for the forecast's life. */
rue_status rue_forecast_open(const struct rue_strategy_setup *setup, struct rue_forecast **out,
                             rue_error *error) RUE_MUST_CHECK;
void rue_forecast_close(struct rue_forecast *forecast);

/* Notes an ok trial; RUE_MEMORY. `seconds`: since the first trial, on the study's clock. */
rue_status rue_forecast_add(struct rue_forecast *forecast, const struct rue_ask *ask,
                            const struct rue_trial_result *result, double seconds,
                            rue_error *error) RUE_MUST_CHECK;

/* What a joint trial is expected to take now, and the standard deviation of its logarithm; false where
 * nothing is known, or the configuration is no candidate. */
bool rue_forecast_expect(struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                         double *time_s, double *sd);

/* The machine was slower by `change` from the trial `since` on; to be followed by an update. */
void rue_forecast_shift(struct rue_forecast *forecast, size_t since, struct rue_speed change);

/* A configuration that does not run, or not on every model: it is no candidate. */
void rue_forecast_exclude(struct rue_forecast *forecast, size_t config);
bool rue_forecast_is_excluded(const struct rue_forecast *forecast, size_t config);

/* Updates the prediction, and believes of the errors what the joint trials say. RUE_USAGE before any load or
 * joint trial; RUE_INFEASIBLE where every configuration is excluded, or has its first batch later than the
 * limit; RUE_INTERNAL where nothing fits; RUE_MEMORY. */
rue_status rue_forecast_update(struct rue_forecast *forecast, rue_error *error) RUE_MUST_CHECK;

/* What the beliefs are about; borrowed. */
const struct rue_prediction *rue_forecast_prediction(const struct rue_forecast *forecast);

/* The job in a cell as it is believed now: the mean, in seconds, and the standard deviation of its logarithm.
 */
struct rue_forecast_cell {
    double time_s, sd;
    size_t joint_trials;
    bool full; /* one of them ran the whole job */
};
struct rue_forecast_cell rue_forecast_cell(const struct rue_forecast *forecast, size_t model, size_t config);

/* Seconds of a job of `images`: what is believed of the errors of predictions for the job of the setup is
 * believed for other lengths, too. NaN without memory. */
double rue_forecast_job_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images);

/* Configurations that may be the best, and what is drawn of them. */
size_t rue_forecast_candidates(const struct rue_forecast *forecast, const size_t **out);
const struct rue_candidates *rue_forecast_choice(const struct rue_forecast *forecast);

/* Of a configuration in their list; RUE_NO_CANDIDATE: it is none. */
size_t rue_forecast_position(const struct rue_forecast *forecast, size_t config);
enum { RUE_FORECAST_DRAWS = 256 };

/* What every candidate is judged by, [candidates], in draw `index`: its regrets, joined as the setup's
 * objective and weights say. */
void rue_forecast_regrets(struct rue_forecast *forecast, size_t index, double *out);

/* The mean and the worst regret of the candidate at `position`, in draw `index`. */
struct rue_joined_regrets rue_forecast_joined(struct rue_forecast *forecast, size_t index, size_t position);

/* Decides between two candidates (positions in their list): from then on rue_forecast_gain is about the
 * difference of their regrets. */
void rue_forecast_compare(struct rue_forecast *forecast, size_t one, size_t other);

/* A trial that might be made. */
struct rue_forecast_trial {
    size_t model, position; /* of the candidate */
    uint64_t images;
};

/* By how much the trials, `count` of them, 1 or 2, would lessen the variance of that difference. */
double rue_forecast_gain(struct rue_forecast *forecast, const struct rue_forecast_trial *trials,
                         size_t count);

#endif
