/* Patterns of file names, as bash and the webdataset library expand them: lists {a,b}, ranges of numbers
 * {000..012} and of letters {a..c}, forwards or backwards, maybe with a step {0..12..4}, and one within
 * another {0,{3..5}}. Numbers have as many digits as the wider end where one begins with 0. */
#ifndef RUE_SHARD_PATTERN_H
#define RUE_SHARD_PATTERN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "error.h"

enum { RUE_SHARD_PATTERN_MAX = 1000000, RUE_SHARD_BRACES_MAX = 1000 };

/* Calls `visit` with each name, in order; what it returns other than RUE_OK, with its error, ends it.
 * RUE_USAGE for a brace without its other one, braces that hold neither list nor range, more than
 * RUE_SHARD_PATTERN_MAX names or RUE_SHARD_BRACES_MAX braces. */
rue_status rue_shard_pattern_expand(const char *pattern,
                                    rue_status (*visit)(void *context, const char *path, rue_error *error),
                                    void *context, rue_error *error) RUE_MUST_CHECK;

/* "train", "val" or "test", which the name of a file has as a word of its own: "imagenet-validation-0001.tar"
 * is of val. The same pointer for all of a split; NULL for any other name. */
const char *rue_shard_split(const char *path);

/* Writes the pattern of `count` files of which these are the first and the last: "train-{0000..0012}.tar".
 * False, with the name of the first, where they are not numbered so. */
bool rue_shard_split_pattern(const char *first, const char *last, size_t count, char out[2 * PATH_MAX]);

#endif
