/* How much data take on storage. */
#ifndef RUE_STORAGE_H
#define RUE_STORAGE_H

#include "variant.h"

/* Bytes of a file, or of all files below a folder but hidden ones; NaN where they cannot be looked at. */
double rue_storage_bytes(const char *path);

/* Bytes of a variant whose items have `item_bytes` in all: those of a list's images count too, and of what
 * has no path of its own, a pattern of shards, those of its items are all that is known. */
double rue_variant_storage_bytes(const struct rue_variant *variant, uint64_t item_bytes);

#endif
