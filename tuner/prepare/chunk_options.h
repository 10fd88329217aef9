/* The options of a command for formats that store chunks. */
#ifndef RUE_CHUNK_OPTIONS_H
#define RUE_CHUNK_OPTIONS_H

#include "options.h"
#include "sink.h"

/* The rows of the options, from row `at` of a command's table on. */
enum { RUE_CHUNK_OPTIONS = 3 };
#define RUE_CHUNK_OPTION_ROWS(at) \
    [(at)] = {RUE_CHUNK_SHAPE}, [(at) + 1] = {RUE_CHUNK_CODEC}, [(at) + 2] = {RUE_CHUNK_VERSION},
#define RUE_CHUNK_SHAPE                                                                                      \
    "chunks", RUE_OPTION_TEXT, "N,C,H,W", NULL, "shape of a chunk of zarr [16 whole items or 16 MiB]", 0, 0, \
        NULL, .more = "Such as 16,3,224,224. One number: so many whole items."
#define RUE_CHUNK_CODEC                                                                                  \
    "codec", RUE_OPTION_WORD, "CODEC", "none", "compression of chunks: none, gzip, zstd or blosc", 0, 0, \
        rue_zarr_codec_names
#define RUE_CHUNK_VERSION \
    "zarr-version", RUE_OPTION_COUNT, "V", "2", "version of the Zarr format, 2 or 3", 2, 3, NULL
#define RUE_CHUNK_EXAMPLE "  rue prepare photos/ photos.zarr --chunks 16,3,224,224 --codec zstd\n"

/* RUE_USAGE: the shape is not one. */
rue_status rue_chunk_options_read(const struct rue_options *options, size_t at, struct rue_chunking *out,
                                  rue_error *error) RUE_MUST_CHECK;

#endif
