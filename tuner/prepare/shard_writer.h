/* Writes a folder of shards "<split>-000000.<extension>" and the files beside them (shards.h), for several
 * sinks. Not thread-safe. */
#ifndef RUE_SHARD_WRITER_H
#define RUE_SHARD_WRITER_H

#include <limits.h>
#include <stdio.h>

#include "sink.h"

struct rue_shard_writer {
    const struct rue_sink_options *options;
    const char *extension;                      /* ".tar" */
    char folder[PATH_MAX], path[PATH_MAX + 64]; /* `path` is that of the shard, for messages */
    FILE *shard;                                /* NULL: no shard is open */
    uint64_t shards;                            /* number of shards begun */
    uint64_t added;                             /* number of items */
    uint64_t bytes;                             /* in the open shard */
    /* (optional) Writes the end of a shard, after its last item. Set it after rue_shard_writer_open. */
    rue_status (*complete)(struct rue_shard_writer *writer, rue_error *error);
};

/* Makes the folder. Borrows like the sink. RUE_STORE. */
rue_status rue_shard_writer_open(struct rue_shard_writer *writer, const char *path, const char *extension,
                                 const struct rue_sink_options *options, rue_error *error) RUE_MUST_CHECK;

/* Opens a shard for the next item unless one is open. RUE_STORE. */
rue_status rue_shard_writer_begin(struct rue_shard_writer *writer, rue_error *error) RUE_MUST_CHECK;

/* Writes to the shard. RUE_STORE. */
rue_status rue_shard_writer_write(struct rue_shard_writer *writer, const void *data, uint64_t bytes,
                                  rue_error *error) RUE_MUST_CHECK;

/* Counts a written item. Completes a full shard and flushes it to the disk. RUE_STORE. */
rue_status rue_shard_writer_count(struct rue_shard_writer *writer, rue_error *error) RUE_MUST_CHECK;

/* Operations of sinks whose state begins with a zeroed writer. */
rue_status rue_shard_writer_finish(void *state, rue_error *error) RUE_MUST_CHECK;
void rue_shard_writer_close(void *state);

#endif
