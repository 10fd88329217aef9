#include "json_forecast.h"

#include <math.h>

static json_t *parameters_json(struct rue_json_document *document, const struct rue_knowledge *knowledge)
{
    static const char *const names[] = {
#define X(name, text) #name,
        RUE_PIPELINE_PARAMETERS(X)
#undef X
    };
    json_t *array = json_array();
    for (size_t p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++) {
        json_t *object = json_object(), *row = json_array();
        rue_json_put(document, object, "name", json_string(names[p]));
        rue_json_put(document, object, "value", rue_json_real(knowledge->loader.value[p]));
        for (size_t q = 0; q < RUE_PIPELINE_PARAMETER_COUNT; q++)
            rue_json_push(document, row, rue_json_real(knowledge->covariance[p][q]));
        rue_json_put(document, object, "log_covariance", row);
        rue_json_push(document, array, object);
    }
    return array;
}

static json_t *consumer_json(struct rue_json_document *document, const struct rue_pipeline_consumer *consumer)
{
    if (isnan(consumer->batch_s)) return json_null();
    json_t *object = json_object();
    rue_json_put(document, object, "batch_s", rue_json_real(consumer->batch_s));
    rue_json_put(document, object, "image_s", rue_json_real(consumer->image_s));
    return object;
}

static json_t *curve_json(struct rue_json_document *document, const struct rue_compute_curve *curve)
{
    json_t *array = json_array();
    for (size_t i = 0; i < curve->count; i++) {
        json_t *object = json_object();
        rue_json_put(document, object, "batch_size", json_integer(curve->points[i].batch_size));
        rue_json_put(document, object, "batch_s", rue_json_real(curve->points[i].batch_s));
        rue_json_push(document, array, object);
    }
    return array;
}

static void put_known(struct rue_json_document *document, json_t *object,
                      const struct rue_knowledge_model *known)
{
    rue_json_put(document, object, "compute", curve_json(document, &known->curve));
    rue_json_put(document, object, "cpu_ratio", rue_json_real(known->curve.cpu_ratio));
    rue_json_put(document, object, "consumer", consumer_json(document, &known->consumer));
}

static json_t *model_json(struct rue_json_document *document, const struct rue_findings *findings,
                          const struct rue_variant_findings *variant, size_t model)
{
    const struct rue_knowledge_model *known = &variant->knowledge->consumers[2 * model],
                                     *pageable = known + 1;
    const char *profile = findings->profiles ? findings->profiles[model] : "";
    json_t *object = json_object();
    rue_json_put(document, object, "model", rue_json_text(variant->matrix->models[model]));
    rue_json_put(document, object, "profile", rue_json_words(profile));
    put_known(document, object, known);
    if (pageable->curve.count || !isnan(pageable->consumer.batch_s)) {
        json_t *other = json_object();
        put_known(document, other, pageable);
        rue_json_put(document, object, "pageable", other);
    }
    return object;
}

json_t *rue_json_forecast(struct rue_json_document *document, const struct rue_findings *findings,
                          const struct rue_variant_findings *variant)
{
    const struct rue_knowledge *knowledge = variant->knowledge;
    if (!knowledge) return json_null();
    json_t *object = json_object(), *models = json_array();
    for (size_t m = 0; m < knowledge->model_count; m++)
        rue_json_push(document, models, model_json(document, findings, variant, m));
    rue_json_put(document, object, "cpus", json_integer(knowledge->loader.cpus));
    rue_json_put(document, object, "in_turn", json_boolean(knowledge->loader.in_turn));
    rue_json_put(document, object, "loader", parameters_json(document, knowledge));
    rue_json_put(document, object, "hand_over", consumer_json(document, &knowledge->hand));
    rue_json_put(document, object, "models", models);
    return object;
}
