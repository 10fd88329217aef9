/* A folder of shards "<split>-000000.<extension>", with the names of the classes beside them: what sinks of
 * such formats share. Not thread-safe. */
#ifndef RUE_SHARD_WRITER_H
#define RUE_SHARD_WRITER_H

#include <limits.h>
#include <stdio.h>

#include "sink.h"

struct rue_shard_writer {
    const struct rue_sink_options *options;
    const char *extension;                      /* ".tar" */
    char folder[PATH_MAX], path[PATH_MAX + 64]; /* of the shard */
    FILE *shard;                                /* NULL between two of them */
    uint64_t shards;                            /* that were begun */
    uint64_t added;                             /* items */
    uint64_t bytes;                             /* in the shard */
    /* (optional) Writes what stands behind the last item of a shard; set it once the writer is open. */
    rue_status (*complete)(struct rue_shard_writer *writer, rue_error *error);
};

/* Makes the folder. What it borrows, as the sink does. RUE_STORE. */
rue_status rue_shard_writer_open(struct rue_shard_writer *writer, const char *path, const char *extension,
                                 const struct rue_sink_options *options, rue_error *error) RUE_MUST_CHECK;

/* Sees to it that there is a shard to write the next item to. RUE_STORE. */
rue_status rue_shard_writer_begin(struct rue_shard_writer *writer, rue_error *error) RUE_MUST_CHECK;

/* Writes to the shard. RUE_STORE. */
rue_status rue_shard_writer_write(struct rue_shard_writer *writer, const void *data, uint64_t bytes,
                                  rue_error *error) RUE_MUST_CHECK;

/* Counts an item that was written. A shard that is full then is completed, and on the disk when this returns.
 * RUE_STORE. */
rue_status rue_shard_writer_count(struct rue_shard_writer *writer, rue_error *error) RUE_MUST_CHECK;

/* Operations of sinks whose state begins with their writer, of zeros at first. */
rue_status rue_shard_writer_finish(void *state, rue_error *error) RUE_MUST_CHECK;
void rue_shard_writer_close(void *state);

#endif
