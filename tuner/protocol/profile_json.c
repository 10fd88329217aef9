#include "profile_json.h"

static const struct rue_field size[] = {
    {"", RUE_FIELD_NUMBER, .bytes = sizeof(uint32_t), .least = 1, .most = UINT32_MAX}, {0}};
static const struct rue_field time_ns[] = {{"", RUE_FIELD_REAL, .most = RUE_PROFILE_NS_MAX}, {0}};

static const struct rue_field sizes = {"batch_size",
                                       RUE_FIELD_LIST,
                                       RUE_FIELD_AT(rue_profile, batch_size),
                                       .fields = size,
                                       .count = offsetof(struct rue_profile, points),
                                       .element = sizeof(uint32_t)};
static const struct rue_field times = {"batch_ns",
                                       RUE_FIELD_LIST,
                                       RUE_FIELD_AT(rue_profile, batch_ns),
                                       .fields = time_ns,
                                       .count = offsetof(struct rue_profile, points),
                                       .element = sizeof(double)};

static const struct rue_field line_fields[] = {
    {"per_batch_ns", RUE_FIELD_REAL, RUE_FIELD_AT(rue_profile, per_batch_ns), RUE_FIELD_NULL,
     .most = RUE_PROFILE_NS_MAX},
    {"per_image_ns", RUE_FIELD_REAL, RUE_FIELD_AT(rue_profile, per_image_ns), RUE_FIELD_NULL,
     .most = RUE_PROFILE_NS_MAX},
    {"largest_batch", RUE_FIELD_NUMBER, RUE_FIELD_AT(rue_profile, largest_batch), RUE_FIELD_NULL,
     .most = UINT32_MAX},
    {0}};

static void read_points(struct rue_json_reader *reader, const json_t *object, struct rue_profile *out)
{
    rue_json_read_field(reader, object, &sizes, out);
    size_t count = out->points;
    if (count == 0) rue_json_refuse(reader, "batch_size", "a list of at least one batch size");
    rue_json_read_field(reader, object, &times, out);
    if (out->points != count) rue_json_refuse(reader, "batch_ns", "a list as long as batch_size");
    size_t length = rue_json_enter(reader, "batch_size");
    for (size_t i = 1; i < out->points; i++) {
        size_t inner = rue_json_enter_at(reader, i);
        if (out->batch_size[i] <= out->batch_size[i - 1])
            rue_json_refuse(reader, NULL, "more than the batch size before it");
        rue_json_exit(reader, inner);
    }
    rue_json_exit(reader, length);
}

void rue_profile_read(struct rue_json_reader *reader, const json_t *object, struct rue_profile *out)
{
    bool is_line = json_object_get(object, "per_batch_ns") || json_object_get(object, "per_image_ns");
    out->points = out->largest_batch = 0;
    out->per_batch_ns = out->per_image_ns = 0;
    rue_json_read_fields(reader, object, line_fields, out);
    if (!is_line) read_points(reader, object, out);
}
