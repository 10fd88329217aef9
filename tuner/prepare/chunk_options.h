/* The options of a command for formats that store chunks. */
#ifndef RUE_CHUNK_OPTIONS_H
#define RUE_CHUNK_OPTIONS_H

#include "options.h"
#include "sink.h"

/* The rows of the options. */
#define RUE_CHUNK_SHAPE                                                                                \
    "chunks", RUE_OPTION_TEXT, "N,C,H,W", NULL, "shape of a chunk of zarr [16 whole items or 16 MiB]", \
        .more = "Such as 16,3,224,224. One number: so many whole items."
#define RUE_CHUNK_CODEC                                                                            \
    "codec", RUE_OPTION_WORD, "CODEC", "none", "compression of chunks: none, gzip, zstd or blosc", \
        .words = rue_zarr_codec_names
#define RUE_CHUNK_VERSION \
    "zarr-version", RUE_OPTION_COUNT, "V", "2", "version of the Zarr format, 2 or 3", .min = 2, .max = 3
#define RUE_CHUNK_EXAMPLE "  rue prepare photos/ photos.zarr --chunks 16,3,224,224 --codec zstd\n"

/* RUE_USAGE: the shape is not one. */
rue_status rue_chunk_options_read(const struct rue_options *options, struct rue_chunking *out,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
