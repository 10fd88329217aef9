/* The splits of data, as the names of their shards tell them. */
#ifndef RUE_SHARD_SPLIT_H
#define RUE_SHARD_SPLIT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* "train", "val" or "test", which the name of a file has as a word of its own: "imagenet-validation-0001.tar"
 * is of val. The same pointer for all of a split; NULL for any other name. */
const char *rue_shard_split(const char *path);

/* Writes the pattern of `count` files of which these are the first and the last: "train-{0000..0012}.tar".
 * False, with the name of the first, where they are not numbered so. */
bool rue_shard_split_pattern(const char *first, const char *last, size_t count, char out[2 * PATH_MAX]);

#endif
