/* Patterns of file names, as bash expands them and webdataset uses them: lists {a,b} and ranges {000..012},
 * whose numbers have as many digits as the wider end where one begins with 0. Braces do not nest. */
#ifndef RUE_SHARD_PATTERN_H
#define RUE_SHARD_PATTERN_H

#include "error.h"

enum { RUE_SHARD_PATTERN_MAX = 1000000 };

/* Calls `visit` with each name, in order; what it returns other than RUE_OK, with its error, ends it.
 * RUE_USAGE for a brace without its end, one within another, an empty range or more than
 * RUE_SHARD_PATTERN_MAX names. */
rue_status rue_shard_pattern_expand(const char *pattern,
                                    rue_status (*visit)(void *context, const char *path, rue_error *error),
                                    void *context, rue_error *error) RUE_MUST_CHECK;

#endif
