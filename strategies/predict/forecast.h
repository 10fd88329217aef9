/* What is believed of the job's time in every cell, model × configuration, of one variant: the prediction of
 * the pipeline model, and what joint trials say of how far that is off; how configurations stand by that, and
 * what can be claimed of what would be recommended. There is one measure of good: the regrets of a truth that
 * may be, joined over models, over all configurations that are not out. */
#ifndef RUE_FORECAST_H
#define RUE_FORECAST_H

#include "prediction.h"

/* The draws that the last claim rests on. */
struct rue_forecast_draws {
    uint64_t seed; /* of challengers */
    size_t room, count;
    double *regrets; /* [count][configs] what they are judged by; owns those below, too */
    double *means;   /* [configs] of the draws */
    double *excess;  /* [count] */
    double *own[2];  /* [count] the mean and the worst regrets of what is claimed of */
    double *squares; /* [cells] sums of squared logarithms */
    double factor;   /* by which they were spread */
    double far_off;
};

/* Others set what is excluded, and else only read. */
struct rue_forecast {
    const struct rue_strategy_setup *setup;
    size_t models, configs, cells;
    struct rue_prediction *prediction; /* what the beliefs are about */
    struct rue_posterior *belief;      /* what joint trials say; NULL before the first update */
    bool *excluded;                    /* [configs] does not run, or not on every model */
    bool *out; /* [configs] that, or its first batch comes too late: it cannot be recommended */
    struct rue_estimate *tried;                /* [cells] but for their times; the least first batch */
    struct rue_posterior_point *points;        /* [cells] their jobs */
    double *state;                             /* of the belief: what is expected, or a draw */
    double *direction;                         /* covariances with what is to be decided */
    double *job_s;                             /* [cells] predicted */
    double *mean;                              /* [cells] logarithm of believed over predicted times */
    double *log_off, *times;                   /* [cells] of a draw; [configs] */
    struct rue_regret_summary *joined, *drawn; /* [configs] as it is believed; of a draw; NaN for those that
                                                  are out */
    size_t *ranked;                            /* [configs] the best one first, those that are out last */
    struct rue_forecast_draws draws;
};

/* `setup` is borrowed for the forecast's life. */
rue_status rue_forecast_open(const struct rue_strategy_setup *setup, struct rue_forecast **out,
                             rue_error *error) RUE_MUST_CHECK;
void rue_forecast_close(struct rue_forecast *forecast);

/* Notes an ok trial; RUE_MEMORY. `seconds`: since the first trial, on the study's clock. */
rue_status rue_forecast_add(struct rue_forecast *forecast, const struct rue_question *ask,
                            const struct rue_trial_result *result, double seconds,
                            rue_error *error) RUE_MUST_CHECK;

/* What a joint trial is expected to take now, and the standard deviation of its logarithm; false where
 * nothing is known. */
bool rue_forecast_predict_trial(struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                                double *time_s, double *sd);

/* Updates the prediction, and believes of the errors what all joint trials say. RUE_USAGE before any load or
 * joint trial; RUE_INFEASIBLE where every configuration is excluded, or has its first batch later than the
 * limit; RUE_INTERNAL where nothing fits; RUE_MEMORY. */
rue_status rue_forecast_update(struct rue_forecast *forecast, rue_error *error) RUE_MUST_CHECK;

/* ---- after an update ---- */

/* The job as it is believed: the mean of its time. `sd` and `first_batch_s` are left to those below. */
struct rue_estimate rue_forecast_estimate(const struct rue_forecast *forecast, size_t model, size_t config);

/* Seconds of a job of `images`: what is believed of the errors of predictions for the job of the setup is
 * believed for other lengths, too. NaN without memory. */
double rue_forecast_job_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images);

/* Seconds that a joint trial of `images` is believed to take, as the machine is now; what the prediction has
 * before the first update. */
double rue_forecast_trial_s(const struct rue_forecast *forecast, size_t model, size_t config,
                            uint64_t images);

/* A possible truth into `log_off` and `drawn`. */
void rue_forecast_sample(struct rue_forecast *forecast, uint64_t *seed);

/* Decides between two configurations: from then on rue_forecast_variance_reduction is about the difference of
 * what they are judged by. */
void rue_forecast_set_contrast(struct rue_forecast *forecast, size_t one, size_t other);

/* How closely the job of a cell goes with that difference: its covariance. */
double rue_forecast_covariance(const struct rue_forecast *forecast, size_t model, size_t config);

/* By how much a trial would lessen the variance of that difference. */
double rue_forecast_variance_reduction(const struct rue_forecast *forecast, size_t model, size_t config,
                                       uint64_t images);

/* ---- how configurations stand ---- */

/* The regret that a configuration is believed to have; INFINITY where it is out. */
double rue_forecast_regret(const struct rue_forecast *forecast, size_t config);

/* The configuration at that place, 0: of the least regret, which leads; SIZE_MAX: no more are there that are
 * not out. */
size_t rue_forecast_ranked(const struct rue_forecast *forecast, size_t place);

/* The best configuration but the leader in one random draw; the leader itself where it is alone. */
size_t rue_forecast_challenger(struct rue_forecast *forecast);

/* Whether one that is not out was measured on every model. */
bool rue_forecast_is_any_verified(const struct rue_forecast *forecast);

/* So many draws tell whether to go on, and so many what is claimed in the end; of large grids there are
 * fewer. */
enum { RUE_FORECAST_LOOK_DRAWS = 256, RUE_FORECAST_CLAIM_DRAWS = 2048 };

/* What can be claimed of `config`; where that is SIZE_MAX of what would be recommended: the least regret, as
 * it is believed, of those that were measured on every model; of all of them where none was. By draws of
 * their own, for each `trials`, how many there were, others. */
void rue_forecast_claim(struct rue_forecast *forecast, size_t trials, size_t draws, size_t config,
                        struct rue_claim *out);

/* The standard deviation of the logarithm of the job's time in a cell, as the last claim had it. NaN before,
 * and of a cell that was not measured where predictions are far off. */
double rue_forecast_sd(const struct rue_forecast *forecast, size_t model, size_t config);

/* By how much draws are spread about their means, as beliefs are bolder than they should be: by what the
 * audit has, and as few configurations leave that unsure. */
double rue_forecast_inflation(const struct rue_forecast *forecast);

#endif
