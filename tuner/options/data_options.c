#include "data_options.h"

#include <stdio.h>
#include <string.h>

const char *const rue_data_caches[] = {RUE_CACHE_WARM, RUE_CACHE_COLD, RUE_CACHE_AS_IS, NULL};

struct rue_workload rue_data_options_workload(const struct rue_options *options,
                                              const struct rue_data_options *at)
{
    struct rue_workload workload = rue_workload_default();
    workload.seed = rue_options_number(options, at->seed);
    workload.decode = (enum rue_decode)rue_options_word(options, at->decode);
    workload.batch_dtype = (enum rue_dtype)rue_options_word(options, at->batch_dtype);
    workload.bad_images = (enum rue_bad_images)rue_options_word(options, at->bad_images);
    workload.max_pixels = rue_options_number(options, at->max_pixels);
    snprintf(workload.cache, sizeof workload.cache, "%s", rue_options_text(options, at->cache));
    return workload;
}

static rue_status read_key(const struct rue_options *options, size_t index, const char **out,
                           rue_error *error)
{
    const char *key = rue_options_text(options, index);
    *out = key;
    if (!key || (*key && strlen(key) < RUE_VARIANT_KEY_BYTES)) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "%s: '%.80s' is no name of 1 to %d bytes",
                    rue_options_origin(options, index), key, RUE_VARIANT_KEY_BYTES - 1);
}

rue_status rue_data_options_keys(const struct rue_options *options, size_t image_key, size_t label_key,
                                 struct rue_source_options *out, rue_error *error)
{
    rue_status status = read_key(options, image_key, &out->image_key, error);
    return status == RUE_OK ? read_key(options, label_key, &out->label_key, error) : status;
}

const char *rue_data_options_given_key(const struct rue_options *options, size_t image_key, size_t label_key)
{
    if (rue_options_given(options, image_key)) return rue_options_origin(options, image_key);
    return rue_options_given(options, label_key) ? rue_options_origin(options, label_key) : NULL;
}

rue_status rue_data_options_check_key(const char *given, const struct rue_source *source, rue_error *error)
{
    if (!given || rue_source_has_keys(source)) return RUE_OK;
    const struct rue_variant variant = rue_source_variant(source);
    return rue_fail(error, RUE_USAGE,
                    "%s: %s is of the format %s, which has no names for images and labels; leave it out",
                    given, variant.path, variant.format);
}
