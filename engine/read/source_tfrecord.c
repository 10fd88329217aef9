/* The tfrecord format: shards of Examples (tf_record.h), plain or compressed. A length is trusted if its
 * checksum is right. The checksums of the data are checked once, when the index is made. */
#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "archive_reader.h"
#include "file_kind.h"
#include "note.h"
#include "npy.h"
#include "shards.h"
#include "tf_record.h"

static const uint64_t record_bytes_max = UINT64_C(1) << 31;

enum { SURE_LABELS = 2, NAMES_BYTES = 200 };

struct build;

static const char *const image_names[] = {"image", "image/encoded", "image_raw", NULL};
/* Of those after the first SURE_LABELS, one is used if it is the only one, and holds integers. */
static const char *const label_names[] = {"label", "image/class/label", "class", "target", "category", NULL};
static const char *const item_names[] = {"name", "image/filename", "filename", NULL};

/* The features of an Example that describe its item. */
struct example {
    struct rue_tf_feature image, label, name;
    int image_rank, label_rank, name_rank; /* index in the list of names; INT_MAX: not found */
    int guesses;                           /* number of features that may be labels by their names */
    bool typed;                            /* has a dtype, as tensors of an older rue */
    const struct build *build;
    char feature_names[NAMES_BYTES]; /* of all features, for messages */
};

struct build {
    const struct rue_source_options *options;
    struct rue_index *index;
    unsigned char *data; /* of the current record, with its checksum */
    uint64_t capacity;
    const char *label_key;          /* feature of the labels: label_key, or that of the first label; NULL */
    size_t label_values;            /* of each label; more than one: one-hot; 0: no record has a label */
    char unlabelled[PATH_MAX + 64]; /* the first record without a label; "" */
    const char *unlabelled_why;
    char no_photo[PATH_MAX + 128];   /* the first record whose raw image is not read, and what it is; "" */
    uint64_t photos;                 /* number of images that are read */
    char feature_names[NAMES_BYTES]; /* of the first record, for messages */
    /* The current shard. */
    uint32_t shard;
    const char *file;
    struct rue_archive_reader *reader;
    uint64_t end; /* size of a plain file; else UINT64_MAX */
    uint64_t record, begin;
};

static rue_status fail_record(const struct build *b, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: record %" PRIu64 " at byte %" PRIu64 " %s", b->file, b->record,
                    b->begin, why);
}

/* ---- bytes ---- */

/* Whether the file begins like a plain shard: a length can look like the beginning of a compressed file. */
static bool is_plain(struct rue_files *files, uint32_t shard)
{
    unsigned char head[RUE_TF_RECORD_HEAD];
    uint64_t bytes;
    return rue_files_identity(files, shard).bytes >= sizeof head &&
           rue_files_read(files, shard, head, sizeof head, 0, NULL) == RUE_OK &&
           rue_tf_record_head_is_valid(head, &bytes);
}

static rue_status begin_shard(struct build *b, uint32_t shard, rue_error *error)
{
    struct rue_files *files = b->index->files;
    b->shard = shard;
    b->file = rue_files_path(files, shard);
    b->record = b->begin = 0;
    b->end = rue_files_identity(files, shard).bytes;
    rue_status status = rue_archive_reader_open(
        files, shard, is_plain(files, shard) ? RUE_ARCHIVE_PLAIN : RUE_ARCHIVE_BYTES, &b->reader, error);
    if (status != RUE_OK || !rue_archive_reader_is_compressed(b->reader)) return status;
    b->end = UINT64_MAX;
    b->index->compressed = true;
    return RUE_OK;
}

static rue_status reserve_record(struct build *b, uint64_t bytes, rue_error *error)
{
    if (bytes <= b->capacity) return RUE_OK;
    free(b->data);
    b->capacity = bytes + bytes / 2;
    b->data = malloc(b->capacity);
    if (!b->data) return b->capacity = 0, rue_fail_memory(error, "a record", bytes + bytes / 2);
    return RUE_OK;
}

/* Reads the data of the next record; `*bytes` is UINT64_MAX at the end. */
static rue_status read_record(struct build *b, uint64_t *bytes, rue_error *error)
{
    unsigned char head[RUE_TF_RECORD_HEAD];
    uint64_t read_bytes;
    uint32_t crc;
    b->begin = rue_archive_reader_position(b->reader);
    rue_status status = rue_archive_reader_read(b->reader, head, sizeof head, &read_bytes, error);
    if (status != RUE_OK) return status;
    if (read_bytes == 0) return *bytes = UINT64_MAX, RUE_OK;
    if (read_bytes < sizeof head) return fail_record(b, "is truncated: make the file again", error);
    if (!rue_tf_record_head_is_valid(head, bytes))
        return fail_record(
            b, "has a length with a wrong CRC-32C: the file is damaged, or is not a TFRecord file", error);
    if (*bytes > record_bytes_max) return fail_record(b, "is longer than 2 GiB", error);
    if (*bytes + sizeof crc > b->end - rue_archive_reader_position(b->reader))
        return fail_record(b, "is truncated: it is longer than the rest of the file", error);
    status = reserve_record(b, *bytes + sizeof crc, error);
    if (status == RUE_OK)
        status = rue_archive_reader_read(b->reader, b->data, *bytes + sizeof crc, &read_bytes, error);
    if (status != RUE_OK) return status;
    if (read_bytes < *bytes + sizeof crc) return fail_record(b, "is truncated: make the file again", error);
    memcpy(&crc, b->data + *bytes, sizeof crc);
    if (crc != rue_tf_mask(rue_crc32c(0, b->data, *bytes)))
        return fail_record(b, "is damaged (the CRC-32C of its data is wrong): make the file again", error);
    return RUE_OK;
}

/* ---- records ---- */

/* The place of the feature's name in `names`, or 0 if it is `key`; INT_MAX: neither. */
static int find_name(const struct rue_tf_feature *feature, const char *key, const char *const *names)
{
    if (key) return rue_tf_feature_has_name(feature, key) ? 0 : INT_MAX;
    for (int i = 0; names[i]; i++)
        if (rue_tf_feature_has_name(feature, names[i])) return i;
    return INT_MAX;
}

/* Keeps the feature that is named first in `names`. */
static void match_feature(const struct rue_tf_feature *feature, int found, struct rue_tf_feature *into,
                          int *rank)
{
    if (found == INT_MAX || found > *rank) return;
    *into = *feature;
    *rank = found;
}

static void match_label(struct example *e, const struct rue_tf_feature *feature)
{
    int found = find_name(feature, e->build->label_key, label_names);
    bool guess = !e->build->label_key && found >= SURE_LABELS && found != INT_MAX;
    if (guess && (feature->kind != RUE_TF_INTEGERS || feature->count != 1)) return;
    e->guesses += guess;
    match_feature(feature, found, &e->label, &e->label_rank);
}

static void visit_feature(void *context, const struct rue_tf_feature *feature)
{
    struct example *e = context;
    match_feature(feature, find_name(feature, e->build->options->image_key, image_names), &e->image,
                  &e->image_rank);
    match_label(e, feature);
    match_feature(feature, find_name(feature, NULL, item_names), &e->name, &e->name_rank);
    e->typed |= rue_tf_feature_has_name(feature, "dtype") && feature->kind == RUE_TF_BYTES;
    rue_note_list_name(e->feature_names, sizeof e->feature_names, feature->name, feature->name_bytes);
}

/* If several features may be labels, none is used. */
static bool has_label(const struct example *e)
{
    bool guess = !e->build->label_key && e->label_rank >= SURE_LABELS;
    return e->label_rank != INT_MAX && e->label.count > 0 && (!guess || e->guesses == 1);
}

/* Why the label cannot be used, or NULL. */
static const char *find_label_fault(const struct build *b, const struct rue_tf_feature *label)
{
    bool one_hot = label->ones == 1 && !label->others && label->one_at <= INT32_MAX;
    if (label->kind == RUE_TF_BYTES) return "that is text, not a whole number";
    if (label->count > 1 && !one_hot) return "of several values";
    if (b->label_values && label->count != b->label_values)
        return "with another number of values than the first one";
    if (label->count > 1) return NULL;
    if (label->kind != RUE_TF_INTEGERS || label->integer < -1)
        return "that is not a whole number of at least -1";
    return label->integer > INT32_MAX ? "that is larger than 2147483647" : NULL;
}

/* What is wrong with the feature of the labels in this record. */
static const char *explain_no_label(const struct example *e)
{
    if (e->guesses > 1) return "is one of several that may be the label";
    if (e->label_rank != INT_MAX) return "is empty";
    return e->build->label_key ? "is missing" : "is missing, or is not one integer";
}

static rue_status set_label(struct build *b, const struct example *e, int32_t *label, rue_error *error)
{
    char why[200];
    if (!has_label(e)) {
        if (!b->unlabelled[0]) {
            snprintf(b->unlabelled, sizeof b->unlabelled, "%s: record %" PRIu64, b->file, b->record);
            b->unlabelled_why = explain_no_label(e);
        }
        return RUE_OK;
    }
    const char *fault = find_label_fault(b, &e->label);
    if (fault) {
        snprintf(why, sizeof why,
                 "has a label %s: store the whole number of the class, or name another feature with "
                 "label_key",
                 fault);
        return fail_record(b, why, error);
    }
    if (!b->label_key) b->label_key = label_names[e->label_rank];
    b->label_values = e->label.count;
    *label = (int32_t)(e->label.count > 1 ? (int64_t)e->label.one_at : e->label.integer);
    return RUE_OK;
}

static void record_no_photo(struct build *b, const struct rue_tf_feature *image)
{
    const char *kind = image->byte_count ? rue_file_kind(image->bytes, image->byte_count) : "no data";
    snprintf(b->no_photo, sizeof b->no_photo, "%s: record %" PRIu64 " at byte %" PRIu64 " holds %s", b->file,
             b->record, b->begin, kind ? kind : "data of an unknown type");
}

/* Preprocessed items are npy files. */
static rue_status set_mode(struct build *b, const struct example *e, struct rue_entry *entry,
                           rue_error *error)
{
    rue_error why = {0};
    bool tensor = e->image.byte_count >= 6 && memcmp(e->image.bytes, "\x93NUMPY", 6) == 0;
    bool photo = rue_image_kind(e->image.bytes, e->image.byte_count);
    if (e->typed && !tensor && !photo)
        return fail_record(b, "has a tensor from an older rue: prepare the images again", error);
    enum rue_mode mode = tensor ? RUE_PREPROCESSED : RUE_RAW;
    b->photos += photo;
    if (!tensor && !photo && !b->no_photo[0]) record_no_photo(b, &e->image);
    if (b->index->count == 0) b->index->mode = mode;
    if (b->index->mode != mode)
        return fail_record(b, "does not have the same type as the first record", error);
    if (!tensor || rue_npy_add_item(b->index, entry, e->image.bytes, e->image.byte_count, &why) == RUE_OK)
        return RUE_OK;
    return fail_record(b, why.message, error);
}

/* Items without a name have their number. */
static rue_status add_item(const struct build *b, const struct rue_tf_feature *name,
                           const struct rue_entry *entry, rue_error *error)
{
    char text[PATH_MAX] = "";
    if (name->kind == RUE_TF_BYTES && name->count > 0 && name->byte_count < PATH_MAX &&
        !memchr(name->bytes, 0, name->byte_count))
        rue_files_copy_name(text, (const char *)name->bytes, name->byte_count);
    if (!text[0]) snprintf(text, sizeof text, "%08" PRIu64, b->index->count);
    return rue_index_add(b->index, entry, text, error);
}

static rue_status add_record(struct build *b, uint64_t bytes, rue_error *error)
{
    struct example e = {.image_rank = INT_MAX, .label_rank = INT_MAX, .name_rank = INT_MAX, .build = b};
    char why[320];
    uint64_t at;
    if (!rue_tf_example_walk(b->data, bytes, visit_feature, &e, &at)) {
        snprintf(why, sizeof why, "is not an Example: its message is damaged at byte %" PRIu64,
                 b->begin + RUE_TF_RECORD_HEAD + at);
        return fail_record(b, why, error);
    }
    if (e.image_rank == INT_MAX || e.image.kind != RUE_TF_BYTES || e.image.count == 0) {
        snprintf(why, sizeof why, "has no image: name its feature with image_key; the features are %s",
                 e.feature_names[0] ? e.feature_names : "none");
        return fail_record(b, why, error);
    }
    if (e.image.count > 1) return fail_record(b, "has several images: store one image per record", error);
    if (b->index->count == 0) memcpy(b->feature_names, e.feature_names, sizeof b->feature_names);
    struct rue_entry entry = {.lead = (uint32_t)(RUE_TF_RECORD_HEAD + (e.image.bytes - b->data)),
                              .bytes = e.image.byte_count,
                              .file = b->shard};
    entry.offset = b->begin + entry.lead;
    rue_status status = set_mode(b, &e, &entry, error);
    if (status == RUE_OK) status = set_label(b, &e, &entry.label, error);
    return status == RUE_OK ? add_item(b, &e.name, &entry, error) : status;
}

static rue_status index_shard(struct build *b, uint32_t shard, rue_error *error)
{
    b->reader = NULL;
    rue_status status = begin_shard(b, shard, error);
    for (uint64_t bytes = UINT64_MAX; status == RUE_OK; b->record++) {
        status = rue_source_check_stop(b->options, error);
        if (status == RUE_OK) status = read_record(b, &bytes, error);
        if (status != RUE_OK || bytes == UINT64_MAX) break;
        status = add_record(b, bytes, error);
    }
    if (status == RUE_OK && b->record == 0) rue_shards_skip_empty(b->index, shard);
    rue_archive_reader_close(b->reader);
    return status;
}

static rue_status check_labels(const struct build *b, rue_error *error)
{
    if (b->label_values && b->unlabelled[0])
        return rue_fail(error, RUE_DATA,
                        "%s has no label: its feature '%s' %s, but other records have it: store it in each "
                        "record, or name a feature with label_key",
                        b->unlabelled, b->label_key, b->unlabelled_why);
    if (!b->label_values && b->options->label_key)
        return rue_fail(
            error, RUE_DATA,
            "%s has no label '%s', and no other record has it: name another feature with label_key; "
            "the features are %s",
            b->unlabelled, b->options->label_key, b->feature_names);
    if (!b->label_values)
        rue_index_note_unlabelled(b->index, "the features are %s; name that of the labels with label_key",
                                  b->feature_names);
    if (b->label_values > 1)
        rue_index_note(b->index, "the labels are one-hot, of %zu values", b->label_values);
    return RUE_OK;
}

/* Some images may be of other types: whoever decodes them can replace them. */
static rue_status check_photos(const struct build *b, rue_error *error)
{
    if (!b->no_photo[0]) return RUE_OK;
    if (b->photos == 0)
        return rue_fail(
            error, RUE_DATA,
            "%s, not an image or npy file, and no other record has one: store images or npy files",
            b->no_photo);
    rue_index_note(b->index, "%" PRIu64 " of %" PRIu64 " images are of another type: %s",
                   b->index->count - b->photos, b->index->count, b->no_photo);
    return RUE_OK;
}

static rue_status build_index(const char *path, const struct rue_source_options *options,
                              struct rue_index *index, rue_error *error)
{
    struct build b = {.options = options, .index = index, .label_key = options->label_key};
    rue_status status = RUE_OK;
    (void)path;
    for (uint32_t i = 0; status == RUE_OK && i < rue_files_count(index->files); i++)
        status = index_shard(&b, i, error);
    free(b.data);
    if (status == RUE_OK && index->count == 0)
        status = rue_fail(error, RUE_DATA, "%s holds no record: give TFRecord files of images",
                          rue_files_path(index->files, 0));
    if (status == RUE_OK) status = check_photos(&b, error);
    return status == RUE_OK ? check_labels(&b, error) : status;
}

/* ---- shards ---- */

/* Whether a shard's name may end like this: an index of a shard (".idx", ".tfindex") has another extension.
 */
static bool ends_a_name(const char *at)
{
    at += strcspn(at, ".");
    while (at[0] == '.' && at[1] == '.') at += 2 + strcspn(at + 2, "."); /* the range of a pattern */
    return !*at || strcmp(at, ".gz") == 0 || strcmp(at, ".zlib") == 0;
}

/* Names such as "train-00001-of-01024", from the scripts for ImageNet; also patterns of them. */
static bool is_numbered(const char *base)
{
    const char *separator = strstr(base, "-of-");
    if (!separator || separator == base || (!isdigit((unsigned char)separator[-1]) && separator[-1] != '}'))
        return false;
    const char *total = separator + strlen("-of-"), *end = total;
    while (isdigit((unsigned char)*end)) end++;
    return end > total && (!*end || *end == '.') && ends_a_name(end);
}

/* "x.tfrecord", "x.tfrecords.gz", "x.tfrec", "x.tfrecord-00001-of-00004", and "x-00001-of-00004". */
static bool is_shard(const char *name)
{
    const char *slash = strrchr(name, '/'), *base = slash ? slash + 1 : name;
    const char *at = strstr(base, ".tfrec");
    if (!at || at == base) return is_numbered(base);
    at += strlen(".tfrec");
    if (strncmp(at, "ord", 3) == 0) at += 3;
    at += *at == 's';
    return (!*at || *at == '-' || *at == '.') && ends_a_name(at);
}

static const struct rue_shard_format format = {
    .version = "tfrecord 8", .is_shard = is_shard, .index = build_index};

static rue_status begins_with_head(const char *path, bool *matches, rue_error *error)
{
    unsigned char head[RUE_TF_RECORD_HEAD];
    uint64_t bytes;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail_open(error, path);
    *matches = rue_read_at(fd, head, sizeof head, 0) && rue_tf_record_head_is_valid(head, &bytes);
    close(fd);
    return RUE_OK;
}

static rue_status probe_tfrecord(const char *path, bool *matches, rue_error *error)
{
    bool regular;
    rue_status status = rue_shards_probe(&format, path, matches, &regular, error);
    return status == RUE_OK && regular && !*matches ? begins_with_head(path, matches, error) : status;
}

static rue_status open_tfrecord(const char *path, const struct rue_source_options *options,
                                struct rue_index *index, rue_error *error)
{
    return rue_shards_open(&format, path, options, index, error);
}

const struct rue_source_ops rue_source_tfrecord = {
    RUE_SHARD_OPS,
    .format = "tfrecord",
    .help = "TFRecord shards of Examples, plain or compressed",
    .probe = probe_tfrecord,
    .open = open_tfrecord,
};
