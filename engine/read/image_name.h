/* Names of image files. */
#ifndef RUE_IMAGE_NAME_H
#define RUE_IMAGE_NAME_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a file's name is that of a JPEG file. */
bool rue_image_has_name(const char *name);

/* Whether a path that comes from data leads to what is below a folder, and nowhere else. */
bool rue_image_name_is_safe(const char *path);

#endif
