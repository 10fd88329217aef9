/* Names, each once, numbered in the order in which they were first seen. */
#ifndef RUE_NAMES_H
#define RUE_NAMES_H

#include <stddef.h>

#include "error.h"

struct rue_names {
    size_t count, capacity;
    char **texts;      /* [count], owned */
    size_t slot_count; /* a power of two */
    size_t *slots;     /* [slot_count] by hash, number + 1; 0: free */
};

/* The number of `text`, added where it is new; a zeroed struct is empty. RUE_MEMORY. */
rue_status rue_names_number(struct rue_names *names, const char *text, size_t *out,
                            rue_error *error) RUE_MUST_CHECK;

/* Frees all of it; the struct is empty again. */
void rue_names_close(struct rue_names *names);

#endif
