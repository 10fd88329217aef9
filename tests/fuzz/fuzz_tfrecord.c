/* A file of TFRecords, and the Examples in it. */
#include <assert.h>
#include <string.h>

#include "fuzz_file.h"
#include "sharded.h"
#include "tf_index.h"
#include "tf_record.h"

size_t LLVMFuzzerMutate(unsigned char *data, size_t bytes, size_t most);
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t bytes, size_t most, unsigned seed);

/* Makes the checksums right again, most of the time: else nothing behind them would be tried. */
size_t LLVMFuzzerCustomMutator(unsigned char *data, size_t bytes, size_t most, unsigned seed)
{
    enum { AROUND = RUE_TF_RECORD_HEAD + RUE_TF_RECORD_TAIL };
    bytes = LLVMFuzzerMutate(data, bytes, most);
    if (seed % 8 == 0) return bytes;
    for (size_t at = 0; at + AROUND <= bytes;) {
        uint64_t length;
        memcpy(&length, data + at, sizeof length);
        if (length > bytes - at - AROUND) length = bytes - at - AROUND;
        memcpy(data + at, &length, sizeof length);
        uint32_t crc = rue_tf_mask(rue_crc32c(0, data + at, sizeof length));
        memcpy(data + at + sizeof length, &crc, sizeof crc);
        crc = rue_tf_mask(rue_crc32c(0, data + at + RUE_TF_RECORD_HEAD, length));
        memcpy(data + at + RUE_TF_RECORD_HEAD + length, &crc, sizeof crc);
        at += AROUND + length;
    }
    return bytes;
}

static bool takes(const char *name)
{
    (void)name;
    return true;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    const struct rue_source_options options = {0};
    struct rue_shard_set *set;
    struct rue_item_index index = {0};
    rue_error error = {0};
    char path[64];
    int fd = fuzz_file(data, bytes, path);
    rue_status status = rue_shard_set_open(path, takes, &set, &error);
    if (status == RUE_OK) {
        status = rue_tf_index_build(set, &options, &index, &error);
        assert(status == RUE_OK || (status == RUE_DATA && error.message[0]));
        bool plain = !index.facts[RUE_SHARDED_COMPRESSED];
        for (uint64_t i = 0; status == RUE_OK && i < index.count; i++) {
            assert(!plain || index.entries[i].offset + index.entries[i].bytes <= bytes);
            assert(index.entries[i].label >= -1 && rue_item_index_name(&index, i)[0]);
        }
        rue_item_index_free(&index);
        rue_shard_set_close(set);
    }
    close(fd);
    return 0;
}
