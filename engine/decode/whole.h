/* Decoders of images that are not JPEG: each decodes an image as a whole. One file a type; decoder.c has the
 * table. Messages do not name the file ("is a PNG file that is truncated"). */
#ifndef RUE_WHOLE_H
#define RUE_WHOLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image_size.h"

struct rue_bytes {
    const uint8_t *at;
    size_t count;
};

struct rue_whole_ops {
    /* The size in pixels, from the headers. RUE_DATA: they are truncated, or do not make sense. */
    rue_status (*measure)(struct rue_bytes data, uint32_t *width, uint32_t *height, rue_error *error);
    /* Writes the pixels [width * height], rows of R, G, B and an unused byte, of the size that `measure`
     * gave. RUE_DATA, RUE_MEMORY. */
    rue_status (*decode)(struct rue_bytes data, uint32_t width, uint32_t height, uint8_t *pixels,
                         rue_error *error);
    /* Whether the file ends as a complete one does. */
    bool (*ends)(struct rue_bytes data);
    /* The EXIF data of an image that was decoded; none: NULL. (optional) */
    struct rue_bytes (*exif)(struct rue_bytes data);
};

extern const struct rue_whole_ops rue_whole_png, rue_whole_webp, rue_whole_gif, rue_whole_bmp;

static inline uint32_t rue_whole_u16le(const uint8_t *at)
{
    return (uint32_t)at[0] | (uint32_t)at[1] << 8;
}

static inline uint32_t rue_whole_u32le(const uint8_t *at)
{
    return rue_whole_u16le(at) | rue_whole_u16le(at + 2) << 16;
}

static inline uint32_t rue_whole_u32be(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

#endif
