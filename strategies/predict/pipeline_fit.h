/* Fits the pipeline's parameters to trials: maximum a posteriori with wide log-normal priors, by nonlinear
 * least squares on logarithms of times. Iterative reweighting makes it robust against disturbed trials. */
#ifndef RUE_PIPELINE_FIT_H
#define RUE_PIPELINE_FIT_H

#include "pipeline.h"

/* An ok trial of `images`. Unknown times are NaN. Without a first batch, only the end-to-end time is
 * fitted. */
struct rue_pipeline_sample {
    struct rue_config config;
    uint64_t images;
    struct rue_pipeline_consumer consumer; /* if known */
    size_t unknown_consumer;               /* index of the consumer to be estimated; or RUE_PIPELINE_KNOWN */
    struct rue_pipeline_times times;
    double added_sd; /* of the times' logarithms, beside the usual noise */
};
#define RUE_PIPELINE_KNOWN SIZE_MAX

/* The estimate. The parameters are logarithms: the loader's, then batch_s and image_s of each unknown
 * consumer. */
struct rue_pipeline_fit {
    struct rue_pipeline_loader loader;
    size_t consumer_count;
    struct rue_pipeline_consumer *consumers; /* [consumer_count] */
    size_t count;                            /* number of parameters */
    double *estimate;                        /* [count] */
    double *covariance;                      /* [count][count] posterior covariance */
    double *prior_covariance;                /* [count][count] prior covariance, diagonal */
};

/* An informative prior, which replaces the wide one. */
struct rue_pipeline_prior {
    double value[RUE_PIPELINE_PARAMETER_COUNT], sd[RUE_PIPELINE_PARAMETER_COUNT]; /* sd: of the logarithms */
    const struct rue_pipeline_consumer *consumers; /* (optional) [consumer_count]; NaN: no prior */
};

struct rue_pipeline_fit_setup {
    const struct rue_pipeline_sample *samples; /* [sample_count] */
    size_t sample_count, consumer_count;       /* consumer_count: those to be estimated */
    int cpus;                                  /* of the loader to be estimated, as round_robin */
    bool round_robin;
    const struct rue_pipeline_prior *prior; /* (optional) */
    const double *start;      /* (optional) an estimate from fewer trials, where the iteration starts */
    rue_status (*stop)(void); /* (optional) called often; ends the fit with the status that it returns unless
                                 that is RUE_OK */
};

/* The caller closes `out`. RUE_USAGE without samples and prior; RUE_MEMORY; RUE_INTERNAL if the fit does not
 * converge; the status of `stop`. */
rue_status rue_pipeline_fit_open(const struct rue_pipeline_fit_setup *setup, struct rue_pipeline_fit **out,
                                 rue_error *error) RUE_MUST_CHECK;
void rue_pipeline_fit_close(struct rue_pipeline_fit *fit);

#endif
