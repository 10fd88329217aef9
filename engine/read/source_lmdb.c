/* The lmdb format: a folder with data.mdb, or such a file (MDB_NOSUBDIR). Values are JPEG files, or npy files
 * of the same type and shape. Keys are the names of the items. If all keys contain a folder, such as
 * "tench/1.JPEG", the first folders are the classes. Items are in the order of the keys. They are read as
 * bytes of the file (lmdb_pages.h). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "lmdb_pages.h"
#include "npy.h"
#include "source.h"

/* Shorter values are labels and counts, not images. */
enum { ITEM_BYTES_MIN = 65, KEY_SHOWN = 64 };

/* The state while an LMDB is opened. */
struct set {
    const char *path; /* path of the file */
    struct rue_index *index;
    const struct rue_source_options *options;
};

/* ---- entries ---- */

/* Adds an item named by its key, or by its number if the key is not text. */
static rue_status add_item(struct rue_index *index, const struct rue_lmdb_entry *entry, rue_error *error)
{
    char name[RUE_LMDB_KEY_MAX + 1];
    if (rue_lmdb_key_is_text(entry->key, entry->key_bytes))
        snprintf(name, sizeof name, "%.*s", (int)entry->key_bytes, (const char *)entry->key);
    else
        snprintf(name, sizeof name, "%08" PRIu64, index->count);
    const struct rue_entry item = {.offset = entry->offset, .bytes = entry->bytes};
    return rue_index_add(index, &item, name, error);
}

static rue_status visit_entry(void *context, const struct rue_lmdb_entry *entry, rue_error *error)
{
    struct set *set = context;
    rue_status status = rue_source_check_stop(set->options, error);
    if (status != RUE_OK) return status;
    bool is_note = rue_lmdb_key_is_note(entry->key, entry->key_bytes);
    if (!entry->is_database && entry->bytes >= ITEM_BYTES_MIN && !is_note)
        return add_item(set->index, entry, error);
    rue_index_skip(set->index, "%s '%.*s'", entry->is_database ? "the named database" : "the key",
                   entry->key_bytes < KEY_SHOWN ? (int)entry->key_bytes : KEY_SHOWN,
                   (const char *)entry->key);
    return RUE_OK;
}

/* ---- kind of items ---- */

static rue_status fail_value(const struct set *set, uint64_t item, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: the value of key %s %s", set->path,
                    rue_index_name(set->index, item), why);
}

/* Sets all entries to the values after the npy header, whose size all items share. */
static rue_status set_tensor_entries(const struct set *set, const struct rue_npy *npy, rue_error *error)
{
    struct rue_index *index = set->index;
    index->mode = RUE_PREPROCESSED;
    index->dtype = npy->dtype;
    memcpy(index->shape, npy->shape, sizeof index->shape);
    for (uint64_t i = 0; i < index->count; i++) {
        struct rue_entry *entry = &index->entries[i];
        if (entry->bytes != npy->header_bytes + npy->value_bytes)
            return fail_value(set, i, "does not have the size of the first value", error);
        entry->lead = (uint32_t)npy->header_bytes;
        entry->offset += npy->header_bytes;
        entry->bytes = npy->value_bytes;
    }
    return RUE_OK;
}

/* The first item determines the type of all. */
static rue_status find_kind(const struct set *set, rue_error *error)
{
    char head[RUE_NPY_HEADER_MAX];
    struct rue_npy npy;
    rue_error why = {0};
    const struct rue_entry *first = &set->index->entries[0];
    uint64_t bytes = first->bytes < sizeof head ? first->bytes : sizeof head;
    rue_status status = rue_files_read(set->index->files, 0, head, bytes, first->offset, error);
    if (status != RUE_OK) return status;
    if (memcmp(head, "\xff\xd8", 2) == 0) return RUE_OK;
    if (memcmp(head, "\x93NUMPY", 6) != 0)
        return fail_value(set, 0, "is neither a JPEG file nor an npy file", error);
    status = rue_npy_parse(head, bytes, &npy, &why);
    return status == RUE_OK ? set_tensor_entries(set, &npy, error) : fail_value(set, 0, why.message, error);
}

static rue_status find_classes(struct rue_index *index, rue_error *error)
{
    for (uint64_t i = 0; i < index->count; i++)
        if (!strchr(rue_index_name(index, i), '/')) return RUE_OK;
    return rue_index_label_by_folder(index, error);
}

/* ---- the source ---- */

/* Sets `out` to the file of `path`: itself, or data.mdb in a folder. False: errno says why. */
static bool find_file(const char *path, char out[PATH_MAX])
{
    struct stat info;
    if (stat(path, &info) != 0) return false;
    int length = snprintf(out, PATH_MAX, "%s%s", path, S_ISDIR(info.st_mode) ? "/data.mdb" : "");
    return length < PATH_MAX || (errno = ENAMETOOLONG, false);
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);
    return length >= end_length && strcmp(text + length - end_length, end) == 0;
}

static rue_status probe_lmdb(const char *path, bool *matches, rue_error *error)
{
    char file[PATH_MAX];
    struct stat info;
    if (!find_file(path, file) || stat(file, &info) != 0 || !S_ISREG(info.st_mode)) return RUE_OK;
    if (ends_with(file, ".mdb") || ends_with(file, ".lmdb")) return *matches = true, RUE_OK;
    int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail_open(error, file);
    *matches = rue_lmdb_detect(fd);
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
    if (status == RUE_OK) status = rue_lmdb_walk(index->files, visit_entry, &set, error);
    if (status == RUE_OK && index->count == 0)
        status = rue_fail(error, RUE_DATA, "%s holds no images%s%s: give an LMDB of JPEG files", file,
                          index->remarks.skipped ? ", but " : "", index->remarks.skipped_example);
    else if (status == RUE_OK)
        status = find_kind(&set, error);
    return status == RUE_OK ? find_classes(index, error) : status;
}

const struct rue_source_ops rue_source_lmdb = {
    .format = "lmdb",
    .has_mode = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true},
    .can_map = true,
    .help = "an LMDB of JPEG files, or of npy files",
    .probe = probe_lmdb,
    .open = open_lmdb,
};
