/* Loads items of a batch, with one fetcher. One thread only. */
#ifndef RUE_BATCH_READER_H
#define RUE_BATCH_READER_H

#include <pthread.h>
#include <stdatomic.h>

#include "loader.h"

/* What the readers of one loader share. */
struct rue_batch_reading {
    const struct rue_source *source;
    const struct rue_loader_options *options;
    struct rue_item_shape item;
    pthread_mutex_t lock; /* guards the members below */
    uint64_t bad_images;
    rue_error damage; /* of one bad image */
};

struct rue_batch_reader;

/* `reading` must live until the reader is closed. Errors as rue_fetcher_open. */
rue_status rue_batch_reader_open(struct rue_batch_reading *reading, struct rue_batch_reader **out,
                                 rue_error *error) RUE_MUST_CHECK;
void rue_batch_reader_close(struct rue_batch_reader *reader);

/* Begins to load `count` images of the batch, from image `position` on. Once `*dropped` is true, they are not
 * needed. */
void rue_batch_reader_begin(struct rue_batch_reader *reader, struct rue_batch *batch, size_t position,
                            size_t count, const atomic_bool *dropped);

/* Loads these images; once they are dropped, no more of them. On return no read into the batch is in flight,
 * except after RUE_TIMEOUT: the deadline passed after an image that is not the last; call it again. Adds the
 * time to batch_load_ns of the options. Blocks on storage. Also the errors of rue_fetcher_fetch. */
rue_status rue_batch_reader_load(struct rue_batch_reader *reader, uint64_t deadline_ns,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
