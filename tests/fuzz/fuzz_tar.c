/* A tar file, plain or compressed, and the samples in it. */
#include "fuzz_source.h"

enum { BLOCK = 512, CHECKSUM_AT = 148, CHECKSUM_BYTES = 8, MAGIC_AT = 257 };

size_t LLVMFuzzerMutate(unsigned char *data, size_t bytes, size_t most);
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t bytes, size_t most, unsigned seed);

/* Makes the checksums right again, most of the time: else nothing behind them would be tried. */
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t bytes, size_t most, unsigned seed)
{
    bytes = LLVMFuzzerMutate(data, bytes, most);
    for (size_t at = 0; seed % 8 && at + BLOCK <= bytes; at += BLOCK) {
        char text[16];
        unsigned sum = 0;
        if (memcmp(data + at + MAGIC_AT, "ustar", 5) != 0) continue;
        memset(data + at + CHECKSUM_AT, ' ', CHECKSUM_BYTES);
        for (size_t i = 0; i < BLOCK; i++) sum += data[at + i];
        snprintf(text, sizeof text, "%06o", sum);
        memcpy(data + at + CHECKSUM_AT, text, 7);
    }
    return bytes;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    int fd;
    struct rue_source *source = fuzz_source_open(data, bytes, "webdataset", &fd);
    if (source) fuzz_source_use(source, bytes);
    rue_source_close(source);
    close(fd);
    return 0;
}
