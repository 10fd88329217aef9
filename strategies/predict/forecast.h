/* What is believed of the job's time in every cell, model × configuration, of one variant: the prediction of
 * the pipeline model, and what joint trials say of how far that is off. */
#ifndef RUE_FORECAST_H
#define RUE_FORECAST_H

#include "prediction.h"

/* The job in a cell as it is believed now: the mean, in seconds. */
struct rue_forecast_cell {
    double time_s;
    size_t joint_trials;
    bool full; /* one of them ran the whole job */
};

/* Others set what is excluded, and else only read. */
struct rue_forecast {
    const struct rue_strategy_setup *setup;
    size_t models, configs, cells;
    struct rue_prediction *prediction; /* what the beliefs are about */
    struct rue_belief *belief;         /* what joint trials say; NULL before the first update */
    bool *excluded;                    /* [configs] does not run, or not on every model */
    bool *out; /* [configs] that, or its first batch comes too late: it cannot be recommended */
    struct rue_forecast_cell *tried;           /* [cells] but for their times */
    struct rue_belief_point *points;           /* [cells] their jobs */
    double *state;                             /* of the belief: what is expected, or a draw */
    double *direction;                         /* covariances with what is to be decided */
    double *job_s;                             /* [cells] predicted */
    double *mean;                              /* [cells] logarithm of believed over predicted times */
    double *log_off, *times;                   /* [cells] of a draw; [configs] */
    struct rue_joined_regrets *joined, *drawn; /* [configs] as it is believed; of a draw; NaN for those that
                                                  are out */
};

/* `setup` is borrowed for the forecast's life. */
rue_status rue_forecast_open(const struct rue_strategy_setup *setup, struct rue_forecast **out,
                             rue_error *error) RUE_MUST_CHECK;
void rue_forecast_close(struct rue_forecast *forecast);

/* Notes an ok trial; RUE_MEMORY. `seconds`: since the first trial, on the study's clock. */
rue_status rue_forecast_add(struct rue_forecast *forecast, const struct rue_ask *ask,
                            const struct rue_trial_result *result, double seconds,
                            rue_error *error) RUE_MUST_CHECK;

/* What a joint trial is expected to take now, and the standard deviation of its logarithm; false where
 * nothing is known. */
bool rue_forecast_expect(struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                         double *time_s, double *sd);

/* Updates the prediction, and believes of the errors what all joint trials say. RUE_USAGE before any load or
 * joint trial; RUE_INFEASIBLE where every configuration is excluded, or has its first batch later than the
 * limit; RUE_INTERNAL where nothing fits; RUE_MEMORY. */
rue_status rue_forecast_update(struct rue_forecast *forecast, rue_error *error) RUE_MUST_CHECK;

/* ---- after an update ---- */

struct rue_forecast_cell rue_forecast_cell(const struct rue_forecast *forecast, size_t model, size_t config);

/* Seconds of a job of `images`: what is believed of the errors of predictions for the job of the setup is
 * believed for other lengths, too. NaN without memory. */
double rue_forecast_job_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images);

/* Seconds that a joint trial of `images` is believed to take, as the machine is now; what the prediction has
 * before the first update. */
double rue_forecast_trial_s(const struct rue_forecast *forecast, size_t model, size_t config,
                            uint64_t images);

/* A possible truth into `log_off` and `drawn`. */
void rue_forecast_draw(struct rue_forecast *forecast, uint64_t *seed);

/* Decides between two configurations: from then on rue_forecast_gain is about the difference of what they are
 * judged by. */
void rue_forecast_compare(struct rue_forecast *forecast, size_t one, size_t other);

/* How closely the job of a cell goes with that difference: its covariance. */
double rue_forecast_covariance(const struct rue_forecast *forecast, size_t model, size_t config);

/* By how much a trial would lessen the variance of that difference. */
double rue_forecast_gain(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images);

#endif
