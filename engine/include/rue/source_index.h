/* The index of a source: place, name and label of each item. For programs that add a format (open of
 * rue_source_ops) or fill an index themselves (rue_source_adopt). */
#ifndef RUE_SOURCE_INDEX_H
#define RUE_SOURCE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "variant.h"

/* What an item is, and how messages name it. */
enum rue_item_kind {
    RUE_ITEM_RECORD, /* "<file> record <number in the file> at byte <offset>" */
    RUE_ITEM_MEMBER, /* "<file> member <name> at byte <offset>" */
    RUE_ITEM_KEY,    /* "<file> key <name> at byte <offset>" */
    RUE_ITEM_ARRAY,  /* "<path> item <number>" */
    RUE_ITEM_FILE,   /* a whole file; its name is an absolute path, or relative to the folder of the data */
};

struct rue_entry {
    uint64_t offset, bytes; /* of the data in the uncompressed file */
    uint32_t file;          /* number of the file, from 0; never less than that of the item before */
    uint32_t lead; /* bytes before the data that also belong to the item, such as a record's header */
    uint32_t name; /* offset in `names` */
    int32_t label;
};

/* Items of the same size at equal distances in the first file. */
struct rue_stride {
    uint64_t offset, bytes, step;
};

/* Items that are stored and read together, in chunks. {0}: each item is stored alone, as its bytes are. */
struct rue_blocks {
    uint64_t items;        /* of a block; the last one may have fewer */
    uint64_t stored_bytes; /* of all blocks together */
    uint64_t cache_bytes;  /* see rue_source_cache_bytes */
    uint64_t chunk[4];     /* shape of a chunk: items, and the axes of an item; 0: no such axis */
    char codec[16];        /* "zstd" */
    char layout[48];       /* both, for users: "16x3x224x224 zstd"; "": none */
};

/* NUL-terminated texts, one after another. */
struct rue_name_pool {
    char *text;
    size_t used, capacity;
};

enum { RUE_EXAMPLE_BYTES = 512, RUE_NOTE_BYTES = 1024 };

/* What users should know about the data: see rue_source_skipped, rue_source_has_labels and rue_source_note.
 */
struct rue_remarks {
    uint64_t skipped;
    bool unlabelled; /* no labels were found: those of all items are 0 */
    char skipped_example[RUE_EXAMPLE_BYTES];
    char note[RUE_NOTE_BYTES];
};

/* The files of a source. */
struct rue_files;

/* {0} is an empty index. Change the allocated members only with the functions below. */
struct rue_index {
    enum rue_item_kind kind;
    uint64_t count;
    struct rue_entry *entries; /* [count] in the order of the items; NULL: `stride` describes them */
    size_t capacity;
    struct rue_stride stride;
    int32_t *labels; /* [count], from malloc, labels of items with a stride; NULL: no labels */
    struct rue_name_pool names;
    uint32_t *classes; /* [class_count] offsets of their names in `names` */
    size_t class_count, class_capacity;
    struct rue_remarks remarks;
    enum rue_mode mode;
    enum rue_dtype dtype;                /* of preprocessed items */
    uint32_t shape[3];                   /* of preprocessed items: channels, height, width */
    char made_with[RUE_MADE_WITH_BYTES]; /* see rue_source_made_with */
    uint64_t seed; /* start of the digest: a hash of the format's data about the contents */
    struct rue_blocks blocks;
    bool compressed; /* an item can be read only after all bytes before it */
    struct rue_files *files;
    void *state; /* data of the format, freed by its close */
};

/* Adds an item. Copies `entry` and `name`; ignores entry->name. RUE_DATA: names exceed 4 GiB. RUE_MEMORY. */
rue_status rue_index_add(struct rue_index *index, const struct rue_entry *entry, const char *name,
                         rue_error *error) RUE_MUST_CHECK;

/* Adds a class with this name [bytes]. Errors as rue_index_add. */
rue_status rue_index_add_class(struct rue_index *index, const char *name, size_t bytes,
                               rue_error *error) RUE_MUST_CHECK;

/* Counts a skipped entry, and keeps the first as the example of rue_source_note. */
void rue_index_skip(struct rue_index *index, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a sentence, without a full stop, to rue_source_note. Shortens it if there is not enough space. */
void rue_index_note(struct rue_index *index, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Notes that no labels were found, and why. */
void rue_index_note_unlabelled(struct rue_index *index, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The name of an item, owned by the index; "" if items have no names. */
const char *rue_index_name(const struct rue_index *index, uint64_t item);

/* The status for an errno of reading data. RUE_INFEASIBLE: the system is out of descriptors or memory.
 * RUE_STORE: the storage failed. RUE_DATA: all others; only then may another item replace this one. */
rue_status rue_source_failure(int error_number);

/* Records that `path` could not be opened, with errno as the reason. Returns rue_source_failure(errno). */
rue_status rue_fail_open(rue_error *error, const char *path);

/* Adds a file; set `*files` to NULL before the first one. RUE_DATA: `path` is not a regular file, or may not
 * be read. Also the results of rue_source_failure, and RUE_MEMORY. */
rue_status rue_files_add(struct rue_files **files, const char *path, rue_error *error) RUE_MUST_CHECK;

/* Reads `bytes` at `offset` of a file into `into`. Thread-safe; blocks on storage. Keeps some files open, at
 * most 1/16 of the descriptor limit. RUE_DATA: the file ends too early, or was deleted, replaced or changed
 * since it was added; the message names file and byte. Also the results of rue_source_failure. */
rue_status rue_files_read(struct rue_files *files, size_t file, void *into, uint64_t bytes, uint64_t offset,
                          rue_error *error) RUE_MUST_CHECK;

#endif
