#include "json_findings.h"

#include <math.h>

json_t *rue_json_config_of(struct rue_json_document *document, const struct rue_variant_findings *variant,
                           size_t config, bool all)
{
    if (config == RUE_NONE) return json_null();
    return rue_json_config(document, &variant->matrix->configs[config], all);
}

json_t *rue_json_model_of(const struct rue_variant_findings *variant, size_t model)
{
    return model == RUE_NONE ? json_null() : rue_json_text(variant->matrix->models[model]);
}

json_t *rue_json_verified(const struct rue_variant_findings *variant, size_t config)
{
    static const char *const names[] = {[RUE_BASIS_FULL] = "full", [RUE_BASIS_TRUNCATED] = "truncated"};
    const struct rue_ranking_row *row = config == RUE_NONE ? NULL : &variant->selection->rows[config];
    if (!row || !row->ranked || rue_findings_basis(row) == RUE_BASIS_PREDICTED) return json_null();
    return json_string(names[rue_findings_basis(row)]);
}

void rue_json_put_standing(struct rue_json_document *document, json_t *object,
                           const struct rue_variant_findings *variant, size_t config)
{
    static const struct rue_ranking_row none = {
        .mean_regret_ratio = NAN, .max_regret_ratio = NAN, .worst_model = RUE_NONE};
    const struct rue_ranking_row *row = config == RUE_NONE ? &none : &variant->selection->rows[config];
    rue_json_put(document, object, "mean_regret_ratio", rue_json_real(row->mean_regret_ratio));
    rue_json_put(document, object, "max_regret_ratio", rue_json_real(row->max_regret_ratio));
    rue_json_put(document, object, "worst_model", rue_json_model_of(variant, row->worst_model));
    rue_json_put(document, object, "top_n_count",
                 config == RUE_NONE ? json_null() : rue_json_integer(row->top_n_count));
}

json_t *rue_json_standing(struct rue_json_document *document, const struct rue_variant_findings *variant,
                          size_t config, bool all)
{
    if (config == RUE_NONE) return json_null();
    json_t *object = json_object();
    rue_json_put(document, object, "config", rue_json_config_of(document, variant, config, all));
    rue_json_put_standing(document, object, variant, config);
    return object;
}

void rue_json_put_rules(struct rue_json_document *document, json_t *object,
                        const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    json_t *weights = selection->weights ? json_object() : json_null();
    for (size_t m = 0; selection->weights && m < selection->model_count; m++)
        rue_json_put_named(document, weights, variant->matrix->models[m],
                           rue_json_real(selection->weights[m]));
    rue_json_put(document, object, "top_n", rue_json_integer(selection->top_n));
    rue_json_put(document, object, "objective", json_string(rue_objective_names[selection->objective]));
    rue_json_put(document, object, "weights", weights);
}

static json_t *set_json(struct rue_json_document *document, const struct rue_variant_findings *variant,
                        bool all)
{
    const struct rue_config_set *set = variant->answers->set;
    json_t *object = json_object(), *configs = json_array();
    for (size_t k = 0; k < set->config_count; k++) {
        json_t *member = json_object(), *models = json_array();
        for (size_t m = 0; m < set->scenario_count; m++)
            if (set->chosen[m] == set->configs[k])
                rue_json_push(document, models, rue_json_model_of(variant, m));
        rue_json_put(document, member, "config", rue_json_config_of(document, variant, set->configs[k], all));
        rue_json_put(document, member, "models", models);
        rue_json_push(document, configs, member);
    }
    rue_json_put(document, object, "epsilon_ratio", rue_json_real(set->epsilon_ratio));
    rue_json_put(document, object, "exact", json_boolean(set->exact));
    rue_json_put(document, object, "mean_regret_ratio", rue_json_real(set->mean_regret_ratio));
    rue_json_put(document, object, "max_regret_ratio", rue_json_real(set->max_regret_ratio));
    rue_json_put(document, object, "configs", configs);
    return object;
}

static json_t *left_out_json(struct rue_json_document *document, const struct rue_variant_findings *variant,
                             bool all)
{
    const struct rue_leave_one_out *left = variant->answers->left;
    if (!left) return json_null();
    json_t *object = json_object(), *models = json_array();
    for (size_t m = 0; m < left->model_count; m++) {
        json_t *row = json_object();
        rue_json_put(document, row, "model", rue_json_model_of(variant, m));
        rue_json_put(document, row, "config",
                     rue_json_config_of(document, variant, left->rows[m].config, all));
        rue_json_put(document, row, "regret_ratio", rue_json_real(left->rows[m].regret_ratio));
        rue_json_push(document, models, row);
    }
    rue_json_put(document, object, "mean_regret_ratio", rue_json_real(left->mean_regret_ratio));
    rue_json_put(document, object, "max_regret_ratio", rue_json_real(left->max_regret_ratio));
    rue_json_put(document, object, "worst_model", rue_json_model_of(variant, left->worst_model));
    rue_json_put(document, object, "models", models);
    return object;
}

static json_t *front_json(struct rue_json_document *document, const struct rue_variant_findings *variant,
                          bool all)
{
    const struct rue_answers *answers = variant->answers;
    if (!answers->memory_bytes) return json_null();
    json_t *array = json_array();
    for (size_t i = 0; i < answers->front_count; i++) {
        size_t config = answers->front[i];
        const struct rue_ranking_row *row = &variant->selection->rows[config];
        json_t *object = json_object();
        rue_json_put(document, object, "config", rue_json_config_of(document, variant, config, all));
        rue_json_put(document, object, "memory_bytes", rue_json_nanoseconds(answers->memory_bytes[config]));
        rue_json_put(document, object, "mean_regret_ratio", rue_json_real(row->mean_regret_ratio));
        rue_json_push(document, array, object);
    }
    return array;
}

static json_t *interval_json(struct rue_json_document *document, const struct rue_regret_interval *interval)
{
    if (interval->confidence == 0) return json_null();
    json_t *object = json_object();
    rue_json_put(document, object, "confidence", rue_json_real(interval->confidence));
    rue_json_put(document, object, "mean_low_ratio", rue_json_real(interval->mean_low));
    rue_json_put(document, object, "mean_high_ratio", rue_json_real(interval->mean_high));
    rue_json_put(document, object, "max_low_ratio", rue_json_real(interval->worst_low));
    rue_json_put(document, object, "max_high_ratio", rue_json_real(interval->worst_high));
    return object;
}

void rue_json_put_answers(struct rue_json_document *document, json_t *object,
                          const struct rue_variant_findings *variant, bool all)
{
    bool known = variant->answers;
    rue_json_put(document, object, "interval", interval_json(document, &variant->interval));
    rue_json_put(document, object, "smallest_set", known ? set_json(document, variant, all) : json_null());
    rue_json_put(document, object, "leave_one_out",
                 known ? left_out_json(document, variant, all) : json_null());
    rue_json_put(document, object, "pareto_front", known ? front_json(document, variant, all) : json_null());
}

json_t *rue_json_best_by_model(struct rue_json_document *document, const struct rue_variant_findings *variant,
                               bool all)
{
    const struct rue_selection *selection = variant->selection;
    json_t *array = json_array();
    for (size_t m = 0; m < selection->model_count; m++) {
        json_t *object = json_object();
        rue_json_put(document, object, "model", rue_json_model_of(variant, m));
        rue_json_put(document, object, "config",
                     rue_json_config_of(document, variant, selection->best_of_model[m], all));
        rue_json_put(document, object, rue_goal_keys[variant->goal],
                     rue_json_nanoseconds(selection->best_ns[m]));
        rue_json_push(document, array, object);
    }
    return array;
}

json_t *rue_json_certificate(struct rue_json_document *document, const struct rue_variant_findings *variant)
{
    if (variant->claim.confidence == 0) return json_null();
    json_t *object = json_object();
    rue_json_put(document, object, "bound_ratio", rue_json_real(variant->claim.bound_ratio));
    rue_json_put(document, object, "confidence", rue_json_real(variant->claim.confidence));
    rue_json_put(document, object, "far_off_ratio",
                 variant->claim.far_off_ratio > 0 ? rue_json_real(variant->claim.far_off_ratio)
                                                  : json_null());
    rue_json_put(document, object, "measured_only", json_boolean(variant->claim.measured_only));
    return object;
}

static json_t *gain_json(struct rue_json_document *document, const struct rue_gain *gain)
{
    if (gain->confidence == 0) return json_null();
    json_t *object = json_object();
    rue_json_put(document, object, "confidence", rue_json_real(gain->confidence));
    rue_json_put(document, object, "speedup_ratio", rue_json_real(gain->ratio));
    rue_json_put(document, object, "low_ratio", rue_json_real(gain->low));
    rue_json_put(document, object, "high_ratio", rue_json_real(gain->high));
    rue_json_put(document, object, "proven", json_boolean(rue_gain_is_proven(gain)));
    return object;
}

json_t *rue_json_baselines(struct rue_json_document *document, const struct rue_variant_findings *variant,
                           bool all)
{
    const struct rue_baseline_findings *baselines = &variant->baselines;
    if (baselines->count == 0) return json_null();
    json_t *object = json_object(), *rows = json_array(), *replaced = json_null();
    for (size_t i = 0; i < baselines->count; i++) {
        const struct rue_baseline_row *row = &baselines->rows[i];
        json_t *item = json_object();
        rue_json_put(document, item, "name", rue_json_text(row->name));
        rue_json_put(document, item, "config", rue_json_config_of(document, variant, row->config, all));
        rue_json_put(document, item, "recommended",
                     json_boolean(row->config == variant->selection->recommended));
        rue_json_put(document, item, "gain", gain_json(document, &row->gain));
        rue_json_push(document, rows, item);
    }
    if (baselines->found != variant->selection->recommended) {
        replaced = json_object();
        rue_json_put(document, replaced, "config",
                     rue_json_config_of(document, variant, baselines->found, all));
        rue_json_put(document, replaced, "gain", gain_json(document, &baselines->found_gain));
    }
    rue_json_put(document, object, "rows", rows);
    rue_json_put(document, object, "replaced", replaced);
    return object;
}

json_t *rue_json_notices(struct rue_json_document *document, const struct rue_findings *findings)
{
    json_t *array = json_array();
    for (size_t i = 0; i < findings->changes.notice_count; i++) {
        const struct rue_notice *notice = &findings->changes.notices[i];
        char text[RUE_NOTICE_TEXT_BYTES];
        json_t *object = json_object();
        rue_notice_text(notice, text, sizeof text);
        rue_json_put(document, object, "trial", rue_json_integer(notice->trial));
        rue_json_put(document, object, "noticed_after_trials", rue_json_integer(notice->noticed));
        rue_json_put(document, object, "unsure_from", rue_json_integer(notice->unsure));
        rue_json_put(document, object, "unsure_until", rue_json_integer(notice->unsure_end));
        rue_json_put(document, object, "load_slowdown_ratio", rue_json_real(exp(notice->load_log)));
        rue_json_put(document, object, "compute_slowdown_ratio", rue_json_real(exp(notice->compute_log)));
        rue_json_put(document, object, "cause", rue_json_text_or_null(notice->cause));
        rue_json_put(document, object, "text", rue_json_text(text));
        rue_json_push(document, array, object);
    }
    return array;
}

void rue_json_put_goal(struct rue_json_document *document, json_t *object,
                       const struct rue_variant_findings *variant)
{
    rue_json_put(document, object, "goal", json_string(rue_goal_names[variant->goal]));
    rue_json_put(document, object, "max_first_batch_ns",
                 rue_json_integer_or_null(variant->matrix->first_limit_ns));
}
