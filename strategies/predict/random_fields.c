#include "random_fields.h"

#include <gsl/gsl_errno.h>
#include <gsl/gsl_linalg.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"

enum {
    AXIS_MODEL,
    AXIS_CONFIG,
    AXIS_KNOBS,
    TABLE_AXES = AXIS_KNOBS + RUE_OWN_KNOB_COUNT,
    AXES = AXIS_KNOBS + RUE_KNOBS_MAX
};

/* Axis lengths without a kernel. */
#define ANY  INFINITY
#define SAME 0.0

static const double declared_length = 1; /* a doubling of a count, or the whole range of a number */

static const struct {
    enum rue_field_scale scale;
    double sd;
    enum rue_field_amplitude amplitude;
    double length[TABLE_AXES];
} field_table[RUE_RANDOM_FIELD_COUNT] = {
#define X(name, scale, sd, amplitude, ...) {RUE_SCALE_##scale, sd, RUE_AMPLITUDE_##amplitude, {__VA_ARGS__}},
    RUE_RANDOM_FIELDS(X)
#undef X
};

/* One axis of one field. */
struct axis {
    size_t count;         /* distinct values; 1: all are identical */
    size_t *config_index; /* [configs] the value's index, for an axis of a knob with several values */
    double *kernel;       /* [count][count], and its Cholesky factor; NULL: independent */
    double *cholesky;
    double *scratch; /* [count] scratch */
};

struct field {
    struct axis axes[AXES];
    size_t size, start;   /* number of values, and where they start; size 0: unused */
    size_t *config_index; /* [configs] index of the value, for model 0 */
    size_t model_stride;  /* 0: the same values for all models */
};

struct rue_random_fields {
    size_t size;
    struct field fields[RUE_RANDOM_FIELD_COUNT];
};

/* The length of axis `a` of field `f`. */
static double axis_length(int f, size_t a, const struct rue_knobs *knobs)
{
    if (a < TABLE_AXES) return field_table[f].length[a];
    if (a >= AXIS_KNOBS + knobs->count) return ANY;
    bool matters = f == RUE_RANDOM_FIELD_declared;
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++)
        matters |= knobs->at[k]->kind == RUE_KIND_CATEGORY && field_table[f].length[AXIS_KNOBS + k] == SAME;
    if (!matters) return ANY;
    enum rue_knob_kind kind = knobs->at[a - AXIS_KNOBS]->kind;
    return kind == RUE_KIND_CATEGORY || kind == RUE_KIND_FLAG ? SAME : declared_length;
}

static double knob_position(const struct rue_knob_info *knob, int value)
{
    return knob->kind == RUE_KIND_FLAG ? value : rue_knob_position(knob, value);
}

static double matern(double distance)
{
    double d = sqrt(3) * fabs(distance);
    return (1 + d) * exp(-d);
}

static bool fill_kernel(struct axis *axis, const struct rue_knob_info *knob, const int *values, double length)
{
    size_t count = axis->count;
    axis->kernel = calloc((2 * count + 1) * count, sizeof *axis->kernel);
    if (!axis->kernel) return false;
    axis->cholesky = axis->kernel + count * count;
    axis->scratch = axis->cholesky + count * count;
    for (size_t i = 0; i < count * count; i++)
        axis->kernel[i] = matern(
            (knob_position(knob, values[i / count]) - knob_position(knob, values[i % count])) / length);
    for (size_t i = 0; i < count * count; i++) /* jitter on the diagonal keeps the matrix positive definite */
        axis->cholesky[i] = axis->kernel[i] + (i % (count + 1) == 0 ? 1e-6 : 0);
    gsl_matrix_view cholesky = gsl_matrix_view_array(axis->cholesky, count, count);
    return gsl_linalg_cholesky_decomp1(&cholesky.matrix) == GSL_SUCCESS;
}

/* Lists the distinct values of a knob in order of appearance, and returns how many. `index` [configs]: that
 * of each configuration's value. */
static size_t index_values(const struct rue_config *configs, size_t count, size_t knob, int *values,
                           size_t *index)
{
    size_t found = 0;
    for (size_t c = 0; c < count; c++) {
        size_t v = 0;
        while (v < found && values[v] != configs[c].value[knob]) v++;
        if (v == found) values[found++] = configs[c].value[knob];
        index[c] = v;
    }
    return found;
}

/* Sets up the axes, and the index of each configuration's value. */
static bool open_field(struct field *field, int f, size_t models, const struct rue_config *configs,
                       size_t config_count, int *values)
{
    const struct rue_knobs *knobs = rue_config_knobs(&configs[0]);
    field->config_index = calloc(config_count, sizeof *field->config_index);
    if (!field->config_index) return false;
    field->size = 1;
    for (size_t a = AXES; a-- > 0;) {
        struct axis *axis = &field->axes[a];
        double length = axis_length(f, a, knobs);
        axis->count = 1;
        if (isinf(length)) continue;
        if (a == AXIS_MODEL) {
            field->model_stride = field->size;
            axis->count = models;
        } else if (a == AXIS_CONFIG) {
            for (size_t c = 0; c < config_count; c++) field->config_index[c] += field->size * c;
            axis->count = config_count;
        } else {
            axis->config_index = calloc(config_count, sizeof *axis->config_index);
            if (!axis->config_index) return false;
            axis->count = index_values(configs, config_count, a - AXIS_KNOBS, values, axis->config_index);
            for (size_t c = 0; c < config_count; c++)
                field->config_index[c] += field->size * axis->config_index[c];
            if (length > 0 && !fill_kernel(axis, knobs->at[a - AXIS_KNOBS], values, length)) return false;
        }
        field->size *= axis->count;
    }
    if (f == RUE_RANDOM_FIELD_declared && field->size == 1) field->size = 0;
    return true;
}

rue_status rue_random_fields_open(size_t model_count, const struct rue_config *configs, size_t config_count,
                                  struct rue_random_fields **out, rue_error *error)
{
    struct rue_random_fields *fields = calloc(1, sizeof *fields);
    int *values = calloc(config_count, sizeof *values);
    bool opened = fields && values;
    for (int f = 0; opened && f < RUE_RANDOM_FIELD_COUNT; f++) {
        struct field *field = &fields->fields[f];
        opened = open_field(field, f, model_count, configs, config_count, values);
        field->start = fields->size;
        fields->size += field->size;
    }
    free(values);
    if (!opened) {
        rue_random_fields_close(fields);
        return rue_fail_memory(error, "random fields", model_count * config_count * sizeof(double));
    }
    *out = fields;
    return RUE_OK;
}

void rue_random_fields_close(struct rue_random_fields *fields)
{
    if (!fields) return;
    for (int f = 0; f < RUE_RANDOM_FIELD_COUNT; f++) {
        free(fields->fields[f].config_index);
        for (int a = 0; a < AXES; a++) {
            free(fields->fields[f].axes[a].config_index);
            free(fields->fields[f].axes[a].kernel);
        }
    }
    free(fields);
}

size_t rue_random_fields_size(const struct rue_random_fields *fields)
{
    return fields->size;
}

static size_t field_group(const struct field *field, const struct rue_field_site *site)
{
    return field->model_stride * site->model + field->config_index[site->config];
}

/* The product of the axes' correlations for two sites. */
static double group_correlation(const struct field *field, const struct rue_field_site *one,
                                const struct rue_field_site *other)
{
    double product = 1;
    if (field->model_stride && one->model != other->model) return 0;
    if (field->axes[AXIS_CONFIG].count > 1 && one->config != other->config) return 0;
    for (int a = AXIS_KNOBS; a < AXES; a++) {
        const struct axis *axis = &field->axes[a];
        if (axis->count == 1) continue;
        size_t i = axis->config_index[one->config], j = axis->config_index[other->config];
        if (axis->kernel)
            product *= axis->kernel[i * axis->count + j];
        else if (i != j)
            return 0;
    }
    return product;
}

void rue_random_fields_covariance(const struct rue_random_fields *fields, const struct rue_field_site *one,
                                  const struct rue_field_site *other, double out[RUE_SCALE_COUNT])
{
    for (int f = 0; f < RUE_RANDOM_FIELD_COUNT; f++) {
        const struct field *field = &fields->fields[f];
        double amplitudes =
            one->amplitude[field_table[f].amplitude] * other->amplitude[field_table[f].amplitude];
        if (amplitudes != 0 && field->size > 0)
            out[field_table[f].scale] +=
                field_table[f].sd * field_table[f].sd * amplitudes * group_correlation(field, one, other);
    }
}

/* Multiplies `values` along an axis by its kernel, or by the kernel's Cholesky factor. */
static void multiply_axis(const struct axis *axis, bool cholesky, size_t stride, size_t size, double *values)
{
    size_t count = axis->count;
    double *scratch = axis->scratch;
    const double *matrix = cholesky ? axis->cholesky : axis->kernel;
    for (size_t at = 0; at < size; at++) {
        if (at / stride % count != 0) continue;
        for (size_t i = 0; i < count; i++) {
            scratch[i] = 0;
            for (size_t j = 0; j < (cholesky ? i + 1 : count); j++)
                scratch[i] += matrix[i * count + j] * values[at + j * stride];
        }
        for (size_t i = 0; i < count; i++) values[at + i * stride] = scratch[i];
    }
}

static void multiply_axes(const struct field *field, bool cholesky, double *values)
{
    size_t stride = 1;
    for (int a = AXES - 1; a >= 0; a--) {
        const struct axis *axis = &field->axes[a];
        if (axis->kernel) multiply_axis(axis, cholesky, stride, field->size, values);
        stride *= axis->count;
    }
}

void rue_random_fields_sample(const struct rue_random_fields *fields, const double scales[RUE_SCALE_COUNT],
                              uint64_t *seed, double *out)
{
    for (int f = 0; f < RUE_RANDOM_FIELD_COUNT; f++) {
        const struct field *field = &fields->fields[f];
        double *values = out + field->start, sd = scales[field_table[f].scale] * field_table[f].sd;
        rue_random_normals(seed, values, field->size);
        for (size_t i = 0; i < field->size; i++) values[i] *= sd;
        multiply_axes(field, true, values);
    }
}

void rue_random_fields_accumulate(const struct rue_random_fields *fields, const struct rue_field_site *site,
                                  double weight, double *values)
{
    for (int f = 0; f < RUE_RANDOM_FIELD_COUNT; f++) {
        const struct field *field = &fields->fields[f];
        if (field->size > 0)
            values[field->start + field_group(field, site)] +=
                weight * site->amplitude[field_table[f].amplitude];
    }
}

void rue_random_fields_covary(const struct rue_random_fields *fields, const double scales[RUE_SCALE_COUNT],
                              double *values)
{
    for (int f = 0; f < RUE_RANDOM_FIELD_COUNT; f++) {
        const struct field *field = &fields->fields[f];
        double *own = values + field->start, sd = scales[field_table[f].scale] * field_table[f].sd;
        for (size_t i = 0; i < field->size; i++) own[i] *= sd * sd;
        multiply_axes(field, false, own);
    }
}

double rue_random_fields_evaluate(const struct rue_random_fields *fields, const double *values,
                                  const struct rue_field_site *site)
{
    double sum = 0;
    for (int f = 0; f < RUE_RANDOM_FIELD_COUNT; f++) {
        const struct field *field = &fields->fields[f];
        if (field->size > 0)
            sum +=
                site->amplitude[field_table[f].amplitude] * values[field->start + field_group(field, site)];
    }
    return sum;
}
