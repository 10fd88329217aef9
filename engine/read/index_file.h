/* Saves the index of shards in a file beside them, so that they are not read completely each time. */
#ifndef RUE_INDEX_FILE_H
#define RUE_INDEX_FILE_H

#include <stdbool.h>

#include "source_index.h"

/* Loads the saved index for the shards of index->files. `path` is how the shards were named; `identity` is a
 * text of everything else that the index depends on: format, version, keys. False: the saved index is
 * missing, outdated or damaged; the index then has only its files. */
bool rue_index_file_load(struct rue_index *index, const char *path, const char *identity);

/* Saves the index in the folder of the first shard, as a hidden file whose name depends on `identity` and
 * `path`. Writes the whole file or none. Errors are ignored. */
void rue_index_file_save(const struct rue_index *index, const char *path, const char *identity);

#endif
