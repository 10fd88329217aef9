/* The framing of TFRecord files, little endian: uint64 length; its masked CRC-32C; the data; their masked
 * CRC-32C.
 *
 * The data are an Example (tf_example.h). rue writes the features
 *   label   one integer, -1 for none
 *   name    the item's path
 *   image   the bytes of a JPEG file; of preprocessed items the values in CHW order
 *   shape   of preprocessed items: channels, height, width
 *   dtype   of preprocessed items: "float32" or "uint8"
 * and the names of classes into classes.txt beside the shards (class_list.h). */
#ifndef RUE_TF_RECORD_H
#define RUE_TF_RECORD_H

#include <stdint.h>
#include <string.h>

#include "crc32c.h"

enum { RUE_TF_RECORD_HEAD = 12, RUE_TF_RECORD_TAIL = 4 };

/* As the format masks checksums, so that those of data with checksums in them are good ones too. */
static inline uint32_t rue_tf_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Whether the head of a record is whole; then `*bytes` is the length of its data. */
static inline int rue_tf_record_head_is(const unsigned char head[RUE_TF_RECORD_HEAD], uint64_t *bytes)
{
    uint32_t crc;
    memcpy(bytes, head, 8);
    memcpy(&crc, head + 8, sizeof crc);
    return crc == rue_tf_mask(rue_crc32c(0, head, 8));
}

#endif
