/* The tensor format: one packed file of preprocessed images (tensor_file.h). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32c.h"
#include "files.h"
#include "hash.h"
#include "made_with.h"
#include "source.h"
#include "tensor_file.h"

enum { CLASSES_MAX = 1 << 24, CLASS_TEXT_MAX = 1 << 28, CHUNK_BYTES = 1 << 16 };

static rue_status probe_tensor(const char *path, bool *matches, rue_error *error)
{
    char magic[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail_open(error, path);
    bool complete = rue_read_at(fd, magic, sizeof magic, 0);
    int why = complete ? 0 : errno;
    close(fd);
    if (why == EIO)
        return rue_fail(error, rue_source_failure(why), "cannot read %s: %s", path, strerror(why));
    *matches = complete && memcmp(magic, RUE_TENSOR_MAGIC, sizeof magic) == 0;
    return RUE_OK;
}

/* The fault of the header, or NULL. Bounds are checked so that no computation overflows. */
static const char *header_fault(const struct rue_tensor_header *h)
{
    const uint64_t limit = UINT64_C(1) << 48;
    if (memcmp(h->magic, RUE_TENSOR_MAGIC, sizeof h->magic) != 0)
        return "it does not have a tensor header: it is incomplete, or has another format";
    if (h->version == 1) return "it was made by an older rue";
    if (h->version != RUE_TENSOR_VERSION) return "it has another version of the format";
    if (h->header_crc != rue_crc32c(0, h, offsetof(struct rue_tensor_header, header_crc)))
        return "its header is damaged";
    if (h->dtype >= RUE_DTYPE_COUNT) return "its dtype is unknown";
    if (h->channels == 0 || h->height == 0 || h->width == 0 || h->channels > 4096 || h->height > 65536 ||
        h->width > 65536)
        return "its shape is not valid";
    if (h->count == 0 || h->count > limit / 8) return "its number of records is not valid";
    uint64_t values = (uint64_t)h->channels * h->height * h->width * rue_dtype_bytes[h->dtype];
    if (h->record_stride != rue_tensor_aligned(values) || h->record_stride > limit / h->count)
        return "its record size does not fit its shape";
    if (h->data_offset != RUE_TENSOR_ALIGN ||
        h->labels_offset != h->data_offset + h->count * h->record_stride ||
        h->crcs_offset != h->labels_offset + 4 * h->count ||
        h->classes_offset != h->crcs_offset + 4 * h->count || h->file_bytes < h->classes_offset ||
        h->file_bytes - h->classes_offset > limit)
        return "its sections overlap or have gaps";
    if (h->class_count > CLASSES_MAX || h->file_bytes - h->classes_offset > CLASS_TEXT_MAX)
        return "its number of classes is not valid";
    if (h->class_count > h->file_bytes - h->classes_offset) return "its class names are missing";
    return NULL;
}

static rue_status fail_remake(const struct rue_index *index, const char *why, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s: %s; make it again with rue prepare",
                    rue_files_path(index->files, 0), why);
}

static rue_status read_header(struct rue_index *index, struct rue_tensor_header *h, rue_error *error)
{
    uint64_t bytes = rue_files_identity(index->files, 0).bytes;
    if (bytes < sizeof *h) return fail_remake(index, "it ends within its header", error);
    rue_status status = rue_files_read(index->files, 0, h, sizeof *h, 0, error);
    if (status != RUE_OK) return status;
    const char *fault = header_fault(h);
    if (fault) return fail_remake(index, fault, error);
    if (h->file_bytes != bytes)
        return rue_fail(error, RUE_DATA,
                        "%s: it ends at byte %" PRIu64 ", but its header says byte %" PRIu64
                        "; make it again with rue prepare",
                        rue_files_path(index->files, 0), bytes, h->file_bytes);
    const uint32_t shape[] = {h->channels, h->height, h->width};
    memcpy(index->shape, shape, sizeof shape);
    index->mode = RUE_PREPROCESSED;
    index->dtype = (enum rue_dtype)h->dtype;
    index->count = h->count;
    index->stride.offset = h->data_offset;
    index->stride.step = h->record_stride;
    index->stride.bytes = (uint64_t)h->channels * h->height * h->width * rue_dtype_bytes[h->dtype];
    index->seed =
        rue_hash(RUE_HASH_START, h, sizeof *h); /* includes a checksum over the checksums of all records */
    return RUE_OK;
}

/* Continues `*crc` over the file from `at` to `end`, and copies the bytes to `into` unless it is NULL. */
static rue_status read_section(const struct rue_index *index, uint64_t at, uint64_t end, void *into,
                               uint32_t *crc, rue_error *error)
{
    unsigned char chunk[CHUNK_BYTES], *to = into ? into : chunk;
    for (uint64_t bytes; at < end; at += bytes) {
        bytes = end - at < sizeof chunk ? end - at : sizeof chunk;
        rue_status status = rue_files_read(index->files, 0, to, bytes, at, error);
        if (status != RUE_OK) return status;
        *crc = rue_crc32c(*crc, to, bytes);
        if (into) to += bytes;
    }
    return RUE_OK;
}

/* The names are in `text` [bytes], each ended by a NUL. What the items were made with follows them. */
static rue_status add_texts(struct rue_index *index, const char *text, uint64_t bytes, uint64_t count,
                            rue_error *error)
{
    const char *at = text, *end = text + bytes;
    rue_status status = RUE_OK;
    for (; status == RUE_OK && count > 0; at += strlen(at) + 1, count--) {
        if (at >= end)
            return rue_fail(error, RUE_DATA, "%s: class names are missing; make it again with rue prepare",
                            rue_files_path(index->files, 0));
        status = rue_index_add_class(index, at, strlen(at), error);
    }
    if (status == RUE_OK && at < end) rue_made_with_read(at, strlen(at), index->made_with);
    return status;
}

/* Checks labels and class names: other writers may make mistakes. Checksums stay in the file. */
static rue_status read_tables(struct rue_index *index, const struct rue_tensor_header *h, char *texts,
                              rue_error *error)
{
    uint32_t crc = 0;
    rue_status status = read_section(index, h->labels_offset, h->crcs_offset, index->labels, &crc, error);
    if (status == RUE_OK) status = read_section(index, h->crcs_offset, h->classes_offset, NULL, &crc, error);
    if (status == RUE_OK) status = read_section(index, h->classes_offset, h->file_bytes, texts, &crc, error);
    if (status != RUE_OK) return status;
    if (crc != h->index_crc)
        return rue_fail(error, RUE_DATA,
                        "%s: its index (labels, checksums, class names) is damaged from byte %" PRIu64
                        "; make it again with rue prepare",
                        rue_files_path(index->files, 0), h->labels_offset);
    for (uint64_t i = 0; i < index->count; i++)
        if (index->labels[i] < -1 || (h->class_count && (uint32_t)index->labels[i] >= h->class_count))
            return rue_fail(error, RUE_DATA,
                            "%s: the label of record %" PRIu64 " is not a class; make it again with "
                            "rue prepare",
                            rue_files_path(index->files, 0), i);
    return add_texts(index, texts, h->file_bytes - h->classes_offset, h->class_count, error);
}

static rue_status open_tensor(const char *path, const struct rue_source_options *options,
                              struct rue_index *index, rue_error *error)
{
    struct rue_tensor_header h;
    (void)options;
    rue_status status = rue_files_add(&index->files, path, error);
    if (status == RUE_OK) status = read_header(index, &h, error);
    if (status != RUE_OK) return status;
    uint64_t text_bytes = h.file_bytes - h.classes_offset;
    index->labels = malloc(4 * h.count);
    char *texts = calloc(text_bytes + 1, 1);
    if (index->labels && texts)
        status = read_tables(index, &h, texts, error);
    else
        status = rue_fail_memory(error, "the index of a tensor file", 4 * h.count + text_bytes);
    free(texts);
    return status;
}

static rue_status verify_record(const struct rue_index *index, uint64_t item, const void *data, bool *valid,
                                rue_error *error)
{
    const struct rue_stride *stride = &index->stride;
    uint64_t crcs_offset = stride->offset + index->count * (stride->step + sizeof *index->labels);
    uint32_t crc = 0;
    rue_status status =
        rue_files_read(index->files, 0, &crc, sizeof crc, crcs_offset + item * sizeof crc, error);
    *valid = status != RUE_OK || rue_crc32c(0, data, stride->bytes) == crc;
    return status;
}

const struct rue_source_ops rue_source_tensor = {
    .format = "tensor",
    .has_mode = {[RUE_PREPROCESSED] = true},
    .can_map = true,
    .help = "one packed file of preprocessed images, made by rue prepare",
    .probe = probe_tensor,
    .open = open_tensor,
    .verify = verify_record,
};
