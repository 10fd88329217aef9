/* The framing of TFRecord files, little endian: uint64 length; its masked CRC-32C; the data; their masked
 * CRC-32C.
 *
 * The data are an Example. rue writes these features,
 *   label   one integer
 *   name    the item's path
 *   image   the bytes of an image, or of an npy file
 * and class names in classes.txt beside the shards (shards.h).
 *
 * An Example is the protocol buffer message tf.train.Example: a map from names to lists of bytes, floats or
 * integers. This is a small bounded parser of its wire format; it skips unknown fields. */
#ifndef RUE_TF_RECORD_H
#define RUE_TF_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "crc32c.h"

enum { RUE_TF_RECORD_HEAD = 12, RUE_TF_RECORD_TAIL = 4 };

/* Masks a checksum as the format does, so that checksums of data that contain checksums stay strong. */
static inline uint32_t rue_tf_mask(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

/* Whether the head of a record has the right checksum; then `*bytes` is the length of its data. */
static inline int rue_tf_record_head_is_valid(const unsigned char head[RUE_TF_RECORD_HEAD], uint64_t *bytes)
{
    uint32_t crc;
    memcpy(bytes, head, 8);
    memcpy(&crc, head + 8, sizeof crc);
    return crc == rue_tf_mask(rue_crc32c(0, head, 8));
}

enum rue_tf_kind { RUE_TF_NOTHING, RUE_TF_BYTES, RUE_TF_FLOATS, RUE_TF_INTEGERS };

struct rue_tf_feature {
    const char *name; /* [name_bytes] in the message, as `bytes`; not ended by a NUL */
    size_t name_bytes;
    enum rue_tf_kind kind;
    size_t count;               /* number of values; of floats 1 if there are any */
    const unsigned char *bytes; /* the first value [byte_count] */
    uint64_t byte_count;
    int64_t integer;     /* the first value */
    size_t ones, one_at; /* of integers: number of those that are 1, and place of the last one */
    bool others;         /* of integers: some are neither 0 nor 1 */
};

typedef void (*rue_tf_visit)(void *context, const struct rue_tf_feature *feature);

/* Visits the features in the order of the message. A repeated feature replaces the earlier one, as in all
 * maps of protocol buffers. False: the message is damaged at byte `*at`. */
bool rue_tf_example_walk(const unsigned char *data, uint64_t bytes, rue_tf_visit visit, void *context,
                         uint64_t *at);

/* Whether the feature has this name. */
bool rue_tf_feature_has_name(const struct rue_tf_feature *feature, const char *name);

#endif
