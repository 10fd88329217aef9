#include "json_document.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report_stream.h"
#include "utf8.h"

/* Nine digits tell nanosecond clocks apart over a second, and hide the last bits of a division. */
#define JSON_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(9))

void rue_json_put(struct rue_json_document *document, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new_nocheck(object, key, value) != 0) document->failed = true;
}

void rue_json_put_named(struct rue_json_document *document, json_t *object, const char *key, json_t *value)
{
    char *repaired = rue_utf8_repair(key);
    if (repaired)
        rue_json_put(document, object, repaired, value);
    else
        document->failed = true, json_decref(value);
    free(repaired);
}

void rue_json_push(struct rue_json_document *document, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0) document->failed = true;
}

json_t *rue_json_text(const char *string)
{
    json_t *value = json_string(string);
    if (value) return value;
    char *repaired = rue_utf8_repair(string);
    value = repaired ? json_string(repaired) : NULL;
    free(repaired);
    return value;
}

json_t *rue_json_text_or_null(const char *string)
{
    return string[0] ? rue_json_text(string) : json_null();
}

json_t *rue_json_words(const char *object)
{
    json_t *value = json_loads(object, JSON_REJECT_DUPLICATES, NULL);
    if (json_is_object(value)) return value;
    json_decref(value);
    return json_null();
}

json_t *rue_json_real(double number)
{
    return isfinite(number) ? json_real(number) : json_null();
}

json_t *rue_json_integer(uint64_t number)
{
    if (number <= INT64_MAX) return json_integer((json_int_t)number);
    return json_sprintf("%llu", (unsigned long long)number);
}

json_t *rue_json_integer_or_null(uint64_t number)
{
    return number ? rue_json_integer(number) : json_null();
}

json_t *rue_json_nanoseconds(double ns)
{
    return isfinite(ns) && ns < 9e18 ? json_integer((json_int_t)llround(ns)) : json_null();
}

json_t *rue_json_knob(const struct rue_knob_info *knob, int value)
{
    if (knob->kind == RUE_KIND_FLAG) return json_boolean(value);
    if (knob->kind == RUE_KIND_NUMBER) return json_real(knob->numbers[value]);
    return knob->words ? json_string(knob->words[value]) : json_integer(value);
}

json_t *rue_json_config(struct rue_json_document *document, const struct rue_config *config, bool all)
{
    json_t *object = json_object();
    const struct rue_knobs *knobs = rue_config_knobs(config);
    for (size_t k = 0; k < knobs->count; k++) {
        const struct rue_knob_info *knob = knobs->at[k];
        int value = config->value[k];
        if (value == RUE_KNOB_UNKNOWN && !all) continue;
        if (value == RUE_KNOB_UNKNOWN) value = knob->fallback;
        if (all || knob->always_shown || value != knob->fallback)
            rue_json_put(document, object, knob->name, rue_json_knob(knob, value));
    }
    return object;
}

static json_t *declaration_json(const struct rue_knob_info *knob)
{
    json_t *object = json_pack("{s:s, s:s, s:o}", "name", knob->name, "kind", rue_knob_kind_names[knob->kind],
                               "default", rue_json_knob(knob, knob->fallback));
    if (knob->kind == RUE_KIND_COUNT) {
        json_object_set_new(object, "min", json_integer(knob->min));
        json_object_set_new(object, "max", json_integer(knob->max));
    } else if (knob->kind != RUE_KIND_FLAG) {
        json_t *values = json_array();
        for (int v = 0; v <= knob->max; v++) json_array_append_new(values, rue_json_knob(knob, v));
        json_object_set_new(object, "values", values);
    }
    if (knob->needs_workers) json_object_set_new(object, "needs_workers", json_true());
    if (knob->torch) json_object_set_new(object, "pytorch", json_string(knob->torch));
    if (*knob->help) json_object_set_new(object, "help", json_string(knob->help));
    return object;
}

json_t *rue_json_knobs(const struct rue_knobs *knobs)
{
    json_t *array = json_array();
    for (size_t k = RUE_OWN_KNOB_COUNT; k < knobs->count; k++)
        json_array_append_new(array, declaration_json(knobs->at[k]));
    return array;
}

/* What is to be written in one piece: a dump hands over every comma by itself. A dump holds no NUL. */
struct sink {
    FILE *stream;
    size_t used;
    char bytes[1 << 15];
};

static int empty(struct sink *sink)
{
    bool whole = fwrite(sink->bytes, 1, sink->used, sink->stream) == sink->used;
    sink->used = 0;
    return whole ? 0 : -1;
}

static int put(struct sink *sink, const char *text, size_t bytes)
{
    if (sink->used + bytes > sizeof sink->bytes && empty(sink) != 0) return -1;
    memcpy(sink->bytes + sink->used, text, bytes);
    sink->used += bytes;
    return 0;
}

char *rue_json_dump(const json_t *root, size_t flags)
{
    size_t bytes = root ? json_dumpb(root, NULL, 0, flags) : 0;
    char *text = bytes ? malloc(bytes + 1) : NULL;
    bool whole = text && json_dumpb(root, text, bytes, flags) == bytes;
    if (whole) text[bytes] = '\0';
    if (whole || !text) return text;
    free(text);
    return NULL;
}

/* The library escapes what JSON forbids, control characters of ASCII; terminals obey others, too. A part that
 * is handed over holds whole characters. */
static int take(const char *text, size_t bytes, void *context)
{
    for (const char *end = text + bytes; text < end;) {
        char escaped[16];
        const char *from = text;
        int32_t point = rue_utf8_next(&text);
        size_t length = (size_t)(text - from);
        if (point >= 0x7F && rue_utf8_is_unsafe(point)) {
            length = (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)point);
            from = escaped;
        }
        if (put(context, from, length) != 0) return -1;
    }
    return 0;
}

rue_status rue_json_write(const struct rue_json_document *document, const json_t *root, FILE *stream,
                          rue_error *error)
{
    if (!root || document->failed) return rue_fail(error, RUE_MEMORY, "no memory is left for the JSON");
    struct sink sink = {.stream = stream, .used = 0};
    bool dumped = json_dump_callback(root, take, &sink, JSON_FLAGS) == 0 && empty(&sink) == 0;
    fputc('\n', stream);
    rue_status status = rue_report_finish(stream, error);
    /* A dump whose stream is well has run out of memory. */
    if (status != RUE_OK || dumped) return status;
    return rue_fail(error, RUE_MEMORY, "no memory is left for the JSON");
}
