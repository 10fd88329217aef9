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
    const char *split;
    uint64_t shard_bytes;
    uint64_t images; /* convert this many, drawn at random with `seed`, of compressed shards the first ones;
                      * 0, or all there are: all, in order */
    uint64_t seed;
    int num_workers; /* 0: one for every usable CPU */
    uint64_t max_pixels;
    enum rue_bad_images bad_images;
    bool overwrite; /* an existing file */
};

struct rue_prepared {
    uint64_t images, bytes_before, bytes_after, bad_images;
    uint64_t elapsed_ns;
    uint64_t source_images; /* 0: no source */
    uint64_t skipped;       /* see rue_source_skipped */
    char skipped_example[RUE_ERROR_MESSAGE_BYTES];
};

/* Writes the images of `source_path` at `path`; nothing is at `path` until all of it is. What an earlier run
 * that was killed has left is removed. `progress` is nullable. RUE_DATA, RUE_USAGE (exists), RUE_STORE,
 * RUE_INTERRUPTED. */
rue_status rue_prepare_convert(const char *source_path, const char *path,
                               const struct rue_prepare_options *options, struct rue_progress *progress,
                               struct rue_prepared *out, rue_error *error) RUE_MUST_CHECK;

/* Makes `count` synthetic photos of `seed` in the folder `path`, through a temporary folder beside it. A
 * folder that holds something is never replaced: RUE_USAGE. RUE_STORE, RUE_INTERRUPTED. */
rue_status rue_prepare_synthetic(uint64_t count, uint64_t seed, const char *path,
                                 struct rue_progress *progress, struct rue_prepared *out,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
