/* A tensor file whose checksums are right, whatever else is wrong: it opens and its items can be read, or
 * there is a reason. */
#include <stddef.h>

#include "crc32c.h"
#include "fuzz_source.h"
#include "tensor_file.h"

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

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    unsigned char *file = malloc(bytes + 1);
    if (!file) abort();
    memcpy(file, data, bytes);
    sign(file, bytes);
    fuzz_source(file, bytes, "tensor");
    free(file);
    return 0;
}
