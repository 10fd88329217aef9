#include "agreement.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model_extras.h"

/* One row of a study's cost matrix. */
struct row {
    const struct rue_cost_matrix *matrix;
    size_t model;
};

static const char *name_of(const struct row *row)
{
    return row->matrix->models[row->model];
}

/* The length of "resnet50" in "resnet50@h100+jitter=5%". */
static size_t plain_length(const char *model)
{
    size_t plain = (size_t)(rue_model_extras(model) - model), device = strcspn(model, "@");
    return device < plain ? device : plain;
}

static bool is_same_model(const struct row *a, const struct row *b)
{
    size_t length = plain_length(name_of(a));
    return length == plain_length(name_of(b)) && strncmp(name_of(a), name_of(b), length) == 0;
}

static double time_of(const struct row *row, size_t config)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(row->matrix, row->model, config);
    return cell->state == RUE_CELL_OK && cell->repeats ? cell->median_ns : 0;
}

/* The time of that configuration; 0 where it was not measured. */
static double time_of_same(const struct row *row, const struct rue_config *config)
{
    for (size_t c = 0; c < row->matrix->config_count; c++)
        if (rue_config_equal(&row->matrix->configs[c], config)) return time_of(row, c);
    return 0;
}

static int sign(double x)
{
    return (x > 0) - (x < 0);
}

/* Kendall's tau-b of the pairs (a[i], b[i]): ties count for neither (Kendall, The treatment of ties in
 * ranking problems, Biometrika 33, 1945). */
static double rank_agreement(const double *a, const double *b, size_t count)
{
    double agreeing = 0, told_a = 0, told_b = 0; /* pairs of pairs: in order less reversed, without ties */
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            int of_a = sign(a[i] - a[j]), of_b = sign(b[i] - b[j]);
            agreeing += of_a * of_b;
            told_a += of_a != 0;
            told_b += of_b != 0;
        }
    return told_a > 0 && told_b > 0 ? agreeing / sqrt(told_a * told_b) : NAN;
}

static rue_status compare(const struct row *a, const struct row *b, struct rue_agreement *out,
                          rue_error *error)
{
    size_t configs = a->matrix->config_count;
    double *times = calloc(configs + 1, 2 * sizeof *times);
    if (!times) return rue_fail_memory(error, "times", configs * 2 * sizeof *times);
    double *mine = times, *theirs = times + configs;
    out->configs = 0;
    for (size_t c = 0; c < configs; c++) {
        double x = time_of(a, c), y = x > 0 ? time_of_same(b, &a->matrix->configs[c]) : 0;
        if (!(x > 0 && y > 0)) continue;
        mine[out->configs] = x;
        theirs[out->configs++] = y;
    }
    out->model = name_of(a);
    out->other = name_of(b);
    out->rank_agreement = rank_agreement(mine, theirs, out->configs);
    free(times);
    return RUE_OK;
}

static rue_status compare_variants(const struct rue_variant_findings *one,
                                   const struct rue_variant_findings *other, struct rue_agreement *out,
                                   size_t most, size_t *count, rue_error *error)
{
    char name[sizeof out->variant], other_name[sizeof out->variant];
    rue_findings_name(one, name, sizeof name);
    rue_findings_name(other, other_name, sizeof other_name);
    if (strcmp(name, other_name) != 0) return RUE_OK;
    struct row a = {.matrix = one->matrix}, b = {.matrix = other->matrix};
    for (a.model = 0; a.model < a.matrix->model_count; a.model++)
        for (b.model = 0; b.model < b.matrix->model_count; b.model++) {
            if (*count == most || !is_same_model(&a, &b)) continue;
            memcpy(out[*count].variant, name, sizeof name);
            rue_status status = compare(&a, &b, &out[*count], error);
            if (status != RUE_OK) return status;
            ++*count;
        }
    return RUE_OK;
}

rue_status rue_agreement_find(const struct rue_findings *one, const struct rue_findings *other,
                              struct rue_agreement *out, size_t most, size_t *count, rue_error *error)
{
    rue_status status = RUE_OK;
    *count = 0;
    for (size_t i = 0; i < one->variant_count; i++)
        for (size_t j = 0; status == RUE_OK && j < other->variant_count; j++)
            status = compare_variants(&one->variants[i], &other->variants[j], out, most, count, error);
    if (status != RUE_OK || *count) return status;
    return rue_fail(
        error, RUE_DATA,
        "the studies %s and %s have no model of the same kind of data in common; tune both for the "
        "same models and data",
        one->study, other->study);
}
