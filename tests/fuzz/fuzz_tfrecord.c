/* A file of TFRecords, and the Examples in it. */
#include "fuzz_source.h"
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

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    fuzz_source(data, bytes, "tfrecord");
    return 0;
}
