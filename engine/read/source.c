#include "source.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "files.h"
#include "hash.h"
#include "note.h"
#include "shards.h"
#include "subset.h"

extern const struct rue_source_ops rue_source_csv;
extern const struct rue_source_ops rue_source_folder;
extern const struct rue_source_ops rue_source_lmdb;
extern const struct rue_source_ops rue_source_tensor;
extern const struct rue_source_ops rue_source_tfrecord;
extern const struct rue_source_ops rue_source_webdataset;
extern const struct rue_source_ops rue_source_zarr;

/* The folder format accepts every folder, so it is probed after the other formats for folders. */
/* clang-format off */
const struct rue_source_ops *const rue_source_formats[] = {
    &rue_source_lmdb,
    &rue_source_csv,
    &rue_source_webdataset,
    &rue_source_tfrecord,
    &rue_source_zarr,
    &rue_source_folder,
    &rue_source_tensor,
    NULL,
};
/* clang-format on */

struct rue_source {
    const struct rue_source_ops *ops;
    struct rue_index index;
    struct rue_mapping mapping; /* of the first file, if the format can map it */
    int fd, direct_fd;          /* of the first file; direct_fd with O_DIRECT; -1 */
    uint64_t *subset;           /* [count] numbers in the index; NULL: all items of the index */
    uint64_t count;
    bool ordered; /* whether the subset ascends */
    char path[PATH_MAX];
};

static const struct rue_source_ops *find_format(const char *format)
{
    for (size_t i = 0; rue_source_formats[i]; i++)
        if (strcmp(rue_source_formats[i]->format, format) == 0) return rue_source_formats[i];
    return NULL;
}

/* Finds the format of `path`. */
static rue_status detect_format(const char *path, const struct rue_source_ops **out, rue_error *error)
{
    struct stat info;
    bool pattern = rue_shards_is_pattern(path);
    if (!pattern && stat(path, &info) != 0)
        return rue_fail(error, rue_source_failure(errno), "cannot open %s: %s%s", path, strerror(errno),
                        rue_advice_or(errno, "; give a folder of images, or what rue prepare wrote"));
    for (size_t i = 0; rue_source_formats[i]; i++) {
        bool matches = false;
        if (pattern && !rue_source_formats[i]->has_patterns) continue;
        rue_status status = rue_source_formats[i]->probe(path, &matches, error);
        if (status != RUE_OK) return status;
        if (matches) return *out = rue_source_formats[i], RUE_OK;
    }
    return rue_fail(error, RUE_DATA,
                    "%s has an unknown format: give a folder of images, what rue prepare wrote, or a "
                    "CSV file that is not compressed and named .csv",
                    path);
}

rue_status rue_source_detect(const char *path, const struct rue_source_options *options,
                             struct rue_variant *out, rue_error *error)
{
    const struct rue_source_ops *ops;
    struct rue_source_options opening = options ? *options : (struct rue_source_options){0};
    rue_status status = detect_format(path, &ops, error);
    if (status != RUE_OK) return status;
    opening.format = ops->format;
    *out = (struct rue_variant){.mode = ops->has_mode[RUE_RAW] ? RUE_RAW : RUE_PREPROCESSED};
    snprintf(out->format, sizeof out->format, "%s", ops->format);
    snprintf(out->image_key, sizeof out->image_key, "%s", opening.image_key ? opening.image_key : "");
    snprintf(out->label_key, sizeof out->label_key, "%s", opening.label_key ? opening.label_key : "");
    snprintf(out->subset, sizeof out->subset, "%s", opening.subset ? opening.subset : "");
    if (!ops->has_mode[RUE_RAW] || !ops->has_mode[RUE_PREPROCESSED]) return RUE_OK;
    struct rue_source *source = NULL;
    status = rue_source_open(path, &opening, &source, error);
    if (status == RUE_OK) out->mode = rue_source_variant(source).mode;
    rue_source_close(source);
    return status;
}

static void close_index(const struct rue_source_ops *ops, struct rue_index *index)
{
    if (index->state && ops->close) ops->close(index->state);
    rue_files_close(index->files);
    free(index->entries);
    free(index->labels);
    free(index->names.text);
    free(index->classes);
}

/* Direct reads need aligned items. Failures only mean that this access is not available. */
static void open_first_file(struct rue_source *source)
{
    const struct rue_index *index = &source->index;
    const struct rue_stride *stride = &index->stride;
    if (!source->ops->can_map || !rue_files_count(index->files)) return;
    source->fd = rue_files_keep_open(index->files, 0);
    if (source->fd < 0 || index->mode == RUE_RAW) return;
    rue_mapping_open(&source->mapping, source->fd, rue_files_identity(index->files, 0).bytes);
    if (!index->entries && stride->offset % RUE_BLOCK_BYTES == 0 && stride->step % RUE_BLOCK_BYTES == 0)
        source->direct_fd =
            open(rue_files_path(index->files, 0), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
}

static struct rue_entry item_entry(const struct rue_index *index, uint64_t item)
{
    if (index->entries) return index->entries[item];
    return (struct rue_entry){.offset = index->stride.offset + item * index->stride.step,
                              .bytes = index->stride.bytes,
                              .label = index->labels ? index->labels[item] : 0};
}

static struct rue_source *make_source(const struct rue_source_ops *ops, const char *path)
{
    struct rue_source *source = calloc(1, sizeof *source);
    if (!source) return NULL;
    source->ops = ops;
    source->fd = source->direct_fd = -1;
    source->ordered = true;
    snprintf(source->path, sizeof source->path, "%s", path);
    return source;
}

rue_status rue_source_adopt(const struct rue_source_ops *ops, const struct rue_index *index, const char *path,
                            struct rue_source **out, rue_error *error)
{
    struct rue_source *source = make_source(ops, path);
    if (!source) {
        struct rue_index copy = *index;
        return close_index(ops, &copy), rue_fail_memory(error, "a source", sizeof *source);
    }
    source->index = *index;
    source->count = index->count;
    open_first_file(source);
    *out = source;
    return RUE_OK;
}

static int32_t *item_label(struct rue_index *index, uint64_t item)
{
    return index->entries ? &index->entries[item].label : &index->labels[item];
}

/* Writers store -1 where an item has no label, such as TFDS in test splits. */
static void settle_labels(struct rue_source *source)
{
    struct rue_index *index = &source->index;
    char name[PATH_MAX + 64];
    uint64_t none = 0, below = 0, first = 0;
    for (uint64_t i = index->entries || index->labels ? index->count : 0; i-- > 0;) {
        int32_t label = *item_label(index, i);
        none += label == -1;
        below += label < 0;
        if (label < 0) first = i;
    }
    if (below == 0) return;
    rue_source_name(source, first, name, sizeof name);
    if (none < index->count) {
        rue_index_note(index, "%" PRIu64 " of %" PRIu64 " labels are below 0, such as that of %s", below,
                       index->count, name);
        return;
    }
    for (uint64_t i = 0; i < index->count; i++) *item_label(index, i) = 0;
    rue_index_note_unlabelled(index, "all are -1, so 0 is used");
}

/* ---- subsets ---- */

uint64_t rue_source_number(const struct rue_source *source, uint64_t item)
{
    return source->subset ? source->subset[item] : item;
}

uint64_t rue_source_whole_count(const struct rue_source *source)
{
    return source->index.count;
}

bool rue_source_is_ordered(const struct rue_source *source)
{
    return source->ordered;
}

void rue_source_key_of_number(const struct rue_source *source, uint64_t number, char *out, size_t bytes)
{
    const char *name = rue_index_name(&source->index, number);
    if (source->ops->key)
        source->ops->key(&source->index, number, out, bytes);
    else if (name[0])
        snprintf(out, bytes, "%s", name);
    else
        snprintf(out, bytes, "%08" PRIu64, number);
}

static rue_status choose_subset(struct rue_source *source, const char *text, rue_error *error)
{
    const struct rue_subset_data data = {.source = source,
                                         .path = source->path,
                                         .count = source->index.count,
                                         .has_labels = rue_source_has_labels(source),
                                         .class_count = source->index.class_count,
                                         .class_name = rue_source_class_name,
                                         .label = rue_source_label,
                                         .key = rue_source_key_of_number};
    rue_status status = rue_subset_choose(text, &data, &source->subset, &source->count, error);
    for (uint64_t i = 1; source->subset && i < source->count; i++)
        source->ordered &= source->subset[i - 1] < source->subset[i];
    return status;
}

/* Finds the first folder below `path` with data of another format, and sets `path` to it. */
static const struct rue_source_ops *find_below(char path[PATH_MAX], int depth)
{
    const struct rue_source_ops *found = NULL;
    struct dirent **entries;
    struct stat info;
    size_t length = strlen(path), room = PATH_MAX - length;
    int count = depth ? scandir(path, &entries, NULL, alphasort) : -1;
    for (int i = 0; i < count; free(entries[i++])) {
        const char *name = entries[i]->d_name;
        if (found || name[0] == '.' || snprintf(path + length, room, "/%s", name) >= (int)room) continue;
        if (stat(path, &info) != 0 || !S_ISDIR(info.st_mode)) continue;
        if (detect_format(path, &found, NULL) != RUE_OK) continue;
        if (found == &rue_source_folder) found = find_below(path, depth - 1);
    }
    if (count >= 0) free(entries);
    if (!found) path[length] = 0;
    return found;
}

/* The folder format found no item. */
static rue_status fail_no_image(const char *path, const struct rue_index *index, rue_error *error)
{
    enum { DEPTH = 4 };
    char below[PATH_MAX];
    snprintf(below, sizeof below, "%s", path);
    const struct rue_source_ops *other = find_below(below, DEPTH);
    if (other)
        return rue_fail(error, RUE_DATA, "%s holds no image, but %s has the format %s: give this path", path,
                        below, other->format);
    if (!index->remarks.skipped)
        return rue_fail(error, RUE_DATA, "%s is empty: give a folder of images", path);
    return rue_fail(error, RUE_DATA,
                    "%s holds no image (.jpg, .jpeg, .jpe, .png, .webp, .gif, .bmp) among %" PRIu64
                    " files, such as %s: convert the images, or give another folder",
                    path, index->remarks.skipped, index->remarks.skipped_example);
}

rue_status rue_source_open(const char *path, const struct rue_source_options *options,
                           struct rue_source **out, rue_error *error)
{
    static const struct rue_source_options usual;
    const struct rue_source_ops *ops = NULL;
    if (!options) options = &usual;
    if (strlen(path) >= PATH_MAX) return rue_fail(error, RUE_DATA, "the path %.64s... is too long", path);
    if (!options->format) {
        rue_status status = detect_format(path, &ops, error);
        if (status != RUE_OK) return status;
    } else if (!(ops = find_format(options->format))) {
        return rue_fail(error, RUE_USAGE, "unknown data format '%s' for %s", options->format, path);
    }
    struct rue_source *source = make_source(ops, path);
    if (!source) return rue_fail_memory(error, "a source", sizeof *source);
    rue_status status = ops->open(path, options, &source->index, error);
    if (status == RUE_OK && ops == &rue_source_folder && source->index.count == 0)
        status = fail_no_image(path, &source->index, error);
    source->count = source->index.count;
    if (status == RUE_OK) settle_labels(source);
    if (status == RUE_OK && options->subset) status = choose_subset(source, options->subset, error);
    if (status != RUE_OK) return rue_source_close(source), status;
    open_first_file(source);
    *out = source;
    return RUE_OK;
}

void rue_source_close(struct rue_source *source)
{
    if (!source) return;
    rue_mapping_close(&source->mapping);
    if (source->direct_fd >= 0) close(source->direct_fd);
    close_index(source->ops, &source->index);
    free(source->subset);
    free(source);
}

/* ---- items ---- */

uint64_t rue_source_count(const struct rue_source *source)
{
    return source->count;
}

uint64_t rue_source_bytes(const struct rue_source *source, uint64_t item)
{
    return item_entry(&source->index, rue_source_number(source, item)).bytes;
}

/* Those of the blocks that the items are in; blocks are read whole. */
static uint64_t block_bytes(const struct rue_source *source)
{
    const struct rue_blocks *blocks = &source->index.blocks;
    uint64_t all = (source->index.count + blocks->items - 1) / blocks->items, used = 1;
    if (!source->subset) return blocks->stored_bytes;
    for (uint64_t i = 1; i < source->count; i++)
        used += source->subset[i] / blocks->items != source->subset[i - 1] / blocks->items;
    return (uint64_t)((unsigned __int128)blocks->stored_bytes * (used < all ? used : all) / all);
}

uint64_t rue_source_total_bytes(const struct rue_source *source)
{
    uint64_t total = 0, count = rue_source_count(source);
    if (source->index.blocks.items) return block_bytes(source);
    for (uint64_t i = 0; i < count; i++) total += rue_source_bytes(source, i);
    return total;
}

int32_t rue_source_label(const struct rue_source *source, uint64_t item)
{
    return item_entry(&source->index, rue_source_number(source, item)).label;
}

/* The first of the `subset` [count] (NULL: of all items) in this or a later file. */
static uint64_t first_in_file(const struct rue_index *index, const uint64_t *subset, uint64_t count,
                              size_t file)
{
    uint64_t first = 0, last = count;
    if (!index->entries) return file ? count : 0;
    while (first < last) {
        uint64_t middle = first + (last - first) / 2;
        if (index->entries[subset ? subset[middle] : middle].file >= file)
            last = middle;
        else
            first = middle + 1;
    }
    return first;
}

uint64_t rue_source_block(const struct rue_source *source)
{
    uint64_t block = source->index.blocks.items ? source->index.blocks.items : 1;
    if (!source->subset) return block;
    if (!source->ordered) return 1;
    uint64_t spanned = source->subset[source->count - 1] - source->subset[0] + 1;
    uint64_t share = (uint64_t)((unsigned __int128)block * source->count / spanned);
    return share ? share : 1;
}

uint64_t rue_source_cache_bytes(const struct rue_source *source)
{
    return source->index.blocks.cache_bytes;
}

const struct rue_blocks *rue_source_blocks(const struct rue_source *source)
{
    return &source->index.blocks;
}

size_t rue_source_shards(const struct rue_source *source)
{
    bool has_shards = source->index.kind != RUE_ITEM_FILE && source->ordered;
    return has_shards ? rue_files_count(source->index.files) : 0;
}

bool rue_source_has_files(const struct rue_source *source)
{
    return source->index.kind == RUE_ITEM_FILE;
}

uint64_t rue_source_shard_first(const struct rue_source *source, size_t shard)
{
    return first_in_file(&source->index, source->subset, source->count, shard);
}

const char *rue_source_shard_path(const struct rue_source *source, size_t shard)
{
    return rue_files_path(source->index.files, shard);
}

void rue_source_name(const struct rue_source *source, uint64_t item, char *out, size_t bytes)
{
    const struct rue_index *index = &source->index;
    uint64_t number = rue_source_number(source, item);
    const struct rue_entry entry = item_entry(index, number);
    const char *name = rue_index_name(index, number), *word = index->kind == RUE_ITEM_KEY ? "key" : "member";
    const char *file =
        rue_files_count(index->files) ? rue_files_path(index->files, entry.file) : source->path;
    uint64_t begin = entry.offset - entry.lead;
    if (index->kind == RUE_ITEM_FILE && name[0] == '/')
        snprintf(out, bytes, "%s", name);
    else if (index->kind == RUE_ITEM_FILE)
        snprintf(out, bytes, "%s/%s", rue_files_folder(index->files), name);
    else if (index->kind == RUE_ITEM_ARRAY)
        snprintf(out, bytes, "%s item %" PRIu64, source->path, number);
    else if (index->kind == RUE_ITEM_RECORD)
        snprintf(out, bytes, "%s record %" PRIu64 " at byte %" PRIu64, file,
                 number - first_in_file(index, NULL, index->count, entry.file), begin);
    else
        snprintf(out, bytes, "%s %s %s at byte %" PRIu64, file, word, name, begin);
}

void rue_source_key(const struct rue_source *source, uint64_t item, char *out, size_t bytes)
{
    rue_source_key_of_number(source, rue_source_number(source, item), out, bytes);
}

/* ---- reading ---- */

rue_status rue_index_read(const struct rue_index *index, uint64_t item, void *into, rue_error *error)
{
    const struct rue_entry entry = item_entry(index, item);
    if (index->kind == RUE_ITEM_FILE)
        return rue_files_read_whole(index->files, rue_index_name(index, item), entry.bytes, into, error);
    return rue_files_read(index->files, entry.file, into, entry.bytes, entry.offset, error);
}

rue_status rue_source_read(const struct rue_source *source, uint64_t item, void *into, rue_error *error)
{
    return (source->ops->read ? source->ops->read
                              : rue_index_read)(&source->index, rue_source_number(source, item), into, error);
}

bool rue_source_is_sequential(const struct rue_source *source)
{
    return source->index.compressed;
}

bool rue_source_allows(const struct rue_source *source, enum rue_access access)
{
    struct rue_mapping *mapping = (struct rue_mapping *)&source->mapping;
    if (access == RUE_ACCESS_VIEW && source->ops->allows_views)
        return source->ops->allows_views(&source->index);
    if (access == RUE_ACCESS_VIEW) return rue_mapping_in_memory(mapping);
    return access != RUE_ACCESS_DIRECT || source->direct_fd >= 0;
}

rue_status rue_source_view(const struct rue_source *source, uint64_t item, const void **out, rue_error *error)
{
    uint64_t number = rue_source_number(source, item);
    if (source->ops->view) return source->ops->view(&source->index, number, out, error);
    const struct rue_entry entry = item_entry(&source->index, number);
    char name[PATH_MAX + 64];
    *out = rue_mapping_at(&source->mapping, entry.offset, entry.bytes);
    if (*out) return RUE_OK;
    int why = errno;
    rue_source_name(source, item, name, sizeof name);
    return rue_fail(error, rue_source_failure(why), "cannot read %s: %s", name,
                    why ? strerror(why) : "the file ends");
}

bool rue_source_place(const struct rue_source *source, enum rue_access access, uint64_t item,
                      struct rue_place *out)
{
    const struct rue_index *index = &source->index;
    uint64_t number = rue_source_number(source, item);
    const struct rue_entry entry = item_entry(index, number);
    if (source->ops->place) return source->ops->place(index, number, out);
    if (!index->files || index->compressed) return false;
    *out = (struct rue_place){.fd = AT_FDCWD, .offset = entry.offset, .bytes = entry.bytes};
    if (index->kind == RUE_ITEM_FILE) {
        out->fd = rue_files_folder_fd(index->files);
        out->path = rue_index_name(index, number);
    } else if (source->fd >= 0) {
        out->fd = access == RUE_ACCESS_DIRECT ? source->direct_fd : source->fd;
        if (access == RUE_ACCESS_DIRECT) out->bytes = index->stride.step;
    } else {
        out->path = rue_files_path(index->files, entry.file);
    }
    return true;
}

void rue_source_drop_pages(const struct rue_source *source)
{
    if (source->ops->drop_views) source->ops->drop_views(&source->index);
    rue_mapping_drop_pages((struct rue_mapping *)&source->mapping);
}

bool rue_source_prepare(const struct rue_source *source, uint64_t item)
{
    return source->ops->prepare && source->ops->prepare(&source->index, rue_source_number(source, item));
}

void rue_source_trim(const struct rue_source *source)
{
    if (source->ops->trim) source->ops->trim(&source->index);
}

rue_status rue_source_check(const struct rue_source *source, rue_error *error)
{
    return rue_files_check(source->index.files, error);
}

rue_status rue_source_verify(const struct rue_source *source, uint64_t item, const void *data,
                             rue_error *error)
{
    char name[PATH_MAX + 64];
    bool valid = true;
    if (!source->ops->verify) return RUE_OK;
    rue_status status =
        source->ops->verify(&source->index, rue_source_number(source, item), data, &valid, error);
    if (status != RUE_OK || valid) return status;
    rue_source_name(source, item, name, sizeof name);
    return rue_fail(error, RUE_DATA, "%s is damaged (its CRC-32C is wrong); make the file again", name);
}

/* ---- the data ---- */

uint64_t rue_source_skipped(const struct rue_source *source)
{
    return source->index.remarks.skipped;
}

bool rue_source_has_labels(const struct rue_source *source)
{
    return !source->index.remarks.unlabelled;
}

void rue_source_note(const struct rue_source *source, char *text, size_t bytes)
{
    const struct rue_remarks *remarks = &source->index.remarks;
    text[0] = 0;
    if (remarks->skipped_example[0])
        rue_note_add(text, bytes, "files skipped: %" PRIu64 ", such as %s", remarks->skipped,
                     remarks->skipped_example);
    rue_note_add(text, bytes, "%s", remarks->note);
}

size_t rue_source_class_count(const struct rue_source *source)
{
    return source->index.class_count;
}

const char *rue_source_class_name(const struct rue_source *source, size_t class_index)
{
    return source->index.names.text + source->index.classes[class_index];
}

/* Hashes names, sizes and labels: reading all bytes of a large set would cost more than tuning for it. */
uint64_t rue_source_digest(const struct rue_source *source)
{
    const struct rue_index *index = &source->index;
    const uint64_t facts[] = {index->seed,     index->count,    index->mode,    index->dtype,
                              index->shape[0], index->shape[1], index->shape[2]};
    uint64_t hash = rue_hash(RUE_HASH_START, facts, sizeof facts);
    for (uint64_t i = 0; index->entries && i < index->count; i++) {
        const struct rue_entry *entry = &index->entries[i];
        const char *name = rue_index_name(index, i);
        hash = rue_hash(hash, name, strlen(name) + 1);
        hash = rue_hash(hash, &entry->bytes, sizeof entry->bytes);
        hash = rue_hash(hash, &entry->label, sizeof entry->label);
    }
    return source->subset ? rue_hash(hash, source->subset, source->count * sizeof *source->subset) : hash;
}

bool rue_source_has_keys(const struct rue_source *source)
{
    return source->ops->has_keys;
}

struct rue_variant rue_source_variant(const struct rue_source *source)
{
    struct rue_variant variant = {.mode = source->index.mode};
    snprintf(variant.format, sizeof variant.format, "%s", source->ops->format);
    snprintf(variant.path, sizeof variant.path, "%s", source->path);
    if (variant.mode == RUE_PREPROCESSED)
        snprintf(variant.dtype, sizeof variant.dtype, "%s", rue_dtype_names[source->index.dtype]);
    return variant;
}

bool rue_source_shape(const struct rue_source *source, uint32_t out[3])
{
    if (source->index.mode == RUE_RAW) return false;
    memcpy(out, source->index.shape, sizeof source->index.shape);
    return true;
}

const char *rue_source_made_with(const struct rue_source *source)
{
    return source->index.made_with;
}
