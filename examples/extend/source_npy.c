/* The npy format: one array of NumPy's, float32 of count x 3 x 224 x 224, without labels. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hash.h"
#include "source.h"

enum { HEADER_BYTES = 128, RECORD_BYTES = 4 * 3 * 224 * 224 };

struct npy {
    char path[PATH_MAX];
    int fd;
    uint64_t count, file_bytes;
};

static bool read_header(int fd, uint64_t *count)
{
    static const char fixed[] = "\x93NUMPY\1\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': (";
    char header[HEADER_BYTES + 1] = "";
    int end = 0;
    if (pread(fd, header, HEADER_BYTES, 0) != HEADER_BYTES || memcmp(header, fixed, sizeof fixed - 1) != 0)
        return false;
    sscanf(header + sizeof fixed - 1, "%" SCNu64 ", 3, 224, 224), }%n", count, &end);
    return end > 0 && *count > 0 && *count <= INT64_MAX / RECORD_BYTES - 1;
}

static rue_status probe(const char *path, bool *is, rue_error *error)
{
    uint64_t count;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return rue_fail_open(error, path);
    *is = read_header(fd, &count);
    close(fd);
    return RUE_OK;
}

static void close_npy(void *state)
{
    struct npy *npy = state;
    if (npy->fd >= 0) close(npy->fd);
    free(npy);
}

static rue_status open_npy(const char *path, const struct rue_source_options *options, void **state,
                           rue_error *error)
{
    (void)options;
    struct stat about;
    struct npy *npy = calloc(1, sizeof *npy);
    if (!npy) return rue_fail_memory(error, "an npy source", sizeof *npy);
    snprintf(npy->path, sizeof npy->path, "%s", path);
    npy->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    rue_status status = RUE_OK;
    if (npy->fd < 0 || fstat(npy->fd, &about) != 0)
        status = rue_fail_open(error, path);
    else if (!read_header(npy->fd, &npy->count))
        status =
            rue_fail(error, RUE_DATA, "%s is no float32 array of count x 3 x 224 x 224; save it so", path);
    else if ((npy->file_bytes = (uint64_t)about.st_size) != HEADER_BYTES + npy->count * RECORD_BYTES)
        status =
            rue_fail(error, RUE_DATA, "%s holds %" PRIu64 " bytes, not what its shape says; save it again",
                     path, npy->file_bytes);
    if (status != RUE_OK) return close_npy(npy), status;
    *state = npy;
    return RUE_OK;
}

static uint64_t count(const void *state)
{
    return ((const struct npy *)state)->count;
}

static uint64_t item_bytes(const void *state, uint64_t item)
{
    (void)state, (void)item;
    return RECORD_BYTES;
}

static rue_status label(const void *state, uint64_t item, int32_t *out, rue_error *error)
{
    (void)state, (void)item, (void)error;
    *out = 0;
    return RUE_OK;
}

static void name(const void *state, uint64_t item, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s record %" PRIu64, ((const struct npy *)state)->path, item);
}

static rue_status read_record(const void *state, uint64_t item, void *into, rue_error *error)
{
    const struct npy *npy = state;
    ssize_t got = pread(npy->fd, into, RECORD_BYTES, (off_t)(HEADER_BYTES + item * RECORD_BYTES));
    if (got == RECORD_BYTES) return RUE_OK;
    return rue_fail(error, got < 0 ? rue_source_failure(errno) : RUE_DATA,
                    "cannot read record %" PRIu64 " of %s: %s", item, npy->path,
                    got < 0 ? strerror(errno) : "the file ends");
}

static size_t class_count(const void *state)
{
    (void)state;
    return 0;
}

static const char *class_name(const void *state, size_t class_index)
{
    (void)state, (void)class_index;
    return "";
}

static enum rue_dtype dtype(const void *state)
{
    (void)state;
    return RUE_FLOAT32;
}

static void shape(const void *state, uint32_t out[3])
{
    (void)state;
    out[0] = 3;
    out[1] = out[2] = 224;
}

static uint64_t digest(const void *state)
{
    const struct npy *npy = state;
    return rue_hash(RUE_HASH_START, &npy->file_bytes, sizeof npy->file_bytes);
}

const struct rue_source_ops rue_source_npy = {
    .format = "npy",
    .holds = {[RUE_PREPROCESSED] = true},
    .help = "one float32 array of NumPy's",
    .probe = probe,
    .open = open_npy,
    .close = close_npy,
    .count = count,
    .bytes = item_bytes,
    .label = label,
    .name = name,
    .read = read_record,
    .class_count = class_count,
    .class_name = class_name,
    .dtype = dtype,
    .shape = shape,
    .digest = digest,
};
