/* Where the items of a set of shards lie, and what they are called; and the file in which that is kept beside
 * the shards, so that they need not be read through again. */
#ifndef RUE_ITEM_INDEX_H
#define RUE_ITEM_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "shard_set.h"

enum { RUE_INDEX_FACTS = 4, RUE_INDEX_EXAMPLE_BYTES = 512 };

struct rue_index_entry {
    uint64_t offset, bytes; /* of the item, in its shard as it is without compression */
    uint64_t name;          /* offset in `names` */
    uint32_t shard;
    int32_t label;
};

/* All zeros is an empty one. Read it freely; it changes only through the functions below. */
struct rue_item_index {
    struct rue_index_entry *entries; /* [count], in the order of shards and offsets */
    uint64_t count;
    char *names; /* NUL-terminated, one after the other */
    uint64_t names_used;
    size_t capacity, names_capacity;
    uint64_t skipped; /* see rue_source_skipped */
    char skipped_example[RUE_INDEX_EXAMPLE_BYTES];
    uint64_t facts[RUE_INDEX_FACTS]; /* the format's own: mode, type */
};

/* Adds an item; entry->name is filled in. RUE_MEMORY. */
rue_status rue_item_index_add(struct rue_item_index *index, const struct rue_index_entry *entry,
                              const char *name, rue_error *error) RUE_MUST_CHECK;

/* Counts what was left out, and keeps the first as an example: "<file>, <why>". */
void rue_item_index_skip(struct rue_item_index *index, const char *file, const char *why);

const char *rue_item_index_name(const struct rue_item_index *index, uint64_t item);
void rue_item_index_free(struct rue_item_index *index);

/* See rue_source_digest. */
uint64_t rue_item_index_digest(const struct rue_item_index *index);

/* Reads what was kept for these shards and `asked`, a text of all else that the index depends on: the format,
 * its version, keys. False where there is nothing, or what is there is stale or damaged; `index` is empty
 * then. */
bool rue_item_index_load(struct rue_item_index *index, const struct rue_shard_set *set, const char *asked);

/* Keeps it in the folder of the first shard, under a hidden name that depends on `asked` and the names of the
 * shards, whole or not at all; removes those of shards there that are no longer what they were. Where it
 * cannot be written, nothing happens. */
void rue_item_index_keep(const struct rue_item_index *index, const struct rue_shard_set *set,
                         const char *asked);

#endif
