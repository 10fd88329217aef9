#include "knowledge_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_canonical.h"
#include "json_document.h"

enum { CPUS_MAX = 1 << 20, N = RUE_PIPELINE_PARAMETER_COUNT };

static const double seconds_max = 1e9;

static double seconds_of(struct rue_json_reader *reader, const json_t *parent, const char *key)
{
    double value = rue_json_number_of(reader, parent, key, false);
    if (!(value >= 0 && value <= seconds_max)) rue_json_refuse(reader, key, "a time in seconds");
    return value;
}

/* Both NaN where it is null. */
static struct rue_pipeline_consumer read_consumer(struct rue_json_reader *reader, const json_t *parent,
                                                  const char *key)
{
    struct rue_pipeline_consumer consumer = {NAN, NAN, 0, false};
    const json_t *object = rue_json_object(reader, parent, key, true);
    if (!object) return consumer;
    size_t length = rue_json_enter(reader, key);
    consumer.batch_s = seconds_of(reader, object, "batch_s");
    consumer.image_s = seconds_of(reader, object, "image_s");
    rue_json_leave(reader, length);
    return consumer;
}

static void read_curve(struct rue_json_reader *reader, const json_t *parent, struct rue_compute_curve *out)
{
    const json_t *list = rue_json_array(reader, parent, "compute");
    size_t i, outer = rue_json_enter(reader, "compute");
    json_t *item;
    if (json_array_size(list) > RUE_COMPUTE_CURVE_MAX)
        rue_json_refuse(reader, NULL, "a list of so few sizes");
    json_array_foreach(list, i, item)
    {
        size_t length = rue_json_enter_at(reader, i);
        if (!json_is_object(item)) rue_json_refuse(reader, NULL, "an object");
        int size = (int)rue_json_count(reader, item, "batch_size", false,
                                       (uint64_t)rue_own_knobs.at[RUE_BATCH_SIZE]->max);
        double batch_s = seconds_of(reader, item, "batch_s");
        if (reader->status == RUE_OK && (size < 1 || !(batch_s > 0)))
            rue_json_refuse(reader, NULL, "the time of a batch");
        if (reader->status == RUE_OK) rue_compute_curve_add(out, size, batch_s, NAN);
        rue_json_leave(reader, length);
    }
    rue_json_leave(reader, outer);
}

/* Of a logarithm: what knows less than a factor of e^10 knows nothing, and no fit begins there. */
static const double most_variance = 100;

/* The parameters in the order of this program; false where they are others. */
static bool read_parameter(struct rue_json_reader *reader, const json_t *item, size_t index,
                           struct rue_knowledge *out)
{
    static const char *const names[N] = {
#define X(name, text) #name,
        RUE_PIPELINE_PARAMETERS(X)
#undef X
    };
    char name[64];
    if (!json_is_object(item)) rue_json_refuse(reader, NULL, "an object");
    rue_json_copy_text(reader, item, "name", false, name, sizeof name);
    out->loader.value[index] = rue_json_number_of(reader, item, "value", false);
    const json_t *row = rue_json_array(reader, item, "log_covariance");
    if (reader->status != RUE_OK || strcmp(name, names[index]) != 0) return false;
    if (json_array_size(row) != N) rue_json_refuse(reader, "log_covariance", "a number for each parameter");
    for (size_t q = 0; q < N; q++) {
        const json_t *number = json_array_get(row, q);
        if (!json_is_number(number)) rue_json_refuse(reader, "log_covariance", "a list of numbers");
        out->covariance[index][q] = json_number_value(number);
    }
    double variance = out->covariance[index][index];
    if (!(out->loader.value[index] > 0) || !(variance >= 0 && variance <= most_variance))
        rue_json_refuse(reader, NULL, "a positive value and its covariances");
    return true;
}

static bool read_loader(struct rue_json_reader *reader, const json_t *forecast, struct rue_knowledge *out)
{
    const json_t *list = rue_json_array(reader, forecast, "loader");
    bool known = json_array_size(list) == N;
    size_t i, outer = rue_json_enter(reader, "loader");
    json_t *item;
    json_array_foreach(list, i, item)
    {
        size_t length = rue_json_enter_at(reader, i);
        known = known && read_parameter(reader, item, i, out);
        rue_json_leave(reader, length);
    }
    rue_json_leave(reader, outer);
    return known;
}

/* Of one model, with batches that lie all alike. */
static void read_known(struct rue_json_reader *reader, const json_t *item, struct rue_knowledge_model *out)
{
    read_curve(reader, item, &out->curve);
    double cpu_ratio = rue_json_number_of(reader, item, "cpu_ratio", false);
    if (!(cpu_ratio >= 0 && cpu_ratio <= CPUS_MAX)) rue_json_refuse(reader, "cpu_ratio", "a number of CPUs");
    out->curve.cpu_ratio = cpu_ratio;
    out->consumer = read_consumer(reader, item, "consumer");
}

static void read_models(struct rue_json_reader *reader, const json_t *forecast, struct rue_recommended *out,
                        struct rue_knowledge *knowledge)
{
    const json_t *list = rue_json_array(reader, forecast, "models");
    size_t i, outer = rue_json_enter(reader, "models");
    json_t *item;
    if (list && json_array_size(list) != out->matrix->model_count)
        rue_json_refuse(reader, NULL, "a list of the same models");
    json_array_foreach(list, i, item)
    {
        char name[RUE_MODEL_NAME_BYTES];
        size_t length = rue_json_enter_at(reader, i);
        if (!json_is_object(item)) rue_json_refuse(reader, NULL, "an object");
        rue_json_copy_text(reader, item, "model", false, name, sizeof name);
        const json_t *profile = rue_json_object(reader, item, "profile", true);
        if (reader->status == RUE_OK && strcmp(name, out->matrix->models[i]) != 0)
            rue_json_refuse(reader, "model", "the model of that place");
        if (reader->status == RUE_OK) {
            char *text = rue_json_dump(profile, 0);
            rue_json_canonical(text ? text : "", out->profiles[i], sizeof out->profiles[i]);
            free(text);
            read_known(reader, item, &knowledge->consumers[2 * i]);
            const json_t *pageable = rue_json_object(reader, item, "pageable", true);
            size_t inner = rue_json_enter(reader, "pageable");
            if (pageable) read_known(reader, pageable, &knowledge->consumers[2 * i + 1]);
            rue_json_leave(reader, inner);
        }
        rue_json_leave(reader, length);
        if (reader->status != RUE_OK) return;
    }
    rue_json_leave(reader, outer);
}

void rue_knowledge_read(struct rue_json_reader *reader, const json_t *forecast, struct rue_recommended *out)
{
    struct rue_knowledge *knowledge;
    rue_status status = rue_knowledge_open(out->matrix->model_count, &knowledge, reader->error);
    if (status != RUE_OK) {
        reader->status = status;
        return;
    }
    size_t length = rue_json_enter(reader, "forecast");
    knowledge->loader.cpus = (int)rue_json_count(reader, forecast, "cpus", false, CPUS_MAX);
    knowledge->loader.in_turn = rue_json_bool(reader, forecast, "in_turn");
    if (reader->status == RUE_OK && knowledge->loader.cpus < 1)
        rue_json_refuse(reader, "cpus", "a whole number of at least 1");
    bool known = read_loader(reader, forecast, knowledge);
    knowledge->hand = read_consumer(reader, forecast, "hand_over");
    if (isnan(knowledge->hand.batch_s)) knowledge->hand = (struct rue_pipeline_consumer){0};
    if (reader->status == RUE_OK) read_models(reader, forecast, out, knowledge);
    if (reader->status == RUE_OK) rue_json_leave(reader, length);
    if (reader->status == RUE_OK && known)
        out->knowledge = knowledge, out->predicted = true;
    else
        rue_knowledge_close(knowledge);
}
