/* How long a model computes on a batch, by the batch sizes at which it was measured: straight lines between
 * them, and on beyond the outermost. */
#ifndef RUE_COMPUTE_CURVE_H
#define RUE_COMPUTE_CURVE_H

#include <stdbool.h>
#include <stddef.h>

#include "pipeline.h"

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

/* Takes the sizes of `known` that were not measured, which are believed then, and its CPUs without a trial.
 */
void rue_compute_curve_believe(struct rue_compute_curve *curve, const struct rue_compute_curve *known);

/* What is known of the size, without `trials` where it is believed; NULL: nothing. */
const struct rue_compute_point *rue_compute_curve_find(const struct rue_compute_curve *curve, int batch_size);

/* The consumer for batches of `batch_size` and shorter ones; of an empty curve 0. */
struct rue_pipeline_consumer rue_compute_curve_at(const struct rue_compute_curve *curve, int batch_size);

#endif
