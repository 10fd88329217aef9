/* Unique names, numbered in the order in which they were added. */
#ifndef RUE_NAMES_H
#define RUE_NAMES_H

#include <jansson.h>

#include "error.h"

struct rue_names {
    size_t count, capacity;
    const char **texts; /* [count], owned */
    json_t *numbers;    /* the number of each text */
};

/* The number of `text`, which is added if it is new. A zeroed struct is empty. RUE_MEMORY. */
rue_status rue_names_number(struct rue_names *names, const char *text, size_t *out,
                            rue_error *error) RUE_MUST_CHECK;

/* Frees the names and makes the struct empty. */
void rue_names_close(struct rue_names *names);

#endif
