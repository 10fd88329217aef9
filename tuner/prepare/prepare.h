/* Preparing data: from any format that can be read to any that can be written, and synthetic photos from a
 * seed. */
#ifndef RUE_PREPARE_H
#define RUE_PREPARE_H

#include "error.h"
#include "progress.h"
#include "sink.h"
#include "source.h"
#include "trial.h"

struct rue_prepare_options {
    struct rue_source_options source;
    const char *given_key; /* see rue_data_options_given_key; NULL: none */
    const char *format;    /* of what is written */
    int mode;              /* enum rue_mode; RUE_MODE_COUNT: that of the source, where the format holds it */
    int dtype;             /* enum rue_dtype; RUE_DTYPE_COUNT: that of the source, else float32 */
    bool dtype_given;      /* by somebody who wants preprocessed data */
    enum rue_compression compression;
    const char *split;
    uint64_t shard_bytes;
    uint64_t images; /* convert this many, drawn at random with `seed`, of data that can only be streamed out
                      * of the first windows (rue_source_window); 0, or all there are: all, in order */
    uint64_t seed;
    int num_workers; /* 0: one for every usable CPU */
    uint64_t max_pixels;
    enum rue_bad_images bad_images;
    bool overwrite; /* an existing file */
    bool keeps;     /* what was written before an interruption, to go on with it */
    bool verify;    /* read everything back before it gets its name */
};

struct rue_prepared {
    uint64_t images, bytes_before, bytes_after, bad_images;
    uint64_t elapsed_ns; /* for all images, by all runs */
    uint64_t run_ns;     /* of it by this one, for those that no earlier run had written */
    uint64_t held;       /* images of the source; 0 where there is none */
    uint64_t resumed;    /* images that an earlier run had written */
    uint64_t skipped;    /* see rue_source_skipped */
    char skipped_example[RUE_ERROR_MESSAGE_BYTES];
};

/* Writes the images of `source_path` at `path`; nothing is at `path` until all of it is. What an earlier run
 * of the same that was stopped has left is gone on with. `progress` is nullable. RUE_DATA, RUE_USAGE
 * (exists), RUE_STORE, RUE_INTERRUPTED. */
rue_status rue_prepare_convert(const char *source_path, const char *path,
                               const struct rue_prepare_options *options, struct rue_progress *progress,
                               struct rue_prepared *out, rue_error *error) RUE_MUST_CHECK;

/* Makes `count` synthetic photos of `seed` in the folder `path`, through a temporary folder beside it. A
 * folder that holds something is never replaced: RUE_USAGE. RUE_STORE, RUE_INTERRUPTED. */
rue_status rue_prepare_synthetic(uint64_t count, uint64_t seed, const char *path,
                                 struct rue_progress *progress, struct rue_prepared *out,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
