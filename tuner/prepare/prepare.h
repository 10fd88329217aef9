/* Converts data between formats, and makes synthetic photos from a seed. */
#ifndef RUE_PREPARE_H
#define RUE_PREPARE_H

#include "error.h"
#include "progress.h"
#include "sink.h"
#include "source.h"
#include "trial.h"

struct rue_prepare_options {
    struct rue_source_options source;
    const char *given_key; /* see rue_data_options_given_key; NULL: no key */
    const char *format;    /* of the destination */
    int mode;              /* enum rue_mode; RUE_MODE_COUNT: as the source, if the format can hold it */
    int dtype;             /* enum rue_dtype; RUE_DTYPE_COUNT: as the source, else float32 */
    bool dtype_given;      /* explicitly, so the user expects preprocessed data */
    const char *split;
    uint64_t shard_bytes;
    struct rue_chunking chunks;
    uint64_t images; /* number to convert, drawn at random with `seed` (compressed shards: the first); 0, or
                        not fewer than the source has: all, in order */
    uint64_t seed;
    int num_workers; /* 0: one for every usable CPU */
    uint64_t max_pixels;
    struct rue_geometry geometry;
    const char *given_geometry; /* the option that the user gave for it or for `orientation`; NULL: none */
    enum rue_bad_images bad_images;
    enum rue_orientation orientation; /* of images that become tensors */
    bool overwrite;                   /* replace an existing file */
};

struct rue_prepared {
    uint64_t images, bytes_before, bytes_after, bad_images;
    uint64_t elapsed_ns;
    uint64_t source_images;             /* 0: no source */
    bool listed;                        /* the images were not copied */
    char note[RUE_ERROR_MESSAGE_BYTES]; /* as of rue_source_note */
};

/* Converts `source_path` to `path`, which appears only when it is complete. Removes temporary folders of
 * killed runs. `progress` is nullable. RUE_DATA, RUE_USAGE (`path` exists), RUE_STORE, RUE_INTERRUPTED. */
rue_status rue_prepare_convert(const char *source_path, const char *path,
                               const struct rue_prepare_options *options, struct rue_progress *progress,
                               struct rue_prepared *out, rue_error *error) RUE_MUST_CHECK;

/* Makes `count` synthetic photos of `seed` in the new folder `path`. RUE_USAGE (`path` exists), RUE_STORE,
 * RUE_INTERRUPTED. */
rue_status rue_prepare_synthetic(uint64_t count, uint64_t seed, const char *path,
                                 struct rue_progress *progress, struct rue_prepared *out,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
