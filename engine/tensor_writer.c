#include "tensor_writer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advice.h"
#include "crc32c.h"
#include "part.h"
#include "tensor_file.h"

struct rue_tensor_writer {
    char path[PATH_MAX];
    char temporary[RUE_PART_BYTES]; /* "" once renamed or removed */
    int fd;
    bool overwrite;
    struct rue_tensor_header header;
    uint64_t record_bytes;
    uint64_t added;
    unsigned char *record; /* one record, padding included */
    int32_t *labels;
    uint32_t *crcs;
};

static rue_status write_at(struct rue_tensor_writer *writer, const void *from, uint64_t bytes,
                           uint64_t offset, rue_error *error)
{
    for (uint64_t done = 0; done < bytes;) {
        ssize_t put = pwrite(writer->fd, (const char *)from + done, bytes - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return rue_fail(error, RUE_STORE, "cannot write %s: %s%s", writer->path, strerror(errno),
                            rue_advice(errno));
        done += (uint64_t)put;
    }
    return RUE_OK;
}

static rue_status allocate(struct rue_tensor_writer *writer, rue_error *error)
{
    const struct rue_tensor_header *h = &writer->header;
    writer->record = calloc(1, h->record_stride);
    writer->labels = malloc(4 * h->count);
    writer->crcs = malloc(4 * h->count);
    if (writer->record && writer->labels && writer->crcs) return RUE_OK;
    return rue_fail_memory(error, "writing a tensor file", h->record_stride + 8 * h->count);
}

rue_status rue_tensor_writer_open(const char *path, const struct rue_tensor_shape *shape, uint64_t count,
                                  bool overwrite, struct rue_tensor_writer **out, rue_error *error)
{
    assert(count > 0);
    if (strlen(path) >= PATH_MAX) return rue_fail(error, RUE_USAGE, "the path %.64s... is too long", path);
    if (!overwrite && access(path, F_OK) == 0)
        return rue_fail(error, RUE_USAGE, "%s is there already: give another name, or --force to replace it",
                        path);
    struct stat about;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return rue_fail(error, RUE_USAGE, "%s is no regular file, so it is not replaced; give another name",
                        path);
    struct rue_tensor_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return rue_fail_memory(error, "a tensor writer", sizeof *writer);
    snprintf(writer->path, sizeof writer->path, "%s", path);
    writer->overwrite = overwrite;
    writer->record_bytes =
        (uint64_t)shape->channels * shape->height * shape->width * rue_dtype_bytes[shape->dtype];
    writer->header = (struct rue_tensor_header){.magic = RUE_TENSOR_MAGIC,
                                                .version = RUE_TENSOR_VERSION,
                                                .dtype = shape->dtype,
                                                .count = count,
                                                .channels = shape->channels,
                                                .height = shape->height,
                                                .width = shape->width,
                                                .record_stride = rue_tensor_aligned(writer->record_bytes),
                                                .data_offset = RUE_TENSOR_ALIGN};
    writer->fd = rue_part_file(path, writer->temporary);
    if (writer->fd < 0) {
        rue_status status = rue_fail(error, RUE_STORE, "cannot create %s: %s%s", path, strerror(errno),
                                     rue_advice_or(errno, "; write to another folder"));
        return free(writer), status;
    }
    rue_status status = allocate(writer, error);
    if (status != RUE_OK) return rue_tensor_writer_close(writer), status;
    *out = writer;
    return RUE_OK;
}

rue_status rue_tensor_writer_add(struct rue_tensor_writer *writer, const void *values, int32_t label,
                                 rue_error *error)
{
    struct rue_tensor_header *h = &writer->header;
    assert(writer->added < h->count);
    memcpy(writer->record, values, writer->record_bytes);
    rue_status status = write_at(writer, writer->record, h->record_stride,
                                 h->data_offset + writer->added * h->record_stride, error);
    if (status != RUE_OK) return status;
    writer->labels[writer->added] = label;
    writer->crcs[writer->added++] = rue_crc32c(0, values, writer->record_bytes);
    return RUE_OK;
}

/* Appends to the index, which ends where the file does. */
static rue_status write_more(struct rue_tensor_writer *writer, const void *from, uint64_t bytes,
                             rue_error *error)
{
    struct rue_tensor_header *h = &writer->header;
    rue_status status = write_at(writer, from, bytes, h->file_bytes, error);
    h->index_crc = rue_crc32c(h->index_crc, from, bytes);
    h->file_bytes += bytes;
    return status;
}

static rue_status write_index(struct rue_tensor_writer *writer, const char *const *classes,
                              size_t class_count, rue_error *error)
{
    struct rue_tensor_header *h = &writer->header;
    h->labels_offset = h->file_bytes = h->data_offset + h->count * h->record_stride;
    h->crcs_offset = h->labels_offset + 4 * h->count;
    h->classes_offset = h->crcs_offset + 4 * h->count;
    h->class_count = (uint32_t)class_count;
    rue_status status = write_more(writer, writer->labels, 4 * h->count, error);
    if (status == RUE_OK) status = write_more(writer, writer->crcs, 4 * h->count, error);
    for (size_t c = 0; status == RUE_OK && c < class_count; c++)
        status = write_more(writer, classes[c], strlen(classes[c]) + 1, error);
    return status;
}

/* Records first, header after them, name last: whatever stops this, nobody sees half a file. */
static rue_status flush(struct rue_tensor_writer *writer, rue_error *error)
{
    if (fsync(writer->fd) == 0) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot write %s to the disk: %s%s", writer->path, strerror(errno),
                    rue_advice(errno));
}

static rue_status publish(struct rue_tensor_writer *writer, rue_error *error)
{
    int failed = writer->overwrite
                     ? rename(writer->temporary, writer->path)
                     : renameat2(AT_FDCWD, writer->temporary, AT_FDCWD, writer->path, RENAME_NOREPLACE);
    if (failed && !writer->overwrite && errno == EINVAL && access(writer->path, F_OK) != 0)
        failed = rename(writer->temporary, writer->path); /* a file system without RENAME_NOREPLACE */
    if (failed)
        return rue_fail(error, RUE_STORE, "cannot rename %s to %s: %s", writer->temporary, writer->path,
                        strerror(errno));
    writer->temporary[0] = 0;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", writer->path);
    int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return RUE_OK; /* the data are safe; only the name's durability is not ours to force */
    fsync(fd);
    close(fd);
    return RUE_OK;
}

rue_status rue_tensor_writer_finish(struct rue_tensor_writer *writer, const char *const *classes,
                                    size_t class_count, rue_error *error)
{
    assert(writer->added == writer->header.count);
    rue_status status = write_index(writer, classes, class_count, error);
    if (status == RUE_OK) status = flush(writer, error);
    writer->header.header_crc =
        rue_crc32c(0, &writer->header, offsetof(struct rue_tensor_header, header_crc));
    if (status == RUE_OK) status = write_at(writer, &writer->header, sizeof writer->header, 0, error);
    if (status == RUE_OK) status = flush(writer, error);
    return status == RUE_OK ? publish(writer, error) : status;
}

void rue_tensor_writer_close(struct rue_tensor_writer *writer)
{
    if (!writer) return;
    if (writer->fd >= 0) close(writer->fd);
    rue_part_remove(writer->temporary);
    free(writer->record);
    free(writer->labels);
    free(writer->crcs);
    free(writer);
}
