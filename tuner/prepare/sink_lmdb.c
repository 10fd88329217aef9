/* The lmdb format (lmdb_record.h), written by liblmdb in transactions of so many bytes. The map, which is
 * addresses and takes no disk, grows between transactions, when the next one could outgrow it: within one it
 * is never full. The file is as long as its last page needs. No lock file: nobody else has the data yet. */
#include <errno.h>
#include <lmdb.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "advice.h"
#include "crc32c.h"
#include "lmdb_record.h"
#include "sink.h"

enum { TRANSACTION_BYTES = 32 << 20, TRANSACTION_ITEMS = 4096, SLACK_BYTES = 4 << 20, KEY_BYTES = 24 };

struct lmdb {
    const struct rue_sink_options *options;
    char path[PATH_MAX]; /* of the file */
    MDB_env *env;
    MDB_txn *txn; /* NULL: none is open */
    MDB_dbi database;
    int digits;
    uint64_t added, committed, txn_bytes; /* items, those in transactions that are over; of this one */
    struct rue_lmdb_note *notes;          /* [options->count] */
};

static void close_lmdb(void *state)
{
    struct lmdb *lmdb = state;
    if (lmdb->txn) mdb_txn_abort(lmdb->txn);
    if (lmdb->env) mdb_env_close(lmdb->env);
    free(lmdb->notes);
}

/* liblmdb says EIO where a file system took a part of what was to be written: it is full, or the file is as
 * large as it may be. */
static rue_status fail_lmdb(const struct lmdb *lmdb, int code, rue_error *error)
{
    struct rlimit limit;
    if (code == EIO)
        code = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? EFBIG : ENOSPC;
    return rue_fail(error, RUE_STORE, "cannot write %s: %s%s", lmdb->path, mdb_strerror(code),
                    rue_advice_or(code, "; write to another folder"));
}

/* Sets what the next transaction may need at most: pages for the values, twice, and one a key. */
static int make_room(struct lmdb *lmdb, uint64_t bytes)
{
    MDB_envinfo info;
    MDB_stat about;
    int code = mdb_env_info(lmdb->env, &info);
    if (code == 0) code = mdb_env_stat(lmdb->env, &about);
    if (code != 0) return code;
    if (bytes < TRANSACTION_BYTES) bytes = TRANSACTION_BYTES;
    uint64_t need = (info.me_last_pgno + 1 + TRANSACTION_ITEMS) * about.ms_psize + 2 * bytes + SLACK_BYTES;
    uint64_t room = info.me_mapsize;
    while (room < need) room *= 2;
    return room == info.me_mapsize ? 0 : mdb_env_set_mapsize(lmdb->env, room);
}

static int begin(struct lmdb *lmdb, uint64_t bytes)
{
    if (lmdb->txn) return 0;
    int code = make_room(lmdb, bytes);
    if (code == 0) code = mdb_txn_begin(lmdb->env, NULL, 0, &lmdb->txn);
    lmdb->txn_bytes = 0;
    return code;
}

static int commit(struct lmdb *lmdb)
{
    if (!lmdb->txn) return 0;
    int code = mdb_txn_commit(lmdb->txn);
    lmdb->txn = NULL; /* whatever came of it */
    if (code == 0) lmdb->committed = lmdb->added;
    return code;
}

static MDB_val key_of(const struct lmdb *lmdb, uint64_t item, char text[KEY_BYTES])
{
    int bytes = snprintf(text, KEY_BYTES, "%0*llu", lmdb->digits, (unsigned long long)item);
    return (MDB_val){(size_t)bytes, text};
}

/* ---- the sink ---- */

/* The folder form, unless the destination's name is that of the single file. */
static bool is_single(const struct rue_sink_options *options)
{
    size_t length = options->name ? strlen(options->name) : 0;
    return length > 4 && strcmp(options->name + length - 4, ".mdb") == 0;
}

static int open_env(struct lmdb *lmdb)
{
    int code = mdb_env_create(&lmdb->env);
    if (code == 0) code = mdb_env_open(lmdb->env, lmdb->path, MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOSYNC, 0666);
    if (code == 0) code = begin(lmdb, 0);
    return code == 0 ? mdb_dbi_open(lmdb->txn, NULL, 0, &lmdb->database) : code;
}

static rue_status open_lmdb(void *state, const char *path, const struct rue_sink_options *options,
                            rue_error *error)
{
    struct lmdb *lmdb = state;
    lmdb->options = options;
    lmdb->digits = snprintf(NULL, 0, "%0*llu", RUE_LMDB_DIGITS, (unsigned long long)options->count - 1);
    lmdb->notes = options->count <= UINT32_MAX ? malloc(options->count * sizeof *lmdb->notes) : NULL;
    if (!lmdb->notes)
        return rue_fail_memory(error, "the index of an LMDB", options->count * sizeof *lmdb->notes);
    bool single = is_single(options);
    snprintf(lmdb->path, sizeof lmdb->path, "%s%s", path, single ? "" : "/data.mdb");
    int code = single || mkdir(path, 0777) == 0 ? open_env(lmdb) : errno;
    return code == 0 ? RUE_OK : fail_lmdb(lmdb, code, error);
}

/* Writes the record where liblmdb has its room. */
static void fill(const struct lmdb *lmdb, const struct rue_item *item, unsigned char *value,
                 uint32_t data_offset)
{
    const struct rue_sink_options *options = lmdb->options;
    bool tensor = options->mode == RUE_PREPROCESSED;
    size_t covered = offsetof(struct rue_lmdb_record, label);
    struct rue_lmdb_record record = {.magic = RUE_LMDB_RECORD_MAGIC,
                                     .version = RUE_LMDB_VERSION,
                                     .label = item->label,
                                     .name_bytes = (uint32_t)strlen(item->key),
                                     .data_offset = data_offset,
                                     .mode = options->mode,
                                     .dtype = tensor ? options->dtype : 0,
                                     .channels = tensor ? options->shape[0] : 0,
                                     .height = tensor ? options->shape[1] : 0,
                                     .width = tensor ? options->shape[2] : 0};
    memcpy(value, &record, sizeof record);
    memset(value + sizeof record, 0, data_offset - sizeof record);
    memcpy(value + sizeof record, item->key, record.name_bytes);
    memcpy(value + data_offset, item->data, item->bytes);
    record.crc = rue_crc32c(0, value + covered, data_offset + item->bytes - covered);
    memcpy(value, &record, sizeof record);
}

static rue_status add_to_lmdb(void *state, const struct rue_item *item, rue_error *error)
{
    struct lmdb *lmdb = state;
    char text[KEY_BYTES];
    uint32_t data_offset = rue_lmdb_data_offset((uint32_t)strlen(item->key));
    MDB_val key = key_of(lmdb, lmdb->added, text), value = {data_offset + item->bytes, NULL};
    if (strlen(item->key) > RUE_LMDB_NAME_MAX || value.mv_size >= UINT32_MAX)
        return rue_fail(error, RUE_DATA, "%.200s is too large for an LMDB: leave it out", item->key);
    int code = 0;
    if (lmdb->txn_bytes + value.mv_size > TRANSACTION_BYTES ||
        lmdb->added - lmdb->committed >= TRANSACTION_ITEMS)
        code = commit(lmdb);
    if (code == 0) code = begin(lmdb, value.mv_size);
    if (code == 0) code = mdb_put(lmdb->txn, lmdb->database, &key, &value, MDB_RESERVE | MDB_APPEND);
    if (code != 0) return fail_lmdb(lmdb, code, error);
    fill(lmdb, item, value.mv_data, data_offset);
    lmdb->notes[lmdb->added++] = (struct rue_lmdb_note){item->label, data_offset};
    lmdb->txn_bytes += value.mv_size;
    return RUE_OK;
}

static int put_index(struct lmdb *lmdb)
{
    const struct rue_sink_options *options = lmdb->options;
    size_t notes = options->count * sizeof *lmdb->notes, covered = offsetof(struct rue_lmdb_index, count);
    struct rue_lmdb_index index = {.magic = RUE_LMDB_INDEX_MAGIC,
                                   .version = RUE_LMDB_VERSION,
                                   .count = (uint32_t)options->count,
                                   .class_count = (uint32_t)options->class_count};
    char name[] = RUE_LMDB_INDEX_KEY;
    MDB_val key = {strlen(name), name}, value = {sizeof index + notes, NULL};
    for (size_t c = 0; c < options->class_count; c++) value.mv_size += strlen(options->classes[c]) + 1;
    int code = begin(lmdb, value.mv_size);
    if (code == 0) code = mdb_put(lmdb->txn, lmdb->database, &key, &value, MDB_RESERVE | MDB_APPEND);
    if (code != 0) return code;
    char *start = value.mv_data, *at = start + sizeof index;
    memcpy(start, &index, sizeof index);
    memcpy(at, lmdb->notes, notes);
    at += notes;
    for (size_t c = 0; c < options->class_count; c++) at = stpcpy(at, options->classes[c]) + 1;
    index.crc = rue_crc32c(0, start + covered, value.mv_size - covered);
    memcpy(start, &index, sizeof index);
    return commit(lmdb);
}

static rue_status finish(void *state, rue_error *error)
{
    struct lmdb *lmdb = state;
    int code = commit(lmdb);
    if (code == 0) code = put_index(lmdb);
    if (code == 0) code = mdb_env_sync(lmdb->env, 1);
    return code == 0 ? RUE_OK : fail_lmdb(lmdb, code, error);
}

const struct rue_sink_ops rue_sink_lmdb = {
    .format = "lmdb",
    .suffix = ".lmdb",
    .other_suffix = ".mdb",
    .help = "an LMDB, which python-lmdb reads",
    .holds = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true},
    .label_min = INT32_MIN,
    .labels_classed = true,
    .state_bytes = sizeof(struct lmdb),
    .open = open_lmdb,
    .add = add_to_lmdb,
    .finish = finish,
    .close = close_lmdb,
};
