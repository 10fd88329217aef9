#include "explanation.h"

#include <math.h>
#include <stdlib.h>

static const double fastest_loading = 1000;

void rue_explanation_close(struct rue_explanation *explanation)
{
    if (explanation) free(explanation->models);
    free(explanation);
}

/* ---- faster loading ---- */

/* The time of a model if loading was `ratio` times as fast. Workers that a consumer waits for load all the
 * time, except during the shut-down. */
static double faster_ns(const struct rue_explanation *explanation, size_t model, double ratio)
{
    const struct rue_job_parts *own = &explanation->models[model].own;
    double waiting_ns = own->ns[RUE_PART_FIRST] + own->ns[RUE_PART_WAIT];
    bool workers = explanation->variant->matrix->configs[explanation->config].value[RUE_NUM_WORKERS] > 0;
    double loading_ns = workers ? own->total_ns - own->ns[RUE_PART_SHUTDOWN] : waiting_ns;
    return own->total_ns - fmin(waiting_ns, loading_ns * (1 - 1 / ratio));
}

/* The objective of the configuration with faster loading. */
static double faster_value(const struct rue_explanation *explanation, double ratio)
{
    const struct rue_selection *selection = explanation->variant->selection;
    double sum = 0, weights = 0, worst = -INFINITY;
    for (size_t m = 0; m < selection->model_count; m++) {
        double weight = rue_objective_weight(selection->weights, m),
               regret = faster_ns(explanation, m, ratio) / selection->best_ns[m] - 1;
        sum += weight * regret;
        weights += weight;
        worst = fmax(worst, regret);
    }
    return selection->objective == RUE_OBJECTIVE_WORST ? worst : sum / weights;
}

static void find_loading(struct rue_explanation *explanation)
{
    double low = 1, high = fastest_loading;
    bool known = explanation->config != explanation->variant->selection->recommended &&
                 !rue_findings_withholds_ratios(explanation->findings);
    for (size_t m = 0; m < explanation->variant->matrix->model_count; m++)
        known &= explanation->models[m].own.basis != RUE_PARTS_UNKNOWN;
    if (!known || !isfinite(explanation->own_value) || !isfinite(explanation->other_value)) return;
    explanation->loading_floor = faster_value(explanation, INFINITY);
    explanation->loading_ratio = INFINITY;
    if (faster_value(explanation, high) > explanation->other_value) return;
    for (int step = 0; step < 60; step++) {
        double middle = sqrt(low * high);
        *(faster_value(explanation, middle) > explanation->other_value ? &low : &high) = middle;
    }
    explanation->loading_ratio = high;
}

/* ---- the comparison ---- */

static double objective_value(const struct rue_explanation *explanation, size_t config)
{
    const struct rue_selection *selection = explanation->variant->selection;
    const struct rue_ranking_row *row = &selection->rows[config];
    return selection->objective == RUE_OBJECTIVE_WORST ? row->max_regret_ratio : row->mean_regret_ratio;
}

static void find_other(struct rue_explanation *explanation)
{
    const struct rue_selection *selection = explanation->variant->selection;
    explanation->other = selection->recommended;
    for (size_t i = 0; i < selection->ranked_count; i++) {
        size_t config = selection->ranked[i];
        if (config == explanation->config)
            explanation->rank = i + 1;
        else if (explanation->other == RUE_NONE || explanation->other == explanation->config)
            explanation->other = config;
    }
    if (explanation->other == explanation->config) explanation->other = RUE_NONE;
}

static void compare(struct rue_explanation *explanation)
{
    const struct rue_variant_findings *variant = explanation->variant;
    find_other(explanation);
    explanation->own_value = objective_value(explanation, explanation->config);
    if (explanation->other == RUE_NONE) return;
    explanation->other_value = objective_value(explanation, explanation->other);
    explanation->noise_is_measured =
        rue_findings_noise_is_measured(variant, explanation->config, explanation->other);
    rue_findings_speedup(explanation->findings, variant, explanation->other, explanation->config,
                         &explanation->loss);
}

rue_status rue_explanation_open(const struct rue_findings *findings, const struct rue_breakdown *breakdown,
                                size_t variant, size_t config, struct rue_explanation **out, rue_error *error)
{
    const struct rue_variant_findings *found = &findings->variants[variant];
    size_t count = found->matrix->model_count;
    struct rue_explanation *explanation = calloc(1, sizeof *explanation);
    if (explanation) explanation->models = calloc(count + 1, sizeof *explanation->models);
    if (!explanation || !explanation->models) {
        rue_explanation_close(explanation);
        return rue_fail_memory(error, "an explanation", count * sizeof(struct rue_explained_model));
    }
    explanation->findings = findings;
    explanation->variant = found;
    explanation->config = config;
    explanation->own_value = explanation->other_value = NAN;
    explanation->loading_ratio = explanation->loading_floor = NAN;
    compare(explanation);
    for (size_t m = 0; m < count; m++) {
        struct rue_explained_model *model = &explanation->models[m];
        model->own = rue_job_parts_find(findings, breakdown, found, m, config);
        model->other = rue_job_parts_find(findings, breakdown, found, m, explanation->other);
        model->regret_ratio = rue_selection_regret(found->selection, found->matrix, m, config);
    }
    find_loading(explanation);
    *out = explanation;
    return RUE_OK;
}

/* Whether the configurations differ in no other knob; knobs that need workers count only with workers. */
static bool differ_only_in(const struct rue_config *a, const struct rue_config *b, size_t knob)
{
    const struct rue_knobs *knobs = rue_config_knobs(a);
    for (size_t k = 0; k < knobs->count; k++) {
        bool idle = knobs->at[k]->needs_workers && (!a->value[RUE_NUM_WORKERS] || !b->value[RUE_NUM_WORKERS]);
        if (k != knob && !idle && a->value[k] != b->value[k]) return false;
    }
    return a->value[knob] != b->value[knob];
}

size_t rue_explanation_alternative(const struct rue_explanation *explanation, size_t knob)
{
    const struct rue_selection *selection = explanation->variant->selection;
    const struct rue_config *configs = explanation->variant->matrix->configs;
    if (rue_findings_withholds_ratios(explanation->findings)) return RUE_NONE;
    for (size_t i = 0; i < selection->ranked_count; i++)
        if (differ_only_in(&configs[explanation->config], &configs[selection->ranked[i]], knob))
            return selection->ranked[i];
    return RUE_NONE;
}
