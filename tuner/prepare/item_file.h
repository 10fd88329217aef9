/* Items as files: what they are called, and what stands before the data. */
#ifndef RUE_ITEM_FILE_H
#define RUE_ITEM_FILE_H

#include "sink.h"

/* The path that an item becomes: "class/key.jpg", or the key where that tells the class; of preprocessed ones
 * with ".npy" at its end. It is as safe as the name of the class. */
void rue_item_file_name(const struct rue_sink_options *options, const struct rue_item *item, char *out,
                        size_t bytes);

/* Whether a path that comes from data leads to what is below a folder, and nowhere else. */
bool rue_item_file_name_is_safe(const char *path);

/* The header of a preprocessed item as a npy file, as numpy.save writes it. */
enum { RUE_ITEM_FILE_NPY_BYTES = 128 };
void rue_item_file_npy_header(const struct rue_sink_options *options, char out[RUE_ITEM_FILE_NPY_BYTES]);

#endif
