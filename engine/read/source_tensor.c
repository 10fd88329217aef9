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

#include "crc32c.h"
#include "file_identity.h"
#include "hash.h"
#include "mapping.h"
#include "read_at.h"
#include "source.h"
#include "tensor_file.h"

enum { CLASSES_MAX = 1 << 24, CLASS_TEXT_MAX = 1 << 28 };

struct tensor {
    char path[PATH_MAX];
    int fd;
    struct rue_file_identity identity;
    int direct_fd; /* reads past the page cache; -1 where the file system has no such reads */
    struct rue_tensor_header header;
    uint64_t record_bytes; /* values only */
    char *class_text;      /* NUL-terminated names, one after the other */
    const char **classes;  /* [class_count] into class_text */
    struct rue_mapping mapping;
};

static const char *read_error(void)
{
    return errno ? strerror(errno) : "the file ends";
}

static rue_status fail_read(const struct tensor *tensor, const char *what, rue_error *error)
{
    return rue_fail(error, rue_source_failure(errno), "cannot read the %s of %s: %s", what, tensor->path,
                    read_error());
}

static rue_status probe(const char *path, bool *is, rue_error *error)
{
    char magic[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail_open(error, path);
    bool whole = rue_read_at(fd, magic, sizeof magic, 0);
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
    tensor->identity = rue_file_identity_of(&about);
    if (!rue_read_at(tensor->fd, &tensor->header, sizeof tensor->header, 0))
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

static bool names_class(const struct tensor *tensor, int32_t label)
{
    return label >= 0 && (tensor->header.class_count == 0 || (uint32_t)label < tensor->header.class_count);
}

/* Whether the index (labels, checksums, class names) is as it was written, and what another writer may have
 * got wrong: it stays in the file, however many items there are. */
static rue_status check_index(const struct tensor *tensor, rue_error *error)
{
    const struct rue_tensor_header *h = &tensor->header;
    static const size_t chunk = 1 << 16;
    uint64_t end = h->file_bytes, bad = h->count;
    int32_t *buffer = malloc(chunk);
    if (!buffer) return rue_fail_memory(error, "the index of a tensor file", chunk);
    uint32_t crc = 0;
    bool whole = true;
    for (uint64_t at = h->labels_offset, bytes; whole && at < end; at += bytes) {
        uint64_t left = (at < h->crcs_offset ? h->crcs_offset : end) - at;
        bytes = left < chunk ? left : chunk;
        whole = rue_read_at(tensor->fd, buffer, bytes, at);
        if (!whole) break;
        crc = rue_crc32c(crc, buffer, bytes);
        for (uint64_t i = 0; at < h->crcs_offset && bad == h->count && i < bytes / 4; i++)
            if (!names_class(tensor, buffer[i])) bad = (at - h->labels_offset) / 4 + i;
    }
    int why = errno;
    free(buffer);
    errno = why;
    if (!whole) return fail_read(tensor, "index", error);
    if (crc != h->index_crc)
        return rue_fail(error, RUE_DATA,
                        "%s: its index (labels, checksums, class names) from byte %" PRIu64
                        " on is damaged; make it again with 'rue prepare'",
                        tensor->path, h->labels_offset);
    if (bad < h->count)
        return rue_fail(error, RUE_DATA,
                        "%s: the label of record %" PRIu64 " names no class; make it again with "
                        "'rue prepare'",
                        tensor->path, bad);
    return RUE_OK;
}

static rue_status read_classes(struct tensor *tensor, rue_error *error)
{
    const struct rue_tensor_header *h = &tensor->header;
    uint64_t bytes = h->file_bytes - h->classes_offset;
    tensor->class_text = calloc(bytes + 1, 1);
    tensor->classes = calloc((size_t)h->class_count + 1, sizeof *tensor->classes);
    if (!tensor->class_text || !tensor->classes) return rue_fail_memory(error, "class names", bytes);
    if (!rue_read_at(tensor->fd, tensor->class_text, bytes, h->classes_offset))
        return fail_read(tensor, "index", error);
    const char *at = tensor->class_text, *end = at + bytes;
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
    rue_mapping_close(&tensor->mapping);
    if (tensor->direct_fd >= 0) close(tensor->direct_fd);
    if (tensor->fd >= 0) close(tensor->fd);
    free(tensor->class_text);
    free(tensor->classes);
    free(tensor);
}

static rue_status open_tensor(const char *path, const struct rue_source_options *options, void **state,
                              rue_error *error)
{
    (void)options;
    struct tensor *tensor = calloc(1, sizeof *tensor);
    if (!tensor) return rue_fail_memory(error, "a tensor source", sizeof *tensor);
    snprintf(tensor->path, sizeof tensor->path, "%s", path);
    tensor->direct_fd = -1;
    tensor->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    rue_status status = RUE_OK;
    if (tensor->fd < 0) status = rue_fail_open(error, path);
    if (status == RUE_OK) status = read_header(tensor, error);
    if (status == RUE_OK) status = check_index(tensor, error);
    if (status == RUE_OK) status = read_classes(tensor, error);
    if (status != RUE_OK) return close_tensor(tensor), status;
    tensor->direct_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_DIRECT);
    rue_mapping_open(&tensor->mapping, tensor->fd, tensor->header.file_bytes);
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

/* Entry `item` of one of the index's two tables. */
static rue_status read_entry(const struct tensor *tensor, const char *what, uint64_t table, uint64_t item,
                             void *into, rue_error *error)
{
    if (rue_read_at(tensor->fd, into, 4, table + 4 * item)) return RUE_OK;
    return rue_fail(error, rue_source_failure(errno), "cannot read the %s of record %" PRIu64 " of %s: %s",
                    what, item, tensor->path, read_error());
}

static rue_status label(const void *state, uint64_t item, int32_t *out, rue_error *error)
{
    const struct tensor *tensor = state;
    return read_entry(tensor, "label", tensor->header.labels_offset, item, out, error);
}

static void name(const void *state, uint64_t item, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s record %" PRIu64, ((const struct tensor *)state)->path, item);
}

static uint64_t record_offset(const struct tensor *tensor, uint64_t item)
{
    return tensor->header.data_offset + item * tensor->header.record_stride;
}

static rue_status fail_record(const struct tensor *tensor, uint64_t item, rue_error *error)
{
    return rue_fail(error, rue_source_failure(errno),
                    "cannot read record %" PRIu64 " of %s at byte %" PRIu64 ": %s", item, tensor->path,
                    record_offset(tensor, item), read_error());
}

static rue_status read_record(const void *state, uint64_t item, void *into, rue_error *error)
{
    const struct tensor *tensor = state;
    bool whole = rue_read_at(tensor->fd, into, tensor->record_bytes, record_offset(tensor, item));
    return whole ? RUE_OK : fail_record(tensor, item, error);
}

static bool allows(void *state, enum rue_access access)
{
    struct tensor *tensor = state;
    return access == RUE_ACCESS_VIEW ? rue_mapping_in_memory(&tensor->mapping) : tensor->direct_fd >= 0;
}

static rue_status view_record(const void *state, uint64_t item, const void **out, rue_error *error)
{
    const struct tensor *tensor = state;
    *out = rue_mapping_at(&tensor->mapping, record_offset(tensor, item), tensor->record_bytes);
    return *out ? RUE_OK : fail_record(tensor, item, error);
}

static void place(const void *state, enum rue_access access, uint64_t item, struct rue_place *out)
{
    const struct tensor *tensor = state;
    bool direct = access == RUE_ACCESS_DIRECT;
    *out = (struct rue_place){
        .fd = direct ? tensor->direct_fd : tensor->fd,
        .offset = record_offset(tensor, item),
        .bytes = direct ? tensor->header.record_stride : tensor->record_bytes,
    };
}

static void forget(void *state)
{
    rue_mapping_forget(&((struct tensor *)state)->mapping);
}

static rue_status check(const void *state, rue_error *error)
{
    const struct tensor *tensor = state;
    return rue_file_identity_check(&tensor->identity, tensor->path, error);
}

static rue_status verify(const void *state, uint64_t item, const void *data, rue_error *error)
{
    const struct tensor *tensor = state;
    uint32_t crc;
    rue_status status = read_entry(tensor, "checksum", tensor->header.crcs_offset, item, &crc, error);
    if (status != RUE_OK || rue_crc32c(0, data, tensor->record_bytes) == crc) return status;
    return rue_fail(error, RUE_DATA,
                    "record %" PRIu64 " of %s at byte %" PRIu64 " is damaged (its CRC-32C is wrong); "
                    "make the file again with 'rue prepare'",
                    item, tensor->path, record_offset(tensor, item));
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
    const struct tensor *tensor = state; /* whose header has a checksum over those of all records */
    return rue_hash(RUE_HASH_START, &tensor->header, sizeof tensor->header);
}

const struct rue_source_ops rue_source_tensor = {
    .format = "tensor",
    .holds = {[RUE_PREPROCESSED] = true},
    .help = "one packed file of preprocessed images, made by 'rue prepare'",
    .probe = probe,
    .open = open_tensor,
    .close = close_tensor,
    .count = count,
    .bytes = item_bytes,
    .label = label,
    .name = name,
    .read = read_record,
    .allows = allows,
    .view = view_record,
    .place = place,
    .forget = forget,
    .check = check,
    .class_count = class_count,
    .class_name = class_name,
    .dtype = dtype,
    .shape = shape,
    .verify = verify,
    .digest = digest,
};
