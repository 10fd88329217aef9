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
    OWN_AXES = AXIS_KNOBS + RUE_OWN_KNOB_COUNT,
    AXES = AXIS_KNOBS + RUE_KNOBS_MAX
};

/* Lengths of an axis that are none. */
#define ANY  INFINITY
#define SAME 0.0

static const double declared_length = 1; /* a doubling of a count, or all values of a number */

static const struct {
    enum rue_field_scale scale;
    double sd;
    enum rue_field_amplitude amplitude;
    double length[OWN_AXES];
} table[RUE_FIELD_COUNT] = {
#define X(name, scale, sd, amplitude, ...) {RUE_SCALE_##scale, sd, RUE_AMPLITUDE_##amplitude, {__VA_ARGS__}},
    RUE_RANDOM_FIELDS(X)
#undef X
};

/* One axis of one field. */
struct axis {
    size_t count;      /* of its values that are told apart; 1: it does not matter */
    size_t *of_config; /* [configs] which of them each has; of a knob that matters */
    double *kernel;    /* [count][count], and L with L L' = kernel; NULL: values have nothing in common */
    double *root;
    double *line; /* [count] values along it, for the time of a call */
};

struct field {
    struct axis axes[AXES];
    size_t size, start;  /* of its values among those of all fields; size 0: it does not matter */
    size_t *of_config;   /* [configs] the group, but for the model */
    size_t model_stride; /* 0: models are not told apart */
};

struct rue_random_fields {
    size_t size;
    struct field fields[RUE_FIELD_COUNT];
};

/* ---- axes ---- */

/* Of the axis `a` of a field. */
static double length_of(int f, size_t a, const struct rue_knobs *knobs)
{
    if (a < OWN_AXES) return table[f].length[a];
    if (a >= AXIS_KNOBS + knobs->count) return ANY;
    bool matters = f == RUE_FIELD_declared;
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++)
        matters |= knobs->at[k]->kind == RUE_KIND_CATEGORY && table[f].length[AXIS_KNOBS + k] == SAME;
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

static bool make_smooth(struct axis *axis, const struct rue_knob_info *knob, const int *values, double length)
{
    size_t count = axis->count;
    axis->kernel = calloc((2 * count + 1) * count, sizeof *axis->kernel);
    if (!axis->kernel) return false;
    axis->root = axis->kernel + count * count;
    axis->line = axis->root + count * count;
    for (size_t i = 0; i < count * count; i++)
        axis->kernel[i] = matern(
            (knob_position(knob, values[i / count]) - knob_position(knob, values[i % count])) / length);
    for (size_t i = 0; i < count * count; i++) /* a little more, so that it has a root */
        axis->root[i] = axis->kernel[i] + (i % (count + 1) == 0 ? 1e-6 : 0);
    gsl_matrix_view root = gsl_matrix_view_array(axis->root, count, count);
    return gsl_linalg_cholesky_decomp1(&root.matrix) == GSL_SUCCESS;
}

/* The different values of a knob in the order of their appearance; how many. `index` [configs] which of them
 * each configuration has. */
static size_t list_values(const struct rue_config *configs, size_t count, size_t knob, int *values,
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

/* ---- fields ---- */

/* The axes of the knobs, and where the configurations lie on them. */
static bool make_field(struct field *field, int f, size_t models, const struct rue_config *configs,
                       size_t config_count, int *values)
{
    const struct rue_knobs *knobs = rue_config_knobs(&configs[0]);
    field->of_config = calloc(config_count, sizeof *field->of_config);
    if (!field->of_config) return false;
    field->size = 1;
    for (size_t a = AXES; a-- > 0;) {
        struct axis *axis = &field->axes[a];
        double length = length_of(f, a, knobs);
        axis->count = 1;
        if (isinf(length)) continue;
        if (a == AXIS_MODEL) {
            field->model_stride = field->size;
            axis->count = models;
        } else if (a == AXIS_CONFIG) {
            for (size_t c = 0; c < config_count; c++) field->of_config[c] += field->size * c;
            axis->count = config_count;
        } else {
            axis->of_config = calloc(config_count, sizeof *axis->of_config);
            if (!axis->of_config) return false;
            axis->count = list_values(configs, config_count, a - AXIS_KNOBS, values, axis->of_config);
            for (size_t c = 0; c < config_count; c++) field->of_config[c] += field->size * axis->of_config[c];
            if (length > 0 && !make_smooth(axis, knobs->at[a - AXIS_KNOBS], values, length)) return false;
        }
        field->size *= axis->count;
    }
    if (f == RUE_FIELD_declared && field->size == 1) field->size = 0;
    return true;
}

rue_status rue_random_fields_open(size_t model_count, const struct rue_config *configs, size_t config_count,
                                  struct rue_random_fields **out, rue_error *error)
{
    struct rue_random_fields *fields = calloc(1, sizeof *fields);
    int *values = calloc(config_count, sizeof *values);
    bool made = fields && values;
    for (int f = 0; made && f < RUE_FIELD_COUNT; f++) {
        struct field *field = &fields->fields[f];
        made = make_field(field, f, model_count, configs, config_count, values);
        field->start = fields->size;
        fields->size += field->size;
    }
    free(values);
    if (!made) {
        rue_random_fields_close(fields);
        return rue_fail_memory(error, "beliefs", model_count * config_count * sizeof(double));
    }
    *out = fields;
    return RUE_OK;
}

void rue_random_fields_close(struct rue_random_fields *fields)
{
    if (!fields) return;
    for (int f = 0; f < RUE_FIELD_COUNT; f++) {
        free(fields->fields[f].of_config);
        for (int a = 0; a < AXES; a++) {
            free(fields->fields[f].axes[a].of_config);
            free(fields->fields[f].axes[a].kernel);
        }
    }
    free(fields);
}

size_t rue_random_fields_size(const struct rue_random_fields *fields)
{
    return fields->size;
}

static size_t field_group(const struct field *field, const struct rue_field_site *place)
{
    return field->model_stride * place->model + field->of_config[place->config];
}

/* Of the groups of two cells. */
static double group_correlation(const struct field *field, const struct rue_field_site *one,
                                const struct rue_field_site *other)
{
    double product = 1;
    if (field->model_stride && one->model != other->model) return 0;
    if (field->axes[AXIS_CONFIG].count > 1 && one->config != other->config) return 0;
    for (int a = AXIS_KNOBS; a < AXES; a++) {
        const struct axis *axis = &field->axes[a];
        if (axis->count == 1) continue;
        size_t i = axis->of_config[one->config], j = axis->of_config[other->config];
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
    for (int f = 0; f < RUE_FIELD_COUNT; f++) {
        const struct field *field = &fields->fields[f];
        double amplitudes = one->amplitude[table[f].amplitude] * other->amplitude[table[f].amplitude];
        if (amplitudes != 0 && field->size > 0)
            out[table[f].scale] +=
                table[f].sd * table[f].sd * amplitudes * group_correlation(field, one, other);
    }
}

/* ---- values ---- */

/* Multiplies `values` along an axis by its kernel, or its root. */
static void multiply_axis(const struct axis *axis, bool root, size_t stride, size_t size, double *values)
{
    size_t count = axis->count;
    double *line = axis->line;
    const double *matrix = root ? axis->root : axis->kernel;
    for (size_t at = 0; at < size; at++) {
        if (at / stride % count != 0) continue;
        for (size_t i = 0; i < count; i++) {
            line[i] = 0;
            for (size_t j = 0; j < (root ? i + 1 : count); j++)
                line[i] += matrix[i * count + j] * values[at + j * stride];
        }
        for (size_t i = 0; i < count; i++) values[at + i * stride] = line[i];
    }
}

static void multiply_all(const struct field *field, bool root, double *values)
{
    size_t stride = 1;
    for (int a = AXES - 1; a >= 0; a--) {
        const struct axis *axis = &field->axes[a];
        if (axis->kernel) multiply_axis(axis, root, stride, field->size, values);
        stride *= axis->count;
    }
}

void rue_random_fields_sample(const struct rue_random_fields *fields, const double scales[RUE_SCALE_COUNT],
                              uint64_t *seed, double *out)
{
    for (int f = 0; f < RUE_FIELD_COUNT; f++) {
        const struct field *field = &fields->fields[f];
        double *values = out + field->start, sd = scales[table[f].scale] * table[f].sd;
        rue_random_normals(seed, values, field->size);
        for (size_t i = 0; i < field->size; i++) values[i] *= sd;
        multiply_all(field, true, values);
    }
}

void rue_random_fields_accumulate(const struct rue_random_fields *fields, const struct rue_field_site *place,
                                  double weight, double *values)
{
    for (int f = 0; f < RUE_FIELD_COUNT; f++) {
        const struct field *field = &fields->fields[f];
        if (field->size > 0)
            values[field->start + field_group(field, place)] += weight * place->amplitude[table[f].amplitude];
    }
}

void rue_random_fields_covary(const struct rue_random_fields *fields, const double scales[RUE_SCALE_COUNT],
                              double *values)
{
    for (int f = 0; f < RUE_FIELD_COUNT; f++) {
        const struct field *field = &fields->fields[f];
        double *own = values + field->start, sd = scales[table[f].scale] * table[f].sd;
        for (size_t i = 0; i < field->size; i++) own[i] *= sd * sd;
        multiply_all(field, false, own);
    }
}

double rue_random_fields_evaluate(const struct rue_random_fields *fields, const double *values,
                                  const struct rue_field_site *place)
{
    double sum = 0;
    for (int f = 0; f < RUE_FIELD_COUNT; f++) {
        const struct field *field = &fields->fields[f];
        if (field->size > 0)
            sum += place->amplitude[table[f].amplitude] * values[field->start + field_group(field, place)];
    }
    return sum;
}
