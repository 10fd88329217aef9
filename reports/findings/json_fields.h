/* Structs as JSON objects, by tables of their members (field.h). A document that is read may have been
 * edited: the first fault is an error with its place, such as "recommendations[0].configs[3].config". Later
 * calls do nothing. */
#ifndef RUE_JSON_FIELDS_H
#define RUE_JSON_FIELDS_H

#include <jansson.h>

#include "config.h"
#include "error.h"
#include "field.h"

enum { RUE_JSON_PLACE_BYTES = 200 };

struct rue_json_reader {
    const char *path;   /* of the file; NULL: no file */
    const char *advice; /* "give another file"; NULL: none */
    char place[RUE_JSON_PLACE_BYTES];
    rue_status fault; /* status of a fault; RUE_OK means RUE_DATA */
    rue_status status;
    rue_error *error;
    const struct rue_knobs *knobs; /* of configurations in the document */
    void *context;                 /* for fields of the kind RUE_FIELD_OTHER */
};

/* Writes and reads a member whose kind is RUE_FIELD_OTHER. */
struct rue_field_type {
    json_t *(*write)(const void *at, const void *context);
    void (*read)(struct rue_json_reader *reader, const json_t *value, void *at);
};

/* The struct as an object; null if a key of it is empty. A new reference; NULL: out of memory. */
json_t *rue_json_struct(const struct rue_field *fields, const void *from, const void *context);

/* The same, as members of `object`. */
void rue_json_put_fields(json_t **object, const struct rue_field *fields, const void *from,
                         const void *context);

/* Fills in the struct `to`, which holds zeros and defaults. The caller frees its lists, also on failure. */
void rue_json_read_fields(struct rue_json_reader *reader, const json_t *object,
                          const struct rue_field *fields, void *to);
void rue_json_read_field(struct rue_json_reader *reader, const json_t *object, const struct rue_field *field,
                         void *to);

/* Knobs without a member get their default. */
void rue_json_read_config(struct rue_json_reader *reader, const json_t *value, struct rue_config *out);

/* Appends a member or element to the place; returns the length for rue_json_exit(). */
size_t rue_json_enter(struct rue_json_reader *reader, const char *key);
size_t rue_json_enter_at(struct rue_json_reader *reader, size_t index);
void rue_json_exit(struct rue_json_reader *reader, size_t length);

/* Reports that member `key` (NULL: the place itself) is not as `expected`. */
void rue_json_refuse(struct rue_json_reader *reader, const char *key, const char *expected);

/* Reports what is wrong with the place. */
void rue_json_fail(struct rue_json_reader *reader, const char *why);

/* Returns an object that is a required member; if `optional`, NULL: it is null or absent. */
const json_t *rue_json_object(struct rue_json_reader *reader, const json_t *parent, const char *key,
                              bool optional);

/* Sets `*out` to a list of at most `most` elements; returns their number. */
size_t rue_json_list(struct rue_json_reader *reader, const json_t *parent, const char *key, size_t most,
                     const json_t **out);

#endif
