/* The lmdb format: a folder with data.mdb, or such a file alone (MDB_NOSUBDIR). Either rue's own layout
 * (lmdb_record.h), or JPEG files under any keys, without labels. Order: by key, as LMDB has it. Items are
 * read as the bytes of a file that they are (lmdb_pages.h). */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32c.h"
#include "files.h"
#include "lmdb_pages.h"
#include "lmdb_record.h"
#include "source.h"

/* Records of rue and JPEG files have more bytes than the labels and counts that others keep beside them. */
enum { ITEM_BYTES_MIN = 65, KEY_SHOWN = 64 };
static const uint64_t index_bytes_max = UINT64_C(1) << 32;

/* While an LMDB is opened. */
struct set {
    const char *path; /* of the file */
    struct rue_index *index;
    const struct rue_source_options *options;
    uint64_t own_offset, own_bytes; /* the index that rue writes */
};

/* ---- entries ---- */

static bool begins_with(const struct rue_lmdb_entry *entry, const char *text)
{
    return entry->key_bytes >= strlen(text) && memcmp(entry->key, text, strlen(text)) == 0;
}

/* The key, or the item's number where the key is no text. */
static rue_status add_item(struct rue_index *index, const struct rue_lmdb_entry *entry, rue_error *error)
{
    char name[RUE_LMDB_KEY_MAX + 1];
    bool printable = true;
    for (size_t i = 0; i < entry->key_bytes; i++) printable &= isprint(entry->key[i]) != 0;
    if (printable)
        snprintf(name, sizeof name, "%.*s", (int)entry->key_bytes, (const char *)entry->key);
    else
        snprintf(name, sizeof name, "%08" PRIu64, index->count);
    const struct rue_entry item = {.offset = entry->offset, .bytes = entry->bytes};
    return rue_index_add(index, &item, name, error);
}

static rue_status visit(void *context, const struct rue_lmdb_entry *entry, rue_error *error)
{
    struct set *set = context;
    rue_status status = rue_source_check_stop(set->options, error);
    if (status != RUE_OK) return status;
    if (begins_with(entry, RUE_LMDB_INDEX_KEY) && entry->key_bytes == strlen(RUE_LMDB_INDEX_KEY)) {
        set->own_offset = entry->offset;
        set->own_bytes = entry->bytes;
        return RUE_OK;
    }
    if (!entry->is_database && entry->bytes >= ITEM_BYTES_MIN && !begins_with(entry, "__"))
        return add_item(set->index, entry, error);
    rue_index_skip(set->index, "%s '%.*s'", entry->is_database ? "the named database" : "the key",
                   entry->key_bytes < KEY_SHOWN ? (int)entry->key_bytes : KEY_SHOWN,
                   (const char *)entry->key);
    return RUE_OK;
}

static rue_status read_value(const struct set *set, void *into, uint64_t bytes, uint64_t offset,
                             rue_error *error)
{
    return rue_files_read(set->index->files, 0, into, bytes, offset, error);
}

static rue_status fail_again(const struct set *set, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: %s; make it again with 'rue prepare'", set->path, why);
}

/* ---- rue's own layout ---- */

static rue_status take_notes(const struct set *set, const struct rue_lmdb_note *notes, rue_error *error)
{
    struct rue_index *index = set->index;
    uint64_t tensor = (uint64_t)index->shape[0] * index->shape[1] * index->shape[2];
    for (uint64_t i = 0; i < index->count; i++) {
        struct rue_entry *item = &index->entries[i];
        int32_t label = notes[i].label;
        uint32_t lead = notes[i].data_offset;
        bool fits = lead >= sizeof(struct rue_lmdb_record) &&
                    lead <= rue_lmdb_data_offset(RUE_LMDB_NAME_MAX) && lead % RUE_LMDB_ALIGN == 0 &&
                    lead <= item->bytes && strtoull(rue_index_name(index, i), NULL, 10) == i;
        if (index->mode == RUE_PREPROCESSED)
            fits = fits && item->bytes - lead == tensor * rue_dtype_bytes[index->dtype];
        if (index->class_count) fits = fits && label >= -1 && label < (int64_t)index->class_count;
        if (!fits)
            return rue_fail(error, RUE_DATA,
                            "%s: key %s does not fit the index; make it again with 'rue prepare'", set->path,
                            rue_index_name(index, i));
        item->label = label;
        item->lead = lead;
        item->offset += lead;
        item->bytes -= lead;
    }
    return RUE_OK;
}

/* The first record says of what kind all are. */
static rue_status read_kind(const struct set *set, rue_error *error)
{
    struct rue_lmdb_record record;
    struct rue_index *index = set->index;
    const char *why = NULL;
    if (index->entries[0].bytes < sizeof record)
        return fail_again(set, "the first record has no header", error);
    rue_status status = read_value(set, &record, sizeof record, index->entries[0].offset, error);
    if (status != RUE_OK) return status;
    if (memcmp(record.magic, RUE_LMDB_RECORD_MAGIC, sizeof record.magic) != 0)
        why = "the first record has no header";
    else if (record.version != RUE_LMDB_VERSION)
        why = "it is of another version of the layout";
    else if (record.mode >= RUE_MODE_COUNT || record.dtype >= RUE_DTYPE_COUNT)
        why = "the mode or dtype of the first record is unknown";
    else if (record.mode == RUE_PREPROCESSED &&
             (!record.channels || !record.height || !record.width || record.channels > 4096 ||
              record.height > 65536 || record.width > 65536))
        why = "the shape of the first record is impossible";
    if (why) return fail_again(set, why, error);
    index->mode = (enum rue_mode)record.mode;
    index->dtype = (enum rue_dtype)record.dtype;
    memcpy(index->shape, (uint32_t[]){record.channels, record.height, record.width}, sizeof index->shape);
    return RUE_OK;
}

static rue_status read_own(const struct set *set, const char *own, uint64_t notes, rue_error *error)
{
    struct rue_lmdb_index header;
    uint64_t bytes = set->own_bytes;
    memcpy(&header, own, sizeof header);
    size_t covered = offsetof(struct rue_lmdb_index, count);
    if (memcmp(header.magic, RUE_LMDB_INDEX_MAGIC, sizeof header.magic) != 0 ||
        header.crc != rue_crc32c(0, own + covered, bytes - covered))
        return fail_again(set, "its index (the key '" RUE_LMDB_INDEX_KEY "') is damaged", error);
    if (header.version != RUE_LMDB_VERSION)
        return fail_again(set, "it is of another version of the layout", error);
    if (header.count != set->index->count || header.class_count > bytes)
        return fail_again(set, "it does not hold as many items as its index says", error);
    set->index->seed = header.crc;
    rue_status status = read_kind(set, error);
    if (status == RUE_OK)
        status = rue_index_add_classes(set->index, own + sizeof header + notes, bytes - sizeof header - notes,
                                       header.class_count, error);
    return status == RUE_OK ? take_notes(set, (const struct rue_lmdb_note *)(own + sizeof header), error)
                            : status;
}

static rue_status open_own(const struct set *set, rue_error *error)
{
    uint64_t bytes = set->own_bytes, notes = set->index->count * sizeof(struct rue_lmdb_note);
    if (bytes < sizeof(struct rue_lmdb_index) + notes || bytes > index_bytes_max)
        return fail_again(set, "its index is too short for its items", error);
    char *own = malloc(bytes + 1);
    if (!own) return rue_fail_memory(error, "the index of an LMDB", bytes);
    own[bytes] = 0;
    rue_status status = read_value(set, own, bytes, set->own_offset, error);
    if (status == RUE_OK) status = read_own(set, own, notes, error);
    free(own);
    return status;
}

/* ---- the layout of others ---- */

static rue_status check_first(const struct set *set, rue_error *error)
{
    char begin[8];
    rue_status status = read_value(set, begin, sizeof begin, set->index->entries[0].offset, error);
    if (status != RUE_OK) return status;
    if (memcmp(begin, RUE_LMDB_RECORD_MAGIC, sizeof begin) == 0)
        return fail_again(set, "it was not finished: it has no index (the key '" RUE_LMDB_INDEX_KEY "')",
                          error);
    if (memcmp(begin, "\xff\xd8", 2) == 0) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "%s: the value of key %s is no JPEG file, and no record of rue's: make it again with "
                    "'rue prepare'",
                    set->path, rue_index_name(set->index, 0));
}

/* ---- the source ---- */

/* The file of what is called `path`, a file or a folder with data.mdb; false with errno. */
static bool find_file(const char *path, char out[PATH_MAX])
{
    struct stat about;
    if (stat(path, &about) != 0) return false;
    int length = snprintf(out, PATH_MAX, "%s%s", path, S_ISDIR(about.st_mode) ? "/data.mdb" : "");
    return length < PATH_MAX || (errno = ENAMETOOLONG, false);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), own = strlen(end);
    return length >= own && strcmp(text + length - own, end) == 0;
}

static rue_status probe(const char *path, bool *is, rue_error *error)
{
    char file[PATH_MAX];
    struct stat about;
    if (!find_file(path, file) || stat(file, &about) != 0 || !S_ISREG(about.st_mode)) return RUE_OK;
    if (ends_with(file, ".mdb") || ends_with(file, ".lmdb")) return *is = true, RUE_OK;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail_open(error, file);
    *is = rue_lmdb_is(fd);
    close(fd);
    return RUE_OK;
}

static rue_status open_lmdb(const char *path, const struct rue_source_options *options,
                            struct rue_index *index, rue_error *error)
{
    char file[PATH_MAX];
    struct set set = {.path = file, .index = index, .options = options};
    index->kind = RUE_ITEM_KEY;
    if (!find_file(path, file)) return rue_fail_open(error, path);
    rue_status status = rue_files_add(&index->files, file, error);
    if (status == RUE_OK) status = rue_lmdb_walk(index->files, visit, &set, error);
    if (status == RUE_OK && index->count == 0)
        status = rue_fail(error, RUE_DATA, "%s holds no images%s%s: give an LMDB of JPEG files", file,
                          index->skipped ? ", but " : "", index->skipped_example);
    else if (status == RUE_OK)
        status = set.own_bytes ? open_own(&set, error) : check_first(&set, error);
    return status;
}

/* What a record of rue's has before its data, as it lies there now. */
struct head {
    struct rue_lmdb_record record;
    char name[RUE_LMDB_NAME_MAX + RUE_LMDB_ALIGN];
};

static rue_status read_head(const struct rue_index *index, const struct rue_entry *entry, struct head *out,
                            rue_error *error)
{
    return rue_files_read(index->files, 0, out, entry->lead, entry->offset - entry->lead, error);
}

static void key(const struct rue_index *index, uint64_t item, char *out, size_t bytes)
{
    const struct rue_entry *entry = &index->entries[item];
    struct head head;
    rue_error unseen = {0};
    snprintf(out, bytes, "%s", rue_index_name(index, item));
    if (!entry->lead || read_head(index, entry, &head, &unseen) != RUE_OK) return;
    uint32_t length = head.record.name_bytes;
    if (length > 0 && length <= RUE_LMDB_NAME_MAX && length <= entry->lead - sizeof head.record)
        snprintf(out, bytes, "%.*s", (int)length, head.name);
}

static rue_status verify(const struct rue_index *index, uint64_t item, const void *data, bool *good,
                         rue_error *error)
{
    const struct rue_entry *entry = &index->entries[item];
    const size_t covered = offsetof(struct rue_lmdb_record, label);
    struct head head;
    if (!entry->lead) return RUE_OK;
    rue_status status = read_head(index, entry, &head, error);
    if (status != RUE_OK) return status;
    uint32_t crc = rue_crc32c(0, (char *)&head + covered, entry->lead - covered);
    *good = memcmp(head.record.magic, RUE_LMDB_RECORD_MAGIC, sizeof head.record.magic) == 0 &&
            head.record.label == entry->label && head.record.data_offset == entry->lead &&
            head.record.crc == rue_crc32c(crc, data, entry->bytes);
    return RUE_OK;
}

const struct rue_source_ops rue_source_lmdb = {
    .format = "lmdb",
    .holds = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true},
    .maps = true,
    .help = "an LMDB of JPEG files or preprocessed images",
    .probe = probe,
    .open = open_lmdb,
    .key = key,
    .verify = verify,
};
