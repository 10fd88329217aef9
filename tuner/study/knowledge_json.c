#include "knowledge_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_canonical.h"
#include "json_document.h"

enum { CPUS_MAX = 1 << 20, N = RUE_PIPELINE_PARAMETER_COUNT };

static const double seconds_max = 1e9;
/* Of a logarithm: what knows less than a factor of e^10 knows nothing, and no fit begins there. */
static const double most_variance = 100;

static bool is_time(double seconds)
{
    return seconds >= 0 && seconds <= seconds_max;
}

/* Both NaN where it is null. */
static bool read_consumer(const json_t *object, struct rue_pipeline_consumer *out)
{
    *out = (struct rue_pipeline_consumer){NAN, NAN, 0, false};
    if (json_is_null(object)) return true;
    return json_unpack((json_t *)object, "{s:F, s:F}", "batch_s", &out->batch_s, "image_s", &out->image_s) ==
               0 &&
           is_time(out->batch_s) && is_time(out->image_s);
}

static bool read_curve(const json_t *list, struct rue_compute_curve *out)
{
    size_t i;
    json_t *item;
    if (!json_is_array(list) || json_array_size(list) > RUE_COMPUTE_CURVE_MAX) return false;
    json_array_foreach(list, i, item)
    {
        int size;
        double batch_s;
        if (json_unpack(item, "{s:i, s:F}", "batch_size", &size, "batch_s", &batch_s) != 0) return false;
        if (size < 1 || size > rue_own_knobs.at[RUE_BATCH_SIZE]->max) return false;
        if (!(batch_s > 0) || !is_time(batch_s)) return false;
        rue_compute_curve_add(out, size, batch_s, NAN);
    }
    return true;
}

/* The parameters are those of this program, in its order. */
static bool read_parameter(const json_t *item, size_t index, struct rue_knowledge *out)
{
    static const char *const names[N] = {
#define X(name, text) #name,
        RUE_PIPELINE_PARAMETERS(X)
#undef X
    };
    const char *name;
    json_t *row;
    double *value = &out->loader.value[index];
    if (json_unpack((json_t *)item, "{s:s, s:F, s:o}", "name", &name, "value", value, "log_covariance",
                    &row) != 0)
        return false;
    if (strcmp(name, names[index]) != 0 || !(*value > 0) || json_array_size(row) != N) return false;
    for (size_t q = 0; q < N; q++) {
        if (!json_is_number(json_array_get(row, q))) return false;
        out->covariance[index][q] = json_number_value(json_array_get(row, q));
    }
    double variance = out->covariance[index][index];
    return variance >= 0 && variance <= most_variance;
}

static bool read_loader(const json_t *forecast, struct rue_knowledge *out)
{
    int in_turn;
    json_t *list, *hand;
    if (json_unpack((json_t *)forecast, "{s:i, s:b, s:o, s:o}", "cpus", &out->loader.cpus, "in_turn",
                    &in_turn, "loader", &list, "hand_over", &hand) != 0)
        return false;
    out->loader.in_turn = in_turn;
    bool valid = out->loader.cpus >= 1 && out->loader.cpus <= CPUS_MAX && json_array_size(list) == N;
    for (size_t p = 0; valid && p < N; p++) valid = read_parameter(json_array_get(list, p), p, out);
    valid = valid && read_consumer(hand, &out->hand);
    if (isnan(out->hand.batch_s)) out->hand = (struct rue_pipeline_consumer){0};
    return valid;
}

/* Of one model, with batches that lie all alike. */
static bool read_known(const json_t *item, struct rue_knowledge_model *out)
{
    json_t *curve, *consumer;
    return json_unpack((json_t *)item, "{s:o, s:F, s:o}", "compute", &curve, "cpu_ratio",
                       &out->curve.cpu_ratio, "consumer", &consumer) == 0 &&
           out->curve.cpu_ratio >= 0 && out->curve.cpu_ratio <= CPUS_MAX && read_curve(curve, &out->curve) &&
           read_consumer(consumer, &out->consumer);
}

static bool read_models(const json_t *forecast, struct rue_recommended *out, struct rue_knowledge *knowledge)
{
    const json_t *list = json_object_get(forecast, "models");
    bool valid = json_array_size(list) == out->matrix->model_count;
    for (size_t m = 0; valid && m < out->matrix->model_count; m++) {
        const json_t *item = json_array_get(list, m), *pageable = json_object_get(item, "pageable");
        const char *name = json_string_value(json_object_get(item, "model"));
        valid = name && strcmp(name, out->matrix->models[m]) == 0 &&
                read_known(item, &knowledge->consumers[2 * m]) &&
                (!pageable || read_known(pageable, &knowledge->consumers[2 * m + 1]));
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
    out->predicted = read_loader(forecast, knowledge) && read_models(forecast, out, knowledge);
    if (out->predicted)
        out->knowledge = knowledge;
    else
        rue_knowledge_close(knowledge);
}
