/* The posterior of the job's time in every cell (model × configuration) of one variant: the pipeline
 * model's prediction, corrected by joint trials. It yields the ranking of configurations and the claim
 * about the recommended one. Regrets are summarised over models, and compared over all eligible
 * configurations. */
#ifndef RUE_FORECAST_H
#define RUE_FORECAST_H

#include "prediction.h"

/* The draws of the last claim. */
struct rue_forecast_draws {
    uint64_t seed; /* for challengers */
    size_t capacity, count;
    double *regrets;    /* [count][configs] by the objective; owns the arrays below, too */
    double *means;      /* [configs] over the draws */
    double *excess;     /* [count] */
    double *claimed[2]; /* [count] mean and worst regrets of the claimed configuration */
    double *squares;    /* [cells] sums of squared log deviations */
    double inflation;   /* of the draws' spread */
    double prediction_error;
};

/* Read only, except for `excluded`. */
struct rue_forecast {
    const struct rue_strategy_setup *setup;
    size_t models, configs, cells;
    struct rue_prediction *prediction; /* the prior mean of the posterior */
    struct rue_posterior *posterior;   /* from joint trials; NULL before the first update */
    bool *excluded;                    /* [configs] failed or infeasible on a model */
    bool *ineligible; /* [configs] excluded, or its first batch is too late: it cannot be recommended */
    struct rue_estimate *observed;        /* [cells] trials and the least first batch; times unused */
    struct rue_posterior_point *points;   /* [cells] the jobs */
    double *latent;                       /* latent vector: posterior mean or sample */
    double *contrast;                     /* latent vector: covariances with the contrast */
    double *predicted_s;                  /* [cells] predicted */
    double *log_ratio;                    /* [cells] posterior mean of the log ratio */
    double *deviation, *times;            /* [cells] of a sample's log ratio from the mean; [configs] */
    struct rue_regret_summary *summaries; /* [configs] of the posterior mean */
    struct rue_regret_summary *sampled;   /* [configs] of a sample; both NaN if ineligible */
    size_t *ranked;                       /* [configs] best first, ineligible ones last */
    struct rue_forecast_draws draws;
};

/* Borrows `setup` for the forecast's life. */
rue_status rue_forecast_open(const struct rue_strategy_setup *setup, struct rue_forecast **out,
                             rue_error *error) RUE_MUST_CHECK;
void rue_forecast_close(struct rue_forecast *forecast);

/* Adds an ok trial. `seconds`: study time since the first trial. RUE_MEMORY. */
rue_status rue_forecast_add(struct rue_forecast *forecast, const struct rue_question *question,
                            const struct rue_trial_result *result, double seconds,
                            rue_error *error) RUE_MUST_CHECK;

/* Adds a joint trial that is being made, with its predicted time, so that the next trial is chosen with
 * regard to it. rue_posterior_truncate removes it. `seconds`: study time on the node. */
void rue_forecast_assume(struct rue_forecast *forecast, const struct rue_question *question, double seconds);

/* Removes the node's trials from `since` on, at the next update. */
void rue_forecast_forget(struct rue_forecast *forecast, size_t node, size_t since);

/* Predicts the time of a joint trial made now, and the standard deviation of its logarithm; false before the
 * first update. */
bool rue_forecast_predict_trial(struct rue_forecast *forecast, size_t model, size_t config, uint64_t images,
                                double *time_s, double *sd);

/* Updates the prediction, and the posterior by all joint trials. RUE_USAGE before any load or joint trial;
 * RUE_INFEASIBLE if no configuration is eligible; RUE_INTERNAL if the fit fails; RUE_MEMORY. */
rue_status rue_forecast_update(struct rue_forecast *forecast, rue_error *error) RUE_MUST_CHECK;

/* The posterior mean of the job's time, and the trials of the cell. Does not set `sd`; `first_batch_s` is
 * measured. */
struct rue_estimate rue_forecast_estimate(const struct rue_forecast *forecast, size_t model, size_t config);

/* Predicted seconds of a job of `images`, corrected by the log ratio of the setup's job. NaN if out of
 * memory. */
double rue_forecast_job_s(const struct rue_forecast *forecast, size_t model, size_t config, uint64_t images);

/* Predicted seconds of a joint trial of `images` at the machine's present speed; not corrected before the
 * first update. */
double rue_forecast_trial_s(const struct rue_forecast *forecast, size_t model, size_t config,
                            uint64_t images);

/* Samples log ratios into `deviation` and regrets into `sampled`. */
void rue_forecast_sample(struct rue_forecast *forecast, uint64_t *seed);

/* Sets the contrast, which the next two functions use: the difference between the objectives of two
 * configurations. */
void rue_forecast_set_contrast(struct rue_forecast *forecast, size_t first, size_t second);

/* The posterior covariance of a cell's log time with the contrast. */
double rue_forecast_covariance(const struct rue_forecast *forecast, size_t model, size_t config);

/* The reduction of the contrast's posterior variance by a trial on that node (0: one machine). */
double rue_forecast_variance_reduction(const struct rue_forecast *forecast, size_t node, size_t model,
                                       size_t config, uint64_t images);

/* The objective at the posterior mean; INFINITY if ineligible. */
double rue_forecast_regret(const struct rue_forecast *forecast, size_t config);

/* The configuration with that rank; 0: the leader. SIZE_MAX: there are fewer eligible ones. */
size_t rue_forecast_ranked(const struct rue_forecast *forecast, size_t rank);

/* Top-two sampling (Russo 2016): the best configuration other than the leader in one posterior sample; the
 * leader if it is the only one. */
size_t rue_forecast_challenger(struct rue_forecast *forecast);

/* Whether an eligible configuration was measured on every model. */
bool rue_forecast_is_any_verified(const struct rue_forecast *forecast);

/* Draws of a look during the search, and of the final claim; fewer on large grids. */
enum { RUE_FORECAST_LOOK_DRAWS = 256, RUE_FORECAST_CLAIM_DRAWS = 2048 };

/* Makes a claim about `config`; SIZE_MAX: about the recommended configuration. This has the least regret. One
 * measured on every model is preferred within RUE_MEASURED_ADVANTAGE, and if predictions are far off. The
 * number of joint `trials` seeds the draws, so each claim has independent draws. */
void rue_forecast_claim(struct rue_forecast *forecast, size_t trials, size_t draws, size_t config,
                        struct rue_claim *out);

/* The standard deviation of the logarithm of the job's time, inflated as in the last claim. NaN before the
 * first claim, and for an untried cell when predictions are far off. */
double rue_forecast_sd(const struct rue_forecast *forecast, size_t model, size_t config);

/* By how much errors of predictions exceed their uncertainty, if they are far off; else 0. */
double rue_forecast_prediction_error(const struct rue_forecast *forecast);

/* The factor that inflates the spread of draws: base inflation * calibration ratio * t quantile / normal
 * quantile. The t quantile is used because few configurations estimate the calibration ratio. */
double rue_forecast_inflation(const struct rue_forecast *forecast);

#endif
