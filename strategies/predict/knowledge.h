/* What a study has found out about a loader and its consumers, apart from any of its trials: what a later
 * study of the same or a similar machine starts from. */
#ifndef RUE_KNOWLEDGE_H
#define RUE_KNOWLEDGE_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "pipeline.h"

/* How long a model computes on a batch, by the batch sizes at which it was measured: straight lines between
 * them, and on beyond the outermost. */
enum { RUE_COMPUTE_CURVE_MAX = 32 };

struct rue_compute_curve {
    double cpu_ratio, trials; /* CPUs while it computes; mean of so many trials */
    size_t count;
    struct rue_compute_point {
        int batch_size;
        double batch_s, trials;      /* mean of so many trials; 0: believed, not measured */
    } points[RUE_COMPUTE_CURVE_MAX]; /* sizes increasing */
};

/* Adds a trial; when there are RUE_COMPUTE_CURVE_MAX other sizes its time is left out. `cpu_ratio`: CPUs
 * that it takes meanwhile, 2 where two threads compute; NaN: not known. */
void rue_compute_curve_add(struct rue_compute_curve *curve, int batch_size, double batch_s, double cpu_ratio);

/* Takes the sizes of `known` that were not measured, which are believed then, as much slower or faster as
 * those that were, and its CPUs without a trial. */
void rue_compute_curve_add_prior(struct rue_compute_curve *curve, const struct rue_compute_curve *known);

/* What is known of the size, without `trials` where it is believed; NULL: nothing. */
const struct rue_compute_point *rue_compute_curve_find(const struct rue_compute_curve *curve, int batch_size);

/* The consumer for batches of `batch_size` and shorter ones; of an empty curve 0. */
struct rue_pipeline_consumer rue_compute_curve_at(const struct rue_compute_curve *curve, int batch_size);

/* ---- what a study knows ---- */

struct rue_knowledge_model {
    struct rue_compute_curve curve;        /* of compute-only trials; count 0: there were none */
    struct rue_pipeline_consumer consumer; /* as joint trials told it, the hand-over in it; NaN: not known */
};

struct rue_knowledge {
    struct rue_pipeline_loader loader;
    double covariance[RUE_PIPELINE_PARAMETER_COUNT][RUE_PIPELINE_PARAMETER_COUNT]; /* of the logarithms */
    struct rue_pipeline_consumer hand_over; /* what the consumer's thread takes without a model */
    size_t model_count;
    struct rue_knowledge_model *consumers; /* [2 * model_count] owned */
};

/* What consumes batches, apart by what their time depends on: copying a batch to a GPU is part of it, and
 * quicker from page-locked memory. So each model is two consumers: 2 * m of batches that lie there, as they
 * do where nobody has told it, and 2 * m + 1 of others. */
static inline bool rue_config_pins_memory(const struct rue_config *config)
{
    return config->value[RUE_PIN_MEMORY] != 0;
}

static inline size_t rue_consumer_index(size_t model, const struct rue_config *config)
{
    return 2 * model + !rue_config_pins_memory(config);
}

/* Of so many models, of which nothing is known; `out` is closed by the caller. RUE_MEMORY. */
rue_status rue_knowledge_open(size_t model_count, struct rue_knowledge **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_knowledge_close(struct rue_knowledge *knowledge);

/* The consumer for batches of `batch_size` and shorter ones, the hand-over in it; NaN: not known. */
struct rue_pipeline_consumer rue_knowledge_consumer(const struct rue_knowledge *knowledge, size_t consumer,
                                                    int batch_size);

/* Predicted seconds of a job of `images` on a model; NaN where the model is not known. */
double rue_knowledge_job_s(const struct rue_knowledge *knowledge, size_t model,
                           const struct rue_config *config, uint64_t images);

/* What a strategy starts from. Borrowed for the strategy's life; models and configurations are those of its
 * setup, in their order. */
struct rue_prior {
    const struct rue_knowledge *knowledge;
    double widen_sd;       /* of the logarithm of each of the loader's parameters, beyond the covariance */
    bool same_machine;     /* the study was of this machine, with these data: few probes are made */
    bool whole_jobs;       /* only times of whole jobs were known */
    const double *offsets; /* [models][configs] logarithm of what was found over what `knowledge` predicts; 0
                              where nothing was */
    size_t config;         /* that was recommended; SIZE_MAX: none of the space */
};

#endif
