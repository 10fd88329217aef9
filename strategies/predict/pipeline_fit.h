/* What trials tell of the pipeline's parameters: the most probable ones, given wide prior beliefs, by
 * nonlinear least squares on the logarithms of times; a trial that something disturbed pulls little. */
#ifndef RUE_PIPELINE_FIT_H
#define RUE_PIPELINE_FIT_H

#include "pipeline.h"

/* An ok trial of `images`. Times that are not known are NaN; without a first batch the end alone counts. */
struct rue_pipeline_sample {
    struct rue_config config;
    uint64_t images;
    struct rue_pipeline_consumer consumer; /* where it is known */
    size_t unknown; /* else which of the consumers to be found it is; or RUE_PIPELINE_KNOWN */
    struct rue_pipeline_times times;
};
#define RUE_PIPELINE_KNOWN SIZE_MAX

/* The logarithms of the parameters, of the loader's first, then batch_s and image_s of each unknown consumer.
 */
struct rue_pipeline_fit {
    struct rue_pipeline_loader loader;
    size_t consumer_count;
    struct rue_pipeline_consumer *consumers; /* [consumer_count] */
    size_t count;                            /* of parameters */
    double *found;                           /* [count] their logarithms */
    double *covariance;                      /* [count][count] of their logarithms, after the trials */
    double *prior_covariance;                /* the same before them, a diagonal */
};

/* What is believed before the trials, in place of the wide beliefs. */
struct rue_pipeline_prior {
    double value[RUE_PIPELINE_PARAMETER_COUNT], sd[RUE_PIPELINE_PARAMETER_COUNT]; /* sd: of the logarithms */
    const struct rue_pipeline_consumer *consumers; /* (optional) [consumer_count]; NaN: nothing is believed */
};

struct rue_pipeline_fit_setup {
    const struct rue_pipeline_sample *samples; /* [sample_count] */
    size_t sample_count, consumer_count;       /* consumer_count: those to be found */
    int cpus;                                  /* of the loader to be found, as in_turn */
    bool round_robin;
    const struct rue_pipeline_prior *prior; /* (optional) */
    const double *start;      /* (optional) what was found of fewer trials: the search begins there */
    rue_status (*stop)(void); /* (optional) asked often; what it returns other than RUE_OK ends the search */
};

/* `out` is closed by the caller. RUE_USAGE without samples and prior; RUE_MEMORY; RUE_INTERNAL where no
 * parameters can be found; what the stop returns. */
rue_status rue_pipeline_fit_open(const struct rue_pipeline_fit_setup *setup, struct rue_pipeline_fit **out,
                                 rue_error *error) RUE_MUST_CHECK;
void rue_pipeline_fit_close(struct rue_pipeline_fit *fit);

#endif
