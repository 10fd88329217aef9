#include "tf_record.h"

#include <string.h>

enum wire { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

struct part {
    const unsigned char *at, *end;
};

struct field {
    uint64_t number;
    unsigned wire;
    uint64_t value;   /* of VARINT */
    struct part part; /* of LENGTH */
};

static bool parse_varint(struct part *part, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 70 && part->at < part->end; shift += 7) {
        unsigned char byte = *part->at++;
        if (shift < 64) *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

static bool skip_wire_bytes(struct part *part, uint64_t bytes)
{
    if (bytes > (uint64_t)(part->end - part->at)) return false;
    part->at += bytes;
    return true;
}

static bool parse_wire_field(struct part *part, struct field *out)
{
    uint64_t tag;
    if (!parse_varint(part, &tag) || tag >> 3 == 0) return false;
    *out = (struct field){.number = tag >> 3, .wire = tag & 7};
    switch (out->wire) {
    case VARINT:
        return parse_varint(part, &out->value);
    case FIXED64:
        return skip_wire_bytes(part, 8);
    case FIXED32:
        return skip_wire_bytes(part, 4);
    case LENGTH:
        if (!parse_varint(part, &out->value)) return false;
        out->part.at = part->at;
        if (!skip_wire_bytes(part, out->value)) return false;
        out->part.end = part->at;
        return true;
    default:
        return false;
    }
}

static void add_integer(struct rue_tf_feature *feature, uint64_t value)
{
    feature->others |= value > 1;
    if (value == 1) feature->ones++, feature->one_at = feature->count;
    if (feature->count++ == 0) feature->integer = (int64_t)value;
}

/* Reads the values of a BytesList or Int64List, packed or not. Of a FloatList only whether it has any. */
static bool read_list(struct part *part, struct rue_tf_feature *feature)
{
    struct field field;
    while (part->at < part->end) {
        if (!parse_wire_field(part, &field)) return false;
        if (field.number != 1) continue;
        if (feature->kind == RUE_TF_FLOATS) feature->count = 1;
        if (feature->kind == RUE_TF_BYTES && field.wire == LENGTH) {
            if (feature->count++ > 0) continue;
            feature->bytes = field.part.at;
            feature->byte_count = field.value;
        } else if (feature->kind == RUE_TF_INTEGERS && field.wire == VARINT) {
            add_integer(feature, field.value);
        } else if (feature->kind == RUE_TF_INTEGERS && field.wire == LENGTH) {
            for (uint64_t value; field.part.at < field.part.end; add_integer(feature, value))
                if (!parse_varint(&field.part, &value)) return part->at = field.part.at, false;
        }
    }
    return true;
}

static bool read_feature(struct part *part, struct rue_tf_feature *feature)
{
    struct field field;
    while (part->at < part->end) {
        if (!parse_wire_field(part, &field)) return false;
        if (field.wire != LENGTH || field.number < RUE_TF_BYTES || field.number > RUE_TF_INTEGERS) continue;
        if (feature->kind != (enum rue_tf_kind)field.number) /* the last member of a oneof counts */
            *feature = (struct rue_tf_feature){.name = feature->name, .name_bytes = feature->name_bytes};
        feature->kind = (enum rue_tf_kind)field.number;
        if (!read_list(&field.part, feature)) return part->at = field.part.at, false;
    }
    return true;
}

static bool read_entry(struct part *part, struct rue_tf_feature *feature)
{
    struct field field;
    while (part->at < part->end) {
        if (!parse_wire_field(part, &field)) return false;
        if (field.wire == LENGTH && field.number == 1) {
            feature->name = (const char *)field.part.at;
            feature->name_bytes = field.value;
        } else if (field.wire == LENGTH && field.number == 2) {
            if (!read_feature(&field.part, feature)) return part->at = field.part.at, false;
        }
    }
    return true;
}

static bool read_features(struct part *part, rue_tf_visit visit, void *context)
{
    struct field field;
    while (part->at < part->end) {
        struct rue_tf_feature feature = {.name = ""};
        if (!parse_wire_field(part, &field)) return false;
        if (field.wire != LENGTH || field.number != 1) continue;
        if (!read_entry(&field.part, &feature)) return part->at = field.part.at, false;
        visit(context, &feature);
    }
    return true;
}

bool rue_tf_example_walk(const unsigned char *data, uint64_t bytes, rue_tf_visit visit, void *context,
                         uint64_t *at)
{
    struct part part = {data, data + bytes};
    struct field field;
    while (part.at < part.end) {
        bool good = parse_wire_field(&part, &field);
        if (good && field.wire == LENGTH && field.number == 1) {
            good = read_features(&field.part, visit, context);
            if (!good) part.at = field.part.at;
        }
        if (!good) return *at = (uint64_t)(part.at - data), false;
    }
    return true;
}

bool rue_tf_feature_has_name(const struct rue_tf_feature *feature, const char *name)
{
    return strlen(name) == feature->name_bytes && memcmp(name, feature->name, feature->name_bytes) == 0;
}
