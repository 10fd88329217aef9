/* Writes a tensor file (tensor_file.h): to a temporary name beside the destination, the header last, then
 * renamed. Until rue_tensor_writer_finish returns RUE_OK the destination is untouched. Not thread-safe. */
#ifndef RUE_TENSOR_WRITER_H
#define RUE_TENSOR_WRITER_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "variant.h"

struct rue_tensor_writer;

struct rue_tensor_shape {
    enum rue_dtype dtype;
    uint32_t channels, height, width;
};

/* `count` records are to come. `overwrite` allows an existing destination. Errors: RUE_USAGE when it exists
 * and `overwrite` is false or it is no regular file, RUE_STORE when it cannot be created, RUE_MEMORY. */
rue_status rue_tensor_writer_open(const char *path, const struct rue_tensor_shape *shape, uint64_t count,
                                  bool overwrite, struct rue_tensor_writer **out,
                                  rue_error *error) RUE_MUST_CHECK;

/* Appends the next record: the values of one image, CHW. RUE_STORE with the path and the reason (disk full).
 */
rue_status rue_tensor_writer_add(struct rue_tensor_writer *writer, const void *values, int32_t label,
                                 rue_error *error) RUE_MUST_CHECK;

/* Writes labels, checksums, classes and the header, flushes all to the disk and renames. All `count` records
 * must have been added. `classes` [class_count] is borrowed. */
rue_status rue_tensor_writer_finish(struct rue_tensor_writer *writer, const char *const *classes,
                                    size_t class_count, rue_error *error) RUE_MUST_CHECK;

/* Removes the temporary file unless finished. */
void rue_tensor_writer_close(struct rue_tensor_writer *writer);

#endif
