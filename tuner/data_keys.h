/* What data call images and labels, where their format has names for them: the same options of every command
 * that opens data. */
#ifndef RUE_DATA_KEYS_H
#define RUE_DATA_KEYS_H

#include "options.h"
#include "source.h"

#define RUE_DATA_IMAGE_KEY                                                                               \
    {                                                                                                    \
        "image-key", RUE_OPTION_TEXT, "NAME", NULL,                                                      \
            "what the data call images: a column, a feature, an extension [the usual names]", 0, 0, NULL \
    }
#define RUE_DATA_LABEL_KEY                                                              \
    {                                                                                   \
        "label-key", RUE_OPTION_TEXT, "NAME", NULL, "what they call labels", 0, 0, NULL \
    }

/* What the two options say; RUE_USAGE for a name that is empty or too long. Strings are the options'. */
rue_status rue_data_keys_read(const struct rue_options *options, size_t image_key, size_t label_key,
                              struct rue_source_options *out, rue_error *error) RUE_MUST_CHECK;

#endif
