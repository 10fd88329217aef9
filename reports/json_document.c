#include "json_document.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "section.h"
#include "utf8.h"

/* Nine digits tell nanosecond clocks apart over a second, and hide the last bits of a division. */
#define JSON_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(9))

static void keep(json_t **container, bool whole)
{
    if (whole) return;
    json_decref(*container);
    *container = NULL;
}

void rue_json_put(json_t **object, const char *key, json_t *value)
{
    keep(object, json_object_set_new_nocheck(*object, key, value) == 0);
}

void rue_json_put_named(json_t **object, const char *key, json_t *value)
{
    char *repaired = rue_utf8_repair(key);
    if (repaired)
        rue_json_put(object, repaired, value);
    else
        json_decref(value), keep(object, false);
    free(repaired);
}

void rue_json_push(json_t **array, json_t *value)
{
    keep(array, json_array_append_new(*array, value) == 0);
}

json_t *rue_json_reals(const double *values, size_t count)
{
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) rue_json_push(&array, rue_json_real(values[i]));
    return array;
}

static json_t *next_member(char kind, va_list *values)
{
    switch (kind) {
    case 'i':
        return json_integer(va_arg(*values, int));
    case 'n':
        return rue_json_integer(va_arg(*values, uint64_t));
    case 'N':
        return rue_json_integer_or_null(va_arg(*values, uint64_t));
    case 'r':
        return rue_json_real(va_arg(*values, double));
    case 'd':
        return rue_json_nanoseconds(va_arg(*values, double));
    case 'b':
        return json_boolean(va_arg(*values, int));
    case 't':
        return rue_json_text(va_arg(*values, const char *));
    case 'T':
        return rue_json_text_or_null(va_arg(*values, const char *));
    default:
        assert(kind == 'o');
        return va_arg(*values, json_t *);
    }
}

json_t *rue_json_make(const char *members, ...)
{
    json_t *object = json_object();
    va_list values;
    va_start(values, members);
    for (const char *at = members; *at; at += strspn(at, " ")) {
        char key[64];
        size_t length = strcspn(at, ":");
        snprintf(key, sizeof key, "%.*s", (int)length, at);
        rue_json_put(&object, key, next_member(at[length + 1], &values));
        at += length + 2;
    }
    va_end(values);
    return object;
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

json_t *rue_json_config(const struct rue_config *config, bool all)
{
    json_t *object = json_object();
    const struct rue_knobs *knobs = rue_config_knobs(config);
    for (size_t k = 0; k < knobs->count; k++) {
        const struct rue_knob_info *knob = knobs->at[k];
        int value = config->value[k];
        if (all || knob->always_shown || value != knob->fallback)
            rue_json_put(&object, knob->name, rue_json_knob(knob, value));
    }
    return object;
}

static json_t *declaration_json(const struct rue_knob_info *knob)
{
    json_t *object = json_object();
    rue_json_put(&object, "name", json_string(knob->name));
    rue_json_put(&object, "kind", json_string(rue_knob_kind_names[knob->kind]));
    rue_json_put(&object, "default", rue_json_knob(knob, knob->fallback));
    if (knob->kind == RUE_KIND_COUNT) {
        rue_json_put(&object, "min", json_integer(knob->min));
        rue_json_put(&object, "max", json_integer(knob->max));
    } else if (knob->kind != RUE_KIND_FLAG) {
        json_t *values = json_array();
        for (int v = 0; v <= knob->max; v++) rue_json_push(&values, rue_json_knob(knob, v));
        rue_json_put(&object, "values", values);
    }
    if (knob->needs_workers) rue_json_put(&object, "needs_workers", json_true());
    if (knob->torch) rue_json_put(&object, "pytorch", json_string(knob->torch));
    if (*knob->help) rue_json_put(&object, "help", json_string(knob->help));
    return object;
}

json_t *rue_json_knobs(const struct rue_knobs *knobs)
{
    json_t *array = json_array();
    for (size_t k = RUE_OWN_KNOB_COUNT; k < knobs->count; k++)
        rue_json_push(&array, declaration_json(knobs->at[k]));
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

rue_status rue_json_write(json_t *root, FILE *stream, rue_error *error)
{
    struct sink sink = {.stream = stream, .used = 0};
    if (!root) return rue_fail(error, RUE_MEMORY, "no memory is left for the JSON");
    bool dumped = json_dump_callback(root, take, &sink, JSON_FLAGS) == 0 && empty(&sink) == 0;
    json_decref(root);
    fputc('\n', stream);
    rue_status status = rue_report_finish(stream, error);
    /* A dump whose stream is well has run out of memory. */
    if (status != RUE_OK || dumped) return status;
    return rue_fail(error, RUE_MEMORY, "no memory is left for the JSON");
}
