/* JSON documents made of findings: what is not known is null; there is no NaN or Infinity, and text that is
 * no UTF-8 is repaired. Values are new references, NULL where memory is out; putting a NULL marks the
 * document as failed, so that one look at the end is enough. */
#ifndef RUE_JSON_DOCUMENT_H
#define RUE_JSON_DOCUMENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "config.h"
#include "error.h"

struct rue_json_document {
    bool failed; /* a value could not be allocated */
};

/* All take `value`. Keys that come from outside go through the second, which repairs them. */
void rue_json_put(struct rue_json_document *document, json_t *object, const char *key, json_t *value);
void rue_json_put_named(struct rue_json_document *document, json_t *object, const char *key, json_t *value);
void rue_json_push(struct rue_json_document *document, json_t *array, json_t *value);

json_t *rue_json_text(const char *string);
json_t *rue_json_text_or_null(const char *string); /* null for "" */
json_t *rue_json_words(const char *object);        /* a JSON object; null when the text is none */
json_t *rue_json_real(double number);              /* null unless finite */
json_t *rue_json_integer(uint64_t number);         /* digits in a string beyond a signed 64-bit integer */
json_t *rue_json_integer_or_null(uint64_t number); /* null for 0 */
json_t *rue_json_nanoseconds(double ns);           /* a rounded integer; null unless finite */

json_t *rue_json_knob(const struct rue_knob_info *knob, int value); /* a known value */

/* A value for each knob, the fallback of one that is unknown; without `all`, knobs at their fallback are left
 * out unless they are always shown, and unknown ones in any case. */
/* Declarations of the knobs that are not rue's own, an array (knob_json.h reads it); a new reference. */
json_t *rue_json_knobs(const struct rue_knobs *knobs);

json_t *rue_json_config(struct rue_json_document *document, const struct rue_config *config, bool all);

/* As json_dumps() of jansson, which up to version 2.14 leaves a key out when memory ends in the middle of it.
 * NULL: no memory, or `root` is NULL. */
char *rue_json_dump(const json_t *root, size_t flags);

/* Writes `root`, indented, and a line feed; a terminal only shows it (utf8.h). RUE_MEMORY when the document
 * failed, RUE_STORE when the stream did. */
rue_status rue_json_write(const struct rue_json_document *document, const json_t *root, FILE *stream,
                          rue_error *error) RUE_MUST_CHECK;

#endif
