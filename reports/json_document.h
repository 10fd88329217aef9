/* JSON documents. Unknown values, NaN and infinity are null; text that is not UTF-8 is repaired. Values are
 * new references, NULL without memory; putting NULL into an object or array closes it and makes it NULL, so
 * that only the root needs a check. */
#ifndef RUE_JSON_DOCUMENT_H
#define RUE_JSON_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config.h"
#include "error.h"

/* They steal the reference to `value`. rue_json_put_named() repairs keys from outside. */
void rue_json_put(json_t **object, const char *key, json_t *value);
void rue_json_put_named(json_t **object, const char *key, json_t *value);
void rue_json_push(json_t **array, json_t *value);

/* An object of few members: "ok:n failed:n cause:T" and a value for each, of the kind that its letter says:
 * `i` an int, `n` a size_t or uint64_t, `N` the same, null for 0, `r` a double, null unless finite, `d` a
 * double of nanoseconds, rounded, `b` a bool, `t` a text, `T` a text, null for "", `o` a json_t *, stolen. */
json_t *rue_json_make(const char *members, ...);
void rue_json_add(json_t **object, const char *members, ...); /* to an existing object */

json_t *rue_json_text(const char *string);
json_t *rue_json_text_or_null(const char *string); /* null for "" */
json_t *rue_json_parse(const char *document);      /* the text of a JSON object; null for "" */
json_t *rue_json_real(double number);              /* null unless finite */
json_t *rue_json_integer(uint64_t number);         /* null beyond a signed 64-bit integer */
json_t *rue_json_integer_or_null(uint64_t number); /* null for 0 */
json_t *rue_json_nanoseconds(double ns);           /* a rounded integer; null unless finite */

/* A known value, and one read back; false when the knob cannot have it. */
json_t *rue_json_knob(const struct rue_knob_info *knob, int value);
bool rue_json_knob_read(const struct rue_knob_info *knob, const json_t *value, int *out);

json_t *rue_json_config(const struct rue_config *config); /* a value for each knob */

/* Declarations of the knobs that are not rue's own, an array (knob_json.h reads it). */
json_t *rue_json_knobs(const struct rue_knobs *knobs);

/* json_dumps() of jansson up to version 2.14 loses a key when memory ends. NULL: no memory, or no `root`. */
char *rue_json_dump(const json_t *root, size_t flags);

/* `value` as JSON for messages, cut to `bytes`: 5, "text", absent. */
void rue_json_describe(const json_t *value, char *out, size_t bytes);

/* Writes `root`, indented and in ASCII, with a line feed, and closes it. RUE_MEMORY if it is NULL, RUE_STORE
 * when the stream failed. */
rue_status rue_json_write(json_t *root, FILE *stream, rue_error *error) RUE_MUST_CHECK;

#endif
