#include "tf_index.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sharded.h"
#include "tf_example.h"
#include "tf_record.h"

static const uint64_t record_bytes_max = UINT64_C(1) << 31;

static const char *const image_names[] = {"image", "image/encoded", "image_raw", NULL};
static const char *const label_names[] = {"label", "image/class/label", NULL};
static const char *const item_names[] = {"name", "image/filename", "filename", NULL};

/* What an Example says of its item. */
struct example {
    struct rue_tf_feature image, label, name, shape, dtype;
    int image_rank, label_rank, name_rank; /* which of the names; INT_MAX: none so far */
    const struct rue_source_options *options;
    char others[200]; /* names of features, for the message that none is the image */
};

struct build {
    struct rue_shard_set *set;
    const struct rue_source_options *options;
    struct rue_item_index *index;
    unsigned char *data; /* of the record at hand, and its checksum */
    uint64_t capacity;
    uint64_t labelled;
    char unlabelled[PATH_MAX + 64]; /* the first record without a label; "" */
    /* The shard at hand. */
    size_t shard;
    const char *file;
    struct rue_byte_stream *stream; /* NULL: it is plain */
    uint64_t at, end, record, begin;
};

static rue_status refuse(const struct build *b, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: record %" PRIu64 " at byte %" PRIu64 " %s", b->file, b->record,
                    b->begin, why);
}

/* ---- bytes ---- */

static rue_status read_bytes(struct build *b, void *into, uint64_t bytes, uint64_t *got, rue_error *error)
{
    if (b->stream) {
        return rue_byte_stream_read(b->stream, into, bytes, got, error);
    }
    *got = b->end - b->at < bytes ? b->end - b->at : bytes;
    rue_status status = rue_shard_set_read(b->set, b->shard, into, *got, b->at, error);
    b->at += *got;
    return status;
}

/* A plain file begins with the head of a record; what else begins so is compressed, or damaged. */
static rue_status begin_shard(struct build *b, struct rue_shard_place *place, size_t shard, rue_error *error)
{
    unsigned char head[RUE_TF_RECORD_HEAD];
    uint64_t bytes;
    b->shard = shard;
    b->file = rue_shard_set_path(b->set, shard);
    b->at = b->record = b->begin = 0;
    b->end = rue_shard_set_identity(b->set, shard).bytes;
    b->stream = NULL;
    if (b->end == 0) return RUE_OK;
    if (b->end < sizeof head) return refuse(b, "is cut", error);
    rue_status status = rue_shard_set_read(b->set, shard, head, sizeof head, 0, error);
    if (status != RUE_OK || rue_tf_record_head_is(head, &bytes)) return status;
    *place = (struct rue_shard_place){b->set, shard};
    status = rue_shard_stream_open(place, &b->stream, error);
    if (status != RUE_OK) return status;
    b->index->facts[RUE_SHARDED_COMPRESSED] = 1;
    if (rue_byte_stream_compression(b->stream) != RUE_COMPRESS_NONE) return RUE_OK;
    return refuse(b, "has no valid length (its CRC-32C is wrong): this is no TFRecord file, or it is damaged",
                  error);
}

static rue_status reserve(struct build *b, uint64_t bytes, rue_error *error)
{
    if (bytes <= b->capacity) return RUE_OK;
    free(b->data);
    b->capacity = bytes + bytes / 2;
    b->data = malloc(b->capacity);
    if (!b->data) return b->capacity = 0, rue_fail_memory(error, "a record", bytes + bytes / 2);
    return RUE_OK;
}

/* The data of the next record; `*bytes` is UINT64_MAX at the end. */
static rue_status read_record(struct build *b, uint64_t *bytes, rue_error *error)
{
    unsigned char head[RUE_TF_RECORD_HEAD];
    uint64_t got;
    uint32_t crc;
    b->begin = b->stream ? rue_byte_stream_position(b->stream) : b->at;
    rue_status status = read_bytes(b, head, sizeof head, &got, error);
    if (status != RUE_OK) return status;
    if (got == 0) return *bytes = UINT64_MAX, RUE_OK;
    if (got < sizeof head) return refuse(b, "is cut", error);
    if (!rue_tf_record_head_is(head, bytes))
        return refuse(b, "has no valid length: its CRC-32C is wrong", error);
    if (*bytes > record_bytes_max) return refuse(b, "is longer than 2 GiB", error);
    if (!b->stream && *bytes + sizeof crc > b->end - b->at)
        return refuse(b, "is cut: it is longer than what is left of the file", error);
    status = reserve(b, *bytes + sizeof crc, error);
    if (status == RUE_OK) status = read_bytes(b, b->data, *bytes + sizeof crc, &got, error);
    if (status != RUE_OK) return status;
    if (got < *bytes + sizeof crc) return refuse(b, "is cut", error);
    memcpy(&crc, b->data + *bytes, sizeof crc);
    if (crc != rue_tf_mask(rue_crc32c(0, b->data, *bytes)))
        return refuse(b, "is damaged: the CRC-32C of its data is wrong", error);
    return RUE_OK;
}

/* ---- records ---- */

/* Takes a feature that is one of `names`, an earlier one rather than a later one. */
static void take(const struct rue_tf_feature *feature, const char *key, const char *const *names,
                 struct rue_tf_feature *into, int *rank)
{
    int found = 0;
    if (key) {
        if (!rue_tf_feature_is(feature, key)) return;
    } else {
        while (names[found] && !rue_tf_feature_is(feature, names[found])) found++;
        if (!names[found]) return;
    }
    if (found > *rank) return;
    *into = *feature;
    *rank = found;
}

static void visit(void *context, const struct rue_tf_feature *feature)
{
    struct example *e = context;
    size_t used = strlen(e->others);
    take(feature, e->options->image_key, image_names, &e->image, &e->image_rank);
    take(feature, e->options->label_key, label_names, &e->label, &e->label_rank);
    take(feature, NULL, item_names, &e->name, &e->name_rank);
    if (rue_tf_feature_is(feature, "shape")) e->shape = *feature;
    if (rue_tf_feature_is(feature, "dtype")) e->dtype = *feature;
    snprintf(e->others + used, sizeof e->others - used, "%s%.*s", used ? ", " : "",
             feature->name_bytes < 40 ? (int)feature->name_bytes : 40, feature->name);
}

static rue_status take_label(struct build *b, const struct example *e, int32_t *label, rue_error *error)
{
    *label = 0;
    if (e->label_rank == INT_MAX || e->label.count == 0) {
        if (!b->unlabelled[0])
            snprintf(b->unlabelled, sizeof b->unlabelled, "%s: record %" PRIu64, b->file, b->record);
        return RUE_OK;
    }
    b->labelled++;
    if (e->label.kind != RUE_TF_INTEGERS || e->label.integers[0] < -1 || e->label.integers[0] > INT32_MAX)
        return refuse(b, "has a label that is no whole number from -1 on: name another with --label-key",
                      error);
    *label = (int32_t)e->label.integers[0];
    return RUE_OK;
}

/* Preprocessed items say their shape and type; all are as the first one. */
static rue_status take_kind(struct build *b, const struct example *e, rue_error *error)
{
    uint64_t facts[RUE_INDEX_FACTS] = {[RUE_SHARDED_COMPRESSED] = b->index->facts[RUE_SHARDED_COMPRESSED]};
    bool tensor = e->shape.kind == RUE_TF_INTEGERS && e->dtype.kind == RUE_TF_BYTES && e->dtype.count > 0;
    if (tensor) {
        uint64_t values = 1;
        uint32_t shape[3];
        int dtype = -1;
        for (int d = 0; d < RUE_DTYPE_COUNT; d++)
            if (e->dtype.byte_count == strlen(rue_dtype_names[d]) &&
                memcmp(e->dtype.bytes, rue_dtype_names[d], e->dtype.byte_count) == 0)
                dtype = d;
        if (dtype < 0) return refuse(b, "has an unknown dtype: float32 and uint8 can be read", error);
        if (e->shape.count != 3) return refuse(b, "has no shape of three axes", error);
        for (int axis = 0; axis < 3; axis++) {
            int64_t length = e->shape.integers[axis];
            if (length < 1 || length >= RUE_SHARDED_AXIS_MAX)
                return refuse(b, "has an impossible shape", error);
            shape[axis] = (uint32_t)length;
            values *= (uint64_t)length;
        }
        facts[RUE_SHARDED_SHAPE] = rue_sharded_pack(shape);
        facts[RUE_SHARDED_MODE] = RUE_PREPROCESSED;
        facts[RUE_SHARDED_DTYPE] = (uint64_t)dtype;
        if (values * rue_dtype_bytes[dtype] != e->image.byte_count)
            return refuse(b, "has not as many bytes as its shape needs", error);
    }
    if (b->index->count > 0 && memcmp(facts, b->index->facts, sizeof facts) != 0)
        return refuse(b, "is not of the shape and type of the first one", error);
    memcpy(b->index->facts, facts, sizeof facts);
    return RUE_OK;
}

static rue_status add_record(struct build *b, uint64_t bytes, rue_error *error)
{
    struct example e = {
        .image_rank = INT_MAX, .label_rank = INT_MAX, .name_rank = INT_MAX, .options = b->options};
    char why[320], name[PATH_MAX + 64];
    uint64_t at;
    if (!rue_tf_example_walk(b->data, bytes, visit, &e, &at)) {
        snprintf(why, sizeof why, "is no Example: its message is damaged at byte %" PRIu64,
                 b->begin + RUE_TF_RECORD_HEAD + at);
        return refuse(b, why, error);
    }
    if (e.image_rank == INT_MAX || e.image.kind != RUE_TF_BYTES || e.image.count == 0) {
        snprintf(why, sizeof why, "has no image: name its feature with --image-key; there are %s",
                 e.others[0] ? e.others : "none");
        return refuse(b, why, error);
    }
    struct rue_index_entry entry = {.offset =
                                        b->begin + RUE_TF_RECORD_HEAD + (uint64_t)(e.image.bytes - b->data),
                                    .bytes = e.image.byte_count,
                                    .shard = (uint32_t)b->shard};
    bool named = e.name.kind == RUE_TF_BYTES && e.name.count > 0 && e.name.byte_count > 0 &&
                 e.name.byte_count < PATH_MAX && !memchr(e.name.bytes, 0, e.name.byte_count);
    int begun = snprintf(name, sizeof name, "%" PRIx64 " %" PRIx64 " ", b->begin, b->record);
    if (named)
        snprintf(name + begun, sizeof name - (size_t)begun, "%.*s", (int)e.name.byte_count, e.name.bytes);
    else
        snprintf(name + begun, sizeof name - (size_t)begun, "%08" PRIu64, b->index->count);
    rue_status status = take_kind(b, &e, error);
    if (status == RUE_OK) status = take_label(b, &e, &entry.label, error);
    return status == RUE_OK ? rue_item_index_add(b->index, &entry, name, error) : status;
}

static rue_status index_shard(struct build *b, size_t shard, rue_error *error)
{
    struct rue_shard_place place;
    rue_status status = begin_shard(b, &place, shard, error);
    for (uint64_t bytes = UINT64_MAX; status == RUE_OK; b->record++) {
        status = rue_source_check_stop(b->options, error);
        if (status == RUE_OK) status = read_record(b, &bytes, error);
        if (status != RUE_OK || bytes == UINT64_MAX) break;
        status = add_record(b, bytes, error);
    }
    rue_byte_stream_close(b->stream);
    return status;
}

rue_status rue_tf_index_build(struct rue_shard_set *set, const struct rue_source_options *options,
                              struct rue_item_index *index, rue_error *error)
{
    struct build b = {.set = set, .options = options, .index = index};
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < rue_shard_set_count(set); i++)
        status = index_shard(&b, i, error);
    free(b.data);
    if (status != RUE_OK) return status;
    if (index->count == 0) return rue_fail(error, RUE_DATA, "%s holds no record", rue_shard_set_path(set, 0));
    if (!b.labelled && options->label_key)
        return rue_fail(error, RUE_DATA,
                        "%s and all others have no label '%s': name another with --label-key", b.unlabelled,
                        options->label_key);
    if (b.labelled && b.unlabelled[0])
        return rue_fail(error, RUE_DATA, "%s has no label, though others have: name it with --label-key",
                        b.unlabelled);
    return RUE_OK;
}
