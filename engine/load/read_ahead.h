/* Asynchronous reads of one thread, which finishes them in the order in which it began them. Without
 * io_uring, or if a container forbids it, rue_read_ahead_finish reads. */
#ifndef RUE_READ_AHEAD_H
#define RUE_READ_AHEAD_H

#include <stdbool.h>

#include "source.h"

enum { RUE_READ_AHEAD_MAX = 8 /* reads in flight: keep storage busy while a worker normalises */ };

struct rue_read_ahead;

/* False: the system has no io_uring, or forbids it, so nothing is read ahead. (Nor is it while the system is
 * out of descriptors or locked memory; that passes.) */
bool rue_read_ahead_is_permitted(void);

/* Reads of at most `buffer_bytes`, a multiple of RUE_BLOCK_BYTES, can use an internal buffer. RUE_MEMORY. */
rue_status rue_read_ahead_open(size_t buffer_bytes, struct rue_read_ahead **out,
                               rue_error *error) RUE_MUST_CHECK;

/* Waits for the reads in flight. */
void rue_read_ahead_close(struct rue_read_ahead *ahead);

/* Begins to read `item` at `place` into `into`, or into an internal buffer if it is NULL. For direct reads
 * `into` is aligned to RUE_BLOCK_BYTES. False: too many reads are in flight, or the buffers are too small. */
bool rue_read_ahead_begin(struct rue_read_ahead *ahead, uint64_t item, const struct rue_place *place,
                          void *into);

/* Whether a read was begun and not yet finished or discarded. */
bool rue_read_ahead_is_busy(const struct rue_read_ahead *ahead);

/* Finishes the oldest read if it is of `item`, and returns its bytes; an internal buffer is valid until the
 * next begin. NULL: it is of another item, or failed: read the item to get the error. */
void *rue_read_ahead_finish(struct rue_read_ahead *ahead, uint64_t item);

/* Waits for the reads in flight and discards them. */
void rue_read_ahead_discard(struct rue_read_ahead *ahead);

#endif
