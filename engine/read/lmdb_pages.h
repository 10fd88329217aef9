/* Finds the values in an LMDB file, in the layout of liblmdb 0.9 on 64-bit systems. Pages are read with pread
 * and checked. liblmdb itself maps the file and trusts its pages, so a truncated or damaged file would crash
 * the process. No locks or reader slots are used, so a fork is safe. A value is one run of bytes: any thread
 * can read or map it without a transaction. Values that are overwritten meanwhile are not detected. */
#ifndef RUE_LMDB_PAGES_H
#define RUE_LMDB_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "source_index.h"

/* The limit of liblmdb. */
enum { RUE_LMDB_KEY_MAX = 511 };

/* An entry of the main database. */
struct rue_lmdb_entry {
    const unsigned char *key; /* [key_bytes], valid during the visit */
    size_t key_bytes;
    uint64_t offset, bytes;     /* of the value in the file */
    const unsigned char *value; /* [bytes] as `key`; NULL: it lies in pages of its own, which are not read */
    bool is_database;           /* a named database, not a value */
};

/* A result other than RUE_OK ends the walk. */
typedef rue_status (*rue_lmdb_visit)(void *context, const struct rue_lmdb_entry *entry, rue_error *error);

/* Whether the file begins like an LMDB file. */
bool rue_lmdb_detect(int fd);

/* Whether a key is text in any character set: it has no control characters. */
static inline bool rue_lmdb_key_is_text(const void *key, size_t bytes)
{
    const unsigned char *at = key;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] < ' ' || at[i] == 0x7f) return false;
    return true;
}

/* The key of what the items were made with (made_with.h). */
#define RUE_LMDB_MADE_WITH "__made_with__"

/* Whether the key is for metadata, such as "__len__". */
static inline bool rue_lmdb_key_is_note(const void *key, size_t bytes)
{
    return bytes >= 2 && memcmp(key, "__", 2) == 0;
}

/* Visits all entries of the first file in the order of their keys. Keys are unique and have 1 to
 * RUE_LMDB_KEY_MAX bytes. Blocks on storage; needs memory for one page per level. RUE_DATA names the file,
 * the page and the damage. Also the results of rue_source_failure. */
rue_status rue_lmdb_walk(struct rue_files *files, rue_lmdb_visit visit, void *context,
                         rue_error *error) RUE_MUST_CHECK;

#endif
