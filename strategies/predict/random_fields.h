/* The prior of prediction errors that the pipeline's parameters do not explain: a sum of independent Gaussian
 * random fields over the cells, model × configuration. The error of a log time is the sum of amplitude *
 * value. The covariance of a field is a product over axes (the model, the configuration, each knob). Along an
 * axis, values are identical, independent, or have a Matern 3/2 kernel in doublings of the knob. Because of
 * the product, fields are sampled axis by axis.
 *
 * The pipeline ignores knobs that a runner declares. Their words have independent errors in the field
 * `declared`, and in each field where words of rue's own knobs have them. Their counts and numbers have a
 * Matern kernel. */
#ifndef RUE_RANDOM_FIELDS_H
#define RUE_RANDOM_FIELDS_H

#include "config.h"
#include "error.h"

/* X(name, scale, standard deviation, amplitude, then the length of each axis: model, configuration, rue's own
 * knobs in order; ANY: identical, SAME: independent). Fields of the same scale share its hyperparameter. */
#define RUE_RANDOM_FIELDS(X)                                                     \
    X(everything, FIXED, 0.2, ONE, ANY, ANY, ANY, ANY, ANY, ANY, ANY)            \
    X(model, MODEL, 0.007, ONE, SAME, ANY, ANY, ANY, ANY, ANY, ANY)              \
    X(model_and_batch, MODEL, 0.007, ONE, SAME, ANY, 2.4, ANY, ANY, ANY, 1.2)    \
    X(smooth, SMOOTH, 0.01, ONE, ANY, ANY, 2.4, 2.4, 1.2, SAME, 1.2)             \
    X(loading, SMOOTH, 0.05, LOAD, ANY, ANY, 5, 2, 1.2, SAME, 1.2)               \
    X(start, SMOOTH, 0.021, FIRST, ANY, ANY, 2.4, 2.4, 1.2, SAME, 1.2)           \
    X(start_of_config, SMOOTH, 0.021, FIRST, ANY, SAME, ANY, ANY, ANY, ANY, ANY) \
    X(config, CELL, 0.005, ONE, ANY, SAME, ANY, ANY, ANY, ANY, ANY)              \
    X(compute, CELL, 0.015, COMPUTE, SAME, ANY, SAME, ANY, ANY, ANY, SAME)       \
    X(cell, CELL, 0.01, ONE, SAME, SAME, ANY, ANY, ANY, ANY, ANY)                \
    X(declared, FIXED, 0.3, ONE, ANY, ANY, ANY, ANY, ANY, ANY, ANY)

enum rue_random_field {
#define X(name, ...) RUE_RANDOM_FIELD_##name,
    RUE_RANDOM_FIELDS(X)
#undef X
        RUE_RANDOM_FIELD_COUNT
};

enum rue_field_scale { RUE_SCALE_FIXED, RUE_SCALE_MODEL, RUE_SCALE_SMOOTH, RUE_SCALE_CELL, RUE_SCALE_COUNT };

/* The factor of a field's values: 1, or the share of the time that loading, the first batch or computing
 * needs. */
enum rue_field_amplitude {
    RUE_AMPLITUDE_ONE,
    RUE_AMPLITUDE_LOAD,
    RUE_AMPLITUDE_FIRST,
    RUE_AMPLITUDE_COMPUTE,
    RUE_AMPLITUDE_COUNT
};

struct rue_field_site {
    size_t model, config;
    double amplitude[RUE_AMPLITUDE_COUNT];
};

struct rue_random_fields;

/* Borrows `configs` for the call. RUE_MEMORY. */
rue_status rue_random_fields_open(size_t model_count, const struct rue_config *configs, size_t config_count,
                                  struct rue_random_fields **out, rue_error *error) RUE_MUST_CHECK;
void rue_random_fields_close(struct rue_random_fields *fields);

/* Adds the covariance of two errors, for scales of 1, to `out` [RUE_SCALE_COUNT]. */
void rue_random_fields_covariance(const struct rue_random_fields *fields, const struct rue_field_site *one,
                                  const struct rue_field_site *other, double out[RUE_SCALE_COUNT]);

/* The number of values of all fields. */
size_t rue_random_fields_size(const struct rue_random_fields *fields);

/* Samples all values from the prior into `out` [size]. */
void rue_random_fields_sample(const struct rue_random_fields *fields, const double scales[RUE_SCALE_COUNT],
                              uint64_t *seed, double *out);

/* Adds weight * the error of a site to a linear combination of errors, whose coefficients are `values`
 * [size]. */
void rue_random_fields_accumulate(const struct rue_random_fields *fields, const struct rue_field_site *site,
                                  double weight, double *values);

/* Replaces the coefficients of a linear combination by the covariances of all values with it. Not
 * thread-safe. */
void rue_random_fields_covary(const struct rue_random_fields *fields, const double scales[RUE_SCALE_COUNT],
                              double *values);

/* The error of a site for these values. */
double rue_random_fields_evaluate(const struct rue_random_fields *fields, const double *values,
                                  const struct rue_field_site *site);

#endif
