/* The tensor format, one file (tensor_file.h): records as they come, the index after them, the header last,
 * so that a file that was cut while it was written has no valid header. Labels and checksums lie in a file
 * beside it, to go on with after a stop; it is no part of the data. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advice.h"
#include "crc32c.h"
#include "file_io.h"
#include "part.h"
#include "sink.h"
#include "tensor_file.h"

/* What the file beside it holds of each record. */
struct note {
    int32_t label;
    uint32_t crc;
};

struct tensor {
    const struct rue_sink_options *options;
    char path[PATH_MAX], notes_path[PATH_MAX];
    int fd, notes_fd;
    struct rue_tensor_header header;
    uint64_t record_bytes;
    uint64_t added, flushed;
    unsigned char *record; /* one record, padding included */
    struct note *notes;    /* [count] */
};

static void close_tensor(void *state)
{
    struct tensor *tensor = state;
    if (tensor->fd >= 0) close(tensor->fd);
    if (tensor->notes_fd >= 0) close(tensor->notes_fd);
    free(tensor->record);
    free(tensor->notes);
    free(tensor);
}

static rue_status open_file(const char *path, int *fd, rue_error *error)
{
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (*fd >= 0) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot create %s: %s%s", path, strerror(errno),
                    rue_advice_or(errno, "; write to another folder"));
}

/* Where an earlier sink stopped. */
static rue_status go_on(struct tensor *tensor, const struct rue_sink_mark *mark, rue_error *error)
{
    tensor->added = tensor->flushed = mark->items;
    bool whole = rue_read_at(tensor->notes_fd, tensor->notes, mark->items * sizeof *tensor->notes, 0) &&
                 ftruncate(tensor->fd, (off_t)(tensor->header.data_offset +
                                               mark->items * tensor->header.record_stride)) == 0;
    if (whole) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot %s %s: %s%s", mark->items ? "go on with" : "write",
                    tensor->path, errno ? strerror(errno) : "some of it is missing; remove it",
                    rue_advice(errno));
}

static rue_status open_tensor(const char *path, const struct rue_sink_options *options,
                              const struct rue_sink_mark *mark, void **state, rue_error *error)
{
    struct tensor *tensor = calloc(1, sizeof *tensor);
    if (!tensor) return rue_fail_memory(error, "a tensor file", sizeof *tensor);
    snprintf(tensor->path, sizeof tensor->path, "%s", path);
    snprintf(tensor->notes_path, sizeof tensor->notes_path, "%s.notes", path);
    tensor->fd = tensor->notes_fd = -1;
    tensor->options = options;
    tensor->record_bytes = rue_sink_item_bytes(options);
    tensor->header = (struct rue_tensor_header){.magic = RUE_TENSOR_MAGIC,
                                                .version = RUE_TENSOR_VERSION,
                                                .dtype = options->dtype,
                                                .count = options->count,
                                                .channels = options->shape[0],
                                                .height = options->shape[1],
                                                .width = options->shape[2],
                                                .record_stride = rue_tensor_aligned(tensor->record_bytes),
                                                .data_offset = RUE_TENSOR_ALIGN};
    tensor->record = calloc(1, tensor->header.record_stride);
    tensor->notes = malloc(options->count * sizeof *tensor->notes);
    rue_status status =
        tensor->record && tensor->notes
            ? RUE_OK
            : rue_fail_memory(error, "writing a tensor file",
                              tensor->header.record_stride + options->count * sizeof *tensor->notes);
    if (status == RUE_OK) status = open_file(tensor->path, &tensor->fd, error);
    if (status == RUE_OK) status = open_file(tensor->notes_path, &tensor->notes_fd, error);
    if (status == RUE_OK) status = go_on(tensor, mark, error);
    if (status != RUE_OK) return close_tensor(tensor), status;
    *state = tensor;
    return RUE_OK;
}

static rue_status add(void *state, const struct rue_item *item, rue_error *error)
{
    struct tensor *tensor = state;
    struct rue_tensor_header *h = &tensor->header;
    memcpy(tensor->record, item->data, tensor->record_bytes);
    tensor->notes[tensor->added] = (struct note){item->label, rue_crc32c(0, item->data, item->bytes)};
    return rue_write_at(tensor->fd, tensor->path, tensor->record, h->record_stride,
                        h->data_offset + tensor->added++ * h->record_stride, error);
}

static rue_status flush(void *state, struct rue_sink_mark *mark, rue_error *error)
{
    struct tensor *tensor = state;
    const struct note *notes = tensor->notes + tensor->flushed;
    uint64_t fresh = tensor->added - tensor->flushed;
    rue_status status = rue_write_flush(tensor->fd, tensor->path, error);
    if (status == RUE_OK)
        status = rue_write_at(tensor->notes_fd, tensor->notes_path, notes, fresh * sizeof *notes,
                              tensor->flushed * sizeof *notes, error);
    if (status == RUE_OK) status = rue_write_flush(tensor->notes_fd, tensor->notes_path, error);
    if (status == RUE_OK) mark->items = tensor->flushed = tensor->added;
    return status;
}

/* Appends to the index, which ends where the file does. */
static rue_status write_more(struct tensor *tensor, const void *from, uint64_t bytes, rue_error *error)
{
    struct rue_tensor_header *h = &tensor->header;
    rue_status status = rue_write_at(tensor->fd, tensor->path, from, bytes, h->file_bytes, error);
    h->index_crc = rue_crc32c(h->index_crc, from, bytes);
    h->file_bytes += bytes;
    return status;
}

/* One of the two columns of the notes, `offset` within each. */
static rue_status write_column(struct tensor *tensor, size_t offset, rue_error *error)
{
    enum { CHUNK = 4096 };
    unsigned char chunk[4 * CHUNK];
    rue_status status = RUE_OK;
    for (uint64_t at = 0, some; status == RUE_OK && at < tensor->header.count; at += some) {
        some = tensor->header.count - at < CHUNK ? tensor->header.count - at : CHUNK;
        for (uint64_t i = 0; i < some; i++)
            memcpy(chunk + 4 * i, (const char *)&tensor->notes[at + i] + offset, 4);
        status = write_more(tensor, chunk, 4 * some, error);
    }
    return status;
}

static rue_status write_index(struct tensor *tensor, rue_error *error)
{
    struct rue_tensor_header *h = &tensor->header;
    const struct rue_sink_options *options = tensor->options;
    h->labels_offset = h->file_bytes = h->data_offset + h->count * h->record_stride;
    h->crcs_offset = h->labels_offset + 4 * h->count;
    h->classes_offset = h->crcs_offset + 4 * h->count;
    h->class_count = (uint32_t)options->class_count;
    rue_status status = write_column(tensor, offsetof(struct note, label), error);
    if (status == RUE_OK) status = write_column(tensor, offsetof(struct note, crc), error);
    for (size_t c = 0; status == RUE_OK && c < options->class_count; c++)
        status = write_more(tensor, options->classes[c], strlen(options->classes[c]) + 1, error);
    return status;
}

/* Records first, header after them. */
static rue_status finish(void *state, rue_error *error)
{
    struct tensor *tensor = state;
    struct rue_tensor_header *h = &tensor->header;
    rue_status status = write_index(tensor, error);
    if (status == RUE_OK) status = rue_write_flush(tensor->fd, tensor->path, error);
    h->header_crc = rue_crc32c(0, h, offsetof(struct rue_tensor_header, header_crc));
    if (status == RUE_OK) status = rue_write_at(tensor->fd, tensor->path, h, sizeof *h, 0, error);
    if (status == RUE_OK) status = rue_write_flush(tensor->fd, tensor->path, error);
    return status;
}

const struct rue_sink_ops rue_sink_tensor = {
    .format = "tensor",
    .suffix = ".tensor",
    .help = "one packed file of fixed-size records, which NumPy can map",
    .holds = {[RUE_PREPROCESSED] = true},
    .labels_classed = true,
    .open = open_tensor,
    .add = add,
    .flush = flush,
    .finish = finish,
    .close = close_tensor,
};
