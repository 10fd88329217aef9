#include "tf_writer.h"

#include <string.h>

#include "tf_record.h"

enum { LENGTH = 2 /* the wire type of texts, lists and messages */ };

static unsigned char *put_varint(unsigned char *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) *at++ = (unsigned char)(value | 0x80);
    *at++ = (unsigned char)value;
    return at;
}

static size_t varint_bytes(uint64_t value)
{
    unsigned char text[10];
    return (size_t)(put_varint(text, value) - text);
}

/* The bytes of a field of type LENGTH. */
static uint64_t field_bytes(uint64_t bytes)
{
    return 1 + varint_bytes(bytes) + bytes;
}

static unsigned char *put_field(unsigned char *at, unsigned number, uint64_t bytes)
{
    *at++ = (unsigned char)(number << 3 | LENGTH);
    return put_varint(at, bytes);
}

/* A feature with one list of `bytes` (one value, or packed values), without these bytes. */
static unsigned char *put_feature(unsigned char *at, const char *name, enum rue_tf_kind kind, uint64_t bytes)
{
    uint64_t list = field_bytes(bytes), value = field_bytes(list);
    at = put_field(at, 1, field_bytes(strlen(name)) + field_bytes(value));
    at = put_field(at, 1, strlen(name));
    at = (unsigned char *)mempcpy(at, name, strlen(name));
    at = put_field(at, 2, value);
    at = put_field(at, kind, list);
    return put_field(at, 1, bytes);
}

static unsigned char *put_text(unsigned char *at, const char *name, const char *text)
{
    at = put_feature(at, name, RUE_TF_BYTES, strlen(text));
    return (unsigned char *)mempcpy(at, text, strlen(text));
}

static unsigned char *put_integer(unsigned char *at, const char *name, int64_t value)
{
    at = put_feature(at, name, RUE_TF_INTEGERS, varint_bytes((uint64_t)value));
    return put_varint(at, (uint64_t)value);
}

size_t rue_tf_example_head(const struct rue_tf_item *item, unsigned char head[RUE_TF_HEAD_MAX])
{
    unsigned char features[RUE_TF_HEAD_MAX - 16], *at = features;
    if (item->label >= 0) at = put_integer(at, "label", item->label);
    at = put_text(at, "name", item->key);
    at = put_feature(at, "image", RUE_TF_BYTES, item->bytes);
    size_t bytes = (size_t)(at - features);
    unsigned char *begin = put_field(head, 1, bytes + item->bytes);
    memcpy(begin, features, bytes);
    return (size_t)(begin - head) + bytes;
}
