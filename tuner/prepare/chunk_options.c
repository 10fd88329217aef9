#include "chunk_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Reads "16,3,224,224", or "16" for whole items, which leaves the other axes 0. */
static rue_status read_shape(const char *text, uint64_t out[RUE_ZARR_AXES], rue_error *error)
{
    int end = 0, count = text ? sscanf(text, "%9" SCNu64 "%n,%9" SCNu64 ",%9" SCNu64 ",%9" SCNu64 "%n",
                                       &out[0], &end, &out[1], &out[2], &out[3], &end)
                              : 0;
    if (!text) return RUE_OK;
    bool valid = (count == 1 || count == RUE_ZARR_AXES) && !text[end] && !text[strspn(text, "0123456789,")];
    for (int axis = 0; axis < count; axis++) valid &= out[axis] > 0;
    if (valid) return RUE_OK;
    return rue_fail(
        error, RUE_USAGE,
        "--chunks: '%.64s' is not the shape of a chunk: give four numbers such as 16,3,224,224, or "
        "the number of whole items",
        text);
}

rue_status rue_chunk_options_read(const struct rue_options *options, struct rue_chunking *out,
                                  rue_error *error)
{
    *out = (struct rue_chunking){.codec = (enum rue_zarr_codec)rue_options_word(options, "codec"),
                                 .version = (int)rue_options_number(options, "zarr-version")};
    return read_shape(rue_options_text(options, "chunks"), out->shape, error);
}
