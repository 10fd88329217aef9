/* The sink of single image files, which that of CSV lists writes as well. */
#ifndef RUE_SINK_FOLDER_H
#define RUE_SINK_FOLDER_H

#include "sink.h"

extern const struct rue_sink_ops rue_sink_folder;

/* The path of the file that an item becomes: "class/key.jpg", or the key where that tells the class. It is as
 * safe as the name of the class. */
void rue_sink_image_name(const struct rue_sink_options *options, const struct rue_item *item, char *out,
                         size_t bytes);

/* Whether a path that comes from data leads to what is below a folder, and nowhere else. */
bool rue_sink_name_is_safe(const char *path);

#endif
