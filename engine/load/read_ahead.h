/* Reads that go on while their thread does other work: of one thread, finished in the order in which they
 * were begun. By io_uring; where the system has none, or refuses it as containers do, each is done when it is
 * finished. */
#ifndef RUE_READ_AHEAD_H
#define RUE_READ_AHEAD_H

#include <stdbool.h>

#include "source.h"

enum { RUE_READ_AHEAD_MAX = 8 /* at once: keeps storage busy while one of a few workers normalises */ };

struct rue_read_ahead;

/* Reads of at most `buffer_bytes`, a multiple of RUE_BLOCK_BYTES, may go into a buffer of its own; memory is
 * touched for as many as are under way at once. */
rue_status rue_read_ahead_open(size_t buffer_bytes, struct rue_read_ahead **out,
                               rue_error *error) RUE_MUST_CHECK;

/* Waits for what is under way. */
void rue_read_ahead_close(struct rue_read_ahead *ahead);

/* Begins to read `item`, which lies at `place`, into `into` (NULL: a buffer of its own), aligned to
 * RUE_BLOCK_BYTES where the file is open for direct reads. False when RUE_READ_AHEAD_MAX are under way, or
 * its buffers are too small. */
bool rue_read_ahead_begin(struct rue_read_ahead *ahead, uint64_t item, const struct rue_place *place,
                          void *into);

/* Whether any read was begun and not yet finished or forgotten. */
bool rue_read_ahead_is_busy(const struct rue_read_ahead *ahead);

/* Finishes the read that was begun first, if that is the item's, and answers where its bytes are, a buffer of
 * its own until the next begin; NULL where it is another's, or has failed: read it in another way to know
 * why. */
void *rue_read_ahead_finish(struct rue_read_ahead *ahead, uint64_t item);

/* Waits for what is under way, of which nobody wants to know. */
void rue_read_ahead_discard(struct rue_read_ahead *ahead);

#endif
