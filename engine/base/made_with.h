/* What preprocessed items were made with: a text of names and values, such as "resize 256 interpolation
 * bilinear layout nchw orientation ignore mean 0.485,0.456,0.406 std 0.229,0.224,0.225". The names are those
 * of options; resize is in pixels, mean and std are those of floating-point items. Formats store the text;
 * "": it is not recorded. The shape of items is not part of it: every format has it. */
#ifndef RUE_MADE_WITH_H
#define RUE_MADE_WITH_H

#include <stddef.h>

#include "geometry.h"
#include "loading.h"
#include "variant.h"

/* Adds to the text what becomes of the pixels of an image, and how its values are normalised. */
void rue_made_with_add_pixels(char text[RUE_MADE_WITH_BYTES], const struct rue_geometry *geometry,
                              enum rue_orientation orientation);
void rue_made_with_add_normal(char text[RUE_MADE_WITH_BYTES], const struct rue_geometry *geometry);

/* Copies a stored text, without a newline at its end. `out` is "" if it is too long or not printable. */
void rue_made_with_read(const void *stored, size_t bytes, char out[RUE_MADE_WITH_BYTES]);

/* Writes "shape 3x224x224" and the recorded text. */
void rue_made_with_items(const uint32_t shape[3], const char *recorded, char out[RUE_MADE_WITH_BYTES]);

/* Compares the items of `path`, in the words of rue_made_with_items, with what is asked for. What is asked
 * for by default is not compared, unless the items stand beside raw ones that are loaded with it. What is not
 * recorded is not compared. RUE_USAGE names the first difference. */
rue_status rue_made_with_check(const char *path, const char *items, const struct rue_geometry *geometry,
                               enum rue_orientation orientation, bool beside_raw,
                               rue_error *error) RUE_MUST_CHECK;

#endif
