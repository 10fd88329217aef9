/* What predictions of times may be off by, beside the parameters of the pipeline: a sum of independent
 * Gaussian fields. A field has a value for each of its groups of cells, model × configuration, and a time is
 * off by amplitude * value. The covariance of two groups is a product over axes (the model, the configuration
 * as such, and each knob): an axis may not matter, or tell groups apart altogether, or fall off smoothly
 * (Matern 3/2) with the distance in doublings of the knob. So fields over grids are products, too, and are
 * drawn one axis after the other.
 *
 * The pipeline does not know knobs that a runner declares. Each of their words is a stratum: `declared` has
 * an error of its own for it, and fields that tell words of rue's own apart tell it apart, too. Along counts
 * and numbers both fall off smoothly. */
#ifndef RUE_RANDOM_FIELDS_H
#define RUE_RANDOM_FIELDS_H

#include "config.h"
#include "error.h"

/* X(name, scale, standard deviation, amplitude, then the axes: model, configuration, and rue's own knobs in
 * their order). Scales are unknown themselves and apply to all fields that have the same. */
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
#define X(name, ...) RUE_FIELD_##name,
    RUE_RANDOM_FIELDS(X)
#undef X
        RUE_FIELD_COUNT
};

enum rue_field_scale { RUE_SCALE_FIXED, RUE_SCALE_MODEL, RUE_SCALE_SMOOTH, RUE_SCALE_CELL, RUE_SCALE_COUNT };

/* What a field's values are multiplied by: 1, or the share of the time that loading has, or the first batch,
 * or computing. */
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

/* `configs` is borrowed for the call. RUE_MEMORY. */
rue_status rue_random_fields_open(size_t model_count, const struct rue_config *configs, size_t config_count,
                                  struct rue_random_fields **out, rue_error *error) RUE_MUST_CHECK;
void rue_random_fields_close(struct rue_random_fields *fields);

/* Adds to `out` [RUE_SCALE_COUNT] the covariance of what two times are off by, for scales of 1. */
void rue_random_fields_covariance(const struct rue_random_fields *fields, const struct rue_field_site *one,
                                  const struct rue_field_site *other, double out[RUE_SCALE_COUNT]);

/* The values of all groups of all fields. */
size_t rue_random_fields_size(const struct rue_random_fields *fields);

/* A draw of them into `out` [size]. */
void rue_random_fields_sample(const struct rue_random_fields *fields, const double scales[RUE_SCALE_COUNT],
                              uint64_t *seed, double *out);

/* Adds a time with that weight to a weighted sum of times, which `values` [size] are the values of. */
void rue_random_fields_accumulate(const struct rue_random_fields *fields, const struct rue_field_site *place,
                                  double weight, double *values);

/* Such a sum becomes the covariances of all values with it, in its place. One call at a time. */
void rue_random_fields_covary(const struct rue_random_fields *fields, const double scales[RUE_SCALE_COUNT],
                              double *values);

/* What a time is off by where the values are these. */
double rue_random_fields_evaluate(const struct rue_random_fields *fields, const double *values,
                                  const struct rue_field_site *place);

#endif
