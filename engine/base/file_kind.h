/* The type of a file, by its first bytes. */
#ifndef RUE_FILE_KIND_H
#define RUE_FILE_KIND_H

#include <stddef.h>

/* Types of images that are decoded. */
enum rue_image_kind {
    RUE_IMAGE_NONE, /* another type, or unknown */
    RUE_IMAGE_JPEG,
    RUE_IMAGE_PNG,
    RUE_IMAGE_WEBP,
    RUE_IMAGE_GIF,
    RUE_IMAGE_BMP,
    RUE_IMAGE_KINDS,
};

enum rue_image_kind rue_image_kind(const void *data, size_t bytes);

/* "a PNG file", for messages; NULL: unknown. */
const char *rue_file_kind(const void *data, size_t bytes);

#endif
