#include "data_keys.h"

#include <string.h>

static rue_status read_key(const struct rue_options *options, size_t index, const char **out,
                           rue_error *error)
{
    const char *key = rue_options_text(options, index);
    *out = key;
    if (!key || (*key && strlen(key) < RUE_VARIANT_KEY_BYTES)) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "%s: '%.80s' is no name of 1 to %d bytes",
                    rue_options_origin(options, index), key, RUE_VARIANT_KEY_BYTES - 1);
}

rue_status rue_data_keys_read(const struct rue_options *options, size_t image_key, size_t label_key,
                              struct rue_source_options *out, rue_error *error)
{
    rue_status status = read_key(options, image_key, &out->image_key, error);
    return status == RUE_OK ? read_key(options, label_key, &out->label_key, error) : status;
}
