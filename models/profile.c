#include "profile.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint64_t rue_profile_batch_ns(const struct rue_profile *profile, uint64_t images)
{
    double x = (double)images, ns;
    const uint32_t *size = profile->batch_size;
    const double *time = profile->batch_ns;
    if (profile->points == 0) {
        ns = profile->per_batch_ns + profile->per_image_ns * x;
    } else if (profile->points == 1) {
        ns = time[0] / size[0] * x;
    } else {
        size_t right = 1;
        while (right + 1 < profile->points && x > size[right]) right++;
        size_t left = right - 1;
        ns = time[left] + (time[right] - time[left]) * (x - size[left]) / ((double)size[right] - size[left]);
        if (x > size[right] && ns < time[right]) ns = time[right];
    }
    if (ns >= (double)RUE_PROFILE_NS_MAX) return RUE_PROFILE_NS_MAX;
    return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

bool rue_profile_is_measured_at(const struct rue_profile *profile, uint64_t images)
{
    if (!profile->measured) return false;
    if (profile->points == 0) return true;
    return images >= profile->batch_size[0] && images <= profile->batch_size[profile->points - 1];
}

static void append_text(char *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void append_text(char *out, const char *format, ...)
{
    size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(out + used, RUE_PROFILE_JSON_BYTES - used, format, arguments);
    va_end(arguments);
}

static void append_points(char *out, const struct rue_profile *profile)
{
    append_text(out, "\"batch_size\":[");
    for (size_t i = 0; i < profile->points; i++)
        append_text(out, "%s%" PRIu32, i ? "," : "", profile->batch_size[i]);
    append_text(out, "],\"batch_ns\":[");
    for (size_t i = 0; i < profile->points; i++)
        append_text(out, "%s%.0f", i ? "," : "", profile->batch_ns[i]);
    append_text(out, "]");
}

void rue_profile_json(const struct rue_profile *profile, char out[RUE_PROFILE_JSON_BYTES])
{
    if (profile->consumer == RUE_CONSUMER_HOST) {
        snprintf(out, RUE_PROFILE_JSON_BYTES, "{\"consumer\":\"host\",\"cores\":%d,\"products\":\"%s\"}",
                 profile->cores, profile->products);
        return;
    }
    if (profile->consumer == RUE_CONSUMER_CUDA) {
        snprintf(out, RUE_PROFILE_JSON_BYTES, "{\"consumer\":\"cuda\",\"precision\":\"%s\"}",
                 rue_precision_names[profile->precision]);
        return;
    }
    snprintf(out, RUE_PROFILE_JSON_BYTES, "{");
    if (profile->points)
        append_points(out, profile);
    else
        append_text(out, "\"per_batch_ns\":%.0f,\"per_image_ns\":%.0f", profile->per_batch_ns,
                    profile->per_image_ns);
    if (profile->largest_batch) append_text(out, ",\"largest_batch\":%" PRIu64, profile->largest_batch);
    append_text(out, "}");
}
