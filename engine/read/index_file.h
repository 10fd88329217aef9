/* The file beside shards in which their index is kept, so that they need not be read through again. */
#ifndef RUE_INDEX_FILE_H
#define RUE_INDEX_FILE_H

#include <stdbool.h>

#include "source_index.h"

/* Reads what was kept for the shards of index->files, which were named as `path`, and for `asked`, a text of
 * all else that the index depends on: the format, its version, keys. False where there is nothing, or what is
 * there is stale or damaged; the index has its files alone then. */
bool rue_index_file_load(struct rue_index *index, const char *path, const char *identity);

/* Keeps it in the folder of the first shard, under a hidden name that depends on `asked` and `path`, whole or
 * not at all. Where it cannot be written, nothing happens. */
void rue_index_file_save(const struct rue_index *index, const char *path, const char *identity);

#endif
