/* Photo-like JPEGs made from a seed. */
#ifndef RUE_SYNTHETIC_H
#define RUE_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

enum { RUE_SYNTHETIC_CLASSES = 10 };

/* Photo `index` of the set of `seed`: a baseline 4:2:0 JPEG of around 500×375 pixels and 105-130 KB on
 * average. Its detail at all scales makes decoding cost as much per byte as a photograph. Equal (seed, index)
 * give equal bytes on every machine with the same libjpeg-turbo. The caller owns `*out_jpeg` (free).
 * Thread-safe. RUE_MEMORY; RUE_INTERNAL: libjpeg fails. */
rue_status rue_synthetic_photo(uint64_t seed, uint64_t index, unsigned char **out_jpeg, size_t *out_bytes,
                               rue_error *error) RUE_MUST_CHECK;

/* The path of photo `index` below the set's folder: "class_3/photo_00013.jpg". */
void rue_synthetic_name(uint64_t index, char *out, size_t bytes);

#endif
