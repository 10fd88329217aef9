#include "profile.h"

#include <inttypes.h>
#include <stdio.h>

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
    }
    if (ns >= (double)RUE_PROFILE_NS_MAX) return RUE_PROFILE_NS_MAX;
    return ns > 0 ? (uint64_t)(ns + 0.5) : 0;
}

static size_t append_list(char *out, size_t used, const char *key, const struct rue_profile *profile,
                          int times)
{
    used +=
        (size_t)snprintf(out + used, RUE_PROFILE_JSON_BYTES - used, "%s\"%s\":[", used > 1 ? "," : "", key);
    for (size_t i = 0; i < profile->points; i++)
        used += (size_t)snprintf(out + used, RUE_PROFILE_JSON_BYTES - used, "%s%.0f", i ? "," : "",
                                 times ? profile->batch_ns[i] : (double)profile->batch_size[i]);
    return used + (size_t)snprintf(out + used, RUE_PROFILE_JSON_BYTES - used, "]");
}

void rue_profile_json(const struct rue_profile *profile, char out[RUE_PROFILE_JSON_BYTES])
{
    if (profile->consumer == RUE_CONSUMER_HOST) {
        snprintf(out, RUE_PROFILE_JSON_BYTES, "{\"consumer\":\"host\",\"cores\":%d,\"products\":\"%s\"}",
                 profile->cores, profile->products);
        return;
    }
    if (profile->points == 0) {
        snprintf(out, RUE_PROFILE_JSON_BYTES, "{\"per_batch_ns\":%.0f,\"per_image_ns\":%.0f}",
                 profile->per_batch_ns, profile->per_image_ns);
        return;
    }
    size_t used = (size_t)snprintf(out, RUE_PROFILE_JSON_BYTES, "{");
    used = append_list(out, used, "batch_size", profile, 0);
    used = append_list(out, used, "batch_ns", profile, 1);
    if (profile->largest_batch)
        used += (size_t)snprintf(out + used, RUE_PROFILE_JSON_BYTES - used, ",\"largest_batch\":%" PRIu64,
                                 profile->largest_batch);
    snprintf(out + used, RUE_PROFILE_JSON_BYTES - used, "}");
}
