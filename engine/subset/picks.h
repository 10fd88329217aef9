/* The items that a subset picks from data, each once, in the order of the subset. */
#ifndef RUE_PICKS_H
#define RUE_PICKS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

struct rue_picks {
    const char *data; /* for messages: the path of the data, */
    const char *text; /* and the subset, */
    uint64_t line;    /* or the line of the file `text`, from 1; 0: no file */
    uint64_t whole;   /* items of the data */
    uint64_t *items;  /* [count], from malloc */
    size_t count, capacity;
    unsigned char *seen; /* [whole] bits */
};

/* Sets the members above `items` first. RUE_MEMORY. */
rue_status rue_picks_open(struct rue_picks *picks, rue_error *error) RUE_MUST_CHECK;

/* Frees `seen` alone: `items` are the result. */
void rue_picks_close(struct rue_picks *picks);

/* RUE_USAGE: the data have no such item, or it was added before. RUE_MEMORY. */
rue_status rue_picks_add(struct rue_picks *picks, uint64_t item, rue_error *error) RUE_MUST_CHECK;

/* RUE_USAGE, with a message that begins "subset '0:5': " or "names.txt line 7: ". */
rue_status rue_picks_fail(const struct rue_picks *picks, rue_error *error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
