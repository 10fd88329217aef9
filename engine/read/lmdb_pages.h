/* The pages of an LMDB file, as liblmdb 0.9 of 64-bit systems lays them out: where each value lies. They are
 * read with pread and believed nowhere: liblmdb maps the file and follows what its pages say, so a file that
 * was cut or damaged ends the process. Neither locks nor reader slots are taken, and nothing is kept open
 * that a fork could break. A value is one run of bytes, so that it can be read, or viewed in a mapping, by
 * any thread without a transaction; one that is written over meanwhile is not noticed. */
#ifndef RUE_LMDB_PAGES_H
#define RUE_LMDB_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "source_index.h"

/* liblmdb's own limit. */
enum { RUE_LMDB_KEY_MAX = 511 };

/* An entry of the unnamed database. */
struct rue_lmdb_entry {
    const unsigned char *key; /* [key_bytes], until the visit is over */
    size_t key_bytes;
    uint64_t offset, bytes; /* of the value, within the file */
    bool is_database;       /* a named database: the value is how to find it */
};

/* What it returns other than RUE_OK, with its error, ends the walk. */
typedef rue_status (*rue_lmdb_visit)(void *context, const struct rue_lmdb_entry *entry, rue_error *error);

/* Whether the file begins as an LMDB does. */
bool rue_lmdb_detect(int fd);

/* Whether a key is text, in whatever character set: it has no control characters. */
static inline bool rue_lmdb_key_is_text(const void *key, size_t bytes)
{
    const unsigned char *at = key;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] < ' ' || at[i] == 0x7f) return false;
    return true;
}

/* Whether it is one of those that people keep notes under, such as "__len__". */
static inline bool rue_lmdb_key_is_note(const void *key, size_t bytes)
{
    return bytes >= 2 && memcmp(key, "__", 2) == 0;
}

/* Visits all entries of the first file in the order of their keys, which are 1 to RUE_LMDB_KEY_MAX bytes, no
 * two the same. Reads pages of keys alone. Blocks on storage; needs memory for a page of each level. RUE_DATA
 * names the file, the page and what is wrong with it; otherwise rue_source_failure. */
rue_status rue_lmdb_walk(struct rue_files *files, rue_lmdb_visit visit, void *context,
                         rue_error *error) RUE_MUST_CHECK;

#endif
