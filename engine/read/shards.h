/* What formats of shards have in common: a file, a folder of them or a pattern such as
 * data/train-{000000..000012}.tar; an index that is kept beside them; class names in a file beside them; and
 * reading in order where a shard is compressed. A format says how its shards are called and makes the index.
 */
#ifndef RUE_SHARDS_H
#define RUE_SHARDS_H

#include "files.h"
#include "source.h"

/* The names of classes, one a line, in the folder of the first shard. */
#define RUE_CLASS_LIST_FILE "classes.txt"

/* Patterns are as bash and the webdataset library expand them: lists {a,b} and ranges of numbers {000..012},
 * one within another {0,{3..5}}. Numbers have as many digits as the last one where the first begins with 0.
 */

/* Whether `path` has braces of a pattern. A file of that very name is a file. */
bool rue_shards_is_pattern(const char *path);

/* Adds the files that `path` names. Of a folder those are shards whose names `is_shard` takes, in bytewise
 * order; hidden ones are not. RUE_DATA where there is none, or for the first file of a pattern that is
 * missing or cannot be read; RUE_USAGE for braces that are no pattern, and for more than 1,000,000 names;
 * rue_source_failure, RUE_MEMORY. */
rue_status rue_shards_add(const char *path, bool (*is_shard)(const char *name), struct rue_files **files,
                          rue_error *error) RUE_MUST_CHECK;

struct rue_shard_format {
    const char *version;                /* of the index: "webdataset 1" */
    bool (*is_shard)(const char *name); /* whether a file of that name is a shard */
    bool (*excludes)(
        const char *name); /* (optional) whether one beside the shards says that a folder is not ours */
    /* Fills the index of index->files. */
    rue_status (*index)(const char *path, const struct rue_source_options *options, struct rue_index *index,
                        rue_error *error);
};

/* Whether `path`, a pattern or what is there, names shards, or is a folder that holds some and neither
 * folders nor what the format excludes. Where it is a regular file of another name, only `*regular` is set.
 */
rue_status rue_shards_probe(const struct rue_shard_format *format, const char *path, bool *is, bool *regular,
                            rue_error *error) RUE_MUST_CHECK;

/* As open of rue_source_ops. */
rue_status rue_shards_open(const struct rue_shard_format *format, const char *path,
                           const struct rue_source_options *options, struct rue_index *index,
                           rue_error *error) RUE_MUST_CHECK;

/* ---- operations of rue_source_ops ---- */

void rue_shards_close(void *state);
rue_status rue_shards_read(const struct rue_index *index, uint64_t item, void *into, rue_error *error);

#define RUE_SHARD_OPS                                                                               \
    .holds = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true}, .has_keys = true, .has_patterns = true, \
    .close = rue_shards_close, .read = rue_shards_read

#endif
