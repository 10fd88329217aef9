/* The files of a data set: one file, a folder of shards, or a pattern such as
 * data/train-{000000..000012}.tar. Reading is thread-safe, and notices when a file is no longer what it was
 * when the set was opened. */
#ifndef RUE_SHARD_SET_H
#define RUE_SHARD_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "file_identity.h"

struct rue_shard_set;

/* Whether `path` has braces of a pattern: see shard_pattern.h. A file of that
 * very name is a file. */
bool rue_shard_set_is_pattern(const char *path);

/* Opens what `path` names. Of a folder those files belong to the set whose names `takes` takes, in bytewise
 * order; hidden ones do not. RUE_DATA where there is none, where their names are those of several splits
 * (shard_split.h), or for the first file of a pattern that is missing
 * or cannot be read; RUE_USAGE for braces that are no pattern; rue_source_failure, RUE_MEMORY. */
rue_status rue_shard_set_open(const char *path, bool (*takes)(const char *name), struct rue_shard_set **out,
                              rue_error *error) RUE_MUST_CHECK;
void rue_shard_set_close(struct rue_shard_set *set);

/* Whether it is all shards of a folder. */
bool rue_shard_set_is_folder(const struct rue_shard_set *set);

/* At least 1. */
size_t rue_shard_set_count(const struct rue_shard_set *set);

const char *rue_shard_set_path(const struct rue_shard_set *set, size_t shard);
struct rue_file_identity rue_shard_set_identity(const struct rue_shard_set *set, size_t shard);

/* The folder that holds the first shard, into `out` [PATH_MAX]. */
void rue_shard_set_folder(const struct rue_shard_set *set, char *out);

/* Reads `bytes` at `offset` of a shard. Files stay open up to a part of what the system allows and are opened
 * again beyond that. RUE_DATA names the file that was deleted, replaced or changed, or that ends before that,
 * and the byte; rue_source_failure. */
rue_status rue_shard_set_read(struct rue_shard_set *set, size_t shard, void *into, uint64_t bytes,
                              uint64_t offset, rue_error *error) RUE_MUST_CHECK;

#endif
