/* Photo-like JPEGs made from a seed: the embedded default data. */
#ifndef RUE_SYNTHETIC_H
#define RUE_SYNTHETIC_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"

enum { RUE_SYNTHETIC_CLASSES = 10 };

/* Photo `index` of the set of `seed`: a baseline 4:2:0 JPEG, around 500×375 (some portrait, square, smaller
 * and larger), 105-130 KB on average over a set, with detail at all scales so that decoding a byte costs what
 * it costs in a photograph. The same bytes for the same (seed, index) on every machine with the same
 * libjpeg-turbo. `*out_jpeg` is owned by the caller (free). Thread-safe. RUE_MEMORY, RUE_INTERNAL when
 * libjpeg refuses. */
rue_status rue_synthetic_photo(uint64_t seed, uint64_t index, unsigned char **out_jpeg, size_t *out_bytes,
                               rue_error *error) RUE_MUST_CHECK;

/* Where photo `index` lies below the set's folder: "class_3/photo_00013.jpg". */
void rue_synthetic_name(uint64_t index, char *out, size_t bytes);

#endif
