/* A source is an indexed set of items on storage: one file a format (source_<format>.c), a const table of
 * operations. Opening reads the index; reading item i is thread-safe and touches nothing else. */
#ifndef RUE_SOURCE_H
#define RUE_SOURCE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "source_index.h"
#include "variant.h"

struct rue_source;

/* How the bytes of an item can be had. */
enum rue_access {
    RUE_ACCESS_BEST,   /* what is fastest at present */
    RUE_ACCESS_READ,   /* copied by the kernel out of its page cache */
    RUE_ACCESS_VIEW,   /* where they lie in memory, without a copy */
    RUE_ACCESS_DIRECT, /* from storage, past the page cache */
};

/* Where the bytes of an item lie. */
struct rue_place {
    int fd;           /* the source's; read at offsets only. A folder where there is a path: */
    const char *path; /* of the file below that folder, the source's; NULL: `fd` is the file */
    uint64_t offset, bytes;
};

/* What direct reads are aligned to. */
enum { RUE_BLOCK_BYTES = 4096 };

/* How a source is opened; all members are optional, and so is the whole. */
struct rue_source_options {
    const char *format; /* NULL: detected */
    const char
        *image_key; /* what the format calls images and labels, where it has names for them: a column, */
    const char *label_key; /* a feature, an extension; NULL: the usual ones */
    bool read_only;        /* no index is kept beside shards */
    bool sequential; /* items are read in their order: for compressed shards, which do not open without */
    /* Asked now and then while an index is read; what it returns other than RUE_OK ends that. */
    rue_status (*stop)(void);
};

/* What the stop of the options (nullable) says, with an error; for the formats. */
static inline RUE_MUST_CHECK rue_status rue_source_check_stop(const struct rue_source_options *options,
                                                              rue_error *error)
{
    rue_status status = options && options->stop ? options->stop() : RUE_OK;
    if (status == RUE_OK) return RUE_OK;
    return rue_fail(error, status, "interrupted while indexing the data");
}

/* A format. Operations get the index that `open` filled; what the format keeps for itself is index->state. */
struct rue_source_ops {
    const char *format;
    const char *help;
    bool holds[RUE_MODE_COUNT];
    bool has_keys;     /* whether it has names for images and labels: rue_source_options */
    bool has_patterns; /* whether `path` may be a pattern of shards that is no file: see shards.h */
    bool can_map;      /* whether preprocessed items are viewed in the first file */
    /* Whether `path`, which exists, looks like this format: cheap, opens at most the first bytes. Fails where
     * it cannot be looked at. `*is` is false before. */
    rue_status (*probe)(const char *path, bool *is, rue_error *error);
    /* Fills the index, which is empty before and closed by the caller, also where this fails. RUE_DATA names
     * the file, the reason and what to do next. */
    rue_status (*open)(const char *path, const struct rue_source_options *options, struct rue_index *index,
                       rue_error *error);
    /* Closes index->state where it is not NULL. (optional: there is none) */
    void (*close)(void *state);
    /* Reads the whole item. (optional: as it lies in its file) */
    rue_status (*read)(const struct rue_index *index, uint64_t item, void *into, rue_error *error);
    /* See rue_source_key. (optional: the item's name) */
    void (*key)(const struct rue_index *index, uint64_t item, char *out, size_t bytes);
    /* Sets `*good` to whether what was read has the checksum that was recorded. (optional: none is) */
    rue_status (*verify)(const struct rue_index *index, uint64_t item, const void *data, bool *good,
                         rue_error *error);
};

/* The known formats, NULL at the end, in the order in which they are probed. */
extern const struct rue_source_ops *const rue_source_formats[];

/* What `path` looks like, a file, a folder or a pattern of shards: its mode and format. A format that holds
 * either mode is opened for it, with the keys of the options (nullable). RUE_DATA when there is nothing at
 * `path`, it is of no known format or may not be read; otherwise as `open`. */
rue_status rue_source_detect(const char *path, const struct rue_source_options *options,
                             struct rue_variant *out, rue_error *error) RUE_MUST_CHECK;

/* `options` is nullable. RUE_USAGE for an unknown format; RUE_DATA names the file, what is wrong with it and
 * what to do next; otherwise rue_source_failure. */
rue_status rue_source_open(const char *path, const struct rue_source_options *options,
                           struct rue_source **out, rue_error *error) RUE_MUST_CHECK;

/* A source of the caller's own, which is in no list of formats. `index` is copied and closed with it, or at
 * once where this fails. `path` is for messages. probe and open may be NULL. */
rue_status rue_source_adopt(const struct rue_source_ops *ops, const struct rue_index *index, const char *path,
                            struct rue_source **out, rue_error *error) RUE_MUST_CHECK;

void rue_source_close(struct rue_source *source);

/* Items, at least 1: a source without items does not open. */
uint64_t rue_source_count(const struct rue_source *source);

/* The size of the item when it was indexed: what rue_source_read fills. */
uint64_t rue_source_bytes(const struct rue_source *source, uint64_t item);
uint64_t rue_source_total_bytes(const struct rue_source *source);
int32_t rue_source_label(const struct rue_source *source, uint64_t item);

/* The item as messages call it: a path, or file, record and byte. */
void rue_source_name(const struct rue_source *source, uint64_t item, char *out, size_t bytes);

/* What the data call the item, a path below the data such as "tench/n01440764_18.JPEG"; where they have no
 * names, its number in eight digits. */
void rue_source_key(const struct rue_source *source, uint64_t item, char *out, size_t bytes);

/* Reads item `item` < count into `into` of rue_source_bytes(item). Thread-safe; blocks on storage. RUE_DATA
 * names the item: gone, unreadable, or no longer of its indexed size. */
rue_status rue_source_read(const struct rue_source *source, uint64_t item, void *into,
                           rue_error *error) RUE_MUST_CHECK;

/* Whether reading is fast only in the order of the items, by one thread: compressed shards are decompressed
 * from their beginning for an item that lies before the one that was read last. */
bool rue_source_is_sequential(const struct rue_source *source);

/* Whether items can be had in this way at present: views where the data are in memory, direct reads where the
 * file system has them. Takes microseconds; the first time that data are in memory some 20 ms for each
 * gigabyte. What cannot be told counts as not in memory. Everything can be read. */
bool rue_source_allows(const struct rue_source *source, enum rue_access access);

/* Sets `*out` to the rue_source_bytes(item) bytes of the item, valid until the source is closed. Only where
 * rue_source_allows it. Thread-safe. RUE_DATA names the item. What has left memory comes back when it is
 * touched: where storage fails then, or the file is cut between this call and the last touch, the process
 * ends with SIGBUS; RUE_ACCESS_READ has no such risk. */
rue_status rue_source_view(const struct rue_source *source, uint64_t item, const void **out,
                           rue_error *error) RUE_MUST_CHECK;

/* Where the item lies, for reading it and for asking and telling the page cache about it: for
 * RUE_ACCESS_READ, or RUE_ACCESS_DIRECT where it is allowed; then offset and bytes are multiples of
 * RUE_BLOCK_BYTES, and there may be more bytes than the item's. False where the source has no files, or they
 * are compressed. */
bool rue_source_place(const struct rue_source *source, enum rue_access access, uint64_t item,
                      struct rue_place *out);

/* Lets go of the pages that were viewed, so that they can leave memory. While nothing is viewed. */
void rue_source_drop_pages(const struct rue_source *source);

/* Whether the files that stay open or are read once are still what they were when they were opened: reading
 * alone might not notice that one was deleted. Microseconds for each. Thread-safe. RUE_DATA names the file;
 * otherwise rue_source_failure. */
rue_status rue_source_check(const struct rue_source *source, rue_error *error) RUE_MUST_CHECK;

/* Checks the bytes of an item that was read against what the writer recorded; RUE_OK where the format records
 * nothing. */
rue_status rue_source_verify(const struct rue_source *source, uint64_t item, const void *data,
                             rue_error *error) RUE_MUST_CHECK;

/* What the source left out though it may have been meant to be an item: links that lead nowhere or to a
 * folder that they lie in, FIFOs, devices. `example` [bytes] is set to one of them and why; "" when there is
 * none. */
uint64_t rue_source_skipped(const struct rue_source *source, char *example, size_t bytes);

size_t rue_source_class_count(const struct rue_source *source);
const char *rue_source_class_name(const struct rue_source *source, size_t class_index);
uint64_t rue_source_digest(const struct rue_source *source);

/* Channels, height and width of the items of a preprocessed source; false for a raw one. */
bool rue_source_shape(const struct rue_source *source, uint32_t out[3]);

/* Whether the format has names for images and labels that options could choose. */
bool rue_source_has_keys(const struct rue_source *source);

/* Mode, format, dtype and path. */
struct rue_variant rue_source_variant(const struct rue_source *source);

#endif
