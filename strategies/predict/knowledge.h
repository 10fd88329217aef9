/* What a study has learned about a loader and its consumers, without its trials. A later study of the same or
 * a similar machine starts from it. */
#ifndef RUE_KNOWLEDGE_H
#define RUE_KNOWLEDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "pipeline.h"

/* The time that a model computes on a batch, as a function of the batch size: linear interpolation between
 * the measured sizes, linear extrapolation beyond them. */
enum { RUE_COMPUTE_CURVE_MAX = 32 };

struct rue_compute_curve {
    double cpu_ratio, trials; /* CPUs used while it computes, the mean of `trials` trials */
    size_t count;
    struct rue_compute_point {
        int batch_size;
        double batch_s, trials;      /* mean of `trials` trials; 0: from a prior, not measured */
    } points[RUE_COMPUTE_CURVE_MAX]; /* sizes increasing */
};

/* Adds a trial. Its time is ignored if there are RUE_COMPUTE_CURVE_MAX other sizes. `cpu_ratio`: CPUs used
 * while it computes, for example 2 for two threads; NaN: unknown. */
void rue_compute_curve_add(struct rue_compute_curve *curve, int batch_size, double batch_s, double cpu_ratio);

/* Adds the sizes of the curve `prior` that were not measured, scaled by the ratio of measured to prior
 * times; and its CPUs if no trial reported them. */
void rue_compute_curve_add_prior(struct rue_compute_curve *curve, const struct rue_compute_curve *prior);

/* The point of that size, with `trials` 0 if it is from a prior; NULL: none. */
const struct rue_compute_point *rue_compute_curve_find(const struct rue_compute_curve *curve, int batch_size);

/* The consumer for batches of at most `batch_size`; zero for an empty curve. */
struct rue_pipeline_consumer rue_compute_curve_at(const struct rue_compute_curve *curve, int batch_size);

struct rue_knowledge_model {
    struct rue_compute_curve curve;        /* from compute-only trials; count 0: none */
    struct rue_pipeline_consumer consumer; /* fitted to joint trials, including the hand-over; NaN: unknown */
};

struct rue_knowledge {
    struct rue_pipeline_loader loader;
    double covariance[RUE_PIPELINE_PARAMETER_COUNT][RUE_PIPELINE_PARAMETER_COUNT]; /* of the logarithms */
    struct rue_pipeline_consumer hand_over; /* time of the consumer's thread without a model */
    size_t model_count;
    struct rue_knowledge_model *consumers; /* [2 * model_count] owned */
};

/* Model m counts as two consumers: number 2 * m for pinned batches (the default), 2 * m + 1 for others. Its
 * time includes copying a batch to a GPU, which is faster from page-locked memory. */
static inline bool rue_config_pins_memory(const struct rue_config *config)
{
    return config->value[RUE_PIN_MEMORY] != 0;
}

static inline size_t rue_consumer_index(size_t model, const struct rue_config *config)
{
    return 2 * model + !rue_config_pins_memory(config);
}

/* Opens empty knowledge of `model_count` models; the caller closes `out`. RUE_MEMORY. */
rue_status rue_knowledge_open(size_t model_count, struct rue_knowledge **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_knowledge_close(struct rue_knowledge *knowledge);

/* The consumer for batches of at most `batch_size`, including the hand-over; NaN: unknown. */
struct rue_pipeline_consumer rue_knowledge_consumer(const struct rue_knowledge *knowledge, size_t consumer,
                                                    int batch_size);

/* Predicted seconds of a job of `images` on a model; NaN: the model is unknown. */
double rue_knowledge_job_s(const struct rue_knowledge *knowledge, size_t model,
                           const struct rue_config *config, uint64_t images);

/* The prior of a strategy, borrowed for the strategy's life. Models and configurations are those of its
 * setup, in the same order. */
struct rue_prior {
    const struct rue_knowledge *knowledge;
    double widen_sd;       /* added to the standard deviation of each loader parameter's logarithm */
    bool same_machine;     /* the study was of this machine and these data, so few probes suffice */
    bool whole_jobs;       /* only times of whole jobs are known */
    const double *offsets; /* [models][configs] log of measured over predicted time; 0: unknown */
    size_t config;         /* the recommended one; SIZE_MAX: not in the space */
};

#endif
