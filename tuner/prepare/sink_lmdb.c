/* The lmdb format: images or npy files under their names (source_lmdb.c). liblmdb writes them in transactions
 * of TRANSACTION_BYTES. The map needs addresses, but no disk space. It grows between transactions, so that
 * no transaction fills it. It has no lock file, because no other process has the data yet. */
#include <errno.h>
#include <lmdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "advice.h"
#include "item_file.h"
#include "lmdb_pages.h"

#include "sink.h"

enum { TRANSACTION_BYTES = 32 << 20, TRANSACTION_ITEMS = 4096, SLACK_BYTES = 4 << 20 };

struct lmdb {
    const struct rue_sink_options *options;
    char path[PATH_MAX];
    MDB_env *env;
    MDB_txn *txn; /* NULL: no transaction */
    MDB_dbi database;
    uint64_t txn_items, txn_bytes;
};

static void close_lmdb(void *state)
{
    struct lmdb *lmdb = state;
    if (lmdb->txn) mdb_txn_abort(lmdb->txn);
    if (lmdb->env) mdb_env_close(lmdb->env);
}

/* liblmdb returns EIO for a short write: the disk is full, or the file has reached its size limit. */
static rue_status fail_lmdb(const struct lmdb *lmdb, int code, rue_error *error)
{
    struct rlimit limit;
    if (code == EIO)
        code = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? EFBIG : ENOSPC;
    return rue_fail(error, RUE_STORE, "cannot write %s: %s%s", lmdb->path, mdb_strerror(code),
                    rue_advice_or(code, "; write to another folder"));
}

/* Grows the map for the largest transaction: twice the pages of its values, and one page per key. */
static int make_room(struct lmdb *lmdb, uint64_t bytes)
{
    MDB_envinfo info;
    MDB_stat pages;
    int code = mdb_env_info(lmdb->env, &info);
    if (code == 0) code = mdb_env_stat(lmdb->env, &pages);
    if (code != 0) return code;
    if (bytes < TRANSACTION_BYTES) bytes = TRANSACTION_BYTES;
    uint64_t needed = (info.me_last_pgno + 1 + TRANSACTION_ITEMS) * pages.ms_psize + 2 * bytes + SLACK_BYTES;
    uint64_t map_bytes = info.me_mapsize;
    while (map_bytes < needed) map_bytes *= 2;
    return map_bytes == info.me_mapsize ? 0 : mdb_env_set_mapsize(lmdb->env, map_bytes);
}

static int begin_txn(struct lmdb *lmdb, uint64_t bytes)
{
    if (lmdb->txn) return 0;
    int code = make_room(lmdb, bytes);
    if (code == 0) code = mdb_txn_begin(lmdb->env, NULL, 0, &lmdb->txn);
    lmdb->txn_items = lmdb->txn_bytes = 0;
    return code;
}

static int commit_txn(struct lmdb *lmdb)
{
    if (!lmdb->txn) return 0;
    int code = mdb_txn_commit(lmdb->txn);
    lmdb->txn = NULL; /* also after an error */
    return code;
}

/* A single file if the destination is named like one, else a folder. */
static bool is_single(const struct rue_sink_options *options)
{
    size_t length = options->name ? strlen(options->name) : 0;
    return length > 4 && strcmp(options->name + length - 4, ".mdb") == 0;
}

static int open_env(struct lmdb *lmdb, const char *path)
{
    int code = mdb_env_create(&lmdb->env);
    if (code == 0) code = mdb_env_open(lmdb->env, path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0666);
    if (code == 0) code = begin_txn(lmdb, 0);
    return code == 0 ? mdb_dbi_open(lmdb->txn, NULL, 0, &lmdb->database) : code;
}

static rue_status open_lmdb(void *state, const char *path, const struct rue_sink_options *options,
                            rue_error *error)
{
    struct lmdb *lmdb = state;
    lmdb->options = options;
    bool single = is_single(options);
    const char *end = single ? "" : "/data.mdb";
    char file[PATH_MAX];
    snprintf(file, sizeof file, "%s%s", path, end);
    snprintf(lmdb->path, sizeof lmdb->path, "%s%s", rue_sink_path(options, path), end);
    int code = single || mkdir(path, 0777) == 0 ? open_env(lmdb, file) : errno;
    return code == 0 ? RUE_OK : fail_lmdb(lmdb, code, error);
}

/* Reserves memory for a value, in a new transaction if the current one is full. */
static int reserve_value(struct lmdb *lmdb, MDB_val *key, MDB_val *value)
{
    int code = 0;
    if (lmdb->txn_bytes + value->mv_size > TRANSACTION_BYTES || lmdb->txn_items >= TRANSACTION_ITEMS)
        code = commit_txn(lmdb);
    if (code == 0) code = begin_txn(lmdb, value->mv_size);
    if (code == 0) code = mdb_put(lmdb->txn, lmdb->database, key, value, MDB_RESERVE | MDB_NOOVERWRITE);
    lmdb->txn_items++;
    lmdb->txn_bytes += value->mv_size;
    return code;
}

static rue_status add_to_lmdb(void *state, const struct rue_item *item, rue_error *error)
{
    struct lmdb *lmdb = state;
    char name[PATH_MAX], head[RUE_ITEM_FILE_NPY_BYTES];
    size_t head_bytes = lmdb->options->mode == RUE_PREPROCESSED ? sizeof head : 0;
    rue_item_file_name(lmdb->options, item, name, sizeof name);
    MDB_val key = {strlen(name), name}, value = {head_bytes + item->bytes, NULL};
    if (key.mv_size > (size_t)mdb_env_get_maxkeysize(lmdb->env) || value.mv_size >= UINT32_MAX)
        return rue_fail(
            error, RUE_DATA,
            "'%.200s' is too large for an LMDB, or its name is too long for a key: remove or rename it",
            name);
    if (!rue_lmdb_key_is_text(name, key.mv_size) || rue_lmdb_key_is_note(name, key.mv_size))
        return rue_fail(
            error, RUE_DATA,
            "'%.200s' cannot be a key of an LMDB: it has control characters or begins with '__'; rename it",
            name);
    int code = reserve_value(lmdb, &key, &value);
    if (code == MDB_KEYEXIST)
        return rue_fail(error, RUE_DATA, "two images have the name %s: rename one of them", name);
    if (code != 0) return fail_lmdb(lmdb, code, error);
    if (head_bytes) rue_item_file_npy_header(lmdb->options, head);
    memcpy(value.mv_data, head, head_bytes);
    memcpy((char *)value.mv_data + head_bytes, item->data, item->bytes);
    return RUE_OK;
}

static int put_made_with(struct lmdb *lmdb)
{
    char name[] = RUE_LMDB_MADE_WITH;
    const char *text = lmdb->options->made_with;
    MDB_val key = {strlen(name), name}, value = {text ? strlen(text) : 0, NULL};
    int code = text ? reserve_value(lmdb, &key, &value) : 0;
    if (code == 0 && text) memcpy(value.mv_data, text, value.mv_size);
    return code;
}

static rue_status finish_lmdb(void *state, rue_error *error)
{
    struct lmdb *lmdb = state;
    int code = put_made_with(lmdb);
    if (code == 0) code = commit_txn(lmdb);
    if (code == 0) code = mdb_env_sync(lmdb->env, 1);
    return code == 0 ? RUE_OK : fail_lmdb(lmdb, code, error);
}

const struct rue_sink_ops rue_sink_lmdb = {
    .format = "lmdb",
    .suffix = ".lmdb",
    .other_suffix = ".mdb",
    .help = "an LMDB, which python-lmdb reads",
    .has_mode = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true},
    .by_name = true,
    .state_bytes = sizeof(struct lmdb),
    .open = open_lmdb,
    .add = add_to_lmdb,
    .finish = finish_lmdb,
    .close = close_lmdb,
};
