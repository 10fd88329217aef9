#include "json_findings.h"

#include <math.h>

json_t *rue_json_config_of(struct rue_json_document *document, const struct rue_variant_findings *variant,
                           size_t config, bool all)
{
    if (config == RUE_NONE) return json_null();
    return rue_json_config(document, rue_cost_matrix_config(variant->matrix, config), all);
}

json_t *rue_json_model_of(const struct rue_variant_findings *variant, size_t model)
{
    return model == RUE_NONE ? json_null() : rue_json_text(rue_cost_matrix_model(variant->matrix, model));
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
        rue_json_put_named(document, weights, rue_cost_matrix_model(variant->matrix, m),
                           rue_json_real(selection->weights[m]));
    rue_json_put(document, object, "top_n", rue_json_integer(selection->top_n));
    rue_json_put(document, object, "objective", json_string(rue_objective_names[selection->objective]));
    rue_json_put(document, object, "weights", weights);
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
