/* A source is an indexed set of items on storage. Opening reads the index. Afterwards all functions but
 * rue_source_close and rue_source_drop_pages are thread-safe. Each format is a const table of operations. */
#ifndef RUE_SOURCE_H
#define RUE_SOURCE_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "loading.h"
#include "source_index.h"
#include "variant.h"

struct rue_source;

/* How the bytes of an item are read. */
enum rue_access {
    RUE_ACCESS_BEST,   /* the fastest of the others at this time */
    RUE_ACCESS_READ,   /* copied by the kernel from its page cache */
    RUE_ACCESS_VIEW,   /* in place, from mapped memory, without a copy */
    RUE_ACCESS_DIRECT, /* from storage, without the page cache (O_DIRECT) */
};

/* The place of the bytes of an item on storage. The source owns `fd` and `path`. */
struct rue_place {
    int fd;           /* the file, for pread only; if there is a path: the folder, for openat */
    const char *path; /* path of the file below that folder; NULL: `fd` is the file */
    uint64_t offset, bytes;
};

/* Alignment of direct reads: offset, size and memory. */
enum { RUE_BLOCK_BYTES = 4096 };

/* Options for opening a source. Zeros are the defaults. */
struct rue_source_options {
    const char *format;    /* NULL: detect it */
    const char *image_key; /* name of the images and of the labels: a column, a feature, an extension, */
    const char *label_key; /* depending on the format; NULL: the default names */
    const char *subset;    /* which items to load, such as "0:1000" (docs/data.md); NULL: all */
    bool read_only;        /* do not save the index of shards in their folder */
    enum rue_missing_chunks missing_chunks;
    bool sequential; /* items are read in their order; compressed shards open only with this */
    /* (optional) Called repeatedly while the index is read. A result other than RUE_OK ends the opening. */
    rue_status (*stop)(void);
};

/* For formats: calls `stop` of the options (may be NULL); RUE_OK: continue. */
static inline RUE_MUST_CHECK rue_status rue_source_check_stop(const struct rue_source_options *options,
                                                              rue_error *error)
{
    rue_status status = options && options->stop ? options->stop() : RUE_OK;
    if (status == RUE_OK) return RUE_OK;
    return rue_fail(error, status, "interrupted while indexing the data");
}

/* A format: its operations work on the index that `open` fills. index->state is for the format's own data. */
struct rue_source_ops {
    const char *format;            /* its name */
    const char *help;              /* one line for users */
    bool has_mode[RUE_MODE_COUNT]; /* modes that its items can have */
    bool has_keys;                 /* whether image_key and label_key of the options apply */
    bool has_patterns; /* whether `path` may be a pattern of shards instead of a file: see shards.h */
    bool can_map;      /* whether preprocessed items are in the first file, so that it can be mapped */
    /* Sets `*matches` if `path`, which exists, looks like this format. Reads at most its first bytes. */
    rue_status (*probe)(const char *path, bool *matches, rue_error *error);
    /* Fills the empty index, which the caller closes, also on failure. RUE_DATA: the message names the file,
     * the reason and what to do next. */
    rue_status (*open)(const char *path, const struct rue_source_options *options, struct rue_index *index,
                       rue_error *error);
    /* (optional) Frees index->state, unless it is NULL. */
    void (*close)(void *state);
    /* (optional) Reads the whole item. Default: its bytes in its file. */
    rue_status (*read)(const struct rue_index *index, uint64_t item, void *into, rue_error *error);
    /* (optional) See rue_source_key. Default: the name of the item. */
    void (*key)(const struct rue_index *index, uint64_t item, char *out, size_t bytes);
    /* (optional) As rue_source_place. Default: the place of the item in the index. */
    bool (*place)(const struct rue_index *index, uint64_t item, struct rue_place *out);
    /* (optional) Views of mapped files: see rue_source_allows, rue_source_view and rue_source_drop_pages.
     * Default: of the first file, if can_map. */
    bool (*allows_views)(const struct rue_index *index);
    rue_status (*view)(const struct rue_index *index, uint64_t item, const void **out, rue_error *error);
    void (*drop_views)(const struct rue_index *index);
    /* (optional) See rue_source_prepare and rue_source_trim. */
    bool (*prepare)(const struct rue_index *index, uint64_t item);
    void (*trim)(const struct rue_index *index);
    /* (optional) Sets `*valid` to whether `data` has the recorded checksum. Default: no checksums. */
    rue_status (*verify)(const struct rue_index *index, uint64_t item, const void *data, bool *valid,
                         rue_error *error);
};

/* The known formats, NULL at the end, in the order in which they are probed. */
extern const struct rue_source_ops *const rue_source_formats[];

/* Detects mode and format of `path`: a file, a folder or a pattern of shards. If the format can have both
 * modes, the data are opened with `options` (may be NULL). RUE_DATA: `path` does not exist, cannot be read,
 * or has an unknown format. Also the errors of rue_source_open. */
rue_status rue_source_detect(const char *path, const struct rue_source_options *options,
                             struct rue_variant *out, rue_error *error) RUE_MUST_CHECK;

/* Opens `path`; `options` may be NULL. Blocks on storage: folders are listed, shards without a saved index
 * are read completely. RUE_DATA: the data are damaged, not supported, or hold no
 * items; the message names the file, the reason and what to do next; or the subset's file cannot be read.
 * RUE_USAGE: unknown format, or the subset does not suit the data. Also the results of rue_source_failure and
 * of `stop`. */
rue_status rue_source_open(const char *path, const struct rue_source_options *options,
                           struct rue_source **out, rue_error *error) RUE_MUST_CHECK;

/* Makes a source from an index that the caller filled, with the operations of another format. The source owns
 * what `index` points to, also after a failure. `path` is for messages. `ops` must stay valid; its probe and
 * open may be NULL. */
rue_status rue_source_adopt(const struct rue_source_ops *ops, const struct rue_index *index, const char *path,
                            struct rue_source **out, rue_error *error) RUE_MUST_CHECK;

/* Close loaders and fetchers of the source first. */
void rue_source_close(struct rue_source *source);

/* Number of items, at least 1. Items are numbered from 0; those of a subset in its own order. */
uint64_t rue_source_count(const struct rue_source *source);

/* Number of items of the data without the subset, and the number of an item among those. */
uint64_t rue_source_whole_count(const struct rue_source *source);
uint64_t rue_source_number(const struct rue_source *source, uint64_t item);

/* Whether items follow each other as on storage; only a subset can have another order. It has no shards. */
bool rue_source_is_ordered(const struct rue_source *source);

/* Size of the item when it was indexed, and of all items together on storage; the label of the item (0: no
 * labels). */
uint64_t rue_source_bytes(const struct rue_source *source, uint64_t item);
uint64_t rue_source_total_bytes(const struct rue_source *source);
int32_t rue_source_label(const struct rue_source *source, uint64_t item);

/* Items that are stored and read together, in chunks: shuffle blocks of so many, and within them. 1: none. */
uint64_t rue_source_block(const struct rue_source *source);

/* Largest memory of the decoded chunks that the source keeps for later reads, without those in use. */
uint64_t rue_source_cache_bytes(const struct rue_source *source);

/* How chunks are stored; {0}: the format has none. */
const struct rue_blocks *rue_source_blocks(const struct rue_source *source);

/* Number of files that hold many items each; 0: every item is a file. Shards follow each other: shard s holds
 * the items from rue_source_shard_first(s) to rue_source_shard_first(s + 1) - 1, and may hold none. The
 * source owns the path of a shard. */
size_t rue_source_shards(const struct rue_source *source);
uint64_t rue_source_shard_first(const struct rue_source *source, size_t shard);
const char *rue_source_shard_path(const struct rue_source *source, size_t shard);

/* Whether each item is a file, whose path is its name. */
bool rue_source_has_files(const struct rue_source *source);

/* Writes the name of the item for messages to `out` [bytes]: a path, or file, record and byte. */
void rue_source_name(const struct rue_source *source, uint64_t item, char *out, size_t bytes);

/* Writes the key of the item to `out` [bytes]: a path within the data, such as "tench/n01440764_18.JPEG", or
 * its number with eight digits if the data have no names. */
void rue_source_key(const struct rue_source *source, uint64_t item, char *out, size_t bytes);

/* The same for an item by its number in the data without the subset. */
void rue_source_key_of_number(const struct rue_source *source, uint64_t number, char *out, size_t bytes);

/* Reads the item into `into` [rue_source_bytes(item)]. Thread-safe; blocks on storage. RUE_DATA: the item was
 * deleted, cannot be read, or has changed its size. Also the results of rue_source_failure. */
rue_status rue_source_read(const struct rue_source *source, uint64_t item, void *into,
                           rue_error *error) RUE_MUST_CHECK;

/* Whether items should be read in order by one thread: to read an earlier item of a compressed shard, the
 * shard is decompressed again from its beginning. */
bool rue_source_is_sequential(const struct rue_source *source);

/* Whether this access is possible now. Views need data that are known to be in memory. Direct reads need a
 * file system that supports them. RUE_ACCESS_READ is always possible. Needs microseconds, but about 20 ms per
 * gigabyte the first time that the data are in memory. */
bool rue_source_allows(const struct rue_source *source, enum rue_access access);

/* Sets `*out` to the rue_source_bytes(item) bytes of the item. The source owns them until it is closed. Call
 * it only if rue_source_allows(RUE_ACCESS_VIEW). Thread-safe. RUE_DATA: the file became shorter. Evicted
 * bytes are read again on access: if storage fails then, or the file is truncated while they are used, the
 * process receives SIGBUS. RUE_ACCESS_READ does not have this risk. */
rue_status rue_source_view(const struct rue_source *source, uint64_t item, const void **out,
                           rue_error *error) RUE_MUST_CHECK;

/* Sets `*out` to the place of the item, for RUE_ACCESS_READ, or for RUE_ACCESS_DIRECT if it is allowed. For
 * direct reads offset and bytes are multiples of RUE_BLOCK_BYTES, and there may be more bytes than the
 * item's. False: the source has no files, or they are compressed. */
bool rue_source_place(const struct rue_source *source, enum rue_access access, uint64_t item,
                      struct rue_place *out);

/* Releases the pages of views, so that the kernel can evict them. Call it while no view is in use. */
void rue_source_drop_pages(const struct rue_source *source);

/* Loads the chunks of the item for later reads, unless they are in memory. True: another thread loads some of
 * them now, and reading the item would wait for it. Thread-safe; blocks on storage. Errors are reported when
 * the item is read. */
bool rue_source_prepare(const struct rue_source *source, uint64_t item);

/* Frees decoded chunks that the source keeps for later reads and that no thread uses. Thread-safe. */
void rue_source_trim(const struct rue_source *source);

/* Checks that the files are the same as when they were opened. (Reading from an open file does not show that
 * it was deleted.) Needs microseconds per file. Thread-safe. RUE_DATA names the first file that was changed
 * or deleted. Also the results of rue_source_failure. */
rue_status rue_source_check(const struct rue_source *source, rue_error *error) RUE_MUST_CHECK;

/* Checks `data`, the bytes of the item from rue_source_read, against the recorded checksum. RUE_DATA: they
 * differ. RUE_OK if the format does not record checksums. */
rue_status rue_source_verify(const struct rue_source *source, uint64_t item, const void *data,
                             rue_error *error) RUE_MUST_CHECK;

/* Number of entries that the source skipped although they may be items: broken links, links to a folder that
 * is read already, FIFOs, devices, images beside class folders. Also that of the missing chunks. */
uint64_t rue_source_skipped(const struct rue_source *source);

/* False: no labels were found. */
bool rue_source_has_labels(const struct rue_source *source);

/* Writes what users should know about the data to `text` [bytes]: what was skipped or is missing, with one
 * example and the reason, and labels that were not found. Sentences are separated by "; "; "": nothing. */
void rue_source_note(const struct rue_source *source, char *text, size_t bytes);

/* Number of classes (0: the data do not name them), and their names, which the source owns. */
size_t rue_source_class_count(const struct rue_source *source);
const char *rue_source_class_name(const struct rue_source *source, size_t class_index);

/* A hash of the names, sizes and labels of all items, and of the numbers of a subset; not of their bytes. */
uint64_t rue_source_digest(const struct rue_source *source);

/* Sets `out` to channels, height and width of preprocessed items. False: the source is raw. */
bool rue_source_shape(const struct rue_source *source, uint32_t out[3]);

/* What preprocessed items were made with, as the data say: names of options and their values, such as "resize
 * 256 interpolation bilinear layout nchw orientation ignore"; "": not recorded. The source owns the text. */
const char *rue_source_made_with(const struct rue_source *source);

/* Whether image_key and label_key of the options apply to the format. */
bool rue_source_has_keys(const struct rue_source *source);

/* Mode, format, dtype and path of the source. */
struct rue_variant rue_source_variant(const struct rue_source *source);

#endif
