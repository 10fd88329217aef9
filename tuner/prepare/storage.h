/* The size of data on storage. */
#ifndef RUE_STORAGE_H
#define RUE_STORAGE_H

#include "variant.h"

/* Bytes of a file, or of all files below a folder except hidden ones; NaN: they cannot be read. */
double rue_storage_bytes(const char *path);

/* Bytes of a variant whose items have `item_bytes` in total. Includes the images that a list names. A pattern
 * of shards counts only its items. */
double rue_variant_storage_bytes(const struct rue_variant *variant, uint64_t item_bytes);

#endif
