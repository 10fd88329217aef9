/* Items as files: their names and headers, and the folder of a sink. */
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

/* Fails because of errno: `path` cannot be written, or `name` below it. RUE_STORE. */
rue_status rue_item_file_fail(const char *path, const char *name, rue_error *error);

/* A folder that a sink writes. Errors are RUE_STORE. */
struct rue_item_folder {
    char path[PATH_MAX]; /* as messages name it */
    int fd;
};

/* Makes the folder; `fd` is -1 if that fails. */
rue_status rue_item_folder_open(struct rue_item_folder *folder, const char *path,
                                const struct rue_sink_options *options, rue_error *error) RUE_MUST_CHECK;

/* Writes a file below it. RUE_DATA: there is one of that name. */
rue_status rue_item_folder_write(const struct rue_item_folder *folder, const char *name, const void *data,
                                 size_t bytes, rue_error *error) RUE_MUST_CHECK;

/* Flushes all its files to the disk, in one call. */
rue_status rue_item_folder_flush(const struct rue_item_folder *folder, rue_error *error) RUE_MUST_CHECK;

#endif
