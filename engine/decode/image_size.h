/* The size of an image, and the limit of it. */
#ifndef RUE_IMAGE_SIZE_H
#define RUE_IMAGE_SIZE_H

#include <stdint.h>

#include "error.h"

enum { RUE_IMAGE_PIXEL_BYTES = 4 }; /* R, G, B and an unused byte: one aligned load per pixel */

struct rue_image_size {
    uint32_t width, height; /* decoded pixels, at least 1: full size times eighths / 8, rounded up */
    uint32_t full_width, full_height;
    unsigned eighths; /* 1 to 8; 8 unless a JPEG was decoded at a smaller size */
};

/* RUE_DATA: the image has more pixels than the limit. The message does not name the file. */
rue_status rue_image_size_check(uint32_t width, uint32_t height, uint64_t max_pixels,
                                rue_error *error) RUE_MUST_CHECK;

#endif
