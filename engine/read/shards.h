/* Common code of shard formats. Shards are a file, a folder, or a pattern such as
 * data/train-{000000..000012}.tar. Their index is saved beside them, class names are in a file beside them,
 * and compressed shards are read in order. A format recognises its shards and makes the index. */
#ifndef RUE_SHARDS_H
#define RUE_SHARDS_H

#include "files.h"
#include "source.h"

/* Class names, one per line, in the folder of the first shard. */
#define RUE_CLASS_LIST_FILE "classes.txt"
/* What preprocessed items were made with (made_with.h), also there. */
#define RUE_MADE_WITH_FILE "made_with.txt"

/* Patterns expand as in bash and the webdataset library: lists {a,b} and ranges {000..012}, also nested:
 * {0,{3..5}}. If the first number begins with 0, all numbers have as many digits as the longer one. */

/* Whether `path` contains a brace and is not an existing file. */
bool rue_shards_is_pattern(const char *path);

/* Adds the files of `path`. In a folder these are its visible files (not those of folders in it) for which
 * `is_shard` is true, sorted by bytes. RUE_DATA: there is none, or a file of the pattern is missing or cannot
 * be read. RUE_USAGE: the braces are not valid, or name more than 1,000,000 files. Also rue_source_failure,
 * RUE_MEMORY. */
rue_status rue_shards_add(const char *path, bool (*is_shard)(const char *name), struct rue_files **files,
                          rue_error *error) RUE_MUST_CHECK;

struct rue_shard_format {
    const char *version;                /* version of the index: "webdataset 1" */
    bool (*is_shard)(const char *name); /* whether the name is that of a shard */
    /* Fills the index from index->files. */
    rue_status (*index)(const char *path, const struct rue_source_options *options, struct rue_index *index,
                        rue_error *error);
};

/* Reports a shard without records or members, as writers leave it that had nothing to write. */
void rue_shards_skip_empty(struct rue_index *index, uint32_t shard);

/* Sets `*matches` if `path` is a pattern or the name of shards. Also if it is a folder that contains shards,
 * but no JPEG files, nor folders of them: other folders beside shards hold logs or temporary files. Sets
 * `*regular` if it is a regular file. */
rue_status rue_shards_probe(const struct rue_shard_format *format, const char *path, bool *matches,
                            bool *regular, rue_error *error) RUE_MUST_CHECK;

/* See open of rue_source_ops. */
rue_status rue_shards_open(const struct rue_shard_format *format, const char *path,
                           const struct rue_source_options *options, struct rue_index *index,
                           rue_error *error) RUE_MUST_CHECK;

void rue_shards_close(void *state);
rue_status rue_shards_read(const struct rue_index *index, uint64_t item, void *into, rue_error *error);

#define RUE_SHARD_OPS                                                                                  \
    .has_mode = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true}, .has_keys = true, .has_patterns = true, \
    .close = rue_shards_close, .read = rue_shards_read

#endif
