/* The tensor format, one file (tensor_file.h). The header is written last, so that an incomplete file has no
 * valid header. */
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32c.h"
#include "file_io.h"
#include "item_file.h"
#include "part.h"
#include "sink.h"
#include "tensor_file.h"

struct tensor {
    const struct rue_sink_options *options;
    char path[PATH_MAX];
    int fd;
    struct rue_tensor_header header;
    uint64_t record_bytes;
    uint64_t added;
    unsigned char *record;        /* one record with its padding */
    uint32_t *labels, *checksums; /* [count] each, adjacent as in the file */
};

static void close_tensor(void *state)
{
    struct tensor *tensor = state;
    if (tensor->fd >= 0) close(tensor->fd);
    free(tensor->record);
    free(tensor->labels);
}

static struct rue_tensor_header make_header(const struct rue_sink_options *options)
{
    struct rue_tensor_header h = {.magic = RUE_TENSOR_MAGIC,
                                  .version = RUE_TENSOR_VERSION,
                                  .dtype = options->dtype,
                                  .count = options->count,
                                  .channels = options->shape[0],
                                  .height = options->shape[1],
                                  .width = options->shape[2],
                                  .class_count = (uint32_t)options->class_count,
                                  .record_stride = rue_tensor_aligned(rue_sink_item_bytes(options)),
                                  .data_offset = RUE_TENSOR_ALIGN};
    h.labels_offset = h.data_offset + h.count * h.record_stride;
    h.crcs_offset = h.labels_offset + 4 * h.count;
    h.classes_offset = h.file_bytes = h.crcs_offset + 4 * h.count;
    return h;
}

static rue_status open_tensor(void *state, const char *path, const struct rue_sink_options *options,
                              rue_error *error)
{
    struct tensor *tensor = state;
    snprintf(tensor->path, sizeof tensor->path, "%s", rue_sink_path(options, path));
    tensor->fd = -1;
    tensor->options = options;
    tensor->record_bytes = rue_sink_item_bytes(options);
    tensor->header = make_header(options);
    tensor->record = calloc(1, tensor->header.record_stride);
    tensor->labels = malloc(8 * options->count);
    if (!tensor->record || !tensor->labels)
        return rue_fail_memory(error, "writing a tensor file",
                               tensor->header.record_stride + 8 * options->count);
    tensor->checksums = tensor->labels + options->count;
    tensor->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return tensor->fd >= 0 ? RUE_OK : rue_item_file_fail(tensor->path, "", error);
}

static rue_status add_to_tensor(void *state, const struct rue_item *item, rue_error *error)
{
    struct tensor *tensor = state;
    struct rue_tensor_header *h = &tensor->header;
    memcpy(tensor->record, item->data, tensor->record_bytes);
    tensor->labels[tensor->added] = (uint32_t)item->label;
    tensor->checksums[tensor->added] = rue_crc32c(0, item->data, item->bytes);
    return rue_write_at(tensor->fd, tensor->path, tensor->record, h->record_stride,
                        h->data_offset + tensor->added++ * h->record_stride, error);
}

/* Writes a text at the end of the index. */
static rue_status append_text(struct tensor *tensor, const char *text, rue_error *error)
{
    struct rue_tensor_header *h = &tensor->header;
    size_t bytes = strlen(text) + 1;
    rue_status status = rue_write_at(tensor->fd, tensor->path, text, bytes, h->file_bytes, error);
    h->index_crc = rue_crc32c(h->index_crc, text, bytes);
    h->file_bytes += bytes;
    return status;
}

/* Writes the header last. */
static rue_status finish_tensor(void *state, rue_error *error)
{
    struct tensor *tensor = state;
    struct rue_tensor_header *h = &tensor->header;
    rue_status status = RUE_OK;
    h->index_crc = rue_crc32c(0, tensor->labels, 8 * h->count);
    for (size_t c = 0; status == RUE_OK && c < h->class_count; c++)
        status = append_text(tensor, tensor->options->classes[c], error);
    if (status == RUE_OK && tensor->options->made_with)
        status = append_text(tensor, tensor->options->made_with, error);
    if (status == RUE_OK)
        status =
            rue_write_at(tensor->fd, tensor->path, tensor->labels, 8 * h->count, h->labels_offset, error);
    if (status == RUE_OK) status = rue_write_flush(tensor->fd, tensor->path, error);
    h->header_crc = rue_crc32c(0, h, offsetof(struct rue_tensor_header, header_crc));
    if (status == RUE_OK) status = rue_write_at(tensor->fd, tensor->path, h, sizeof *h, 0, error);
    return status == RUE_OK ? rue_write_flush(tensor->fd, tensor->path, error) : status;
}

const struct rue_sink_ops rue_sink_tensor = {
    .format = "tensor",
    .suffix = ".tensor",
    .help = "one packed file of fixed-size records, which NumPy can map",
    .has_mode = {[RUE_PREPROCESSED] = true},
    .unnamed = true,
    .state_bytes = sizeof(struct tensor),
    .open = open_tensor,
    .add = add_to_tensor,
    .finish = finish_tensor,
    .close = close_tensor,
};
