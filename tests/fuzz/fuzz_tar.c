/* A tar file, plain or compressed, and the samples in it. */
#include "fuzz_source.h"
#include "tar_reader.h"

size_t LLVMFuzzerMutate(unsigned char *data, size_t bytes, size_t most);
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t bytes, size_t most, unsigned seed);

/* Makes the checksums right again, most of the time: else nothing behind them would be tried. */
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t bytes, size_t most, unsigned seed)
{
    bytes = LLVMFuzzerMutate(data, bytes, most);
    for (size_t at = 0; seed % 8 && at + RUE_TAR_BLOCK <= bytes; at += RUE_TAR_BLOCK) {
        struct rue_tar_header header;
        memcpy(&header, data + at, sizeof header);
        if (memcmp(header.magic, "ustar", 5) != 0) continue;
        snprintf(header.checksum, sizeof header.checksum, "%06o", rue_tar_sum(&header));
        memcpy(data + at, &header, sizeof header);
    }
    return bytes;
}

/* No name leads out of the folder that samples are unpacked into. */
static void check_names(const struct rue_source *source)
{
    char key[PATH_MAX];
    for (uint64_t i = 0; i < rue_source_count(source); i++) {
        rue_source_key(source, i, key, sizeof key);
        assert(key[0] != '/' && strncmp(key, "../", 3) != 0 && !strstr(key, "/../"));
        assert(rue_source_label(source, i) >= 0);
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    int fd;
    struct rue_source *source = fuzz_source_open(data, bytes, "webdataset", &fd);
    if (source) check_names(source);
    if (source) fuzz_source_use(source, bytes);
    rue_source_close(source);
    close(fd);
    return 0;
}
