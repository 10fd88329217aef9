/* JSON documents. Unknown values, NaN and infinity are null; text that is not UTF-8 is repaired. Values are
 * new references; NULL: out of memory. Putting NULL into an object or array closes it and sets it to NULL, so
 * only the root needs a check. */
#ifndef RUE_JSON_DOCUMENT_H
#define RUE_JSON_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config.h"
#include "error.h"

/* These steal the reference to `value`. rue_json_put_named repairs keys from other programs. */
void rue_json_put(json_t **object, const char *key, json_t *value);
void rue_json_put_named(json_t **object, const char *key, json_t *value);
void rue_json_push(json_t **array, json_t *value);

/* An object with members "ok:n failed:n cause:T". The letter is the type of the value: `i` int; `n` size_t or
 * uint64_t; `N` the same, null for 0; `r` double, null unless finite; `d` double of nanoseconds, rounded; `b`
 * bool; `t` text; `T` text, null for ""; `o` json_t *, stolen. */
json_t *rue_json_make(const char *members, ...);
void rue_json_add(json_t **object, const char *members, ...); /* to an existing object */

json_t *rue_json_text(const char *string);
json_t *rue_json_text_or_null(const char *string); /* null for "" */
json_t *rue_json_parse(const char *document);      /* the text of a JSON object; null for "" */
json_t *rue_json_real(double number);              /* null unless finite */
json_t *rue_json_integer(uint64_t number);         /* null beyond a signed 64-bit integer */
json_t *rue_json_integer_or_null(uint64_t number); /* null for 0 */
json_t *rue_json_nanoseconds(double ns);           /* a rounded integer; null unless finite */

/* Writes and reads a value of a knob. False: the knob cannot have it. */
json_t *rue_json_knob(const struct rue_knob_info *knob, int value);
bool rue_json_knob_read(const struct rue_knob_info *knob, const json_t *value, int *out);

/* A value for each knob that the loader has; `whole`: for every knob. */
json_t *rue_json_config(const struct rue_config *config, bool whole);

/* An array of declarations: the knobs that are not rue's own, and those of rue's own that the loader does not
 * have (knob_json.h reads it). */
json_t *rue_json_knobs(const struct rue_knobs *knobs);

/* Like json_dumps(), which in jansson up to 2.14 loses a key when it runs out of memory. NULL: out of memory,
 * or no `root`. */
char *rue_json_dump(const json_t *root, size_t flags);

/* Writes `value` as JSON for messages, cut to `bytes`: 5, "text", absent. */
void rue_json_describe(const json_t *value, char *out, size_t bytes);

/* Writes `root`, indented and in ASCII, with a line feed, and closes it. RUE_MEMORY: `root` is NULL.
 * RUE_STORE: the stream failed. */
rue_status rue_json_write(json_t *root, FILE *stream, rue_error *error) RUE_MUST_CHECK;

#endif
