#include "comparison.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double least_gain = 0.05; /* without a proof, smaller gains count as 0 */

static bool is_possible(const struct rue_findings *findings, const struct rue_variant_findings *before,
                        const struct rue_variant_findings *after)
{
    if (rue_findings_withholds_ratios(findings)) return false;
    if (before->selection->recommended == RUE_NONE || after->selection->recommended == RUE_NONE) return false;
    if ((before->job.images == 0) != (after->job.images == 0)) return false;
    if (before->goal != RUE_GOAL_TIME || after->goal != RUE_GOAL_TIME) return false;
    for (size_t m = 0; m < before->matrix->model_count; m++)
        if (rue_cost_matrix_model(after->matrix, before->matrix->models[m]) != RUE_NONE) return true;
    return false;
}

static bool is_preprocessing(const struct rue_variant_findings *before,
                             const struct rue_variant_findings *after)
{
    if (before->variant.mode != RUE_RAW || after->variant.mode != RUE_PREPROCESSED) return false;
    return rue_findings_mode_is_known(before) && rue_findings_mode_is_known(after);
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

/* Uses the lower confidence of the two regrets. */
static struct rue_saving_interval find_interval(const struct rue_comparison *comparison,
                                                const size_t (*pairs)[2], size_t count)
{
    const struct rue_variant_findings *before = comparison->before, *after = comparison->after;
    const struct rue_saving_side first = {before->matrix, before->selection->recommended,
                                          1 / (double)before->job.images};
    const struct rue_saving_side second = {after->matrix, after->selection->recommended,
                                           1 / (double)after->job.images};
    if (!before->job.images) return (struct rue_saving_interval){0};
    return rue_saving_interval_find(&first, &second, pairs, count,
                                    fmin(before->interval.confidence, after->interval.confidence));
}

static struct rue_comparison_row make_row(const struct rue_comparison *comparison, const size_t pair[2])
{
    const struct rue_variant_findings *before = comparison->before, *after = comparison->after;
    double before_images = before->job.images ? (double)before->job.images : 1,
           after_images = before->job.images ? (double)after->job.images : 1;
    struct rue_comparison_row row = {.model = before->matrix->models[pair[0]],
                                     .before_ns = winner_ns(before, pair[0]),
                                     .after_ns = winner_ns(after, pair[1])};
    double before_ns = row.before_ns / before_images, after_ns = row.after_ns / after_images;
    row.speedup_ratio = before_ns / after_ns;
    row.saving = (struct rue_saving){before->job.images ? before_ns - after_ns : NAN,
                                     find_interval(comparison, (const size_t(*)[2])pair, 1)};
    return row;
}

static void fill_rows(struct rue_comparison *comparison, size_t (*pairs)[2])
{
    const struct rue_cost_matrix *before = comparison->before->matrix, *after = comparison->after->matrix;
    double logarithms = 0, saved_ns = 0;
    for (size_t m = 0; m < before->model_count; m++) {
        size_t *pair = pairs[comparison->row_count];
        pair[0] = m;
        pair[1] = rue_cost_matrix_model(after, before->models[m]);
        if (pair[1] == RUE_NONE) continue;
        const struct rue_comparison_row row = make_row(comparison, pair);
        logarithms += log(row.speedup_ratio);
        saved_ns += row.saving.ns_per_image;
        comparison->rows[comparison->row_count++] = row;
    }
    size_t count = comparison->row_count;
    qsort(comparison->rows, count, sizeof *comparison->rows, compare_rows);
    comparison->mean_speedup_ratio = exp(logarithms / (double)count);
    comparison->saving = (struct rue_saving){saved_ns / (double)count,
                                             find_interval(comparison, (const size_t(*)[2])pairs, count)};
}

rue_status rue_comparison_open(const struct rue_findings *findings, const struct rue_variant_findings *before,
                               const struct rue_variant_findings *after, struct rue_comparison **out,
                               rue_error *error)
{
    *out = NULL;
    if (!is_possible(findings, before, after)) return RUE_OK;
    size_t models = before->matrix->model_count;
    struct rue_comparison *comparison = calloc(1, sizeof *comparison);
    struct rue_comparison_row *rows = calloc(models + 1, sizeof *rows);
    size_t(*pairs)[2] = calloc(models + 1, sizeof *pairs);
    if (!comparison || !rows || !pairs) {
        free(pairs);
        free(rows);
        free(comparison);
        return rue_fail_memory(error, "the comparison of two variants", models * sizeof *rows);
    }
    *comparison = (struct rue_comparison){.before = before, .after = after, .rows = rows};
    fill_rows(comparison, pairs);
    free(pairs);
    *out = comparison;
    return RUE_OK;
}

rue_status rue_comparison_next(const struct rue_findings *findings, struct rue_comparison_walk *walk,
                               struct rue_comparison **out, rue_error *error)
{
    rue_status status = RUE_OK;
    *out = NULL;
    if (rue_findings_compares_ranks(findings)) return RUE_OK;
    while (status == RUE_OK && !*out && walk->before < findings->variant_count) {
        const struct rue_variant_findings *before = &findings->variants[walk->before],
                                          *after = &findings->variants[walk->after];
        if (++walk->after == findings->variant_count) walk->before++, walk->after = 0;
        if (is_preprocessing(before, after))
            status = rue_comparison_open(findings, before, after, out, error);
    }
    return status;
}

void rue_comparison_close(struct rue_comparison *comparison)
{
    if (!comparison) return;
    free(comparison->rows);
    free(comparison);
}

static double times_until(double build_ns, double saved_ns)
{
    return saved_ns > 0 ? build_ns / saved_ns : INFINITY;
}

struct rue_payback rue_comparison_payback(const struct rue_comparison *comparison,
                                          const struct rue_saving *saving, double speedup_ratio)
{
    /* All data are converted once; each rank saves the time of its share. */
    double build_ns =
        comparison->after->data.build_s_per_image * 1e9 * rue_findings_ranks(comparison->before);
    if (isnan(saving->ns_per_image) || !(build_ns > 0)) return (struct rue_payback){.epochs = NAN};
    bool proven = saving->interval.confidence > 0 && saving->interval.low_ns > 0;
    double saved_ns = proven || speedup_ratio * (1 - least_gain) > 1 ? saving->ns_per_image : 0;
    return (struct rue_payback){.epochs = times_until(build_ns, saved_ns),
                                .confidence = saving->interval.confidence,
                                .low = times_until(build_ns, saving->interval.high_ns),
                                .high = times_until(build_ns, saving->interval.low_ns)};
}
