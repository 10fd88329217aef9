/* clang-format off */
/* What rue keeps in an LMDB: the items in the unnamed database, under keys of ASCII digits, "00000000" for the first
 * (eight digits, more where there are more items), each value a record, and under the key "rue" their index. Little
 * endian.
 *
 *   record   struct rue_lmdb_record; the item's name; NULs up to data_offset, a multiple of 16; the bytes of a JPEG file,
 *            or values in CHW order
 *   index    struct rue_lmdb_index; for each item struct rue_lmdb_note; class names, each ended by a NUL
 *
 * python-lmdb reads them so:
 *   value = transaction.get(b'%08d' % i)
 *   magic, version, crc, label, name_bytes, at, mode, dtype, *shape = struct.unpack_from('<8sIIiIIIIIII', value)
 *   name, jpeg = value[48:48 + name_bytes].decode(), value[at:]                               # mode 0
 *   tensor = numpy.frombuffer(value, ('<f4', 'u1')[dtype], offset=at).reshape(shape)           # mode 1
 *   classes = index[24 + 8 * count:].split(b'\0')[:class_count]                                # index = get(b'rue') */
/* clang-format on */
#ifndef RUE_LMDB_RECORD_H
#define RUE_LMDB_RECORD_H

#include <assert.h>
#include <stdint.h>

#define RUE_LMDB_RECORD_MAGIC "RUERECRD"
#define RUE_LMDB_INDEX_MAGIC  "RUEINDEX"
#define RUE_LMDB_INDEX_KEY    "rue"

enum { RUE_LMDB_VERSION = 1, RUE_LMDB_ALIGN = 16, RUE_LMDB_DIGITS = 8, RUE_LMDB_NAME_MAX = 4095 };

struct rue_lmdb_record {
    char magic[8];
    uint32_t version;
    uint32_t crc; /* CRC-32C of all of the value that follows it */
    int32_t label;
    uint32_t name_bytes; /* without a NUL */
    uint32_t data_offset;
    uint32_t mode;                    /* enum rue_mode */
    uint32_t dtype;                   /* enum rue_dtype */
    uint32_t channels, height, width; /* of preprocessed items, else 0 */
};

struct rue_lmdb_index {
    char magic[8];
    uint32_t version;
    uint32_t crc; /* CRC-32C of all of the value that follows it */
    uint32_t count;
    uint32_t class_count;
};

struct rue_lmdb_note {
    int32_t label;
    uint32_t data_offset;
};

static_assert(sizeof(struct rue_lmdb_record) == 48, "records have no hidden padding");
static_assert(sizeof(struct rue_lmdb_index) == 24, "the index has no hidden padding");

static inline uint32_t rue_lmdb_data_offset(uint32_t name_bytes)
{
    uint32_t end = (uint32_t)sizeof(struct rue_lmdb_record) + name_bytes;
    return (end + RUE_LMDB_ALIGN - 1) / RUE_LMDB_ALIGN * RUE_LMDB_ALIGN;
}

#endif
