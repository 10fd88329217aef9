#include "tally.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "findings_fill.h"

rue_status rue_tally_find_group(struct rue_tally *tally, const char *key, size_t *out, bool *created,
                                rue_error *error)
{
    rue_status status = rue_names_number(&tally->keys, key, out, error);
    *created = status == RUE_OK && *out == tally->group_count;
    if (!*created) return status;
    if (tally->group_count == RUE_TALLY_GROUPS_MAX)
        return rue_fail(error, RUE_DATA,
                        "more than %d data modes; check that the column of the mode is the right one",
                        RUE_TALLY_GROUPS_MAX);
    size_t bytes = (tally->group_count + 1) * sizeof *tally->groups;
    struct rue_variant_findings *groups = realloc(tally->groups, bytes);
    if (!groups) return rue_fail_memory(error, "a data mode", bytes);
    tally->groups = groups;
    groups[tally->group_count++] = (struct rue_variant_findings){0};
    return RUE_OK;
}

rue_status rue_tally_copy_text(struct rue_tally *tally, const char *text, const char **out, rue_error *error)
{
    size_t number;
    rue_status status = rue_names_number(&tally->texts, text, &number, error);
    if (status == RUE_OK) *out = tally->texts.texts[number];
    return status;
}

rue_status rue_tally_add_trial(struct rue_tally *tally, const struct rue_ledger_row *trial, const char *model,
                               rue_error *error)
{
    assert(trial->variant < tally->group_count);
    rue_status status = rue_array_grow(&tally->trials, &tally->trial_capacity, tally->trial_count + 1,
                                       sizeof *tally->trials, "trials", error);
    if (status != RUE_OK) return status;
    struct rue_ledger_row *copy = &tally->trials[tally->trial_count];
    *copy = *trial;
    rue_trial_result_drop_lists(&copy->trial.result);
    status = rue_names_number(&tally->models, model, &copy->model, error);
    tally->trial_count += status == RUE_OK;
    return status;
}

void rue_tally_close(struct rue_tally *tally)
{
    rue_names_close(&tally->models);
    rue_names_close(&tally->keys);
    rue_names_close(&tally->texts);
    free(tally->groups);
    free(tally->trials);
    *tally = (struct rue_tally){0};
}

/* By group, configuration in grid order and model; the trials of a cell longest first, then in the order
 * added. */
static int compare_trials(const void *left, const void *right)
{
    const struct rue_ledger_row *a = *(const struct rue_ledger_row *const *)left,
                                *b = *(const struct rue_ledger_row *const *)right;
    if (a->variant != b->variant) return a->variant < b->variant ? -1 : 1;
    int order = rue_config_compare(&a->trial.config, &b->trial.config);
    if (order != 0) return order;
    if (a->model != b->model) return a->model < b->model ? -1 : 1;
    if (a->trial.images != b->trial.images) return a->trial.images > b->trial.images ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* One group's trials, sorted as above. */
struct slice {
    const struct rue_tally *tally;
    const struct rue_ledger_row **trials;
    size_t count;
    const size_t *by_name; /* [models of the tally] their numbers, ordered by name */
    size_t *local;         /* [models of the tally] number in the group's matrix; RUE_NONE: not in it */
    double *times;         /* [count] scratch */
};

static rue_status open_group_matrix(const struct slice *slice, struct rue_cost_matrix **out, rue_error *error)
{
    const struct rue_names *models = &slice->tally->models;
    size_t config_count = 0, model_count = 0;
    struct rue_config *configs = malloc((slice->count + 1) * sizeof *configs);
    const char **names = calloc(models->count + 1, sizeof *names);
    rue_status status = RUE_OK;
    if (!configs || !names) {
        status = rue_fail_memory(error, "configurations", slice->count * sizeof *configs);
        goto out;
    }
    for (size_t m = 0; m < models->count; m++) slice->local[m] = RUE_NONE;
    for (size_t i = 0; i < slice->count; i++) {
        slice->local[slice->trials[i]->model] = 0;
        if (i == 0 ||
            rue_config_compare(&slice->trials[i]->trial.config, &slice->trials[i - 1]->trial.config) != 0)
            configs[config_count++] = slice->trials[i]->trial.config;
    }
    for (size_t i = 0; i < models->count; i++) {
        size_t m = slice->by_name[i];
        if (slice->local[m] != RUE_NONE) names[slice->local[m] = model_count++] = models->texts[m];
    }
    if (model_count > RUE_TALLY_CELLS_MAX / (config_count + 1))
        status = rue_fail(error, RUE_DATA,
                          "cannot rank %zu models with %zu configurations, at most %d cells; check that the "
                          "columns are the right ones",
                          model_count, config_count, RUE_TALLY_CELLS_MAX);
    if (status == RUE_OK)
        status = rue_cost_matrix_open(configs, config_count, names, model_count, out, error);
out:
    free(names);
    free(configs);
    return status;
}

static rue_status fill_cell(const struct slice *slice, size_t first, size_t end, size_t config,
                            struct rue_cost_matrix *matrix, rue_error *error)
{
    size_t model = slice->local[slice->trials[first]->model], count = 0;
    uint64_t longest = 0;
    bool predicted = false;
    for (size_t i = first; i < end; i++) {
        const struct rue_ledger_row *row = slice->trials[i];
        const struct rue_trial_result *result = &row->trial.result;
        if (result->outcome != RUE_TRIAL_OK) {
            rue_cost_matrix_add_failure(matrix, model, config, result->outcome, result->reason);
            continue;
        }
        if (count == 0) longest = row->trial.images, predicted = row->predicted;
        if (row->trial.images == longest) slice->times[count++] = row->cost_ns;
    }
    if (count == 0) return RUE_OK;
    return rue_cost_matrix_add_repeats(matrix, model, config, slice->times, count, predicted, error);
}

static rue_status fill_matrix(const struct slice *slice, struct rue_cost_matrix *matrix, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t config = 0;
    for (size_t first = 0, end; status == RUE_OK && first < slice->count; first = end) {
        const struct rue_ledger_row *row = slice->trials[first];
        const struct rue_config *own = &row->trial.config;
        if (first && rue_config_compare(own, &slice->trials[first - 1]->trial.config) != 0) config++;
        for (end = first + 1; end < slice->count; end++)
            if (slice->trials[end]->model != row->model ||
                rue_config_compare(&slice->trials[end]->trial.config, own) != 0)
                break;
        status = fill_cell(slice, first, end, config, matrix, error);
    }
    return status;
}

static rue_status fill_tally_variant(const struct slice *slice, struct rue_variant_findings *out,
                                     rue_error *error)
{
    struct rue_cost_matrix *matrix = NULL;
    rue_status status = open_group_matrix(slice, &matrix, error);
    if (status == RUE_OK) status = fill_matrix(slice, matrix, error);
    if (status != RUE_OK) return rue_cost_matrix_close(matrix), status;
    *out = slice->tally->groups[slice->trials[0]->variant];
    out->models_unnamed &= matrix->model_count == 1;
    out->matrix = matrix;
    return RUE_OK;
}

static int compare_model_names(const void *a, const void *b, void *context)
{
    char *const *texts = context;
    return strcmp(texts[*(const size_t *)a], texts[*(const size_t *)b]);
}

static rue_status fill_variants(const struct rue_tally *tally, struct rue_findings *findings,
                                rue_error *error)
{
    rue_status status = RUE_OK;
    const struct rue_ledger_row **sorted = malloc((tally->trial_count + 1) * sizeof *sorted);
    size_t *by_name = malloc((tally->models.count + 1) * sizeof *by_name);
    struct slice slice = {.tally = tally,
                          .by_name = by_name,
                          .local = malloc((tally->models.count + 1) * sizeof *slice.local),
                          .times = malloc((tally->trial_count + 1) * sizeof *slice.times)};
    if (!sorted || !by_name || !slice.local || !slice.times) {
        status = rue_fail_memory(error, "sorted trials", tally->trial_count * sizeof *sorted);
        goto out;
    }
    for (size_t m = 0; m < tally->models.count; m++) by_name[m] = m;
    qsort_r(by_name, tally->models.count, sizeof *by_name, compare_model_names, tally->models.texts);
    size_t count = tally->trial_count;
    for (size_t i = 0; i < count; i++) sorted[i] = &tally->trials[i];
    qsort(sorted, count, sizeof *sorted, compare_trials);
    for (size_t first = 0, end; status == RUE_OK && first < count; first = end) {
        for (end = first + 1; end < count && sorted[end]->variant == sorted[first]->variant;) end++;
        slice.trials = sorted + first;
        slice.count = end - first;
        status = fill_tally_variant(&slice, &findings->variants[findings->variant_count], error);
        findings->variant_count += status == RUE_OK;
    }
    qsort(findings->variants, findings->variant_count, sizeof *findings->variants, rue_findings_compare);
out:
    free(slice.times);
    free(slice.local);
    free(by_name);
    free(sorted);
    return status;
}

rue_status rue_tally_make_findings(const struct rue_tally *tally, struct rue_findings **out, rue_error *error)
{
    struct rue_findings *findings = calloc(1, sizeof *findings);
    if (findings) findings->variants = calloc(tally->group_count + 1, sizeof *findings->variants);
    rue_status status = findings && findings->variants ? fill_variants(tally, findings, error)
                                                       : rue_fail_memory(error, "findings", sizeof *findings);
    if (status != RUE_OK) return rue_findings_close(findings), status;
    *out = findings;
    return RUE_OK;
}
