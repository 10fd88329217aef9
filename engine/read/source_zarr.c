/* The zarr format: a folder with a Zarr array of items, version 2 or 3, or a group with such an array and one
 * of labels. The first axis counts the items. */
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "hash.h"
#include "zarr_store.h"

enum { NAME_MAX_BYTES = 128, ATTRIBUTES_MAX = 16 << 20, STOP_EVERY = 65536 };

static const char *const image_names[] = {"images", "data", "x", NULL};
static const char *const label_names[] = {"labels", "label", "y", "targets", NULL};

static rue_status probe_zarr(const char *path, bool *matches, rue_error *error)
{
    static const char *const marks[] = {"zarr.json", ".zgroup", ".zarray"};
    (void)error;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; fd >= 0 && i < sizeof marks / sizeof *marks; i++)
        *matches |= faccessat(fd, marks[i], F_OK, 0) == 0;
    if (fd >= 0) close(fd);
    return RUE_OK;
}

/* Opens the array `key`, or the first of `names` that exists. */
static rue_status open_array(const struct rue_index *index, const char *path,
                             const struct rue_source_options *options, const char *key,
                             const char *const *names, struct rue_zarr **out, rue_error *error)
{
    char name[NAME_MAX_BYTES + 2];
    const char *const given[] = {key, NULL};
    rue_status status = RUE_OK;
    bool found = false;
    for (const char *const *at = key ? given : names; status == RUE_OK && !found && *at; at++) {
        snprintf(name, sizeof name, "%.*s/", NAME_MAX_BYTES, *at);
        status = rue_zarr_open(rue_files_folder_fd(index->files), path, name, options, &found, out, error);
    }
    if (status != RUE_OK || found || !key) return status;
    return rue_fail(error, RUE_DATA, "%s has no array '%.128s': name one of its arrays", path, key);
}

static rue_status refuse_missing(const struct rue_zarr *zarr, const char *path,
                                 const struct rue_source_options *options, rue_error *error)
{
    const char *example;
    uint64_t chunks, missing = rue_zarr_missing(zarr, &chunks, &example);
    if (!missing || options->missing_chunks == RUE_MISSING_FILL) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "%s: chunks missing: %" PRIu64 " of %" PRIu64
                    ", such as %s; write them again, or let missing chunks have the fill value",
                    path, missing, chunks, example);
}

/* ---- labels ---- */

static bool is_label(const struct rue_zarr_array *array, const unsigned char *value, int32_t *out)
{
    uint64_t bits = 0;
    memcpy(&bits, value, array->value_bytes);
    *out = (int32_t)bits;
    return bits <= INT32_MAX;
}

static rue_status read_labels(const struct rue_zarr *labels, const char *path,
                              const struct rue_source_options *options, struct rue_index *index,
                              rue_error *error)
{
    const struct rue_zarr_array *array = rue_zarr_array(labels);
    unsigned char value[sizeof(uint64_t)];
    if (array->shape[0] != index->count || rue_zarr_item_bytes(labels) != array->value_bytes)
        return rue_fail(error, RUE_DATA, "%s has %" PRIu64 " items, and its labels do not have that shape",
                        path, index->count);
    if (array->kind == 'f')
        return rue_fail(error, RUE_DATA, "%s has labels that are not whole numbers", path);
    index->labels = malloc(index->count * sizeof *index->labels);
    if (!index->labels) return rue_fail_memory(error, "labels", index->count * sizeof *index->labels);
    rue_status status = RUE_OK;
    for (uint64_t i = 0; status == RUE_OK && i < index->count; i++) {
        if (i % STOP_EVERY == 0) status = rue_source_check_stop(options, error);
        if (status == RUE_OK) status = rue_zarr_read(labels, i, value, error);
        if (status == RUE_OK && !is_label(array, value, &index->labels[i]))
            status = rue_fail(error, RUE_DATA, "%s: the label of item %" PRIu64 " is not from 0 to 2^31 - 1",
                              path, i);
    }
    index->seed = rue_hash(index->seed, index->labels, index->count * sizeof *index->labels);
    return status;
}

static rue_status open_labels(const char *path, const struct rue_source_options *options,
                              struct rue_index *index, rue_error *error)
{
    struct rue_zarr *labels = NULL;
    rue_status status = open_array(index, path, options, options->label_key, label_names, &labels, error);
    if (status == RUE_OK && labels) status = refuse_missing(labels, path, options, error);
    if (status == RUE_OK && labels) status = read_labels(labels, path, options, index, error);
    rue_zarr_close(labels);
    return status;
}

/* The attribute `classes` of the group names them. */
static rue_status read_classes(const char *path, struct rue_index *index, rue_error *error)
{
    static const char *const files[] = {"zarr.json", ".zattrs"};
    rue_status status = RUE_OK;
    for (int i = 0; status == RUE_OK && i < 2; i++) {
        char *text;
        size_t bytes = 0;
        status = rue_zarr_read_file(rue_files_folder_fd(index->files), path, files[i], ATTRIBUTES_MAX, &text,
                                    &bytes, error);
        json_t *object = text ? json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL) : NULL;
        if (text && !object)
            status = rue_fail(error, RUE_DATA, "%s/%s is not valid JSON, or has a key twice", path, files[i]);
        const json_t *classes =
            json_object_get(i ? object : json_object_get(object, "attributes"), "classes");
        for (size_t c = 0; status == RUE_OK && c < json_array_size(classes); c++) {
            const char *name = json_string_value(json_array_get(classes, c));
            status = name ? rue_index_add_class(index, name, strlen(name), error)
                          : rue_fail(error, RUE_DATA, "%s has a class name that is not a text", path);
        }
        json_decref(object);
        free(text);
    }
    for (uint64_t i = 0; status == RUE_OK && index->class_count && i < index->count; i++)
        if (!index->labels || (uint32_t)index->labels[i] >= index->class_count)
            status = rue_fail(error, RUE_DATA, "%s: the label of item %" PRIu64 " is not a class", path, i);
    return status;
}

/* ---- the source ---- */

static rue_status describe_items(const struct rue_zarr *zarr, const char *path,
                                 const struct rue_source_options *options, struct rue_index *index,
                                 rue_error *error)
{
    const struct rue_zarr_array *array = rue_zarr_array(zarr);
    const char *example;
    uint64_t chunks, missing = rue_zarr_missing(zarr, &chunks, &example);
    if (!rue_zarr_dtype(array, &index->dtype))
        return rue_fail(error, RUE_DATA, "%s has values that are not float32, float16 or uint8", path);
    if (array->rank < 2)
        return rue_fail(error, RUE_DATA, "%s has one axis: items need at least one more", path);
    if (missing == chunks)
        return rue_fail(error, RUE_DATA, "%s has no chunks: all of them are missing", path);
    rue_status status = refuse_missing(zarr, path, options, error);
    if (status != RUE_OK) return status;
    for (int axis = 0; axis < 3; axis++) index->shape[axis] = (uint32_t)array->shape[axis + 1];
    index->mode = RUE_PREPROCESSED;
    index->kind = RUE_ITEM_ARRAY;
    index->count = array->shape[0];
    index->blocks.items = array->chunk[0] < index->count ? array->chunk[0] : index->count;
    index->blocks.stored_bytes = rue_zarr_stored_bytes(zarr);
    index->blocks.cache_bytes = rue_zarr_cache_bytes(zarr);
    size_t used = 0, room = sizeof index->blocks.layout;
    for (int axis = 0; axis < RUE_ZARR_AXES && used < room; axis++)
        if (axis == 0 || axis > RUE_ZARR_AXES - array->rank)
            used += (size_t)snprintf(index->blocks.layout + used, room - used, "%s%" PRIu64, axis ? "x" : "",
                                     array->chunk[axis]);
    if (used < room)
        snprintf(index->blocks.layout + used, room - used, " %s", rue_zarr_codec_names[array->codec]);
    index->stride.bytes = index->stride.step = rue_zarr_item_bytes(zarr);
    index->seed = rue_zarr_digest(zarr);
    if (missing)
        rue_index_note(index,
                       "chunks missing: %" PRIu64 " of %" PRIu64
                       ", such as %s: their items have the fill value %g",
                       missing, chunks, example, array->fill_number);
    index->remarks.skipped = missing;
    return RUE_OK;
}

static rue_status open_zarr(const char *path, const struct rue_source_options *options,
                            struct rue_index *index, rue_error *error)
{
    struct rue_zarr *zarr = NULL;
    bool found = false;
    rue_status status = rue_files_set_folder(&index->files, path, error);
    if (status == RUE_OK)
        status = rue_zarr_open(rue_files_folder_fd(index->files), path, "", options, &found, &zarr, error);
    if (status == RUE_OK && !found)
        status = open_array(index, path, options, options->image_key, image_names, &zarr, error);
    index->state = zarr;
    if (status != RUE_OK) return status;
    if (!zarr)
        return rue_fail(error, RUE_DATA, "%s has no array images, data or x: name one of its arrays", path);
    status = describe_items(zarr, path, options, index, error);
    if (status == RUE_OK && !found) status = open_labels(path, options, index, error);
    return status == RUE_OK && !found ? read_classes(path, index, error) : status;
}

static void close_zarr(void *state)
{
    rue_zarr_close(state);
}

static rue_status read_zarr(const struct rue_index *index, uint64_t item, void *into, rue_error *error)
{
    return rue_zarr_read(index->state, item, into, error);
}

static bool place_zarr(const struct rue_index *index, uint64_t item, struct rue_place *out)
{
    return rue_zarr_place(index->state, item, out);
}

static bool prepare_zarr(const struct rue_index *index, uint64_t item)
{
    return rue_zarr_prepare(index->state, item);
}

static bool allows_views(const struct rue_index *index)
{
    return rue_zarr_allows_views(index->state);
}

static rue_status view_zarr(const struct rue_index *index, uint64_t item, const void **out, rue_error *error)
{
    return rue_zarr_view(index->state, item, out, error);
}

static void drop_views(const struct rue_index *index)
{
    rue_zarr_drop_views(index->state);
}

static void trim_zarr(const struct rue_index *index)
{
    rue_zarr_trim(index->state);
}

const struct rue_source_ops rue_source_zarr = {
    .format = "zarr",
    .help = "a Zarr array of items in chunks, or a group with one and with labels",
    .has_mode = {[RUE_PREPROCESSED] = true},
    .has_keys = true,
    .probe = probe_zarr,
    .open = open_zarr,
    .close = close_zarr,
    .read = read_zarr,
    .place = place_zarr,
    .allows_views = allows_views,
    .view = view_zarr,
    .drop_views = drop_views,
    .prepare = prepare_zarr,
    .trim = trim_zarr,
};
