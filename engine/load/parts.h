/* Parts of the data that can take turns: the folders of its shards, or the shards if all are in one folder.
 * Without several shards, the items of each label, if they follow each other. */
#ifndef RUE_PARTS_H
#define RUE_PARTS_H

#include "source.h"

/* Sets `*firsts` [*count + 1], owned, to the first item of each part, and the number of items. Items of
 * chunks are one part, because they are shuffled by chunks. RUE_MEMORY. */
rue_status rue_parts_find(const struct rue_source *source, uint64_t **firsts, size_t *count,
                          rue_error *error) RUE_MUST_CHECK;

#endif
