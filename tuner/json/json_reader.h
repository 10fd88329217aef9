/* Reads members out of a JSON document that somebody may have edited: the first fault is told with its place,
 * "recommendations[0].configs[3].config", and ends the reading; later calls answer nothing. */
#ifndef RUE_JSON_READER_H
#define RUE_JSON_READER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "knob.h"

enum { RUE_JSON_PLACE_BYTES = 200 };

struct rue_json_reader {
    const char *path;   /* of the file */
    const char *advice; /* what to do about a fault: "give another file" */
    char place[RUE_JSON_PLACE_BYTES];
    rue_status status;
    rue_error *error;
    const struct rue_knobs *knobs; /* of configurations in it */
};

/* The place is that of an element or member from then on; answers the length to come back to. */
size_t rue_json_enter(struct rue_json_reader *reader, const char *key);
size_t rue_json_enter_at(struct rue_json_reader *reader, size_t index);
void rue_json_leave(struct rue_json_reader *reader, size_t length);

/* Notes that member `key` (NULL: the place itself) is not `what`: RUE_DATA. */
void rue_json_refuse(struct rue_json_reader *reader, const char *key, const char *what);

/* A member that has to be there and of the kind; `optional`: or null or absent, which answer NULL. */
const json_t *rue_json_object(struct rue_json_reader *reader, const json_t *parent, const char *key,
                              bool optional);
const json_t *rue_json_array(struct rue_json_reader *reader, const json_t *parent, const char *key);

/* The same of at most `most` elements; answers how many. */
size_t rue_json_list(struct rue_json_reader *reader, const json_t *parent, const char *key, size_t most,
                     const json_t **out);

/* The number of a text among `words` [count]; 0 where it is refused. */
int rue_json_word(struct rue_json_reader *reader, const json_t *parent, const char *key,
                  const char *const *words, int count);

/* A text shorter than `bytes`; "" where it is optional and not told. */
void rue_json_copy_text(struct rue_json_reader *reader, const json_t *parent, const char *key, bool optional,
                        char *out, size_t bytes);

#define RUE_JSON_COPY(reader, parent, key, optional, array) \
    rue_json_copy_text(reader, parent, key, optional, array, sizeof(array))

/* A whole number from 0 to `most`; 0 where it is optional and not told. */
uint64_t rue_json_count(struct rue_json_reader *reader, const json_t *parent, const char *key, bool optional,
                        uint64_t most);

/* A finite number; NaN where it is optional and not told. */
double rue_json_number_of(struct rue_json_reader *reader, const json_t *parent, const char *key,
                          bool optional);

bool rue_json_bool(struct rue_json_reader *reader, const json_t *parent, const char *key);

#endif
