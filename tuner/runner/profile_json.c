#include "profile_json.h"

#include <math.h>

static const uint64_t largest_batch = UINT32_MAX;

static double read_number(struct rue_json_reader *reader, const json_t *object, const char *key, double most,
                          const char *what)
{
    double number = rue_json_number_of(reader, object, key, true);
    if (isnan(number)) return 0;
    if (!(number >= 0 && number <= most)) rue_json_refuse(reader, key, what);
    return number;
}

static double read_element(struct rue_json_reader *reader, const json_t *list, size_t index, double least,
                           double most, const char *what)
{
    size_t length = rue_json_enter_at(reader, index);
    const json_t *element = json_array_get(list, index);
    double number = json_number_value(element);
    if (!json_is_number(element) || !(number >= least && number <= most)) rue_json_refuse(reader, NULL, what);
    rue_json_leave(reader, length);
    return number;
}

static void read_sizes(struct rue_json_reader *reader, const json_t *list, struct rue_profile *out)
{
    size_t length = rue_json_enter(reader, "batch_size");
    for (size_t i = 0; i < out->points; i++) {
        double least = i ? (double)out->batch_size[i - 1] + 1 : 1;
        double size = read_element(reader, list, i, least, (double)largest_batch,
                                   "a whole number of images, at least 1 and more than the one before");
        if (size != floor(size)) rue_json_refuse(reader, NULL, "a list of whole numbers");
        if (reader->status != RUE_OK) break;
        out->batch_size[i] = (uint32_t)size;
    }
    rue_json_leave(reader, length);
}

static void read_times(struct rue_json_reader *reader, const json_t *list, struct rue_profile *out)
{
    size_t length = rue_json_enter(reader, "batch_ns");
    for (size_t i = 0; i < out->points; i++)
        out->batch_ns[i] =
            read_element(reader, list, i, 0, (double)RUE_PROFILE_NS_MAX, "a time in ns, from 0 to 2^62");
    rue_json_leave(reader, length);
}

static void read_points(struct rue_json_reader *reader, const json_t *object, struct rue_profile *out)
{
    const json_t *sizes, *times;
    size_t count = rue_json_list(reader, object, "batch_size", RUE_PROFILE_POINTS_MAX, &sizes);
    size_t time_count = rue_json_list(reader, object, "batch_ns", RUE_PROFILE_POINTS_MAX, &times);
    if (count == 0) rue_json_refuse(reader, "batch_size", "a list of at least one batch size");
    if (time_count != count) rue_json_refuse(reader, "batch_ns", "a list as long as batch_size");
    if (reader->status != RUE_OK) return;
    out->points = count;
    read_sizes(reader, sizes, out);
    read_times(reader, times, out);
}

void rue_profile_read(struct rue_json_reader *reader, const json_t *object, struct rue_profile *out)
{
    static const char time[] = "a time in ns, from 0 to 2^62", ratio[] = "a ratio from 0 to 1";
    bool line = json_object_get(object, "per_batch_ns") || json_object_get(object, "per_image_ns");
    out->points = 0;
    out->per_batch_ns = read_number(reader, object, "per_batch_ns", (double)RUE_PROFILE_NS_MAX, time);
    out->per_image_ns = read_number(reader, object, "per_image_ns", (double)RUE_PROFILE_NS_MAX, time);
    if (!line) read_points(reader, object, out);
    out->largest_batch = rue_json_count(reader, object, "largest_batch", true, largest_batch);
    out->jitter_ratio = read_number(reader, object, "jitter_ratio", 1, ratio);
    out->host_ratio = read_number(reader, object, "host_ratio", 1, ratio);
}
