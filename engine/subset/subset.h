/* A subset of data: the text that chooses items, and what it chooses. */
#ifndef RUE_SUBSET_H
#define RUE_SUBSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "subset_data.h"

/* Sets `*items` [*count], from malloc, to the chosen items (docs/data.md describes `text`), or to NULL where
 * these are all items in their order. Blocks on storage to read a file. RUE_USAGE: the text is damaged, or
 * chooses nothing, or what the data do not have, or an item twice. RUE_DATA: the file cannot be read. */
rue_status rue_subset_choose(const char *text, const struct rue_subset_data *data, uint64_t **items,
                             uint64_t *count, rue_error *error) RUE_MUST_CHECK;

/* The file that a subset names, within `text`; NULL: it names none. */
const char *rue_subset_path(const char *text);

#endif
