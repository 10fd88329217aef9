/* Decodes the bytes of an image that is not a JPEG, turned as EXIF says: rows, or a reason. */
#include <assert.h>
#include <stdlib.h>

#include "decoder.h"
#include "file_kind.h"

enum { MAX_PIXELS = 1 << 16 };

static rue_status decode(struct rue_decoder *decoder, const unsigned char *data, size_t bytes,
                         rue_error *error)
{
    static unsigned char row[MAX_PIXELS * RUE_IMAGE_PIXEL_BYTES];
    struct rue_image_size size;
    rue_status status = rue_decoder_begin(decoder, data, bytes, &size, error);
    for (uint32_t y = 0; status == RUE_OK && y < size.height; y++)
        status = rue_decoder_rows(decoder, 1, row, sizeof row, error);
    return status == RUE_OK ? rue_decoder_end(decoder, error) : status;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    static struct rue_decoder *decoder;
    rue_error error = {0}, reason = {0};
    if (rue_image_kind(data, bytes) == RUE_IMAGE_JPEG) return 0; /* fuzz_jpeg.c */
    if (!decoder && rue_decoder_open(MAX_PIXELS, 0, RUE_ORIENTATION_APPLY, &decoder, NULL) != RUE_OK) abort();
    rue_status headers = rue_decoder_verify(decoder, data, bytes, &error);
    assert(headers == RUE_OK || (headers == error.status && error.message[0]));
    rue_status status = decode(decoder, data, bytes, &reason);
    assert(status == RUE_OK || (status == reason.status && reason.message[0]));
    assert(status != RUE_OK || headers == RUE_OK);
    return 0;
}
