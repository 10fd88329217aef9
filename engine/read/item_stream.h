/* Items of compressed shards, which can be had only in order: whoever needs one decompresses up to it and
 * keeps what lies on the way for those who ask for it next, up to a limit. Items are asked for in any order
 * in which none lies further behind the furthest than the limit; others cost reading their shard from its
 * beginning. Two places of the data are read at once, so that one epoch can begin while the one before ends.
 *
 * Who shuffles within windows waits for the whole first one. While a window is handed out, the next one is
 * read an item at a time: of n items asked for, the window and n more are decompressed, up to the end. */
#ifndef RUE_ITEM_STREAM_H
#define RUE_ITEM_STREAM_H

#include "source_index.h"

struct rue_item_stream;

/* The index is borrowed. RUE_MEMORY. */
rue_status rue_item_stream_open(const struct rue_index *index, struct rue_item_stream **out,
                                rue_error *error) RUE_MUST_CHECK;
void rue_item_stream_close(struct rue_item_stream *stream);

/* See rue_source_window. */
uint64_t rue_item_stream_window(struct rue_item_stream *stream, uint64_t in_flight);

/* See rue_source_rewind. */
void rue_item_stream_rewind(struct rue_item_stream *stream);

/* Reads the whole item. Thread-safe; blocks on storage and on others who decompress. RUE_DATA names file and
 * byte; RUE_MEMORY. */
rue_status rue_item_stream_read(struct rue_item_stream *stream, uint64_t item, void *into,
                                rue_error *error) RUE_MUST_CHECK;

#endif
