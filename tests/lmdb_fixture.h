/* LMDBs as other programs write them, and items for the sink. */
#ifndef RUE_LMDB_FIXTURE_H
#define RUE_LMDB_FIXTURE_H

#include <lmdb.h>

#include "data_fixture.h"

/* A value of `bytes`: whatever begins with ff d8 passes for a JPEG file until it is decoded. */
struct lmdb_entry {
    const char *key, *value;
    size_t bytes;
};

static inline void lmdb_require(int code, const char *what)
{
    if (code == 0) return;
    fprintf(stderr, "%s: %s\n", what, mdb_strerror(code));
    abort();
}

/* Puts entries, NULL key at the end, into the database `database` (NULL: the unnamed one) of the file `name`.
 */
static inline void lmdb_put(const char *name, const char *database, unsigned flags,
                            const struct lmdb_entry *entries)
{
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi dbi;
    lmdb_require(mdb_env_create(&env), "create");
    lmdb_require(mdb_env_set_maxdbs(env, 4), "maxdbs");
    lmdb_require(mdb_env_set_mapsize(env, 64 << 20), "mapsize");
    lmdb_require(mdb_env_open(env, temporary_path(name), MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0666),
                 "open");
    lmdb_require(mdb_txn_begin(env, NULL, 0, &txn), "begin");
    lmdb_require(mdb_dbi_open(txn, database, flags | (database ? MDB_CREATE : 0), &dbi), "dbi");
    for (; entries->key; entries++) {
        MDB_val key = {strlen(entries->key), (void *)entries->key};
        MDB_val value = {entries->bytes ? entries->bytes : strlen(entries->value), (void *)entries->value};
        lmdb_require(mdb_put(txn, dbi, &key, &value, 0), "put");
    }
    lmdb_require(mdb_txn_commit(txn), "commit");
    mdb_env_close(env);
}

static const char *const lmdb_classes[] = {"ape", "bee", "cow"};

/* Item `i`, of a size between a part of a page and several pages; its bytes are its own. */
static inline struct rue_item lmdb_item(unsigned i)
{
    static char key[32];
    static unsigned char data[1 << 16];
    uint64_t bytes = 100 + i * 977 % 9000;
    snprintf(key, sizeof key, "%s/%04u.jpg", lmdb_classes[i % 3], i);
    for (uint64_t b = 0; b < bytes; b++) data[b] = (unsigned char)(b * 31 + i);
    return (struct rue_item){key, (int32_t)i % 3, data, bytes};
}

static inline struct rue_sink *lmdb_begin(const char *name, uint64_t count, const struct rue_sink_mark *mark,
                                          rue_error *error)
{
    static struct rue_sink_options options;
    struct rue_sink *sink = NULL;
    options = (struct rue_sink_options){.count = count, .class_count = 3, .classes = lmdb_classes};
    return rue_sink_open(rue_sink_find("lmdb"), temporary_path(name), &options, mark, &sink, error) == RUE_OK
               ? sink
               : NULL;
}

/* Adds the items from `first` on, `count` of them. */
static inline void lmdb_add(struct rue_sink *sink, unsigned first, unsigned count)
{
    rue_error error = {0};
    for (unsigned i = first; i < first + count; i++) {
        const struct rue_item item = lmdb_item(i);
        data_require(rue_sink_add(sink, &item, &error) == RUE_OK, "add", &error);
    }
}

/* The LMDB `name` of the items 0 to `count` - 1, in the folder form. */
static inline void lmdb_make(const char *name, unsigned count)
{
    rue_error error = {0};
    struct rue_sink *sink = lmdb_begin(name, count, &(struct rue_sink_mark){0}, &error);
    data_require(sink, "sink", &error);
    lmdb_add(sink, 0, count);
    data_require(rue_sink_finish(sink, &error) == RUE_OK, "finish", &error);
    rue_sink_close(sink);
}

/* Whether the source holds the item's bytes, unharmed as far as it can tell. */
static inline bool lmdb_holds(const struct rue_source *source, uint64_t at, const struct rue_item *item,
                              rue_error *error)
{
    unsigned char *read = malloc(rue_source_bytes(source, at) + 1);
    bool same = rue_source_read(source, at, read, error) == RUE_OK &&
                rue_source_verify(source, at, read, error) == RUE_OK &&
                rue_source_bytes(source, at) == item->bytes && memcmp(read, item->data, item->bytes) == 0;
    free(read);
    return same;
}

#endif
