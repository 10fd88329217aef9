/* The npy format: one NumPy array, float32, count x 3 x 224 x 224, without labels. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "files.h"
#include "source.h"

enum { HEADER_BYTES = 128, RECORD_BYTES = 4 * 3 * 224 * 224 };

static bool read_header(const char header[HEADER_BYTES + 1], uint64_t *count)
{
    static const char fixed[] = "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (";
    int end = 0;
    if (memcmp(header, fixed, sizeof fixed - 1) != 0) return false;
    sscanf(header + sizeof fixed - 1, "%" SCNu64 ", 3, 224, 224), }%n", count, &end);
    return end > 0 && *count > 0 && *count <= INT64_MAX / RECORD_BYTES - 1;
}

static rue_status probe(const char *path, bool *matches, rue_error *error)
{
    char header[HEADER_BYTES + 1] = "";
    uint64_t count;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail_open(error, path);
    *matches = rue_read_at(fd, header, HEADER_BYTES, 0) && read_header(header, &count);
    close(fd);
    return RUE_OK;
}

static rue_status open_npy(const char *path, const struct rue_source_options *options,
                           struct rue_index *index, rue_error *error)
{
    (void)options;
    char header[HEADER_BYTES + 1] = "";
    rue_status status = rue_files_add(&index->files, path, error);
    if (status == RUE_OK) status = rue_files_read(index->files, 0, header, HEADER_BYTES, 0, error);
    if (status != RUE_OK) return status;
    if (!read_header(header, &index->count))
        return rue_fail(error, RUE_DATA, "%s is not a float32 array of count x 3 x 224 x 224; save it as one",
                        path);
    uint64_t file_bytes = rue_files_identity(index->files, 0).bytes;
    if (file_bytes != HEADER_BYTES + index->count * RECORD_BYTES)
        return rue_fail(error, RUE_DATA,
                        "%s has %" PRIu64 " bytes, which does not match its shape; save it again", path,
                        file_bytes);
    index->mode = RUE_PREPROCESSED;
    index->dtype = RUE_FLOAT32;
    memcpy(index->shape, (uint32_t[]){3, 224, 224}, sizeof index->shape);
    index->stride = (struct rue_stride){HEADER_BYTES, RECORD_BYTES, RECORD_BYTES};
    return RUE_OK;
}

const struct rue_source_ops rue_source_npy = {
    .format = "npy",
    .has_mode = {[RUE_PREPROCESSED] = true},
    .help = "one float32 array of NumPy",
    .probe = probe,
    .open = open_npy,
};
