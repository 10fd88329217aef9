/* Predicts the job's time in every cell (model × configuration) of one variant by the pipeline model.
 * Load-only trials estimate the loader's parameters, compute-only trials the models. If a runner makes only
 * joint trials, they estimate both. The knowledge of an earlier study (setup->known.prior) is the prior. */
#ifndef RUE_PREDICTION_H
#define RUE_PREDICTION_H

#include "knowledge.h"
#include "pipeline_fit.h"
#include "posterior.h"
#include "question.h"

/* An ok trial: its times as on CPUs without other programs. */
struct rue_logged_trial {
    size_t model, config;
    uint64_t images, batches;
    struct rue_pipeline_times times; /* NaN: not reported; an unreported shutdown is 0 */
    double consumer_s;               /* of the consumer's thread; NaN: not reported */
    double cpu_ratio;                /* CPU seconds per second; NaN: not reported */
    double contention_sd;            /* of the times' logarithms, because other programs used CPUs; else 0 */
    double seconds;                  /* study time of the trial */
    size_t trial, node;              /* as in struct rue_question */
};

struct rue_trial_log {
    size_t count, capacity;
    struct rue_logged_trial *at; /* [count] in the order of the questions */
};

/* Read only. */
struct rue_prediction {
    const struct rue_strategy_setup *setup;
    size_t models, configs, consumers;
    struct rue_trial_log logs[RUE_MEASURE_COUNT];
    struct rue_speed_history speeds;     /* of the machine */
    struct rue_knowledge *knowledge;     /* the present estimates */
    bool *has_joint;                     /* [consumers] a joint trial used it */
    struct rue_pipeline_fit *fit;        /* NULL before the first update */
    bool stale;                          /* there are new trials to fit */
    struct rue_cached_prediction *cache; /* [cache_count], [models + 1][configs][slots] */
    size_t cache_count;
};

/* Borrows `setup`, which must not change, for the prediction's life. RUE_MEMORY. */
rue_status rue_prediction_open(const struct rue_strategy_setup *setup, struct rue_prediction **out,
                               rue_error *error) RUE_MUST_CHECK;
void rue_prediction_close(struct rue_prediction *prediction);

/* Adds an ok trial. `seconds`: study time since the first trial. RUE_MEMORY. */
rue_status rue_prediction_add(struct rue_prediction *prediction, const struct rue_question *question,
                              const struct rue_trial_result *result, double seconds,
                              rue_error *error) RUE_MUST_CHECK;

/* Removes the node's trials from `since` on. */
void rue_prediction_forget(struct rue_prediction *prediction, size_t node, size_t since);

/* Records that the machine is slower by `change` from the trial `since` on, including recorded trials. The
 * next update uses it. Predicted times of jobs stay those of the initial speed. */
void rue_prediction_add_speed_change(struct rue_prediction *prediction, size_t since,
                                     struct rue_speed change);

/* The machine's speed in that trial. */
struct rue_speed rue_prediction_speed(const struct rue_prediction *prediction,
                                      const struct rue_logged_trial *trial);

/* The speed of most joint trials. */
struct rue_speed rue_prediction_usual_speed(const struct rue_prediction *prediction);

/* Fits the pipeline to all trials. `*changed`: there were new trials to fit, so predictions have changed.
 * RUE_USAGE before any load or joint trial if there is no prior; RUE_INTERNAL if the fit fails;
 * RUE_MEMORY. */
rue_status rue_prediction_update(struct rue_prediction *prediction, bool *changed,
                                 rue_error *error) RUE_MUST_CHECK;

/* Predicted seconds of a trial or job of `images` at that speed; RUE_PREDICTION_NO_MODEL predicts a
 * load-only trial. NaN before the first update, and if out of memory. */
#define RUE_PREDICTION_NO_MODEL SIZE_MAX
double rue_prediction_time_s(const struct rue_prediction *prediction, size_t model, size_t config,
                             uint64_t images, struct rue_speed speed);

/* The same at the present speed. */
double rue_prediction_trial_s(const struct rue_prediction *prediction, size_t model, size_t config,
                              uint64_t images);

/* Predicted seconds until the first batch of the job. */
double rue_prediction_first_batch_s(const struct rue_prediction *prediction, size_t model, size_t config);

/* The parameters as fitted, less the present ones; logarithms. `out` [fit->count]. */
void rue_prediction_prior_mean(const struct rue_prediction *prediction, double *out);

/* Changes the logarithms of the loader's parameters by `log_step` [RUE_PIPELINE_PARAMETER_COUNT]. Returns
 * false, without a change, if they are fitted to joint trials. */
bool rue_prediction_move_parameters(struct rue_prediction *prediction, const double *log_step);

/* The knowledge for a later study, closed by the caller; NULL before the first update. RUE_MEMORY. */
rue_status rue_prediction_knowledge(const struct rue_prediction *prediction, struct rue_knowledge **out,
                                    rue_error *error) RUE_MUST_CHECK;

/* The same for a study that stored only times of jobs: `time_s` [models][configs] in seconds, NaN: unknown.
 * Fits a sample of them that is spread over the space. RUE_USAGE if all are unknown; RUE_MEMORY; RUE_INTERNAL
 * if the fit fails. */
rue_status rue_knowledge_from_jobs(const struct rue_strategy_setup *setup, const double *time_s,
                                   struct rue_knowledge **out, rue_error *error) RUE_MUST_CHECK;

/* The point of the posterior for a trial of `images`: its gradient and amplitudes. */
struct rue_posterior_point rue_prediction_point(const struct rue_prediction *prediction, size_t model,
                                                size_t config, uint64_t images);

#endif
