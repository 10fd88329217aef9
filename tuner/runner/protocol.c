#include "protocol.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_document.h"
#include "knob_json.h"
#include "utf8.h"
#include "workload_json.h"

#define COMPACT (JSON_COMPACT | JSON_REAL_PRECISION(9))

static char *dump(json_t *object)
{
    char *line = rue_json_dump(object, COMPACT);
    json_decref(object);
    return line;
}

/* A JSON string of `text`; bytes that are no UTF-8 (file names may hold any) become '?'. */
static json_t *text_json(const char *text)
{
    json_t *string = json_string(text);
    if (string) return string;
    char copy[RUE_ERROR_MESSAGE_BYTES];
    rue_error_shorten(text, copy, sizeof copy);
    for (char *at = copy; *at; at++)
        if (*at & 0x80) *at = '?';
    return json_string(copy);
}

static bool absent(const json_t *member)
{
    return !member || json_is_null(member);
}

/* Copies the string member `key`; false when it is there but no string, or too long. Absent leaves `out`
 * alone. */
static bool copy_string(const json_t *object, const char *key, char *out, size_t bytes)
{
    const json_t *member = json_object_get(object, key);
    if (absent(member)) return true;
    if (!json_is_string(member) || json_string_length(member) >= bytes) return false;
    snprintf(out, bytes, "%s", json_string_value(member));
    return true;
}

/* The type of batches, float32 when absent; false for a word that is none. */
static bool copy_batch_dtype(const json_t *object, enum rue_dtype *out)
{
    char name[16] = "float32";
    if (!copy_string(object, "batch_dtype", name, sizeof name)) return false;
    int found = rue_word_find(rue_dtype_names, RUE_DTYPE_COUNT, name);
    *out = found < 0 ? RUE_FLOAT32 : (enum rue_dtype)found;
    return found >= 0;
}

/* A non-negative integer member, or `fallback` when absent. */
static bool copy_count(const json_t *object, const char *key, uint64_t fallback, uint64_t *out)
{
    const json_t *member = json_object_get(object, key);
    *out = fallback;
    if (absent(member)) return true;
    if (!json_is_integer(member) || json_integer_value(member) < 0) return false;
    *out = (uint64_t)json_integer_value(member);
    return true;
}

/* A count in a runner's reply: within the bounds of a trial's fields, as sums and products of them must fit.
 */
static bool copy_reply_count(const json_t *reply, const char *key, uint64_t *out)
{
    return copy_count(reply, key, 0, out) && *out <= RUE_TRIAL_FIELD_MAX;
}

static bool copy_bool(const json_t *object, const char *key, bool *out)
{
    const json_t *member = json_object_get(object, key);
    if (absent(member)) return true;
    if (!json_is_boolean(member)) return false;
    *out = json_is_true(member);
    return true;
}

/* ---- configurations ---- */

json_t *rue_protocol_config_json(const struct rue_config *config)
{
    const struct rue_knobs *knobs = rue_config_knobs(config);
    json_t *object = json_object();
    for (size_t k = 0; k < knobs->count; k++)
        json_object_set_new(object, knobs->at[k]->name, rue_json_knob(knobs->at[k], config->value[k]));
    return object;
}

rue_status rue_protocol_decode_config(const json_t *object, const struct rue_knobs *knobs,
                                      struct rue_config *out, rue_error *error)
{
    *out = rue_config_default_of(knobs);
    if (!json_is_object(object))
        return rue_fail(error, RUE_USAGE, "the key \"config\" is missing or no object");
    for (size_t k = 0; k < knobs->count; k++) {
        const json_t *value = json_object_get(object, knobs->at[k]->name);
        if (value && !rue_json_knob_read(knobs->at[k], value, &out->value[k]))
            return rue_fail(error, RUE_USAGE, "config: \"%s\" is not a value that this knob can have",
                            knobs->at[k]->name);
    }
    return RUE_OK;
}

/* ---- encoding ---- */

char *rue_protocol_encode_hello(void)
{
    return dump(json_pack("{s:s, s:s}", "op", "hello", "protocol", RUE_PROTOCOL_NAME));
}

json_t *rue_protocol_variant_json(const struct rue_variant *variant)
{
    json_t *object = json_pack("{s:s, s:s, s:s}", "path", variant->path, "mode",
                               rue_mode_names[variant->mode], "format", variant->format);
    const struct {
        const char *name, *text;
    } more[] = {
        {"dtype", variant->dtype}, {"image_key", variant->image_key}, {"label_key", variant->label_key}};
    for (size_t i = 0; object && i < sizeof more / sizeof *more; i++)
        if (more[i].text[0]) json_object_set_new(object, more[i].name, json_string(more[i].text));
    return object;
}

char *rue_protocol_encode_open(const struct rue_variant *variant, const struct rue_workload *workload,
                               uint64_t images)
{
    return dump(json_pack("{s:s, s:o, s:o, s:I}", "op", "open", "variant", rue_protocol_variant_json(variant),
                          "workload", rue_workload_json(workload), "images", (json_int_t)images));
}

char *rue_protocol_encode_trial(const struct rue_trial_request *request, const char *profile)
{
    json_t *object =
        json_pack("{s:s, s:I, s:s, s:o, s:o, s:o, s:I, s:I, s:{s:I, s:I}, s:b}", "op", "trial", "id",
                  (json_int_t)request->id, "measure", rue_measure_names[request->measure], "variant",
                  rue_protocol_variant_json(&request->variant), "config",
                  rue_protocol_config_json(&request->config), "workload",
                  rue_workload_json(&request->workload), "images", (json_int_t)request->images, "job_images",
                  (json_int_t)request->job_images, "limits", "time_ns", (json_int_t)request->limits.time_ns,
                  "memory_bytes", (json_int_t)request->limits.memory_bytes, "detail", request->detail);
    if (!object) return NULL;
    if (request->model[0]) json_object_set_new(object, "model", json_string(request->model));
    if (request->waits) json_object_set_new(object, "wait", json_true());
    if (request->repeat) json_object_set_new(object, "repeat", json_integer((json_int_t)request->repeat));
    if (request->measure == RUE_COMPUTE)
        json_object_set_new(object, "batches", json_integer((json_int_t)request->batches));
    if (profile && profile[0]) json_object_set_new(object, "profile", json_loads(profile, 0, NULL));
    return dump(object);
}

static json_t *times_json(const uint64_t *times, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) json_array_append_new(array, json_integer((json_int_t)times[i]));
    return array;
}

char *rue_protocol_encode_result(json_t *id, const struct rue_trial_result *result)
{
    json_t *object = json_pack("{s:O?, s:s, s:o}", "id", id, "status", rue_outcome_names[result->outcome],
                               "config", rue_protocol_config_json(&result->config));
    if (!object) return NULL;
    if (result->reason[0]) json_object_set_new(object, "reason", text_json(result->reason));
    if (result->spent) json_object_set_new(object, "spent", json_true());
    for (size_t i = 0; i < rue_trial_field_count; i++) {
        const struct rue_trial_field *field = &rue_trial_fields[i];
        const char *at = (const char *)result + field->offset;
        if (field->real) {
            double value = *(const double *)at;
            if (isfinite(value)) json_object_set_new(object, field->name, json_real(value));
        } else {
            int64_t value = *(const int64_t *)at;
            if (value != RUE_ABSENT) json_object_set_new(object, field->name, json_integer(value));
        }
    }
    if (result->ready_count)
        json_object_set_new(object, "batch_ready_ns",
                            times_json(result->batch_ready_ns, result->ready_count));
    if (result->load_count)
        json_object_set_new(object, "batch_load_ns", times_json(result->batch_load_ns, result->load_count));
    if (result->compute_count)
        json_object_set_new(object, "batch_compute_ns",
                            times_json(result->batch_compute_ns, result->compute_count));
    return dump(object);
}

char *rue_protocol_encode_opened(const struct rue_opened *opened)
{
    json_t *object = json_pack("{s:s, s:I, s:I, s:s, s:s, s:s}", "status", "ok", "images",
                               (json_int_t)opened->images, "bytes", (json_int_t)opened->bytes, "digest",
                               opened->digest, "cache", opened->cache, "dtype", opened->dtype);
    if (object && opened->note[0]) json_object_set_new(object, "note", text_json(opened->note));
    if (object && opened->cache_reason[0])
        json_object_set_new(object, "cache_reason", text_json(opened->cache_reason));
    if (object && opened->batch_dtype != RUE_FLOAT32)
        json_object_set_new(object, "batch_dtype", json_string(rue_dtype_names[opened->batch_dtype]));
    return dump(object);
}

char *rue_protocol_encode_ready(json_t *id)
{
    return dump(json_pack("{s:O?, s:s}", "id", id, "status", RUE_PROTOCOL_READY));
}

bool rue_protocol_says_start(const char *line)
{
    json_t *object;
    if (rue_protocol_parse(line, &object, NULL) != RUE_OK) return false;
    const char *op = json_string_value(json_object_get(object, "op"));
    bool starts = op && strcmp(op, "start") == 0;
    json_decref(object);
    return starts;
}

char *rue_protocol_encode_failure(json_t *id, enum rue_outcome outcome, const char *reason)
{
    return dump(json_pack("{s:O?, s:s, s:o}", "id", id, "status", rue_outcome_names[outcome], "reason",
                          text_json(reason)));
}

/* ---- decoding ---- */

rue_status rue_protocol_parse(const char *line, json_t **out, rue_error *error)
{
    json_error_t why;
    *out = json_loads(line, JSON_REJECT_DUPLICATES, &why);
    if (*out && json_is_object(*out)) return RUE_OK;
    const char *reason = *out ? "it is an array" : why.text;
    char text[RUE_ERROR_MESSAGE_BYTES], clean[sizeof text];
    snprintf(text, sizeof text, "sent a line that is no JSON object (%s): '%.80s%s'", reason, line,
             strlen(line) > 80 ? "..." : "");
    rue_utf8_clean(text, true, clean, sizeof clean); /* it may be stored, and shown in a terminal */
    json_decref(*out);
    *out = NULL;
    return rue_fail(error, RUE_RUNNER, "%s", clean);
}

rue_status rue_protocol_decode_variant(const json_t *object, struct rue_variant *out, rue_error *error)
{
    *out = (struct rue_variant){0};
    char mode[16] = "raw";
    if (!json_is_object(object))
        return rue_fail(error, RUE_USAGE, "the key \"variant\" is missing or no object");
    if (!copy_string(object, "path", out->path, sizeof out->path) ||
        !copy_string(object, "format", out->format, sizeof out->format) ||
        !copy_string(object, "dtype", out->dtype, sizeof out->dtype) ||
        !copy_string(object, "image_key", out->image_key, sizeof out->image_key) ||
        !copy_string(object, "label_key", out->label_key, sizeof out->label_key) ||
        !copy_string(object, "mode", mode, sizeof mode))
        return rue_fail(error, RUE_USAGE,
                        "variant: path, mode, format, dtype, image_key and label_key are strings");
    int found = rue_word_find(rue_mode_names, RUE_MODE_COUNT, mode);
    if (found < 0) return rue_fail(error, RUE_USAGE, "variant: unknown mode \"%s\"", mode);
    out->mode = (enum rue_mode)found;
    return RUE_OK;
}

rue_status rue_protocol_decode_open(const json_t *object, struct rue_open_request *out, rue_error *error)
{
    json_int_t images = json_integer_value(json_object_get(object, "images"));
    out->images = images > 0 ? (uint64_t)images : 0;
    rue_status status = rue_protocol_decode_variant(json_object_get(object, "variant"), &out->variant, error);
    return status == RUE_OK ? rue_workload_read(json_object_get(object, "workload"), &out->workload, error)
                            : status;
}

rue_status rue_protocol_decode_trial(const json_t *object, struct rue_trial_request *out, rue_error *error)
{
    *out = (struct rue_trial_request){0};
    char measure[16] = "joint";
    if (!copy_string(object, "measure", measure, sizeof measure) ||
        !copy_string(object, "model", out->model, sizeof out->model))
        return rue_fail(error, RUE_USAGE, "measure and model are strings");
    int found = rue_word_find(rue_measure_names, RUE_MEASURE_COUNT, measure);
    if (found < 0) return rue_fail(error, RUE_USAGE, "unknown measure \"%s\"", measure);
    out->measure = (enum rue_measure)found;
    rue_status status =
        rue_protocol_decode_config(json_object_get(object, "config"), &rue_own_knobs, &out->config, error);
    if (status == RUE_OK)
        status = rue_workload_read(json_object_get(object, "workload"), &out->workload, error);
    if (status == RUE_OK && out->measure != RUE_COMPUTE)
        status = rue_protocol_decode_variant(json_object_get(object, "variant"), &out->variant, error);
    if (status != RUE_OK) return status;
    const json_t *limits = json_object_get(object, "limits");
    if (!copy_count(object, "id", 0, &out->id) || !copy_count(object, "images", 0, &out->images) ||
        !copy_count(object, "job_images", out->images, &out->job_images) ||
        !copy_count(object, "batches", 3, &out->batches) || !copy_count(object, "repeat", 0, &out->repeat) ||
        !(absent(limits) || json_is_object(limits)) ||
        !copy_count(limits, "time_ns", 0, &out->limits.time_ns) ||
        !copy_count(limits, "memory_bytes", 0, &out->limits.memory_bytes) ||
        !copy_bool(object, "detail", &out->detail) || !copy_bool(object, "wait", &out->waits))
        return rue_fail(error, RUE_USAGE,
                        "id, images, job_images, batches, repeat and limits are integers of at least 0, "
                        "detail and wait true or false");
    if (out->measure != RUE_COMPUTE && out->images == 0)
        return rue_fail(error, RUE_USAGE, "\"images\" must be at least 1");
    if (out->measure != RUE_LOAD && !out->model[0])
        return rue_fail(error, RUE_USAGE, "the key \"model\" is missing");
    return RUE_OK;
}

/* ---- replies ---- */

static rue_status decode_models(const json_t *list, struct rue_hello *out, rue_error *error)
{
    size_t i;
    json_t *item;
    if (!absent(list) && !json_is_array(list))
        return rue_fail(error, RUE_RUNNER, "hello: \"models\" is no list");
    json_array_foreach(list, i, item)
    {
        const char *name = json_string_value(item);
        if (!name || strlen(name) >= RUE_MODEL_NAME_BYTES || out->model_count == RUE_HELLO_LIST_MAX)
            return rue_fail(error, RUE_RUNNER, "hello: \"models\" is not a list of up to %d names",
                            RUE_HELLO_LIST_MAX);
        snprintf(out->models[out->model_count++], RUE_MODEL_NAME_BYTES, "%s", name);
    }
    return RUE_OK;
}

static rue_status decode_variants(const json_t *list, struct rue_hello *out, rue_error *error)
{
    size_t i;
    json_t *item;
    if (!absent(list) && !json_is_array(list))
        return rue_fail(error, RUE_RUNNER, "hello: \"variants\" is no list");
    json_array_foreach(list, i, item)
    {
        rue_error why = {0};
        if (out->variant_count == RUE_HELLO_LIST_MAX)
            return rue_fail(error, RUE_RUNNER, "hello: more than %d variants", RUE_HELLO_LIST_MAX);
        if (rue_protocol_decode_variant(item, &out->variants[out->variant_count++], &why) != RUE_OK)
            return rue_fail(error, RUE_RUNNER, "hello: %s", why.message);
    }
    return RUE_OK;
}

static rue_status decode_values(const json_t *list, size_t k, struct rue_space *space, rue_error *error)
{
    const struct rue_knob_info *knob = space->knobs->at[k];
    size_t i;
    json_t *item;
    int value;
    space->count[k] = 0;
    json_array_foreach(list, i, item)
    {
        if (!rue_json_knob_read(knob, item, &value))
            return rue_fail(error, RUE_RUNNER, "hello: space: a value of \"%s\" is out of bounds",
                            knob->name);
        if (!rue_space_has(space, k, value) && !rue_space_add(space, k, value))
            return rue_fail(
                error, RUE_RUNNER,
                "hello: space: \"%s\" has %zu values, more than %d: let it name those that matter",
                knob->name, json_array_size(list), RUE_SPACE_VALUES_MAX);
    }
    if (space->count[k]) return RUE_OK;
    return rue_fail(error, RUE_RUNNER, "hello: space: \"%s\" has no values", knob->name);
}

/* Knobs that the runner declares may always be varied; of rue's own those that its space names, where it has
 * one. */
static rue_status decode_space(const json_t *reply, struct rue_hello *out, rue_error *error)
{
    const json_t *space = json_object_get(reply, "space");
    const struct rue_knobs *knobs;
    rue_error why = {0};
    if (!absent(space) && !json_is_object(space))
        return rue_fail(error, RUE_RUNNER, "hello: \"space\" is no object");
    if (rue_knob_json_read(json_object_get(reply, "knobs"), &knobs, &why) != RUE_OK)
        return rue_fail(error, RUE_RUNNER, "hello: knobs: %s", why.message);
    out->space = rue_space_default(knobs);
    out->has_space = json_is_object(space);
    rue_status status = RUE_OK;
    for (size_t k = 0; status == RUE_OK && k < knobs->count; k++) {
        const json_t *values = json_object_get(space, knobs->at[k]->name);
        out->varies[k] = values || !out->has_space || k >= RUE_OWN_KNOB_COUNT;
        if (values) status = decode_values(values, k, &out->space, error);
    }
    return status;
}

/* "loader simulator 2.1" is the loader "loader simulator". */
static void name_without_version(const char *runner, char *out, size_t bytes)
{
    snprintf(out, bytes, "%.*s", (int)(bytes - 1), runner);
    char *space = strrchr(out, ' ');
    if (space && space[1] >= '0' && space[1] <= '9') *space = 0;
}

rue_status rue_protocol_decode_hello(const json_t *reply, struct rue_hello *out, rue_error *error)
{
    *out = (struct rue_hello){0};
    char protocol[64] = "", clock[16] = "real";
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    if (reason) return rue_fail(error, RUE_RUNNER, "%s", reason);
    if (!copy_string(reply, "protocol", protocol, sizeof protocol) ||
        strcmp(protocol, RUE_PROTOCOL_NAME) != 0)
        return rue_fail(error, RUE_RUNNER, "it does not speak %s (it says \"%s\")", RUE_PROTOCOL_NAME,
                        protocol);
    if (!copy_string(reply, "runner", out->runner, sizeof out->runner) || !out->runner[0] ||
        !copy_string(reply, "loader", out->loader, sizeof out->loader) ||
        !copy_string(reply, "clock", clock, sizeof clock) ||
        !copy_reply_count(reply, "images", &out->images) ||
        !copy_bool(reply, "whole_jobs", &out->whole_jobs) ||
        !copy_reply_count(reply, "answers", &out->answers))
        return rue_fail(error, RUE_RUNNER,
                        "hello: runner, loader, clock, images, whole_jobs or answers is missing or of the "
                        "wrong type, or too large");
    if (!out->loader[0]) name_without_version(out->runner, out->loader, sizeof out->loader);
    out->virtual_clock = strcmp(clock, "virtual") == 0;
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(reply, "measures"), i, item)
    {
        int found = json_is_string(item)
                        ? rue_word_find(rue_measure_names, RUE_MEASURE_COUNT, json_string_value(item))
                        : -1;
        if (found >= 0) out->measures[found] = true;
    }
    if (!out->measures[RUE_JOINT]) return rue_fail(error, RUE_RUNNER, "hello: it cannot measure \"joint\"");
    char *machine = rue_json_dump(json_object_get(reply, "machine"), JSON_COMPACT | JSON_SORT_KEYS);
    if (machine) snprintf(out->machine_json, sizeof out->machine_json, "%s", machine);
    if (machine && strlen(machine) >= sizeof out->machine_json) out->machine_json[0] = 0;
    free(machine);
    rue_status status = decode_models(json_object_get(reply, "models"), out, error);
    if (status == RUE_OK) status = decode_variants(json_object_get(reply, "variants"), out, error);
    return status == RUE_OK ? decode_space(reply, out, error) : status;
}

rue_status rue_protocol_decode_opened(const json_t *reply, struct rue_opened *out, rue_error *error)
{
    *out = (struct rue_opened){.cache = RUE_CACHE_AS_IS};
    char status[16] = "";
    if (!copy_string(reply, "status", status, sizeof status) || !status[0])
        return rue_fail(error, RUE_RUNNER, "open: \"status\" is missing or not a word");
    if (strcmp(status, "ok") != 0) {
        const char *reason = json_string_value(json_object_get(reply, "reason"));
        bool infeasible = strcmp(status, rue_outcome_names[RUE_TRIAL_INFEASIBLE]) == 0;
        return rue_fail(error, infeasible ? RUE_INFEASIBLE : RUE_DATA, "%s",
                        reason ? reason : "no reason given");
    }
    if (!copy_reply_count(reply, "images", &out->images) || !copy_reply_count(reply, "bytes", &out->bytes) ||
        !copy_string(reply, "digest", out->digest, sizeof out->digest) ||
        !copy_string(reply, "cache", out->cache, sizeof out->cache) ||
        !copy_string(reply, "dtype", out->dtype, sizeof out->dtype) || out->images == 0)
        return rue_fail(
            error, RUE_RUNNER,
            "open: images, bytes, digest or cache is of the wrong type or too large, or images is 0");
    if (!copy_batch_dtype(reply, &out->batch_dtype))
        return rue_fail(error, RUE_RUNNER, "open: batch_dtype is neither \"float32\" nor \"uint8\"");
    const char *note = json_string_value(json_object_get(reply, "note"));
    if (note) rue_error_shorten(note, out->note, sizeof out->note);
    const char *why = json_string_value(json_object_get(reply, "cache_reason"));
    if (why) rue_error_shorten(why, out->cache_reason, sizeof out->cache_reason);
    return RUE_OK;
}
