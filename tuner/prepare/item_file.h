/* Items as files: their names and headers. */
#ifndef RUE_ITEM_FILE_H
#define RUE_ITEM_FILE_H

#include "sink_options.h"

/* The path of an item: "class/key.jpg", or only the key if it begins with the class. Preprocessed items end
 * in ".npy". It is safe only if the class name is. */
void rue_item_file_name(const struct rue_sink_options *options, const struct rue_item *item, char *out,
                        size_t bytes);

/* Whether a path from data stays below its folder and has no hidden parts. */
bool rue_item_file_name_is_safe(const char *path);

/* The npy header of a preprocessed item, as numpy.save writes it. */
enum { RUE_ITEM_FILE_NPY_BYTES = 128 };
void rue_item_file_npy_header(const struct rue_sink_options *options, char out[RUE_ITEM_FILE_NPY_BYTES]);

#endif
