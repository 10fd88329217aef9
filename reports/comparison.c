#include "comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t find_model(const struct rue_cost_matrix *matrix, const char *name)
{
    for (size_t m = 0; m < matrix->model_count; m++)
        if (strcmp(matrix->models[m], name) == 0) return m;
    return RUE_NONE;
}

static bool is_possible(const struct rue_variant_findings *raw,
                        const struct rue_variant_findings *preprocessed)
{
    if (raw->variant.mode != RUE_RAW || preprocessed->variant.mode != RUE_PREPROCESSED) return false;
    if (!rue_findings_mode_is_known(raw) || !rue_findings_mode_is_known(preprocessed)) return false;
    if (raw->selection->recommended == RUE_NONE || preprocessed->selection->recommended == RUE_NONE)
        return false;
    if ((raw->job.images == 0) != (preprocessed->job.images == 0)) return false;
    if (raw->goal != RUE_GOAL_TIME || preprocessed->goal != RUE_GOAL_TIME) return false;
    for (size_t m = 0; m < raw->matrix->model_count; m++)
        if (find_model(preprocessed->matrix, raw->matrix->models[m]) != RUE_NONE) return true;
    return false;
}

static double winner_ns(const struct rue_variant_findings *variant, size_t model)
{
    return rue_cost_matrix_cell(variant->matrix, model, variant->selection->recommended)->median_ns;
}

static int compare_rows(const void *left, const void *right)
{
    const struct rue_comparison_row *a = left, *b = right;
    return strcmp(a->model, b->model);
}

static void fill(struct rue_comparison *comparison)
{
    const struct rue_variant_findings *raw = comparison->raw, *preprocessed = comparison->preprocessed;
    double raw_images = raw->job.images ? (double)raw->job.images : 1,
           preprocessed_images = raw->job.images ? (double)preprocessed->job.images : 1;
    double logarithms = 0, saved_ns = 0;
    for (size_t m = 0; m < raw->matrix->model_count; m++) {
        const char *model = raw->matrix->models[m];
        size_t other = find_model(preprocessed->matrix, model);
        if (other == RUE_NONE) continue;
        struct rue_comparison_row row = {
            .model = model, .raw_ns = winner_ns(raw, m), .preprocessed_ns = winner_ns(preprocessed, other)};
        double raw_image_ns = row.raw_ns / raw_images;
        double preprocessed_image_ns = row.preprocessed_ns / preprocessed_images;
        row.speedup_ratio = raw_image_ns / preprocessed_image_ns;
        logarithms += log(row.speedup_ratio);
        saved_ns += raw_image_ns - preprocessed_image_ns;
        comparison->rows[comparison->row_count++] = row;
    }
    qsort(comparison->rows, comparison->row_count, sizeof *comparison->rows, compare_rows);
    comparison->mean_speedup_ratio = exp(logarithms / (double)comparison->row_count);
    comparison->saved_ns_per_image = raw->job.images ? saved_ns / (double)comparison->row_count : NAN;
}

/* With the lower confidence of the two regrets. `pairs` has room for a row of each. */
static struct rue_saving_interval find_interval(const struct rue_variant_findings *raw,
                                                const struct rue_variant_findings *preprocessed,
                                                size_t (*pairs)[2])
{
    const struct rue_saving_side before = {raw->matrix, raw->selection->recommended,
                                           1 / (double)raw->job.images};
    const struct rue_saving_side after = {preprocessed->matrix, preprocessed->selection->recommended,
                                          1 / (double)preprocessed->job.images};
    size_t count = 0;
    for (size_t m = 0; m < raw->matrix->model_count; m++) {
        size_t other = find_model(preprocessed->matrix, raw->matrix->models[m]);
        if (other == RUE_NONE) continue;
        pairs[count][0] = m;
        pairs[count++][1] = other;
    }
    return rue_saving_interval_find(&before, &after, pairs, count,
                                    fmin(raw->interval.confidence, preprocessed->interval.confidence));
}

static rue_status open_pair(const struct rue_variant_findings *raw,
                            const struct rue_variant_findings *preprocessed, struct rue_comparison **out,
                            rue_error *error)
{
    size_t models = raw->matrix->model_count;
    struct rue_comparison *comparison = calloc(1, sizeof *comparison);
    struct rue_comparison_row *rows = calloc(models + 1, sizeof *rows);
    size_t(*pairs)[2] = calloc(models + 1, sizeof *pairs);
    if (!comparison || !rows || !pairs) {
        free(pairs);
        free(rows);
        free(comparison);
        return rue_fail_memory(error, "the comparison of raw and preprocessed data", models * sizeof *rows);
    }
    *comparison = (struct rue_comparison){.raw = raw, .preprocessed = preprocessed, .rows = rows};
    fill(comparison);
    if (raw->job.images) comparison->saved = find_interval(raw, preprocessed, pairs);
    free(pairs);
    *out = comparison;
    return RUE_OK;
}

rue_status rue_comparison_next(const struct rue_findings *findings, struct rue_comparison_walk *walk,
                               struct rue_comparison **out, rue_error *error)
{
    *out = NULL;
    while (walk->raw < findings->variant_count) {
        const struct rue_variant_findings *raw = &findings->variants[walk->raw],
                                          *preprocessed = &findings->variants[walk->preprocessed];
        if (++walk->preprocessed == findings->variant_count) walk->raw++, walk->preprocessed = 0;
        if (is_possible(raw, preprocessed)) return open_pair(raw, preprocessed, out, error);
    }
    return RUE_OK;
}

void rue_comparison_close(struct rue_comparison *comparison)
{
    if (!comparison) return;
    free(comparison->rows);
    free(comparison);
}
