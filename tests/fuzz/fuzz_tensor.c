/* A tensor file whose checksums are right, whatever else is wrong: it opens and its items can be read, or
 * there is a reason. */
#define _GNU_SOURCE
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "crc32c.h"
#include "source.h"
#include "tensor_file.h"

enum { ITEMS = 4, ITEM_BYTES_MAX = 1 << 20 };

/* What the fuzzer would never guess. */
static void sign(unsigned char *file, size_t bytes)
{
    struct rue_tensor_header header;
    if (bytes < sizeof header) return;
    memcpy(&header, file, sizeof header);
    memcpy(header.magic, RUE_TENSOR_MAGIC, sizeof header.magic);
    header.version = RUE_TENSOR_VERSION;
    if (header.labels_offset <= bytes)
        header.index_crc = rue_crc32c(0, file + header.labels_offset, bytes - header.labels_offset);
    header.header_crc = rue_crc32c(0, &header, offsetof(struct rue_tensor_header, header_crc));
    memcpy(file, &header, sizeof header);
}

static void use(struct rue_source *source)
{
    char name[PATH_MAX];
    uint64_t count = rue_source_count(source);
    assert(count > 0);
    for (uint64_t i = 0; i < count && i < ITEMS; i++) {
        rue_error error = {0};
        int32_t label = -1;
        uint64_t bytes = rue_source_bytes(source, i);
        if (bytes > ITEM_BYTES_MAX) break;
        unsigned char *item = malloc(bytes);
        rue_status status = item ? rue_source_read(source, i, item, &error) : RUE_MEMORY;
        if (status == RUE_OK) status = rue_source_verify(source, i, item, &error);
        if (status == RUE_OK) status = rue_source_label(source, i, &label, &error);
        assert(status == RUE_OK || status == RUE_MEMORY || error.message[0]);
        rue_source_name(source, i, name, sizeof name);
        free(item);
    }
    for (size_t c = 0; c < rue_source_class_count(source); c++)
        assert(strlen(rue_source_class_name(source, c)) <= PATH_MAX * 16);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    char path[64];
    rue_error error = {0};
    struct rue_source *source;
    unsigned char *file = malloc(bytes + 1);
    int fd = memfd_create("tensor", MFD_CLOEXEC);
    if (!file || fd < 0) abort();
    memcpy(file, data, bytes);
    sign(file, bytes);
    if (write(fd, file, bytes) != (ssize_t)bytes) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    rue_status status =
        rue_source_open(path, &(struct rue_source_options){.format = "tensor"}, &source, &error);
    assert(status == RUE_OK || (status == error.status && error.message[0]));
    if (status == RUE_OK) use(source);
    if (status == RUE_OK) rue_source_close(source);
    close(fd);
    free(file);
    return 0;
}
