#include "item_stream.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "byte_stream.h"
#include "files.h"

enum {
    CURSORS = 2,
    WINDOW_MAX = 4096,
    WINDOW_BYTES = 64 << 20, /* of items that follow each other; a larger one is never kept, but read again */
};

/* A place in the data up to which they were read. */
struct cursor {
    uint32_t file;
    struct rue_byte_stream *stream; /* of that file; NULL: none */
    uint64_t next;                  /* the item that comes next */
    uint64_t used;                  /* when it was used last */
};

/* An item that was passed on the way to another. */
struct kept {
    uint64_t item;
    void *data; /* NULL: nobody's */
};

struct rue_item_stream {
    const struct rue_index *index;
    uint64_t window;
    pthread_mutex_t lock; /* guards all below */
    struct cursor cursors[CURSORS];
    struct kept *kept; /* [kept_capacity], a ring: the oldest is given up for the newest */
    uint64_t kept_capacity, kept_next;
    uint64_t uses;
};

/* What keeping the item takes; 0: it is not kept. */
static uint64_t kept_bytes(const struct rue_index *index, uint64_t item)
{
    uint64_t bytes = index->entries[item].bytes;
    return bytes <= WINDOW_BYTES ? bytes : 0;
}

/* The most items such that so many that follow each other never exceed WINDOW_BYTES, wherever they begin: a
 * mean would not do where the large ones lie together. At least 1, as those that are not kept do not count.
 */
static uint64_t window_of(const struct rue_index *index)
{
    uint64_t window = WINDOW_MAX, bytes = 0, first = 0;
    for (uint64_t end = 0; end < index->count; end++) {
        bytes += kept_bytes(index, end);
        if (bytes <= WINDOW_BYTES) continue;
        while (bytes > WINDOW_BYTES) bytes -= kept_bytes(index, first++);
        if (end + 1 - first < window) window = end + 1 - first;
    }
    return window;
}

rue_status rue_item_stream_open(const struct rue_index *index, struct rue_item_stream **out, rue_error *error)
{
    struct rue_item_stream *stream = calloc(1, sizeof *stream);
    if (!stream) return rue_fail_memory(error, "a stream of items", sizeof *stream);
    stream->index = index;
    stream->window = window_of(index);
    pthread_mutex_init(&stream->lock, NULL);
    *out = stream;
    return RUE_OK;
}

/* Under the lock, or where nobody else has it. */
static void let_go(struct rue_item_stream *stream)
{
    for (int c = 0; c < CURSORS; c++) rue_byte_stream_close(stream->cursors[c].stream);
    memset(stream->cursors, 0, sizeof stream->cursors);
    for (uint64_t i = 0; i < stream->kept_capacity; i++) {
        free(stream->kept[i].data);
        stream->kept[i].data = NULL;
    }
}

void rue_item_stream_rewind(struct rue_item_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    let_go(stream);
    pthread_mutex_unlock(&stream->lock);
}

void rue_item_stream_close(struct rue_item_stream *stream)
{
    if (!stream) return;
    let_go(stream);
    free(stream->kept);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}

/* Under the lock. Without memory for it the room stays as it is. */
static void make_room(struct rue_item_stream *stream, uint64_t capacity)
{
    if (capacity <= stream->kept_capacity) return;
    struct kept *grown = realloc(stream->kept, capacity * sizeof *grown);
    if (!grown) return;
    memset(grown + stream->kept_capacity, 0, (capacity - stream->kept_capacity) * sizeof *grown);
    stream->kept = grown;
    stream->kept_next = stream->kept_capacity;
    stream->kept_capacity = capacity;
}

/* The window that is asked for and the next; or the end of an epoch, and the beginning of the next one. */
static uint64_t kept_most(const struct rue_item_stream *stream, uint64_t in_flight)
{
    uint64_t most = 2 * stream->window + in_flight, all = 2 * stream->index->count;
    return most < all ? most : all;
}

uint64_t rue_item_stream_window(struct rue_item_stream *stream, uint64_t in_flight)
{
    pthread_mutex_lock(&stream->lock);
    make_room(stream, kept_most(stream, in_flight));
    pthread_mutex_unlock(&stream->lock);
    return stream->window;
}

/* ---- under the lock ---- */

static void *take_kept(struct rue_item_stream *stream, uint64_t item)
{
    for (uint64_t i = 0; i < stream->kept_capacity; i++) {
        struct kept *kept = &stream->kept[i];
        if (!kept->data || kept->item != item) continue;
        void *data = kept->data;
        kept->data = NULL;
        return data;
    }
    return NULL;
}

static void keep(struct rue_item_stream *stream, uint64_t item, void *data)
{
    struct kept *kept = &stream->kept[stream->kept_next];
    stream->kept_next = (stream->kept_next + 1) % stream->kept_capacity;
    free(kept->data);
    *kept = (struct kept){item, data};
}

static rue_status fail_short(const struct rue_item_stream *stream, const struct cursor *cursor,
                             rue_error *error)
{
    return rue_fail(error, RUE_DATA,
                    "%s ends at byte %" PRIu64
                    " of its content, before what was indexed: leave the data alone while rue runs",
                    rue_files_path(stream->index->files, cursor->file),
                    rue_byte_stream_position(cursor->stream));
}

/* Brings the cursor to the beginning of the item, in its shard. */
static rue_status go_to(struct rue_item_stream *stream, struct cursor *cursor, uint64_t item,
                        rue_error *error)
{
    const struct rue_entry *entry = &stream->index->entries[item];
    bool there = cursor->stream && cursor->file == entry->file &&
                 rue_byte_stream_position(cursor->stream) <= entry->offset;
    rue_status status = RUE_OK;
    uint64_t got;
    if (!there) {
        rue_byte_stream_close(cursor->stream);
        cursor->stream = NULL;
        cursor->file = entry->file;
        status = rue_byte_stream_open(stream->index->files, entry->file, &cursor->stream, error);
        if (status != RUE_OK) return status;
    }
    uint64_t ahead = entry->offset - rue_byte_stream_position(cursor->stream);
    status = rue_byte_stream_skip(cursor->stream, ahead, &got, error);
    if (status == RUE_OK && got < ahead) status = fail_short(stream, cursor, error);
    return status;
}

static rue_status read_next(struct rue_item_stream *stream, struct cursor *cursor, uint64_t item, void *into,
                            rue_error *error)
{
    uint64_t bytes = stream->index->entries[item].bytes, got;
    rue_status status = go_to(stream, cursor, item, error);
    if (status == RUE_OK) status = rue_byte_stream_read(cursor->stream, into, bytes, &got, error);
    if (status == RUE_OK && got < bytes) status = fail_short(stream, cursor, error);
    cursor->next = item + 1;
    if (status == RUE_OK) return RUE_OK;
    rue_byte_stream_close(cursor->stream);
    cursor->stream = NULL;
    return status;
}

/* The one that is closest before the item; where all are behind it, the one that was not used for longest. */
static struct cursor *choose(struct rue_item_stream *stream, uint64_t item)
{
    struct cursor *best = NULL, *oldest = stream->cursors;
    for (struct cursor *c = stream->cursors; c < stream->cursors + CURSORS; c++) {
        uint64_t ahead = item - c->next;
        bool fits = c->stream && c->next <= item && ahead <= stream->kept_capacity;
        if (fits && (!best || c->next > best->next)) best = c;
        if (c->used < oldest->used) oldest = c;
    }
    /* Whoever shuffles asks for all of a window: it is read from its beginning, or each item before the first
     * that was asked for would be a way back. */
    if (!best) best = oldest, best->next = item - item % stream->window;
    best->used = ++stream->uses;
    return best;
}

/* Reads what lies before `item` and keeps it. What cannot be kept is passed over. */
static rue_status read_up_to(struct rue_item_stream *stream, struct cursor *cursor, uint64_t item,
                             rue_error *error)
{
    rue_status status = RUE_OK;
    while (status == RUE_OK && cursor->next < item) {
        uint64_t bytes = stream->index->entries[cursor->next].bytes, passed = cursor->next;
        void *data = bytes <= WINDOW_BYTES && stream->kept_capacity ? malloc(bytes + 1) : NULL;
        if (!data) {
            cursor->next++;
            continue;
        }
        status = read_next(stream, cursor, passed, data, error);
        if (status == RUE_OK)
            keep(stream, passed, data);
        else
            free(data);
    }
    return status;
}

/* Whoever finds its item kept reads one of those ahead in its place, up to the end of the next window. All of
 * that is read then by the time that it is asked for, one item for each: nobody waits for a whole window at
 * once, and a part of an epoch costs its part of the decompression. What is wrong with an item, whoever asks
 * for it will hear. */
static void read_on(struct rue_item_stream *stream, uint64_t item)
{
    uint64_t end = (item / stream->window + 2) * stream->window;
    struct cursor *foremost = NULL;
    if (end > stream->index->count) end = stream->index->count;
    for (struct cursor *c = stream->cursors; c < stream->cursors + CURSORS; c++) {
        bool fits = c->stream && c->next > item && c->next < end;
        if (fits && (!foremost || c->next > foremost->next)) foremost = c;
    }
    if (!foremost) return;
    foremost->used = ++stream->uses;
    rue_error unseen = {0};
    (void)read_up_to(stream, foremost, foremost->next + 1, &unseen);
}

rue_status rue_item_stream_read(struct rue_item_stream *stream, uint64_t item, void *into, rue_error *error)
{
    rue_status status = RUE_OK;
    pthread_mutex_lock(&stream->lock);
    make_room(stream, kept_most(stream, 0));
    void *data = take_kept(stream, item);
    if (data) {
        read_on(stream, item);
    } else {
        struct cursor *cursor = choose(stream, item);
        status = read_up_to(stream, cursor, item, error);
        if (status == RUE_OK) status = read_next(stream, cursor, item, into, error);
    }
    pthread_mutex_unlock(&stream->lock);
    if (data) memcpy(into, data, stream->index->entries[item].bytes);
    free(data);
    return status;
}
