#include "protocol.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "json_document.h"
#include "json_fields.h"
#include "knob_json.h"
#include "utf8.h"
#include "workload_json.h"

#define COMPACT (JSON_COMPACT | JSON_REAL_PRECISION(9))

static char *dump_line(json_t *object)
{
    char *line = rue_json_dump(object, COMPACT);
    json_decref(object);
    return line;
}

enum { TIMES_MAX = RUE_PROTOCOL_LINE_MAX };

/* ---- what both ends know ---- */

static const struct rue_field variant_fields[] = {
    {"path", RUE_FIELD_TEXT, RUE_FIELD_AT(rue_variant, path), RUE_FIELD_OPTIONAL},
    {"mode", RUE_FIELD_WORD, RUE_FIELD_AT(rue_variant, mode), RUE_FIELD_OPTIONAL, .words = rue_mode_names},
    {"format", RUE_FIELD_TEXT, RUE_FIELD_AT(rue_variant, format), RUE_FIELD_OPTIONAL},
    {"dtype", RUE_FIELD_TEXT, RUE_FIELD_AT(rue_variant, dtype), RUE_FIELD_OMIT},
    {"image_key", RUE_FIELD_TEXT, RUE_FIELD_AT(rue_variant, image_key), RUE_FIELD_OMIT},
    {"label_key", RUE_FIELD_TEXT, RUE_FIELD_AT(rue_variant, label_key), RUE_FIELD_OMIT},
    {"subset", RUE_FIELD_TEXT, RUE_FIELD_AT(rue_variant, subset), RUE_FIELD_OMIT},
    {0}};

#define OPEN(member) RUE_FIELD_AT(rue_open_request, member)

static const struct rue_field open_fields[] = {
    {"variant", RUE_FIELD_STRUCT, OPEN(variant), .fields = variant_fields},
    {"workload", RUE_FIELD_STRUCT, OPEN(workload), RUE_FIELD_OPTIONAL, .fields = rue_workload_fields},
    {"images", RUE_FIELD_NUMBER, OPEN(images), RUE_FIELD_OPTIONAL},
    {0}};

static const struct rue_field limits_fields[] = {
    {"time_ns", RUE_FIELD_NUMBER, RUE_FIELD_AT(rue_limits, time_ns), RUE_FIELD_OPTIONAL},
    {"memory_bytes", RUE_FIELD_NUMBER, RUE_FIELD_AT(rue_limits, memory_bytes), RUE_FIELD_OPTIONAL},
    {0}};

#define TRIAL(member) RUE_FIELD_AT(rue_trial_request, member)

static const struct rue_field trial_fields[] = {
    {"id", RUE_FIELD_NUMBER, TRIAL(id), RUE_FIELD_OPTIONAL},
    {"measure", RUE_FIELD_WORD, TRIAL(measure), RUE_FIELD_OPTIONAL, .words = rue_measure_names},
    {"variant", RUE_FIELD_STRUCT, TRIAL(variant), RUE_FIELD_OPTIONAL, .fields = variant_fields},
    {"config", RUE_FIELD_CONFIG, TRIAL(config)},
    {"workload", RUE_FIELD_STRUCT, TRIAL(workload), RUE_FIELD_OPTIONAL, .fields = rue_workload_fields},
    {"images", RUE_FIELD_NUMBER, TRIAL(images), RUE_FIELD_OPTIONAL},
    {"job_images", RUE_FIELD_NUMBER, TRIAL(job_images), RUE_FIELD_OMIT},
    {"limits", RUE_FIELD_STRUCT, TRIAL(limits), RUE_FIELD_OPTIONAL, .fields = limits_fields},
    {"detail", RUE_FIELD_FLAG, TRIAL(detail), RUE_FIELD_OPTIONAL},
    {"model", RUE_FIELD_TEXT, TRIAL(model), RUE_FIELD_OMIT},
    {"wait", RUE_FIELD_FLAG, TRIAL(waits), RUE_FIELD_OMIT},
    {"repeat", RUE_FIELD_NUMBER, TRIAL(repeat), RUE_FIELD_OMIT},
    {"batches", RUE_FIELD_NUMBER, TRIAL(batches), RUE_FIELD_OMIT},
    {0}};

/* Limits for numbers from runners keep their sums and products in range. */
#define OPENED(member) RUE_FIELD_AT(rue_opened, member)

static const struct rue_field opened_fields[] = {
    {"images", RUE_FIELD_NUMBER, OPENED(images), .least = 1, .most = RUE_TRIAL_FIELD_MAX},
    {"share_images", RUE_FIELD_NUMBER, OPENED(share_images), RUE_FIELD_OMIT, .most = RUE_TRIAL_FIELD_MAX},
    {"bytes", RUE_FIELD_NUMBER, OPENED(bytes), RUE_FIELD_OPTIONAL, .most = RUE_TRIAL_FIELD_MAX},
    {"digest", RUE_FIELD_TEXT, OPENED(digest), RUE_FIELD_OPTIONAL},
    {"cache", RUE_FIELD_TEXT, OPENED(cache), RUE_FIELD_OPTIONAL},
    {"dtype", RUE_FIELD_TEXT, OPENED(dtype), RUE_FIELD_OPTIONAL},
    {"note", RUE_FIELD_TEXT, OPENED(note), RUE_FIELD_OMIT | RUE_FIELD_WRITTEN},
    {"cache_reason", RUE_FIELD_TEXT, OPENED(cache_reason), RUE_FIELD_OMIT | RUE_FIELD_WRITTEN},
    {"batch_dtype", RUE_FIELD_WORD, OPENED(batch_dtype), RUE_FIELD_OMIT, .words = rue_batch_dtype_names},
    {"transform", RUE_FIELD_TEXT, OPENED(transform), RUE_FIELD_OMIT},
    {"geometry", RUE_FIELD_FLAG, OPENED(geometry), RUE_FIELD_OMIT},
    {"views", RUE_FIELD_NUMBER, OPENED(views), RUE_FIELD_OMIT, .most = RUE_VIEWS_MAX},
    {"subset", RUE_FIELD_FLAG, OPENED(has_subset), RUE_FIELD_OMIT},
    {"layout", RUE_FIELD_TEXT, OPENED(layout), RUE_FIELD_OMIT},
    {"made_with", RUE_FIELD_TEXT, OPENED(made_with), RUE_FIELD_OMIT},
    {"item_values", RUE_FIELD_NUMBER, OPENED(item_values), RUE_FIELD_OMIT, .most = 1 << 30},
    {"chunk_cache_bytes", RUE_FIELD_NUMBER, OPENED(chunk_cache_bytes), RUE_FIELD_OMIT,
     .most = RUE_TRIAL_FIELD_MAX},
    {0}};

static const char data_fault[] = "data_fault";

#define RESULT(member) RUE_FIELD_AT(rue_trial_result, member)
#define TIMES(times, number)                                                                          \
    RUE_FIELD_LIST, RESULT(times), RUE_FIELD_OMIT | RUE_FIELD_POINTED,                                \
        .most = TIMES_MAX, .fields = time_fields, .count = offsetof(struct rue_trial_result, number), \
        .element = sizeof(uint64_t)

static const struct rue_field time_fields[] = {
    {"", RUE_FIELD_NUMBER, .bytes = sizeof(uint64_t), .most = RUE_TRIAL_FIELD_MAX}, {0}};

const struct rue_field rue_protocol_result_fields[] = {
    {"status", RUE_FIELD_WORD, RESULT(outcome), .words = rue_outcome_names},
    {"config", RUE_FIELD_CONFIG, RESULT(config), RUE_FIELD_OPTIONAL},
    {"reason", RUE_FIELD_TEXT, RESULT(reason), RUE_FIELD_OMIT | RUE_FIELD_WRITTEN},
    {data_fault, RUE_FIELD_FLAG, RESULT(data_fault), RUE_FIELD_OMIT},
    {"spent", RUE_FIELD_FLAG, RESULT(spent), RUE_FIELD_OMIT | RUE_FIELD_WRITTEN},
#define X(name, text)             \
    {#name,                       \
     RUE_FIELD_NUMBER,            \
     RESULT(name),                \
     RUE_FIELD_OMIT,              \
     .most = RUE_TRIAL_FIELD_MAX, \
     .fallback = (uint64_t)RUE_ABSENT},
    RUE_TRIAL_INTEGERS(X)
#undef X
#define X(name, text) {#name, RUE_FIELD_REAL, RESULT(name), RUE_FIELD_OMIT, .most = RUE_TRIAL_FIELD_MAX},
        RUE_TRIAL_REALS(X)
#undef X
            {0}};

const struct rue_field rue_protocol_times_fields[] = {
#define X(list, count, text) {#list, TIMES(list, count)},
    RUE_TRIAL_LISTS(X)
#undef X
        {0}};

#define HELLO(member) RUE_FIELD_AT(rue_hello, member)

static const char usage_word[] = "usage";
static const char *const clocks[] = {"real", "virtual", NULL};
static const struct rue_field model_fields[] = {{"", RUE_FIELD_TEXT, .bytes = RUE_MODEL_NAME_BYTES}, {0}};

static const struct rue_field hello_fields[] = {
    {"runner", RUE_FIELD_TEXT, HELLO(runner)},
    {"loader", RUE_FIELD_TEXT, HELLO(loader), RUE_FIELD_OPTIONAL},
    {"clock", RUE_FIELD_WORD, HELLO(virtual_clock), RUE_FIELD_OPTIONAL, .words = clocks},
    {"images", RUE_FIELD_NUMBER, HELLO(images), RUE_FIELD_OPTIONAL, .most = RUE_TRIAL_FIELD_MAX},
    {"whole_jobs", RUE_FIELD_FLAG, HELLO(whole_jobs), RUE_FIELD_OPTIONAL},
    {"answers", RUE_FIELD_NUMBER, HELLO(answers), RUE_FIELD_OPTIONAL, .most = RUE_TRIAL_FIELD_MAX},
    {"models", RUE_FIELD_LIST, HELLO(models), RUE_FIELD_OPTIONAL, .fields = model_fields,
     .count = offsetof(struct rue_hello, model_count), .element = RUE_MODEL_NAME_BYTES},
    {"variants", RUE_FIELD_LIST, HELLO(variants), RUE_FIELD_OPTIONAL, .fields = variant_fields,
     .count = offsetof(struct rue_hello, variant_count), .element = sizeof(struct rue_variant)},
    {0}};

/* ---- encoding ---- */

char *rue_protocol_encode_hello(void)
{
    return dump_line(json_pack("{s:s, s:s}", "op", "hello", "protocol", RUE_PROTOCOL_NAME));
}

char *rue_protocol_encode_open(const struct rue_variant *variant, const struct rue_workload *workload,
                               uint64_t images)
{
    const struct rue_open_request request = {*variant, *workload, images};
    json_t *object = rue_json_struct(open_fields, &request, NULL);
    rue_json_add(&object, "op:t", "open");
    return dump_line(object);
}

char *rue_protocol_encode_trial(const struct rue_trial_request *request, const char *profile)
{
    json_t *object = rue_json_struct(trial_fields, request, NULL);
    rue_json_add(&object, "op:t", "trial");
    if (profile && profile[0]) rue_json_put(&object, "profile", json_loads(profile, 0, NULL));
    return dump_line(object);
}

char *rue_protocol_encode_result(json_t *id, const struct rue_trial_result *result)
{
    json_t *object = rue_json_struct(rue_protocol_result_fields, result, NULL);
    rue_json_put_fields(&object, rue_protocol_times_fields, result, NULL);
    rue_json_add(&object, "id:o", id ? json_incref(id) : json_null());
    return dump_line(object);
}

char *rue_protocol_encode_opened(const struct rue_opened *opened)
{
    json_t *object = rue_json_struct(opened_fields, opened, NULL);
    rue_json_add(&object, "status:t", rue_outcome_names[RUE_TRIAL_OK]);
    return dump_line(object);
}

char *rue_protocol_encode_ready(json_t *id)
{
    return dump_line(json_pack("{s:O?, s:s}", "id", id, "status", RUE_PROTOCOL_READY));
}

bool rue_protocol_is_start(const char *line)
{
    json_t *object;
    if (rue_protocol_parse(line, &object, NULL) != RUE_OK) return false;
    const char *op = json_string_value(json_object_get(object, "op"));
    bool starts = op && strcmp(op, "start") == 0;
    json_decref(object);
    return starts;
}

char *rue_protocol_encode_failure(json_t *id, rue_status status, const char *reason)
{
    bool infeasible = status == RUE_INFEASIBLE || status == RUE_MEMORY;
    enum rue_outcome outcome = infeasible ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED;
    return dump_line(json_pack("{s:O?, s:s, s:o, s:o*, s:o*}", "id", id, "status", rue_outcome_names[outcome],
                               "reason", rue_json_text(reason), data_fault,
                               status == RUE_DATA ? json_true() : NULL, "refused",
                               infeasible ? json_integer(1) : NULL));
}

char *rue_protocol_encode_refusal(const char *reason)
{
    return dump_line(json_pack("{s:s, s:o}", "status", usage_word, "reason", rue_json_text(reason)));
}

/* ---- decoding ---- */

rue_status rue_protocol_parse(const char *line, json_t **out, rue_error *error)
{
    json_error_t why;
    *out = json_loads(line, JSON_REJECT_DUPLICATES, &why);
    if (*out && json_is_object(*out)) return RUE_OK;
    const char *reason = *out ? "it is an array" : why.text;
    char text[RUE_ERROR_MESSAGE_BYTES], clean[sizeof text];
    snprintf(text, sizeof text, "sent a line that is not a JSON object (%s): '%.80s%s'", reason, line,
             strlen(line) > 80 ? "..." : "");
    rue_utf8_clean(text, true, clean, sizeof clean); /* it may be stored and shown in a terminal */
    json_decref(*out);
    *out = NULL;
    return rue_fail(error, RUE_RUNNER, "%s", clean);
}

bool rue_protocol_is_interrupt(const char *line, size_t bytes)
{
    enum { BYTES_MAX = 64 }; /* other lines are not parsed */
    json_t *object = bytes <= BYTES_MAX ? json_loadb(line, bytes, 0, NULL) : NULL;
    const char *op = json_string_value(json_object_get(object, "op"));
    bool found = op && strcmp(op, "interrupted") == 0;
    json_decref(object);
    return found;
}

rue_status rue_protocol_decode_open(const json_t *object, struct rue_open_request *out, rue_error *error)
{
    struct rue_json_reader reader = {.place = "open", .fault = RUE_USAGE, .error = error};
    *out = (struct rue_open_request){.workload = rue_workload_default()};
    rue_json_read_fields(&reader, object, open_fields, out);
    rue_workload_check(&reader, &out->workload);
    return reader.status;
}

rue_status rue_protocol_decode_trial(const json_t *object, struct rue_trial_request *out, rue_error *error)
{
    struct rue_json_reader reader = {
        .place = "trial", .fault = RUE_USAGE, .error = error, .knobs = &rue_own_knobs};
    *out = (struct rue_trial_request){.workload = rue_workload_default(), .batches = 3};
    rue_json_read_fields(&reader, object, trial_fields, out);
    rue_workload_check(&reader, &out->workload);
    if (!out->job_images) out->job_images = out->images;
    if (out->measure != RUE_COMPUTE && !json_object_get(object, "variant"))
        rue_json_refuse(&reader, "variant", "there");
    if (out->measure != RUE_COMPUTE && out->images == 0) rue_json_refuse(&reader, "images", "at least 1");
    if (out->measure != RUE_LOAD && !out->model[0]) rue_json_refuse(&reader, "model", "there");
    return reader.status;
}

/* ---- replies ---- */

/* Errors of replies continue a sentence that starts with "the runner". */
#define WRONG_FIELD "sent a wrong field: "
static const char wrong_field[] = "sent a wrong field";

static rue_status fail_field(const char *what, const json_t *value, rue_error *error)
{
    char found[64];
    rue_json_describe(value, found, sizeof found);
    return rue_fail(error, RUE_RUNNER, WRONG_FIELD "%s: %s %s", what, value ? "got" : "it is", found);
}

static rue_status fail_value(const struct rue_knob_info *knob, const json_t *value, rue_error *error)
{
    char expected[160], what[256];
    rue_knob_describe(knob, expected, sizeof expected);
    snprintf(what, sizeof what, "hello.space.%s has a value that is not %s", knob->name, expected);
    return fail_field(what, value, error);
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
        if (!rue_json_knob_read(knob, item, &value)) return fail_value(knob, item, error);
        if (!rue_space_has_value(space, k, value) && !rue_space_add(space, k, value))
            return rue_fail(error, RUE_RUNNER,
                            WRONG_FIELD "hello.space.%s has %zu values, more than %d: send fewer", knob->name,
                            json_array_size(list), RUE_SPACE_VALUES_MAX);
    }
    char what[128];
    snprintf(what, sizeof what, "hello.space.%s is not a list with values", knob->name);
    return space->count[k] ? RUE_OK : fail_field(what, list, error);
}

/* With a space, the loader does not have those of rue's knobs that it does not name. */
static rue_status decode_knobs(const json_t *reply, const json_t *space, const struct rue_knobs **out,
                               rue_error *error)
{
    json_t *declared = json_object_get(reply, "knobs");
    bool none = !declared || json_is_null(declared);
    json_t *all = none ? json_array() : json_is_array(declared) ? json_copy(declared) : json_incref(declared);
    for (size_t k = 0; json_is_array(all) && json_is_object(space) && k < rue_own_knobs.count; k++) {
        const struct rue_knob_info *knob = rue_own_knobs.at[k];
        if (!knob->always_shown && !json_object_get(space, knob->name))
            rue_json_push(&all, rue_json_make("name:t absent:b", knob->name, true));
    }
    rue_status status = all ? rue_knob_json_read(all, out, error) : rue_fail_memory(error, "knobs", 0);
    json_decref(all);
    return status;
}

/* Declared knobs can always be varied. With a space, only those of rue's knobs that it names can be varied.
 */
static rue_status decode_space(const json_t *reply, struct rue_hello *out, rue_error *error)
{
    const json_t *space = json_object_get(reply, "space");
    const struct rue_knobs *knobs;
    rue_error why = {0};
    if (space && !json_is_null(space) && !json_is_object(space))
        return fail_field("hello.space is not an object", space, error);
    if (decode_knobs(reply, space, &knobs, &why) != RUE_OK)
        return rue_fail(error, RUE_RUNNER, WRONG_FIELD "hello.knobs: %s", why.message);
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

/* "loader simulator 2.1" becomes "loader simulator". */
static void name_without_version(const char *runner, char *out, size_t bytes)
{
    snprintf(out, bytes, "%.*s", (int)(bytes - 1), runner);
    char *space = strrchr(out, ' ');
    if (space && space[1] >= '0' && space[1] <= '9') *space = 0;
}

rue_status rue_protocol_decode_hello(const json_t *reply, struct rue_hello *out, rue_error *error)
{
    struct rue_json_reader reader = {
        .path = wrong_field, .place = "hello", .fault = RUE_RUNNER, .error = error};
    const char *reason = json_string_value(json_object_get(reply, "reason")),
               *protocol = json_string_value(json_object_get(reply, "protocol"));
    *out = (struct rue_hello){0};
    if (reason) return rue_fail(error, RUE_RUNNER, "%s", reason);
    if (!protocol || strcmp(protocol, RUE_PROTOCOL_NAME) != 0)
        return fail_field("hello.protocol is not " RUE_PROTOCOL_NAME, json_object_get(reply, "protocol"),
                          error);
    rue_json_read_fields(&reader, reply, hello_fields, out);
    if (!out->runner[0]) rue_json_refuse(&reader, "runner", "a name: it is empty");
    if (reader.status != RUE_OK) return reader.status;
    if (!out->loader[0]) name_without_version(out->runner, out->loader, sizeof out->loader);
    size_t i;
    json_t *item;
    json_array_foreach(json_object_get(reply, "measures"), i, item)
    {
        int found = json_is_string(item)
                        ? rue_word_find(rue_measure_names, RUE_MEASURE_COUNT, json_string_value(item))
                        : -1;
        if (found >= 0) out->measures[found] = true;
    }
    if (!out->measures[RUE_JOINT])
        return fail_field("hello.measures does not contain \"joint\"", json_object_get(reply, "measures"),
                          error);
    char *machine = rue_json_dump(json_object_get(reply, "machine"), JSON_COMPACT | JSON_SORT_KEYS);
    if (machine) snprintf(out->machine_json, sizeof out->machine_json, "%s", machine);
    if (machine && strlen(machine) >= sizeof out->machine_json) out->machine_json[0] = 0;
    free(machine);
    return decode_space(reply, out, error);
}

rue_status rue_protocol_decode_opened(const json_t *reply, struct rue_opened *out, rue_error *error)
{
    struct rue_json_reader reader = {
        .path = wrong_field, .place = "open", .fault = RUE_RUNNER, .error = error};
    const char *status = json_string_value(json_object_get(reply, "status"));
    *out = (struct rue_opened){.cache = RUE_CACHE_AS_IS};
    if (!status) rue_json_refuse(&reader, "status", "a word such as ok");
    if (status && strcmp(status, rue_outcome_names[RUE_TRIAL_OK]) != 0) {
        const char *reason = json_string_value(json_object_get(reply, "reason"));
        bool infeasible = strcmp(status, rue_outcome_names[RUE_TRIAL_INFEASIBLE]) == 0,
             usage = strcmp(status, usage_word) == 0,
             refused = json_integer_value(json_object_get(reply, "refused")) == 1;
        return rue_fail(error,
                        infeasible ? RUE_INFEASIBLE
                        : usage    ? RUE_USAGE
                                   : RUE_DATA,
                        "%s%s", reason ? reason : "it sent no \"reason\"",
                        infeasible && !refused ? rue_advice(ENOMEM) : "");
    }
    rue_json_read_fields(&reader, reply, opened_fields, out);
    const char *note = json_string_value(json_object_get(reply, "note"));
    if (note) rue_error_shorten(note, out->note, sizeof out->note);
    const char *why = json_string_value(json_object_get(reply, "cache_reason"));
    if (why) rue_error_shorten(why, out->cache_reason, sizeof out->cache_reason);
    return reader.status;
}
