#include "knowledge_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_canonical.h"
#include "json_findings.h"

/* Of a logarithm: what knows less than a factor of e^10 knows nothing, and no fit begins there. */
static const double most_variance = 100;

/* The parameters are those of this program, in its order. */
static bool read_parameters(struct rue_json_reader *reader, const json_t *forecast, struct rue_knowledge *out)
{
    const struct rue_json_parameters own = rue_json_parameters(out);
    struct rue_json_parameters said = {0};
    rue_json_read_fields(reader, forecast, rue_json_parameters_fields, &said);
    bool valid = reader->status == RUE_OK && said.count == own.count;
    for (size_t p = 0; valid && p < own.count; p++) {
        const struct rue_json_parameter *from = &said.at[p];
        double variance = from->covariance[p];
        valid = strcmp(from->name, own.at[p].name) == 0 && from->value > 0 &&
                from->covariance_count == own.count && variance >= 0 && variance <= most_variance;
        for (size_t q = 0; q < own.count; q++) valid &= isfinite(from->covariance[q]);
        out->loader.value[p] = from->value;
        memcpy(out->covariance[p], from->covariance, sizeof from->covariance);
    }
    return valid;
}

/* Of one model, with batches that lie all alike. */
static bool read_known(struct rue_json_reader *reader, const json_t *item, struct rue_knowledge_model *out)
{
    struct rue_knowledge_model said = *out;
    rue_json_read_fields(reader, item, rue_json_known_fields, &said);
    bool valid = reader->status == RUE_OK;
    for (size_t i = 0; valid && i < said.curve.count; i++) {
        valid = said.curve.points[i].batch_s > 0;
        rue_compute_curve_add(&out->curve, said.curve.points[i].batch_size, said.curve.points[i].batch_s,
                              NAN);
    }
    out->curve.cpu_ratio = said.curve.cpu_ratio;
    out->consumer = said.consumer;
    return valid;
}

static bool read_models(struct rue_json_reader *reader, const json_t *forecast, struct rue_recommended *out,
                        struct rue_knowledge *knowledge)
{
    const json_t *list = json_object_get(forecast, "models");
    bool valid = json_array_size(list) == out->matrix->model_count;
    for (size_t m = 0; valid && m < out->matrix->model_count; m++) {
        const json_t *item = json_array_get(list, m), *pageable = json_object_get(item, "pageable");
        const char *name = json_string_value(json_object_get(item, "model"));
        valid = name && strcmp(name, out->matrix->models[m]) == 0 &&
                read_known(reader, item, &knowledge->consumers[2 * m]) &&
                (!pageable || read_known(reader, pageable, &knowledge->consumers[2 * m + 1]));
        char *profile = rue_json_dump(json_object_get(item, "profile"), 0);
        rue_json_canonical(profile ? profile : "", out->profiles[m], sizeof out->profiles[m]);
        free(profile);
    }
    return valid;
}

void rue_knowledge_read(struct rue_json_reader *reader, const json_t *forecast, struct rue_recommended *out)
{
    struct rue_knowledge *knowledge;
    reader->status = rue_knowledge_open(out->matrix->model_count, &knowledge, reader->error);
    if (reader->status != RUE_OK) return;
    struct rue_json_reader own = {.status = RUE_OK}; /* what is not understood is no fault */
    rue_json_read_fields(&own, forecast, rue_json_loader_fields, knowledge);
    out->predicted =
        read_parameters(&own, forecast, knowledge) && read_models(&own, forecast, out, knowledge);
    if (out->predicted)
        out->knowledge = knowledge;
    else
        rue_knowledge_close(knowledge);
}
