/* The lmdb format: a folder with data.mdb, or such a file alone (MDB_NOSUBDIR); lmdb_set.h says what it may
 * hold. Order: by key, as LMDB has it. Items are read as the bytes of a file that they are (lmdb_pages.h). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crc32c.h"
#include "hash.h"
#include "lmdb_pages.h"
#include "lmdb_record.h"
#include "lmdb_set.h"
#include "mapping.h"
#include "read_at.h"
#include "source.h"

struct lmdb {
    struct rue_lmdb_set set;
    struct rue_mapping mapping;
};

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), own = strlen(end);
    return length >= own && strcmp(text + length - own, end) == 0;
}

static rue_status probe(const char *path, bool *is, rue_error *error)
{
    char file[PATH_MAX];
    struct stat about;
    if (!rue_lmdb_find(path, file) || stat(file, &about) != 0 || !S_ISREG(about.st_mode)) return RUE_OK;
    if (ends_with(file, ".mdb") || ends_with(file, ".lmdb")) return *is = true, RUE_OK;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail_open(error, file);
    *is = rue_lmdb_is(fd);
    close(fd);
    return RUE_OK;
}

static const struct rue_lmdb_set *set_of(const void *state)
{
    return &((const struct lmdb *)state)->set;
}

static void close_lmdb(void *state)
{
    struct lmdb *lmdb = state;
    rue_mapping_close(&lmdb->mapping);
    rue_lmdb_set_close(&lmdb->set);
    free(lmdb);
}

static rue_status open_lmdb(const char *path, const struct rue_source_options *options, void **state,
                            rue_error *error)
{
    struct stat about;
    struct lmdb *lmdb = calloc(1, sizeof *lmdb);
    if (!lmdb) return rue_fail_memory(error, "an LMDB source", sizeof *lmdb);
    rue_status status = rue_lmdb_set_open(path, options, &lmdb->set, error);
    if (status != RUE_OK) return free(lmdb), status;
    if (lmdb->set.mode == RUE_PREPROCESSED && fstat(lmdb->set.fd, &about) == 0)
        rue_mapping_open(&lmdb->mapping, lmdb->set.fd, (uint64_t)about.st_size);
    *state = lmdb;
    return RUE_OK;
}

static uint64_t count(const void *state)
{
    return set_of(state)->count;
}

static uint64_t item_bytes(const void *state, uint64_t item)
{
    const struct rue_lmdb_item *at = &set_of(state)->items[item];
    return at->bytes - at->data_offset;
}

static uint64_t data_at(const struct rue_lmdb_item *item)
{
    return item->offset + item->data_offset;
}

static rue_status label(const void *state, uint64_t item, int32_t *out, rue_error *error)
{
    (void)error;
    *out = set_of(state)->items[item].label;
    return RUE_OK;
}

static void name(const void *state, uint64_t item, char *out, size_t bytes)
{
    char key[RUE_LMDB_KEY_TEXT_BYTES];
    rue_lmdb_set_key(set_of(state), item, key);
    snprintf(out, bytes, "%s key %s", set_of(state)->path, key);
}

/* What a record has before its data, as it lies there now. */
struct head {
    struct rue_lmdb_record record;
    char name[RUE_LMDB_NAME_MAX + RUE_LMDB_ALIGN];
};

static bool read_head(const struct rue_lmdb_set *set, uint64_t item, struct head *out)
{
    return rue_read_at(set->fd, out, set->items[item].data_offset, set->items[item].offset);
}

static void key(const void *state, uint64_t item, char *out, size_t bytes)
{
    const struct rue_lmdb_set *set = set_of(state);
    struct head head;
    char digits[RUE_LMDB_KEY_TEXT_BYTES];
    rue_lmdb_set_key(set, item, digits);
    if (set->is_ours && read_head(set, item, &head) && head.record.name_bytes > 0 &&
        head.record.name_bytes <= RUE_LMDB_NAME_MAX &&
        head.record.name_bytes <= set->items[item].data_offset - sizeof head.record)
        snprintf(out, bytes, "%.*s", (int)head.record.name_bytes, head.name);
    else
        snprintf(out, bytes, "%s", digits);
}

static enum rue_mode mode(const void *state)
{
    return set_of(state)->mode;
}

static rue_status fail_item(const struct rue_lmdb_set *set, uint64_t item, rue_error *error)
{
    char key_name[RUE_LMDB_KEY_TEXT_BYTES];
    rue_lmdb_set_key(set, item, key_name);
    return rue_fail(error, rue_source_failure(errno), "cannot read key %s of %s at byte %" PRIu64 ": %s",
                    key_name, set->path, set->items[item].offset, errno ? strerror(errno) : "the file ends");
}

static rue_status read_item(const void *state, uint64_t item, void *into, rue_error *error)
{
    const struct rue_lmdb_set *set = set_of(state);
    bool whole = rue_read_at(set->fd, into, item_bytes(state, item), data_at(&set->items[item]));
    return whole ? RUE_OK : fail_item(set, item, error);
}

/* Values are not aligned to blocks, so that there are no direct reads. */
static bool allows(void *state, enum rue_access access)
{
    struct lmdb *lmdb = state;
    return access == RUE_ACCESS_VIEW && rue_mapping_in_memory(&lmdb->mapping);
}

static rue_status view_item(const void *state, uint64_t item, const void **out, rue_error *error)
{
    const struct lmdb *lmdb = state;
    *out = rue_mapping_at(&lmdb->mapping, data_at(&lmdb->set.items[item]), item_bytes(state, item));
    return *out ? RUE_OK : fail_item(&lmdb->set, item, error);
}

static void place(const void *state, enum rue_access access, uint64_t item, struct rue_place *out)
{
    (void)access;
    const struct rue_lmdb_set *set = set_of(state);
    *out = (struct rue_place){
        .fd = set->fd, .offset = data_at(&set->items[item]), .bytes = item_bytes(state, item)};
}

static void forget(void *state)
{
    rue_mapping_forget(&((struct lmdb *)state)->mapping);
}

static rue_status check(const void *state, rue_error *error)
{
    return rue_file_identity_check(&set_of(state)->identity, set_of(state)->path, error);
}

static rue_status verify(const void *state, uint64_t item, const void *data, rue_error *error)
{
    const struct rue_lmdb_set *set = set_of(state);
    const struct rue_lmdb_item *at = &set->items[item];
    struct head head;
    char key_name[RUE_LMDB_KEY_TEXT_BYTES];
    if (!set->is_ours) return RUE_OK;
    if (!read_head(set, item, &head)) return fail_item(set, item, error);
    size_t covered = offsetof(struct rue_lmdb_record, label);
    uint32_t crc = rue_crc32c(0, (char *)&head + covered, at->data_offset - covered);
    if (memcmp(head.record.magic, RUE_LMDB_RECORD_MAGIC, sizeof head.record.magic) == 0 &&
        head.record.label == at->label && head.record.data_offset == at->data_offset &&
        head.record.crc == rue_crc32c(crc, data, at->bytes - at->data_offset))
        return RUE_OK;
    rue_lmdb_set_key(set, item, key_name);
    return rue_fail(error, RUE_DATA,
                    "key %s of %s at byte %" PRIu64 " is damaged (its CRC-32C is wrong); make it again with "
                    "'rue prepare'",
                    key_name, set->path, at->offset);
}

static size_t class_count(const void *state)
{
    return set_of(state)->class_count;
}

static const char *class_name(const void *state, size_t class_index)
{
    return set_of(state)->classes[class_index];
}

static uint64_t skipped(const void *state, char *example, size_t bytes)
{
    const struct rue_lmdb_set *set = set_of(state);
    snprintf(example, bytes, "%s", set->other);
    return set->others;
}

static enum rue_dtype dtype(const void *state)
{
    return set_of(state)->dtype;
}

static void shape(const void *state, uint32_t out[3])
{
    memcpy(out, set_of(state)->shape, sizeof set_of(state)->shape);
}

static uint64_t digest(const void *state)
{
    const struct rue_lmdb_set *set = set_of(state);
    uint64_t hash = rue_hash(RUE_HASH_START, &set->index_crc, sizeof set->index_crc);
    for (size_t i = 0; i < set->count; i++) {
        const uint64_t facts[] = {set->items[i].number, item_bytes(state, i), (uint64_t)set->items[i].label};
        hash = rue_hash(hash, facts, sizeof facts);
    }
    return hash;
}

const struct rue_source_ops rue_source_lmdb = {
    .format = "lmdb",
    .holds = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true},
    .help = "an LMDB of JPEG files or preprocessed images under numbered keys",
    .probe = probe,
    .open = open_lmdb,
    .close = close_lmdb,
    .count = count,
    .bytes = item_bytes,
    .label = label,
    .name = name,
    .key = key,
    .mode = mode,
    .read = read_item,
    .allows = allows,
    .view = view_item,
    .place = place,
    .forget = forget,
    .check = check,
    .class_count = class_count,
    .class_name = class_name,
    .skipped = skipped,
    .dtype = dtype,
    .shape = shape,
    .verify = verify,
    .digest = digest,
};
