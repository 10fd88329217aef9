/* Options about data that several commands have: their rows, once, so that the same name means the same in
 * all of them, and what they say. */
#ifndef RUE_DATA_OPTIONS_H
#define RUE_DATA_OPTIONS_H

#include "options.h"
#include "source.h"
#include "trial.h"

/* What data call images and labels, where their format has names for them. */
#define RUE_DATA_IMAGE_KEY                                                                               \
    {                                                                                                    \
        "image-key", RUE_OPTION_TEXT, "NAME", NULL,                                                      \
            "what the data call images: a column, a feature, an extension [the usual names]", 0, 0, NULL \
    }
#define RUE_DATA_LABEL_KEY                                                              \
    {                                                                                   \
        "label-key", RUE_OPTION_TEXT, "NAME", NULL, "what they call labels", 0, 0, NULL \
    }

/* In which order they come; `help`: what it is the seed of. */
#define RUE_DATA_SEED(help)                                          \
    {                                                                \
        "seed", RUE_OPTION_COUNT, "K", "1", help, 0, INT64_MAX, NULL \
    }
#define RUE_DATA_NO_SHUFFLE                                                                   \
    {                                                                                         \
        "no-shuffle", RUE_OPTION_FLAG, NULL, NULL, "load in the data's own order", 0, 0, NULL \
    }

/* What becomes of the images. */
#define RUE_DATA_DECODE                                                                                    \
    {                                                                                                      \
        "decode", RUE_OPTION_WORD, "HOW", "exact",                                                         \
            "exact, or fast: raw images of 512 pixels a side or more a little off", 0, 0, rue_decode_names \
    }
#define RUE_DATA_BATCH_DTYPE                                                                       \
    {                                                                                              \
        "batch-dtype", RUE_OPTION_WORD, "TYPE", "float32",                                         \
            "float32, normalised by the loader; or uint8: levels, for the GPU to normalise", 0, 0, \
            rue_dtype_names                                                                        \
    }
#define RUE_DATA_BAD_IMAGES                                                                             \
    {                                                                                                   \
        "bad-images", RUE_OPTION_WORD, "WHAT", "fail", "fail, or replace by the next good image", 0, 0, \
            rue_bad_images_names                                                                        \
    }
#define RUE_DATA_MAX_PIXELS                                                                  \
    {                                                                                        \
        "max-pixels", RUE_OPTION_COUNT, "N", "268435456", "refuse images of more pixels", 1, \
            UINT64_C(1) << 40, NULL                                                          \
    }

/* Where they come from. */
#define RUE_DATA_CACHE                                                                                     \
    {                                                                                                      \
        "cache", RUE_OPTION_WORD, "STATE", RUE_CACHE_WARM,                                                 \
            "warm: in memory; cold: from storage, before each trial anew; or as-is", 0, 0, rue_data_caches \
    }

extern const char *const rue_data_caches[]; /* RUE_CACHE_WARM, ...; NULL at the end */

/* Where those that a workload is made of stand among a command's options. */
struct rue_data_options {
    size_t seed, decode, batch_dtype, bad_images, max_pixels, cache;
};

/* The default workload, but for what these options say. */
struct rue_workload rue_data_options_workload(const struct rue_options *options,
                                              const struct rue_data_options *at);

/* What the two keys say; RUE_USAGE for a name that is empty or too long. Strings are the options'. */
rue_status rue_data_options_keys(const struct rue_options *options, size_t image_key, size_t label_key,
                                 struct rue_source_options *out, rue_error *error) RUE_MUST_CHECK;

/* "--image-key" or "--label-key" where the command line has it; else NULL. */
const char *rue_data_options_given_key(const struct rue_options *options, size_t image_key, size_t label_key);

/* RUE_USAGE where `given` (nullable) means nothing to the format of the source. */
rue_status rue_data_options_check_key(const char *given, const struct rue_source *source,
                                      rue_error *error) RUE_MUST_CHECK;

#endif
