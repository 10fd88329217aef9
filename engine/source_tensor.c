/* The tensor format: one packed file of preprocessed images (tensor_file.h). */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "crc32c.h"
#include "hash.h"
#include "source.h"
#include "tensor_file.h"

enum { CLASSES_MAX = 1 << 24, CLASS_TEXT_MAX = 1 << 28 };

struct tensor {
    char path[PATH_MAX];
    int fd;
    struct rue_tensor_header header;
    uint64_t record_bytes; /* values only */
    int32_t *labels;       /* [count] */
    uint32_t *crcs;        /* [count] */
    char *class_text;      /* NUL-terminated names, one after the other */
    const char **classes;  /* [class_count] into class_text */
};

/* Reads exactly `bytes` at `offset`; false with errno, 0 for the end of the file. */
static bool read_at(int fd, void *into, uint64_t bytes, uint64_t offset)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (char *)into + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        if (got == 0) return errno = 0, false;
        done += (uint64_t)got;
    }
    return true;
}

static const char *read_error(void)
{
    return errno ? strerror(errno) : "the file ends";
}

static rue_status fail_read(const struct tensor *tensor, const char *what, rue_error *error)
{
    return rue_fail(error, rue_source_failure(errno), "cannot read the %s of %s: %s", what, tensor->path,
                    read_error());
}

static rue_status fail_open(const char *path, rue_error *error)
{
    return rue_fail(error, rue_source_failure(errno), "cannot open %s: %s%s", path, strerror(errno),
                    rue_advice(errno));
}

static rue_status probe(const char *path, bool *is, rue_error *error)
{
    char magic[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return fail_open(path, error);
    bool whole = read_at(fd, magic, sizeof magic, 0);
    int why = whole ? 0 : errno;
    close(fd);
    if (why == EIO)
        return rue_fail(error, rue_source_failure(why), "cannot read %s: %s", path, strerror(why));
    *is = whole && memcmp(magic, RUE_TENSOR_MAGIC, sizeof magic) == 0;
    return RUE_OK;
}

/* What is wrong with the header, or NULL. Bounds are checked so that nothing overflows. */
static const char *header_fault(const struct rue_tensor_header *h)
{
    const uint64_t limit = UINT64_C(1) << 48;
    if (memcmp(h->magic, RUE_TENSOR_MAGIC, sizeof h->magic) != 0)
        return "it has no tensor header (it was not finished, or is another format)";
    if (h->version == 1) return "it was made by an older rue";
    if (h->version != RUE_TENSOR_VERSION) return "it is of another version of the format";
    if (h->header_crc != rue_crc32c(0, h, offsetof(struct rue_tensor_header, header_crc)))
        return "its header is damaged";
    if (h->dtype >= RUE_DTYPE_COUNT) return "its dtype is unknown";
    if (h->channels == 0 || h->height == 0 || h->width == 0 || h->channels > 4096 || h->height > 65536 ||
        h->width > 65536)
        return "its shape is impossible";
    if (h->count == 0 || h->count > limit / 8) return "its number of records is impossible";
    uint64_t values = (uint64_t)h->channels * h->height * h->width * rue_dtype_bytes[h->dtype];
    if (h->record_stride != rue_tensor_aligned(values) || h->record_stride > limit / h->count)
        return "its record size does not fit its shape";
    if (h->data_offset != RUE_TENSOR_ALIGN ||
        h->labels_offset != h->data_offset + h->count * h->record_stride ||
        h->crcs_offset != h->labels_offset + 4 * h->count ||
        h->classes_offset != h->crcs_offset + 4 * h->count || h->file_bytes < h->classes_offset ||
        h->file_bytes - h->classes_offset > limit)
        return "its sections do not follow each other";
    if (h->class_count > CLASSES_MAX || h->file_bytes - h->classes_offset > CLASS_TEXT_MAX)
        return "its classes are impossible";
    if (h->class_count > h->file_bytes - h->classes_offset) return "its class names are missing";
    return NULL;
}

static rue_status read_header(struct tensor *tensor, rue_error *error)
{
    struct stat about;
    if (fstat(tensor->fd, &about) != 0 || !S_ISREG(about.st_mode))
        return rue_fail(error, RUE_DATA, "%s is not a regular file", tensor->path);
    if (!read_at(tensor->fd, &tensor->header, sizeof tensor->header, 0))
        return fail_read(tensor, "header", error);
    const char *fault = header_fault(&tensor->header);
    if (fault)
        return rue_fail(error, RUE_DATA, "%s: %s; make it again with 'rue prepare'", tensor->path, fault);
    if (tensor->header.file_bytes != (uint64_t)about.st_size)
        return rue_fail(error, RUE_DATA,
                        "%s: it ends at byte %" PRIu64 ", its header says at %" PRIu64
                        "; make it again with 'rue prepare'",
                        tensor->path, (uint64_t)about.st_size, tensor->header.file_bytes);
    tensor->record_bytes = (uint64_t)tensor->header.channels * tensor->header.height * tensor->header.width *
                           rue_dtype_bytes[tensor->header.dtype];
    return RUE_OK;
}

/* Labels, checksums and class names, as they were written. */
static rue_status read_index(struct tensor *tensor, rue_error *error)
{
    const struct rue_tensor_header *h = &tensor->header;
    uint64_t text_bytes = h->file_bytes - h->classes_offset;
    tensor->labels = malloc(4 * h->count);
    tensor->crcs = malloc(4 * h->count);
    tensor->class_text = calloc(text_bytes + 1, 1);
    tensor->classes = calloc((size_t)h->class_count + 1, sizeof *tensor->classes);
    if (!tensor->labels || !tensor->crcs || !tensor->class_text || !tensor->classes)
        return rue_fail_memory(error, "the index of a tensor file", 8 * h->count + text_bytes);
    if (!read_at(tensor->fd, tensor->labels, 4 * h->count, h->labels_offset) ||
        !read_at(tensor->fd, tensor->crcs, 4 * h->count, h->crcs_offset) ||
        !read_at(tensor->fd, tensor->class_text, text_bytes, h->classes_offset))
        return fail_read(tensor, "index", error);
    uint32_t crc = rue_crc32c(0, tensor->labels, 4 * h->count);
    crc = rue_crc32c(crc, tensor->crcs, 4 * h->count);
    if (rue_crc32c(crc, tensor->class_text, text_bytes) == h->index_crc) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "%s: its index (labels, checksums, class names) from byte %" PRIu64
                    " on is damaged; make it again with 'rue prepare'",
                    tensor->path, h->labels_offset);
}

/* What another writer may have got wrong. */
static rue_status check_index(struct tensor *tensor, rue_error *error)
{
    const struct rue_tensor_header *h = &tensor->header;
    const char *at = tensor->class_text, *end = at + (h->file_bytes - h->classes_offset);
    for (uint64_t i = 0; i < h->count; i++)
        if (tensor->labels[i] < 0 || (h->class_count && (uint32_t)tensor->labels[i] >= h->class_count))
            return rue_fail(error, RUE_DATA,
                            "%s: the label of record %" PRIu64 " names no class; make it again with "
                            "'rue prepare'",
                            tensor->path, i);
    for (uint32_t c = 0; c < h->class_count; c++) {
        if (at >= end)
            return rue_fail(error, RUE_DATA, "%s: class names are missing; make it again with 'rue prepare'",
                            tensor->path);
        tensor->classes[c] = at;
        at += strlen(at) + 1;
    }
    return RUE_OK;
}

static void close_tensor(void *state)
{
    struct tensor *tensor = state;
    if (tensor->fd >= 0) close(tensor->fd);
    free(tensor->labels);
    free(tensor->crcs);
    free(tensor->class_text);
    free(tensor->classes);
    free(tensor);
}

static rue_status open_tensor(const char *path, void **state, rue_error *error)
{
    struct tensor *tensor = calloc(1, sizeof *tensor);
    if (!tensor) return rue_fail_memory(error, "a tensor source", sizeof *tensor);
    snprintf(tensor->path, sizeof tensor->path, "%s", path);
    tensor->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    rue_status status = RUE_OK;
    if (tensor->fd < 0) status = fail_open(path, error);
    if (status == RUE_OK) status = read_header(tensor, error);
    if (status == RUE_OK) status = read_index(tensor, error);
    if (status == RUE_OK) status = check_index(tensor, error);
    if (status != RUE_OK) return close_tensor(tensor), status;
    *state = tensor;
    return RUE_OK;
}

static uint64_t count(const void *state)
{
    return ((const struct tensor *)state)->header.count;
}

static uint64_t item_bytes(const void *state, uint64_t item)
{
    (void)item;
    return ((const struct tensor *)state)->record_bytes;
}

static int32_t label(const void *state, uint64_t item)
{
    return ((const struct tensor *)state)->labels[item];
}

static void name(const void *state, uint64_t item, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s record %" PRIu64, ((const struct tensor *)state)->path, item);
}

static rue_status read_record(const void *state, uint64_t item, void *into, rue_error *error)
{
    const struct tensor *tensor = state;
    uint64_t offset = tensor->header.data_offset + item * tensor->header.record_stride;
    if (read_at(tensor->fd, into, tensor->record_bytes, offset)) return RUE_OK;
    return rue_fail(error, rue_source_failure(errno),
                    "cannot read record %" PRIu64 " of %s at byte %" PRIu64 ": %s", item, tensor->path,
                    offset, read_error());
}

static rue_status verify(const void *state, uint64_t item, const void *data, rue_error *error)
{
    const struct tensor *tensor = state;
    if (rue_crc32c(0, data, tensor->record_bytes) == tensor->crcs[item]) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "record %" PRIu64 " of %s at byte %" PRIu64 " is damaged (its CRC-32C is wrong); "
                    "make the file again with 'rue prepare'",
                    item, tensor->path, tensor->header.data_offset + item * tensor->header.record_stride);
}

static size_t class_count(const void *state)
{
    return ((const struct tensor *)state)->header.class_count;
}

static const char *class_name(const void *state, size_t class_index)
{
    return ((const struct tensor *)state)->classes[class_index];
}

static enum rue_dtype dtype(const void *state)
{
    return ((const struct tensor *)state)->header.dtype;
}

static void shape(const void *state, uint32_t out[3])
{
    const struct rue_tensor_header *header = &((const struct tensor *)state)->header;
    out[0] = header->channels;
    out[1] = header->height;
    out[2] = header->width;
}

static uint64_t digest(const void *state)
{
    const struct tensor *tensor = state;
    uint64_t hash = rue_hash(RUE_HASH_START, &tensor->header, sizeof tensor->header);
    return rue_hash(hash, tensor->crcs, 4 * tensor->header.count);
}

const struct rue_source_ops rue_source_tensor = {
    .format = "tensor",
    .mode = RUE_PREPROCESSED,
    .help = "one packed file of preprocessed images, made by 'rue prepare'",
    .probe = probe,
    .open = open_tensor,
    .close = close_tensor,
    .count = count,
    .bytes = item_bytes,
    .label = label,
    .name = name,
    .read = read_record,
    .class_count = class_count,
    .class_name = class_name,
    .dtype = dtype,
    .shape = shape,
    .verify = verify,
    .digest = digest,
};
