/* Structs as JSON objects, by tables of their members (field.h). What is written is JSON as json_document.h
 * makes it. What is read may have been edited by somebody: the first fault is an error with its place,
 * "recommendations[0].configs[3].config", and ends the reading; whatever is called later does nothing. */
#ifndef RUE_JSON_FIELDS_H
#define RUE_JSON_FIELDS_H

#include <jansson.h>

#include "config.h"
#include "error.h"
#include "field.h"

enum { RUE_JSON_PLACE_BYTES = 200 };

struct rue_json_reader {
    const char *path;   /* of the file; NULL: it is not in one */
    const char *advice; /* what to do about a fault: "give another file"; NULL: nothing */
    char place[RUE_JSON_PLACE_BYTES];
    rue_status fault; /* what a fault is; RUE_OK: RUE_DATA */
    rue_status status;
    rue_error *error;
    const struct rue_knobs *knobs; /* of configurations in it */
    void *context;                 /* of the types of fields */
};

/* How a member is written and read that no kind describes. */
struct rue_field_type {
    json_t *(*write)(const void *at, const void *context);
    void (*read)(struct rue_json_reader *reader, const json_t *value, void *at);
};

/* ---- writing ---- */

/* The struct `from`, an object; null where a key of it is empty. A new reference, NULL without memory. */
json_t *rue_json_struct(const struct rue_field *fields, const void *from, const void *context);

/* The same as members of `object`. */
void rue_json_put_fields(json_t **object, const struct rue_field *fields, const void *from,
                         const void *context);

/* ---- reading ---- */

/* Fills in the struct `to`, which is zeroed but for defaults. Lists that it points to are to be freed in any
 * case. */
void rue_json_read_fields(struct rue_json_reader *reader, const json_t *object,
                          const struct rue_field *fields, void *to);
void rue_json_read_field(struct rue_json_reader *reader, const json_t *object, const struct rue_field *field,
                         void *to);

/* A configuration; knobs that it does not name are at their default. */
void rue_json_read_config(struct rue_json_reader *reader, const json_t *value, struct rue_config *out);

/* The place is that of an element or member from then on; answers the length to come back to. */
size_t rue_json_enter(struct rue_json_reader *reader, const char *key);
size_t rue_json_enter_at(struct rue_json_reader *reader, size_t index);
void rue_json_exit(struct rue_json_reader *reader, size_t length);

/* Notes that member `key` (NULL: the place itself) is not `what`. */
void rue_json_refuse(struct rue_json_reader *reader, const char *key, const char *what);

/* A member that has to be there and of the kind; `optional`: or null or absent, which answer NULL. */
const json_t *rue_json_object(struct rue_json_reader *reader, const json_t *parent, const char *key,
                              bool optional);

/* A list of at most `most` elements; answers how many. */
size_t rue_json_list(struct rue_json_reader *reader, const json_t *parent, const char *key, size_t most,
                     const json_t **out);

#endif
