/* The items of an LMDB and where they lie: what opening one finds out. Either rue's own layout
 * (lmdb_record.h), or the common one: JPEG files under keys of digits, with labels as text under
 * "label-<digits>" or "<digits>.cls", or under "image-<digits>" with "label-<digits>". */
#ifndef RUE_LMDB_SET_H
#define RUE_LMDB_SET_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "file_identity.h"
#include "label_words.h"
#include "source.h"
#include "variant.h"

enum { RUE_LMDB_KEY_TEXT_BYTES = 64 };

struct rue_lmdb_item {
    uint64_t offset, bytes;           /* of the value */
    uint64_t number : 56, digits : 8; /* its key */
    uint32_t data_offset;             /* within the value */
    int32_t label;
};

struct rue_lmdb_set {
    char path[PATH_MAX]; /* of the file */
    int fd;
    struct rue_file_identity identity;
    struct rue_lmdb_item *items; /* [count] in the order of their keys */
    size_t count;
    const char *prefix; /* of the keys of items: "" or "image-" */
    bool is_ours;       /* items have a header (lmdb_record.h) */
    enum rue_mode mode;
    enum rue_dtype dtype;
    uint32_t shape[3];
    size_t class_count;
    const char **classes; /* [class_count] */
    uint32_t index_crc;   /* of rue's own layout, over labels and classes */
    uint64_t others;      /* keys that are none of these */
    char other[96];       /* one of them: "the key 'x'" */

    /* For opening it alone. */
    const struct rue_source_options *options;
    size_t capacity;
    char *index;                   /* class names point into it, */
    struct rue_label_words *words; /* or into these */
    struct rue_lmdb_label *labels;
    size_t label_count, label_capacity;
    uint64_t index_offset, index_bytes;
};

/* The file of what is called `path`, a file or a folder with data.mdb; false with errno. */
bool rue_lmdb_find(const char *path, char out[PATH_MAX]);

/* Opens the file and reads all keys, labels and class names into `set`. RUE_DATA names the file and what is
 * wrong with it; otherwise rue_source_failure, RUE_MEMORY. Nothing is left to close then. */
rue_status rue_lmdb_set_open(const char *path, const struct rue_source_options *options,
                             struct rue_lmdb_set *set, rue_error *error) RUE_MUST_CHECK;
void rue_lmdb_set_close(struct rue_lmdb_set *set);

/* The item's key. */
void rue_lmdb_set_key(const struct rue_lmdb_set *set, uint64_t item, char out[RUE_LMDB_KEY_TEXT_BYTES]);

#endif
