/* What opening a source finds out: where each item lies, what it is called, its label. A format fills one
 * (open of rue_source_ops); all that a source is asked about its items is answered from it. */
#ifndef RUE_SOURCE_INDEX_H
#define RUE_SOURCE_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "variant.h"

/* What items are, and how messages call them. */
enum rue_item_kind {
    RUE_ITEM_RECORD, /* "<file> record <its number in the file> at byte <where>" */
    RUE_ITEM_MEMBER, /* "<file> member <name> at byte <where>" */
    RUE_ITEM_KEY,    /* "<file> key <name> at byte <where>" */
    RUE_ITEM_FILE,   /* a file of its own: its name is a path below the folder of the data, or absolute */
};

struct rue_entry {
    uint64_t offset, bytes; /* of the data, in the file as it is without compression */
    uint32_t file;          /* of rue_files_add, from 0; items of one file follow each other */
    uint32_t lead; /* bytes before the data that belong to the item as well: the header of a record */
    uint32_t name; /* in `names` */
    int32_t label;
};

/* Items of one size at equal distances, in the first file. */
struct rue_stride {
    uint64_t offset, bytes, step;
};

/* NUL-terminated texts, one after the other. */
struct rue_name_pool {
    char *text;
    size_t used, capacity;
};

enum { RUE_EXAMPLE_BYTES = 512 };

/* The files of a source. */
struct rue_files;

/* All zeros is an empty one. Read it freely; what is allocated changes only through the functions below. */
struct rue_index {
    enum rue_item_kind kind;
    uint64_t count;
    struct rue_entry *entries; /* [count] in the order of the items; NULL: they lie as `stride` says */
    size_t capacity;
    struct rue_stride stride;
    int32_t *labels; /* [count] of items with a stride, of malloc; NULL: they have none */
    struct rue_name_pool names;
    uint32_t *classes; /* [class_count] where in `names` they are called */
    size_t class_count, class_capacity;
    uint64_t skipped; /* see rue_source_skipped */
    char skipped_example[RUE_EXAMPLE_BYTES];
    enum rue_mode mode;
    enum rue_dtype dtype; /* of preprocessed items, and */
    uint32_t shape[3];    /* their channels, height, width */
    uint64_t seed;        /* of the digest: what the format knows of the contents */
    bool compressed;      /* compressed: what lies before an item has to be read as well */
    struct rue_files *files;
    void *state; /* the format's own */
};

/* Adds an item called `name`, which is copied; entry->name is filled in. RUE_DATA where names have more than
 * 4 GiB; RUE_MEMORY. */
rue_status rue_index_add(struct rue_index *index, const struct rue_entry *entry, const char *name,
                         rue_error *error) RUE_MUST_CHECK;

/* Adds a class of that name. The same errors. */
rue_status rue_index_add_class(struct rue_index *index, const char *name, size_t bytes,
                               rue_error *error) RUE_MUST_CHECK;

/* Counts what was left out, and keeps the first as an example. */
void rue_index_skip(struct rue_index *index, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The name of item `item`; "" where items have no names. */
const char *rue_index_name(const struct rue_index *index, uint64_t item);

/* What an errno of reading data says: RUE_INFEASIBLE when the system is out of descriptors or memory,
 * RUE_STORE when the storage fails, else RUE_DATA: the item itself is at fault, and only then may another
 * take its place. */
rue_status rue_source_failure(int error_number);

/* The message for a file or folder of data that could not be opened, as errno says; returns
 * rue_source_failure of it. */
rue_status rue_fail_open(rue_error *error, const char *path);

/* Adds a file; `*files` is NULL before the first one. It has to be a regular one that may be read: RUE_DATA
 * otherwise, or rue_source_failure; RUE_MEMORY. */
rue_status rue_files_add(struct rue_files **files, const char *path, rue_error *error) RUE_MUST_CHECK;

/* Reads `bytes` at `offset` of a file. Thread-safe; blocks on storage. Files stay open up to a part of what
 * the system allows and are opened again beyond that. RUE_DATA names the file that was deleted, replaced or
 * changed since it was added, or that ends before that, and the byte; rue_source_failure. */
rue_status rue_files_read(struct rue_files *files, size_t file, void *into, uint64_t bytes, uint64_t offset,
                          rue_error *error) RUE_MUST_CHECK;

#endif
