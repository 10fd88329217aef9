/* Names of image files. */
#ifndef RUE_IMAGE_NAME_H
#define RUE_IMAGE_NAME_H

#include <stdbool.h>
#include <stddef.h>

#include "sink.h"

/* Whether a file's name is that of a JPEG file. */
bool rue_image_has_name(const char *name);

/* Whether a path that comes from data leads to what is below a folder, and nowhere else. */
bool rue_image_name_is_safe(const char *path);

/* The path of the file that an item becomes: "class/key.jpg", or the key where that tells the class. It is as
 * safe as the name of the class. */
void rue_image_name(const struct rue_sink_options *options, const struct rue_item *item, char *out,
                    size_t bytes);

#endif
