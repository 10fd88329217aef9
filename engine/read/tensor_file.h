/* clang-format off */
/* The layout of a tensor file: preprocessed images as fixed-size records. Little endian.
 *
 *   at 0               struct rue_tensor_header, padded to 4096 bytes; written last, so that an incomplete file does not
 *                      have a valid header
 *   at data_offset     count records of record_stride bytes (a multiple of 4096): the values in CHW order, then zeros
 *   at labels_offset   int32 x count; all -1: the data have no labels
 *   at crcs_offset     uint32 x count: CRC-32C of the values of each record, without the padding
 *   at classes_offset  class_count names of classes, each ended by a NUL; then, unless it is not recorded, what the items
 *                      were made with (made_with.h), ended by a NUL; up to file_bytes
 *
 * Version 1 had no index_crc.
 *
 * docs/data.md opens the records with NumPy. */
/* clang-format on */
#ifndef RUE_TENSOR_FILE_H
#define RUE_TENSOR_FILE_H

#include <assert.h>
#include <stdint.h>

#define RUE_TENSOR_MAGIC "RUETENSR"

enum { RUE_TENSOR_VERSION = 2, RUE_TENSOR_ALIGN = 4096 };

struct rue_tensor_header {
    char magic[8];
    uint32_t version;
    uint32_t dtype; /* enum rue_dtype */
    uint64_t count;
    uint32_t channels, height, width;
    uint32_t class_count;
    uint64_t record_stride;
    uint64_t data_offset;
    uint64_t labels_offset;
    uint64_t crcs_offset;
    uint64_t classes_offset;
    uint64_t file_bytes;
    uint32_t index_crc;  /* CRC-32C of all from labels_offset to file_bytes */
    uint32_t header_crc; /* CRC-32C of the bytes before it */
};

static_assert(sizeof(struct rue_tensor_header) == 96, "the header has no hidden padding");

/* `bytes` rounded up to the alignment. */
static inline uint64_t rue_tensor_aligned(uint64_t bytes)
{
    return (bytes + RUE_TENSOR_ALIGN - 1) / RUE_TENSOR_ALIGN * RUE_TENSOR_ALIGN;
}

#endif
