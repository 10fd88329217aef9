/* The lmdb format: a folder with data.mdb, or such a file (MDB_NOSUBDIR). Values are images, or npy files
 * of the same type and shape. Keys are the names of the items. If most keys contain a folder, such as
 * "tench/1.JPEG", the first folders are the classes, and other keys are skipped. Items are in the order of
 * the keys. They are read as bytes of the file (lmdb_pages.h). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "file_kind.h"
#include "files.h"
#include "lmdb_pages.h"
#include "made_with.h"
#include "npy.h"
#include "source.h"

/* Shorter values are labels and counts, not images. */
enum { ITEM_BYTES_MIN = 65, KEY_SHOWN = 64 };

/* The state while an LMDB is opened. */
struct set {
    const char *path; /* path of the file */
    struct rue_index *index;
    const struct rue_source_options *options;
    bool chosen; /* the mode is set, by the first image */
};

/* ---- entries ---- */

static void skip_entry(const struct set *set, const struct rue_lmdb_entry *entry, const char *why)
{
    rue_index_skip(set->index, "%s '%.*s'%s", entry->is_database ? "the named database" : "the key",
                   entry->key_bytes < KEY_SHOWN ? (int)entry->key_bytes : KEY_SHOWN, (const char *)entry->key,
                   why);
}

/* Reads the first bytes of a value. */
static rue_status read_head(const struct set *set, const struct rue_lmdb_entry *entry, unsigned char *head,
                            uint64_t bytes, rue_error *error)
{
    if (entry->value) return memcpy(head, entry->value, bytes), RUE_OK;
    return rue_files_read(set->index->files, 0, head, bytes, entry->offset, error);
}

static rue_status add_npy(const struct set *set, const struct rue_lmdb_entry *entry, const void *head,
                          uint64_t bytes, struct rue_entry *item, rue_error *error)
{
    rue_error why = {0};
    if (rue_npy_add_item(set->index, item, head, bytes, &why) == RUE_OK) return RUE_OK;
    return rue_fail(error, RUE_DATA, "%s: the value of key %.*s %s", set->path, (int)entry->key_bytes,
                    (const char *)entry->key, why.message);
}

/* Adds an item named by its key, or by its number if the key is not text. */
static rue_status add_item(const struct set *set, const struct rue_lmdb_entry *entry,
                           const struct rue_entry *item, rue_error *error)
{
    char name[RUE_LMDB_KEY_MAX + 1] = "";
    if (rue_lmdb_key_is_text(entry->key, entry->key_bytes))
        rue_files_copy_name(name, (const char *)entry->key, entry->key_bytes);
    if (!name[0]) snprintf(name, sizeof name, "%08" PRIu64, set->index->count);
    return rue_index_add(set->index, item, name, error);
}

/* The first image sets the mode; values of another type are skipped. Images in pages of their own are not
 * looked at: that is a seek for each, and other data are reported when they are decoded. */
static rue_status add_value(struct set *set, const struct rue_lmdb_entry *entry, rue_error *error)
{
    unsigned char head[RUE_NPY_HEADER_MAX];
    uint64_t bytes = entry->bytes < sizeof head ? entry->bytes : sizeof head;
    struct rue_entry item = {.offset = entry->offset, .bytes = entry->bytes};
    if (set->chosen && set->index->mode == RUE_RAW && !entry->value)
        return add_item(set, entry, &item, error);
    rue_status status = read_head(set, entry, head, bytes, error);
    if (status != RUE_OK) return status;
    bool tensor = memcmp(head, "\x93NUMPY", 6) == 0, image = rue_image_kind(head, bytes);
    if (!set->chosen) set->index->mode = tensor ? RUE_PREPROCESSED : RUE_RAW;
    if (set->index->mode == RUE_RAW ? !image : !tensor) {
        const char *kind = rue_file_kind(head, bytes);
        char why[64];
        snprintf(why, sizeof why, ", %s",
                 kind          ? kind
                 : set->chosen ? "a value of another type"
                               : "neither an image nor an npy file");
        return skip_entry(set, entry, why), RUE_OK;
    }
    set->chosen = true;
    if (tensor) status = add_npy(set, entry, head, bytes, &item, error);
    return status == RUE_OK ? add_item(set, entry, &item, error) : status;
}

static bool is_made_with(const struct rue_lmdb_entry *entry)
{
    size_t bytes = strlen(RUE_LMDB_MADE_WITH);
    return !entry->is_database && entry->key_bytes == bytes &&
           memcmp(entry->key, RUE_LMDB_MADE_WITH, bytes) == 0;
}

static rue_status read_made_with(const struct set *set, const struct rue_lmdb_entry *entry, rue_error *error)
{
    char text[RUE_MADE_WITH_BYTES];
    uint64_t bytes = entry->bytes < sizeof text ? entry->bytes : sizeof text;
    rue_status status = read_head(set, entry, (unsigned char *)text, bytes, error);
    if (status == RUE_OK) rue_made_with_read(text, bytes, set->index->made_with);
    return status;
}

static rue_status visit_entry(void *context, const struct rue_lmdb_entry *entry, rue_error *error)
{
    struct set *set = context;
    rue_status status = rue_source_check_stop(set->options, error);
    if (status != RUE_OK) return status;
    if (is_made_with(entry)) return read_made_with(set, entry, error);
    bool is_note = rue_lmdb_key_is_note(entry->key, entry->key_bytes);
    if (!entry->is_database && entry->bytes >= ITEM_BYTES_MIN && !is_note)
        return add_value(set, entry, error);
    return skip_entry(set, entry, ""), RUE_OK;
}

/* ---- labels ---- */

static bool has_folder(const struct rue_index *index, uint64_t item)
{
    const char *name = rue_index_name(index, item), *slash = strchr(name, '/');
    return slash && slash > name;
}

static rue_status find_classes(struct rue_index *index, rue_error *error)
{
    uint64_t foldered = 0;
    for (uint64_t i = 0; i < index->count; i++) foldered += has_folder(index, i);
    if (foldered <= index->count / 2) {
        rue_index_note_unlabelled(index, "%" PRIu64 " of %" PRIu64 " keys begin with a class folder",
                                  foldered, index->count);
        return RUE_OK;
    }
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
        status = rue_fail(error, RUE_DATA, "%s holds no images%s%s: give an LMDB of images", file,
                          index->remarks.skipped ? ", but " : "", index->remarks.skipped_example);
    return status == RUE_OK ? find_classes(index, error) : status;
}

const struct rue_source_ops rue_source_lmdb = {
    .format = "lmdb",
    .has_mode = {[RUE_RAW] = true, [RUE_PREPROCESSED] = true},
    .can_map = true,
    .help = "an LMDB of images, or of npy files",
    .probe = probe_lmdb,
    .open = open_lmdb,
};
