/* The zarr format: a folder with a Zarr array of items, version 2 or 3, or a group with such an array and one
 * of labels. The first axis counts the items. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "hash.h"
#include "made_with.h"
#include "note.h"
#include "zarr_store.h"

enum { NAME_MAX_BYTES = 128, LIST_BYTES = 256, STOP_EVERY = 65536 };

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

/* An array of the store: its name with a slash, or "" for the whole store. */
struct found {
    bool exists;
    char name[NAME_MAX_BYTES + 2];
    struct rue_zarr_array array;
};

/* `*out` may exist after an error: see rue_zarr_describe. */
static rue_status find_array(const struct rue_index *index, const char *path, const char *name,
                             struct found *out, rue_error *error)
{
    snprintf(out->name, sizeof out->name, "%.*s%s", NAME_MAX_BYTES, name, *name ? "/" : "");
    return rue_zarr_describe(rue_files_folder_fd(index->files), path, out->name, &out->exists, &out->array,
                             error);
}

static rue_status find_key(const struct rue_index *index, const char *path, const char *key,
                           struct found *out, rue_error *error)
{
    rue_status status = find_array(index, path, key, out, error);
    if (status != RUE_OK || out->exists) return status;
    return rue_fail(error, RUE_DATA, "%s has no array '%.128s': name one of its arrays", path, key);
}

/* Lists the arrays of the group in the order of their names. */
static void list_arrays(const struct rue_index *index, const char *path, char out[LIST_BYTES])
{
    struct dirent **entries;
    int count = scandirat(rue_files_folder_fd(index->files), ".", &entries, NULL, alphasort);
    out[0] = 0;
    for (int i = 0; i < count; free(entries[i++])) {
        const char *name = entries[i]->d_name;
        struct found found = {0};
        rue_error ignored = {0};
        size_t used = strlen(out);
        bool full = used >= 3 && strcmp(out + used - 3, "...") == 0;
        if (name[0] == '.' || full) continue;
        rue_status status = find_array(index, path, name, &found, &ignored);
        if (found.exists && (status == RUE_OK || status == RUE_DATA))
            rue_note_list_name(out, LIST_BYTES, name, NAME_MAX);
    }
    if (count >= 0) free(entries);
}

static rue_status open_array(const struct rue_index *index, const char *path, const struct found *found,
                             const struct rue_source_options *options, struct rue_zarr **out,
                             rue_error *error)
{
    return rue_zarr_open(rue_files_folder_fd(index->files), path, found->name, &found->array, options, out,
                         error);
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

/* Lists attributes that are not applied. */
static void list_attributes(unsigned attributes, char out[LIST_BYTES])
{
    out[0] = 0;
    for (int i = 0; i < RUE_ZARR_CF_COUNT; i++)
        if (attributes >> i & 1) rue_note_list_name(out, LIST_BYTES, rue_zarr_cf_names[i], NAME_MAX);
}

/* ---- labels ---- */

/* Why the array does not hold one whole number for each item; NULL: it does. */
static const char *refuse_shape(const struct found *found, const struct rue_index *index)
{
    const struct rue_zarr_array *array = &found->array;
    if (array->shape[0] != index->count) return "does not have a value for each item";
    for (int axis = 1; axis < RUE_ZARR_AXES; axis++)
        if (array->shape[axis] != 1) return "has several values for each item";
    return array->kind == 'f' || !array->kind ? "has values that are not whole numbers" : NULL;
}

/* Finds the array of labels by the usual names. What has another shape or type is not one, and coordinates
 * are not; but "labels" of other items are an error. `*why` says why there are none. */
static rue_status find_labels(const struct rue_index *index, const char *path, struct found *out, char *why,
                              size_t bytes, rue_error *error)
{
    for (const char *const *name = label_names; *name; name++) {
        rue_error fault = {0};
        rue_status status = find_array(index, path, *name, out, &fault);
        if (out->exists && out->array.coordinate) continue;
        bool other_type = status == RUE_DATA && out->array.rank && !out->array.kind; /* such as texts */
        if (status != RUE_OK && !other_type) return rue_fail(error, status, "%s", fault.message);
        const char *reason = out->exists ? refuse_shape(out, index) : NULL;
        if (out->exists && !reason) return RUE_OK;
        if (reason && out->array.shape[0] != index->count && strcmp(*name, "y") != 0)
            return rue_fail(error, RUE_DATA,
                            "%s: the array %s %s: there are %" PRIu64 " items; name others with label_key",
                            path, *name, reason, index->count);
        if (reason && !why[0]) snprintf(why, bytes, "the array %s %s", *name, reason);
    }
    out->exists = false;
    return RUE_OK;
}

static bool is_label(const struct rue_zarr_array *array, const unsigned char *value, int64_t *out)
{
    uint64_t bits = 0;
    unsigned unused = 64 - 8 * array->value_bytes;
    memcpy(&bits, value, array->value_bytes);
    *out = array->kind == 'b' ? bits != 0 : (int64_t)bits;
    if (array->kind == 'i') *out = (int64_t)(bits << unused) >> unused;
    return *out >= 0 && *out <= INT32_MAX;
}

static rue_status read_labels(const struct rue_zarr *labels, const char *path,
                              const struct rue_source_options *options, struct rue_index *index,
                              rue_error *error)
{
    const struct rue_zarr_array *array = rue_zarr_array(labels);
    unsigned char value[sizeof(uint64_t)];
    index->labels = malloc(index->count * sizeof *index->labels);
    if (!index->labels) return rue_fail_memory(error, "labels", index->count * sizeof *index->labels);
    rue_status status = RUE_OK;
    for (uint64_t i = 0; status == RUE_OK && i < index->count; i++) {
        int64_t label = 0;
        if (i % STOP_EVERY == 0) status = rue_source_check_stop(options, error);
        if (status == RUE_OK) status = rue_zarr_read(labels, i, value, error);
        if (status == RUE_OK && !is_label(array, value, &label))
            status = rue_fail(
                error, RUE_DATA,
                array->kind == 'u' ? "%s: the label of item %" PRIu64 " is %" PRIu64 "%s"
                                   : "%s: the label of item %" PRIu64 " is %" PRId64 "%s",
                path, i, label,
                ", which is not from 0 to 2^31 - 1: name others with label_key, or give the array of "
                "items alone");
        index->labels[i] = (int32_t)label;
    }
    index->seed = rue_hash(index->seed, index->labels, index->count * sizeof *index->labels);
    return status;
}

/* Notes missing chunks of labels. */
static void note_missing_labels(const struct rue_zarr *labels, const char *name, struct rue_index *index)
{
    const char *example;
    uint64_t chunks, missing = rue_zarr_missing(labels, &chunks, &example);
    double fill = rue_zarr_array(labels)->fill_number;
    index->remarks.skipped += missing;
    if (missing == chunks)
        rue_index_note(index, "all chunks of %.*s are missing: all labels are the fill value %g",
                       (int)strlen(name) - 1, name, fill);
    else if (missing)
        rue_index_note(index,
                       "chunks of labels missing: %" PRIu64 " of %" PRIu64
                       ", such as %s: their labels are the fill value %g",
                       missing, chunks, example, fill);
}

static void note_no_labels(struct rue_index *index, const char *path, bool group, const char *why)
{
    char list[LIST_BYTES] = "";
    if (group) list_arrays(index, path, list);
    if (why[0])
        rue_index_note_unlabelled(index, "%s; name another array with label_key", why);
    else if (list[0])
        rue_index_note_unlabelled(index, "the arrays of the group are %s; name one with label_key", list);
    else
        rue_index_note_unlabelled(index, group ? "name an array with label_key"
                                               : "the data are one array, without a group");
}

/* Labels that other programs would scale are refused. */
static rue_status check_attributes(const struct rue_zarr *labels, struct rue_index *index, rue_error *error)
{
    char names[LIST_BYTES];
    unsigned attributes = rue_zarr_array(labels)->cf;
    unsigned scaled = attributes & RUE_ZARR_CF_SCALED;
    list_attributes(scaled ? scaled : attributes, names);
    if (scaled)
        return rue_fail(error, RUE_DATA,
                        "%s has the attribute %s, which labels cannot have: write them without it, name "
                        "others with label_key, or give the array of items alone",
                        rue_zarr_path(labels), names);
    if (attributes)
        rue_index_note(index,
                       "the labels have the attribute %s, which is not applied: all values are class numbers",
                       names);
    return RUE_OK;
}

static rue_status open_labels(const char *path, bool group, const struct rue_source_options *options,
                              struct rue_index *index, rue_error *error)
{
    const char *key = options->label_key;
    char why[NAME_MAX_BYTES] = "";
    struct found found = {0};
    struct rue_zarr *labels = NULL;
    rue_status status = key ? find_key(index, path, key, &found, error)
                            : find_labels(index, path, &found, why, sizeof why, error);
    if (status != RUE_OK) return status;
    if (!found.exists) return note_no_labels(index, path, group, why), RUE_OK;
    if (refuse_shape(&found, index))
        return rue_fail(error, RUE_DATA, "%s: the array '%.128s' cannot be labels: it %s", path, key,
                        refuse_shape(&found, index));
    status = open_array(index, path, &found, options, &labels, error);
    if (status == RUE_OK) status = check_attributes(labels, index, error);
    if (status == RUE_OK) status = refuse_missing(labels, path, options, error);
    if (status == RUE_OK) status = read_labels(labels, path, options, index, error);
    if (status == RUE_OK) note_missing_labels(labels, found.name, index);
    rue_zarr_close(labels);
    return status;
}

/* Sets `*out` to an attribute of the array or group `name`, for the caller to release; NULL: it has none. */
static rue_status find_attribute(const struct rue_index *index, const char *path, const char *name,
                                 const char *attribute, json_t **out, rue_error *error)
{
    static const char *const files[] = {"zarr.json", ".zattrs"};
    rue_status status = RUE_OK;
    *out = NULL;
    for (int i = 0; status == RUE_OK && !*out && i < 2; i++) {
        char file[NAME_MAX_BYTES + 16];
        json_t *object;
        uint64_t unused;
        snprintf(file, sizeof file, "%s%s", name, files[i]);
        status = rue_zarr_read_json(rue_files_folder_fd(index->files), path, file, &object, &unused, error);
        const json_t *attributes = i ? object : json_object_get(object, "attributes");
        *out = json_incref(json_object_get(attributes, attribute));
        json_decref(object);
    }
    return status;
}

/* The attribute `classes` of the group names them. */
static rue_status read_classes(const char *path, struct rue_index *index, rue_error *error)
{
    json_t *classes = NULL;
    rue_status status = index->labels ? find_attribute(index, path, "", "classes", &classes, error) : RUE_OK;
    for (size_t c = 0; status == RUE_OK && c < json_array_size(classes); c++) {
        const char *name = json_string_value(json_array_get(classes, c));
        status = name ? rue_index_add_class(index, name, strlen(name), error)
                      : rue_fail(error, RUE_DATA, "%s has a class name that is not a text", path);
    }
    json_decref(classes);
    for (uint64_t i = 0; status == RUE_OK && index->class_count && i < index->count; i++)
        if ((uint32_t)index->labels[i] >= index->class_count)
            status = rue_fail(error, RUE_DATA, "%s: the label of item %" PRIu64 " is not a class", path, i);
    return status;
}

/* ---- the source ---- */

static rue_status read_made_with(const char *path, const char *name, struct rue_index *index,
                                 rue_error *error)
{
    json_t *text;
    rue_status status = find_attribute(index, path, name, RUE_ZARR_MADE_WITH, &text, error);
    rue_made_with_read(json_string_value(text), json_string_length(text), index->made_with);
    json_decref(text);
    return status;
}

/* The whole store if it is an array, or the array of items in the group. Arrays of one axis are not items. */
static rue_status find_items(const struct rue_index *index, const char *path, const char *key,
                             struct found *out, rue_error *error)
{
    char list[LIST_BYTES];
    rue_status status = find_array(index, path, "", out, error);
    if (status == RUE_OK && key) return find_key(index, path, key, out, error);
    if (status != RUE_OK || out->exists) return status;
    for (const char *const *name = image_names; *name; name++) {
        rue_error fault = {0};
        status = find_array(index, path, *name, out, &fault);
        if (out->exists && (out->array.coordinate || out->array.rank == 1)) continue;
        if (status != RUE_OK) return rue_fail(error, status, "%s", fault.message);
        if (out->exists) return RUE_OK;
    }
    list_arrays(index, path, list);
    return rue_fail(error, RUE_DATA,
                    list[0] ? "%s has no items in an array images, data or x: its arrays are %s; name one "
                              "with image_key"
                            : "%s has no array images, data or x: name the array of items with image_key",
                    path, list);
}

static void describe_chunks(const struct rue_zarr_array *array, struct rue_blocks *out)
{
    size_t used = 0, room = sizeof out->layout;
    for (int axis = 0; axis < RUE_ZARR_AXES && used < room; axis++) {
        if (axis && axis <= RUE_ZARR_AXES - array->rank) continue;
        out->chunk[axis] = array->chunk[axis];
        used += (size_t)snprintf(out->layout + used, room - used, "%s%" PRIu64, axis ? "x" : "",
                                 array->chunk[axis]);
    }
    snprintf(out->codec, sizeof out->codec, "%s", rue_zarr_codec_names[array->codec]);
    if (used < room) snprintf(out->layout + used, room - used, " %s", out->codec);
}

static rue_status describe_items(const struct rue_zarr *zarr, const char *path,
                                 const struct rue_source_options *options, struct rue_index *index,
                                 rue_error *error)
{
    const struct rue_zarr_array *array = rue_zarr_array(zarr);
    const char *example, *place = rue_zarr_path(zarr);
    char names[LIST_BYTES];
    uint64_t chunks, missing = rue_zarr_missing(zarr, &chunks, &example);
    if (!rue_zarr_dtype(array, &index->dtype))
        return rue_fail(error, RUE_DATA,
                        "%s has %s values: save them as float32, float16 or uint8, or name another array "
                        "with image_key",
                        place, rue_zarr_type_name(array));
    if (array->rank < 2)
        return rue_fail(error, RUE_DATA, "%s has one axis: items need at least one more", place);
    if (missing == chunks)
        return rue_fail(error, RUE_DATA, "%s has no chunks: all of them are missing, such as %s", place,
                        example);
    rue_status status = refuse_missing(zarr, path, options, error);
    if (status != RUE_OK) return status;
    for (int axis = 0; axis < 3; axis++) index->shape[axis] = (uint32_t)array->shape[axis + 1];
    index->mode = RUE_PREPROCESSED;
    index->kind = RUE_ITEM_ARRAY;
    index->count = array->shape[0];
    index->blocks.items = array->chunk[0] < index->count ? array->chunk[0] : index->count;
    index->blocks.stored_bytes = rue_zarr_stored_bytes(zarr);
    index->blocks.cache_bytes = rue_zarr_cache_bytes(zarr);
    describe_chunks(array, &index->blocks);
    index->stride.bytes = index->stride.step = rue_zarr_item_bytes(zarr);
    index->seed = rue_zarr_digest(zarr);
    if (missing)
        rue_index_note(index,
                       "chunks missing: %" PRIu64 " of %" PRIu64
                       ", such as %s: their items have the fill value %g",
                       missing, chunks, example, array->fill_number);
    index->remarks.skipped = missing;
    list_attributes(array->cf, names);
    if (names[0]) rue_index_note(index, "values are read as they are stored: not applied are %s", names);
    return RUE_OK;
}

static rue_status open_zarr(const char *path, const struct rue_source_options *options,
                            struct rue_index *index, rue_error *error)
{
    struct rue_zarr *zarr = NULL;
    struct found items = {0};
    rue_status status = rue_files_set_folder(&index->files, path, error);
    if (status == RUE_OK) status = find_items(index, path, options->image_key, &items, error);
    if (status == RUE_OK) status = open_array(index, path, &items, options, &zarr, error);
    index->state = zarr;
    if (status == RUE_OK) status = describe_items(zarr, path, options, index, error);
    if (status == RUE_OK) status = read_made_with(path, items.name, index, error);
    if (status == RUE_OK) status = open_labels(path, items.name[0], options, index, error);
    return status == RUE_OK ? read_classes(path, index, error) : status;
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
