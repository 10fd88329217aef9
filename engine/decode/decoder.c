#include "decoder.h"

#include <stdlib.h>
#include <string.h>

#include "file_kind.h"
#include "jpeg.h"
#include "whole.h"

enum { KEPT_BYTES_MAX = 64 << 20 }; /* larger buffers are freed after the image */

struct rue_decoder {
    struct rue_jpeg *jpeg;
    uint64_t max_pixels;
    const struct rue_whole_ops *whole; /* of the image in progress; NULL: a JPEG */
    uint8_t *pixels;                   /* of a whole image */
    size_t pixel_bytes;
    uint32_t width;
    uint32_t first, count, row; /* columns that rows have, and the next row */
};

static const struct rue_whole_ops *const whole_kinds[RUE_IMAGE_KINDS] = {
    [RUE_IMAGE_PNG] = &rue_whole_png,
    [RUE_IMAGE_WEBP] = &rue_whole_webp,
    [RUE_IMAGE_GIF] = &rue_whole_gif,
    [RUE_IMAGE_BMP] = &rue_whole_bmp,
};

rue_status rue_decoder_open(uint64_t max_pixels, uint32_t short_side, struct rue_decoder **out,
                            rue_error *error)
{
    struct rue_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return rue_fail_memory(error, "an image decoder", sizeof *decoder);
    decoder->max_pixels = max_pixels;
    rue_status status = rue_jpeg_open(max_pixels, short_side, &decoder->jpeg, error);
    if (status != RUE_OK) return rue_decoder_close(decoder), status;
    *out = decoder;
    return RUE_OK;
}

static void free_pixels(struct rue_decoder *decoder)
{
    free(decoder->pixels);
    decoder->pixels = NULL;
    decoder->pixel_bytes = 0;
}

void rue_decoder_close(struct rue_decoder *decoder)
{
    if (!decoder) return;
    rue_jpeg_close(decoder->jpeg);
    free_pixels(decoder);
    free(decoder);
}

static rue_status fail_kind(const void *data, size_t bytes, rue_error *error)
{
    static const char served[] = "JPEG, PNG, WebP, GIF or BMP file";
    if (bytes == 0) return rue_fail(error, RUE_DATA, "is empty");
    const char *kind = rue_file_kind(data, bytes);
    return rue_fail(error, RUE_DATA, "is %s%snot a %s", kind ? kind : "", kind ? ", " : "", served);
}

static rue_status reserve_pixels(struct rue_decoder *decoder, uint32_t width, uint32_t height,
                                 rue_error *error)
{
    size_t bytes = (size_t)width * height * RUE_IMAGE_PIXEL_BYTES;
    if (bytes <= decoder->pixel_bytes) return RUE_OK;
    free_pixels(decoder);
    decoder->pixels = malloc(bytes);
    if (!decoder->pixels) return rue_fail_memory(error, "a decoded image", bytes);
    decoder->pixel_bytes = bytes;
    return RUE_OK;
}

static rue_status measure(const struct rue_decoder *decoder, struct rue_bytes data, uint32_t *width,
                          uint32_t *height, rue_error *error)
{
    rue_status status = decoder->whole->measure(data, width, height, error);
    return status == RUE_OK ? rue_image_size_check(*width, *height, decoder->max_pixels, error) : status;
}

static rue_status decode_whole(struct rue_decoder *decoder, struct rue_bytes data,
                               struct rue_image_size *size, rue_error *error)
{
    uint32_t width, height;
    rue_status status = measure(decoder, data, &width, &height, error);
    if (status == RUE_OK) status = reserve_pixels(decoder, width, height, error);
    if (status == RUE_OK) status = decoder->whole->decode(data, width, height, decoder->pixels, error);
    if (status != RUE_OK) return status;
    *size = (struct rue_image_size){width, height, width, height, 8};
    decoder->width = decoder->count = width;
    decoder->first = decoder->row = 0;
    return RUE_OK;
}

/* Finds how the data are decoded. */
static rue_status choose_decoder(struct rue_decoder *decoder, const void *data, size_t bytes,
                                 rue_error *error)
{
    enum rue_image_kind kind = rue_image_kind(data, bytes);
    decoder->whole = whole_kinds[kind];
    return decoder->whole || kind == RUE_IMAGE_JPEG ? RUE_OK : fail_kind(data, bytes, error);
}

rue_status rue_decoder_begin(struct rue_decoder *decoder, const void *data, size_t bytes,
                             struct rue_image_size *size, rue_error *error)
{
    rue_status status = choose_decoder(decoder, data, bytes, error);
    if (status != RUE_OK) return status;
    if (decoder->whole) return decode_whole(decoder, (struct rue_bytes){data, bytes}, size, error);
    return rue_jpeg_begin(decoder->jpeg, data, bytes, size, error);
}

rue_status rue_decoder_crop(struct rue_decoder *decoder, uint32_t *first, uint32_t *count, uint32_t rows,
                            rue_error *error)
{
    if (!decoder->whole) return rue_jpeg_crop(decoder->jpeg, first, count, rows, error);
    decoder->first = *first;
    decoder->count = *count;
    decoder->row = rows;
    return RUE_OK;
}

rue_status rue_decoder_rows(struct rue_decoder *decoder, uint32_t count, uint8_t *out, size_t stride,
                            rue_error *error)
{
    if (!decoder->whole) return rue_jpeg_rows(decoder->jpeg, count, out, stride, error);
    for (uint32_t i = 0; i < count; i++, decoder->row++, out += stride)
        memcpy(out,
               decoder->pixels +
                   ((size_t)decoder->row * decoder->width + decoder->first) * RUE_IMAGE_PIXEL_BYTES,
               (size_t)decoder->count * RUE_IMAGE_PIXEL_BYTES);
    return RUE_OK;
}

rue_status rue_decoder_end(struct rue_decoder *decoder, rue_error *error)
{
    if (!decoder->whole) return rue_jpeg_end(decoder->jpeg, error);
    if (decoder->pixel_bytes > KEPT_BYTES_MAX) free_pixels(decoder);
    return RUE_OK;
}

rue_status rue_decoder_verify(struct rue_decoder *decoder, const void *data, size_t bytes, rue_error *error)
{
    const struct rue_bytes all = {data, bytes};
    struct rue_image_size size;
    rue_status status = choose_decoder(decoder, data, bytes, error);
    if (status != RUE_OK) return status;
    if (!decoder->whole) return rue_jpeg_verify(decoder->jpeg, data, bytes, error);
    status = measure(decoder, all, &size.width, &size.height, error);
    if (status != RUE_OK || decoder->whole->ends(all)) return status;
    status = decode_whole(decoder, all, &size, error);
    return status == RUE_OK ? rue_decoder_end(decoder, error) : status;
}
