#include "decoder.h"

#include <stdlib.h>
#include <string.h>

#include "exif.h"
#include "file_kind.h"
#include "jpeg.h"
#include "whole.h"

enum { KEPT_BYTES_MAX = 64 << 20 }; /* larger buffers are freed after the image */

struct pixels {
    uint8_t *data;
    size_t bytes;
};

struct rue_decoder {
    struct rue_jpeg *jpeg;
    uint64_t max_pixels;
    uint32_t short_side;
    enum rue_orientation orientation;
    const struct rue_whole_ops *whole; /* of the image in progress; NULL: a JPEG */
    bool streams;                      /* rows come from the JPEG decoder; else from `pixels` */
    struct pixels pixels, other;       /* a decoded image, and what it is turned from */
    uint32_t width;
    uint32_t first, count, row; /* columns that rows have, and the next row */
};

static const struct rue_whole_ops *const whole_kinds[RUE_IMAGE_KINDS] = {
    [RUE_IMAGE_PNG] = &rue_whole_png,
    [RUE_IMAGE_WEBP] = &rue_whole_webp,
    [RUE_IMAGE_GIF] = &rue_whole_gif,
    [RUE_IMAGE_BMP] = &rue_whole_bmp,
};

rue_status rue_decoder_open(uint64_t max_pixels, uint32_t short_side, enum rue_orientation orientation,
                            struct rue_decoder **out, rue_error *error)
{
    struct rue_decoder *decoder = calloc(1, sizeof *decoder);
    if (!decoder) return rue_fail_memory(error, "an image decoder", sizeof *decoder);
    decoder->max_pixels = max_pixels;
    decoder->short_side = short_side;
    decoder->orientation = orientation;
    rue_status status = rue_jpeg_open(max_pixels, short_side, rue_kernels_best(), &decoder->jpeg, error);
    if (status != RUE_OK) return rue_decoder_close(decoder), status;
    *out = decoder;
    return RUE_OK;
}

static void free_pixels(struct pixels *pixels)
{
    free(pixels->data);
    *pixels = (struct pixels){0};
}

void rue_decoder_close(struct rue_decoder *decoder)
{
    if (!decoder) return;
    rue_jpeg_close(decoder->jpeg);
    free_pixels(&decoder->pixels);
    free_pixels(&decoder->other);
    free(decoder);
}

static void free_large(struct rue_decoder *decoder)
{
    if (decoder->pixels.bytes > KEPT_BYTES_MAX) free_pixels(&decoder->pixels);
    if (decoder->other.bytes > KEPT_BYTES_MAX) free_pixels(&decoder->other);
}

static rue_status fail_kind(const void *data, size_t bytes, rue_error *error)
{
    static const char served[] = "JPEG, PNG, WebP, GIF or BMP file";
    if (bytes == 0) return rue_fail(error, RUE_DATA, "is empty");
    const char *kind = rue_file_kind(data, bytes);
    return rue_fail(error, RUE_DATA, "is %s%snot a %s", kind ? kind : "", kind ? ", " : "", served);
}

static rue_status reserve_pixels(struct pixels *pixels, uint32_t width, uint32_t height, rue_error *error)
{
    size_t bytes = (size_t)width * height * RUE_IMAGE_PIXEL_BYTES;
    if (bytes <= pixels->bytes) return RUE_OK;
    free_pixels(pixels);
    pixels->data = malloc(bytes);
    if (!pixels->data) return rue_fail_memory(error, "a decoded image", bytes);
    pixels->bytes = bytes;
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
    if (status == RUE_OK) status = reserve_pixels(&decoder->pixels, width, height, error);
    if (status == RUE_OK) status = decoder->whole->decode(data, width, height, decoder->pixels.data, error);
    if (status == RUE_OK) *size = (struct rue_image_size){width, height, width, height, 8};
    return status;
}

static rue_status decode_all_rows(struct rue_decoder *decoder, const struct rue_image_size *size,
                                  rue_error *error)
{
    size_t stride = (size_t)size->width * RUE_IMAGE_PIXEL_BYTES;
    rue_status status = reserve_pixels(&decoder->pixels, size->width, size->height, error);
    if (status == RUE_OK)
        status = rue_jpeg_rows(decoder->jpeg, size->height, decoder->pixels.data, stride, error);
    return status == RUE_OK ? rue_jpeg_end(decoder->jpeg, error) : status;
}

static rue_status turn(struct rue_decoder *decoder, unsigned orientation, struct rue_image_size *size,
                       rue_error *error)
{
    rue_status status = reserve_pixels(&decoder->other, size->width, size->height, error);
    if (status != RUE_OK) return status;
    rue_exif_turn(orientation, size->width, size->height, decoder->pixels.data, decoder->other.data);
    struct pixels before = decoder->pixels;
    decoder->pixels = decoder->other;
    decoder->other = before;
    if (rue_exif_swaps_sides(orientation))
        *size = (struct rue_image_size){size->height, size->width, size->full_height, size->full_width,
                                        size->eighths};
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

/* Leaves the rows to the JPEG decoder unless they are turned. */
static rue_status begin_jpeg(struct rue_decoder *decoder, struct rue_bytes data, unsigned *orientation,
                             struct rue_image_size *size, rue_error *error)
{
    if (decoder->orientation == RUE_ORIENTATION_APPLY)
        *orientation = rue_exif_orientation(rue_exif_find_in_jpeg(data));
    decoder->streams = *orientation == 1;
    /* The last pixel of a side of a scaled image may be a part of one. In a turned image it would come first.
     */
    rue_jpeg_set_short_side(decoder->jpeg, decoder->streams ? decoder->short_side : 0);
    rue_status status = rue_jpeg_begin(decoder->jpeg, data.at, data.count, size, error);
    return status == RUE_OK && !decoder->streams ? decode_all_rows(decoder, size, error) : status;
}

static rue_status begin_whole(struct rue_decoder *decoder, struct rue_bytes data, unsigned *orientation,
                              struct rue_image_size *size, rue_error *error)
{
    decoder->streams = false;
    rue_status status = decode_whole(decoder, data, size, error);
    if (status == RUE_OK && decoder->orientation == RUE_ORIENTATION_APPLY && decoder->whole->exif)
        *orientation = rue_exif_orientation(decoder->whole->exif(data));
    return status;
}

rue_status rue_decoder_begin(struct rue_decoder *decoder, const void *data, size_t bytes,
                             struct rue_image_size *size, rue_error *error)
{
    const struct rue_bytes all = {data, bytes};
    unsigned orientation = 1;
    rue_status status = choose_decoder(decoder, data, bytes, error);
    if (status != RUE_OK) return status;
    status = decoder->whole ? begin_whole(decoder, all, &orientation, size, error)
                            : begin_jpeg(decoder, all, &orientation, size, error);
    if (status == RUE_OK && orientation != 1) status = turn(decoder, orientation, size, error);
    if (status != RUE_OK) free_large(decoder);
    if (status != RUE_OK || decoder->streams) return status;
    decoder->width = decoder->count = size->width;
    decoder->first = decoder->row = 0;
    return RUE_OK;
}

rue_status rue_decoder_crop(struct rue_decoder *decoder, uint32_t *first, uint32_t *count, uint32_t rows,
                            rue_error *error)
{
    if (decoder->streams) return rue_jpeg_crop(decoder->jpeg, first, count, rows, error);
    decoder->first = *first;
    decoder->count = *count;
    decoder->row = rows;
    return RUE_OK;
}

rue_status rue_decoder_rows(struct rue_decoder *decoder, uint32_t count, uint8_t *out, size_t stride,
                            rue_error *error)
{
    if (decoder->streams) return rue_jpeg_rows(decoder->jpeg, count, out, stride, error);
    for (uint32_t i = 0; i < count; i++, decoder->row++, out += stride)
        memcpy(out,
               decoder->pixels.data +
                   ((size_t)decoder->row * decoder->width + decoder->first) * RUE_IMAGE_PIXEL_BYTES,
               (size_t)decoder->count * RUE_IMAGE_PIXEL_BYTES);
    return RUE_OK;
}

rue_status rue_decoder_end(struct rue_decoder *decoder, rue_error *error)
{
    if (decoder->streams) return rue_jpeg_end(decoder->jpeg, error);
    free_large(decoder);
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
    decoder->streams = false;
    status = decode_whole(decoder, all, &size, error);
    return status == RUE_OK ? rue_decoder_end(decoder, error) : status;
}
