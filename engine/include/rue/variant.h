/* A variant identifies data that a loader can open: mode, format, dtype of preprocessed data, and path. */
#ifndef RUE_VARIANT_H
#define RUE_VARIANT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum rue_mode { RUE_RAW, RUE_PREPROCESSED, RUE_MODE_COUNT };
extern const char *const rue_mode_names[RUE_MODE_COUNT + 1]; /* "raw", "preprocessed", NULL */

enum rue_dtype { RUE_FLOAT32, RUE_UINT8, RUE_FLOAT16, RUE_DTYPE_COUNT };
extern const char *const rue_dtype_names[RUE_DTYPE_COUNT + 1]; /* "float32", "uint8", "float16", NULL */
extern const unsigned rue_dtype_bytes[RUE_DTYPE_COUNT];        /* bytes of one value: 4, 1, 2 */

/* Those that batches can have: the first of the list above. */
extern const char *const rue_batch_dtype_names[]; /* "float32", "uint8", NULL */

/* The default limit on the pixels of an image: 16,384 x 16,384. */
#define RUE_MAX_PIXELS_DEFAULT (UINT64_C(16384) * 16384)

enum { RUE_VARIANT_KEY_BYTES = 64, RUE_VARIANT_SUBSET_BYTES = 1024, RUE_MADE_WITH_BYTES = 256 };

struct rue_variant {
    enum rue_mode mode;
    char format[16]; /* "folder", "tensor", ..., or the name that another runner uses */
    char dtype[16];  /* of preprocessed items; "": raw */
    char path[PATH_MAX];
    char image_key[RUE_VARIANT_KEY_BYTES]; /* names of image and label in the data; "": the defaults */
    char label_key[RUE_VARIANT_KEY_BYTES];
    char subset[RUE_VARIANT_SUBSET_BYTES]; /* which items, see rue_source_options; "": all */
};

/* Whether mode, format, dtype, path, keys and subset are equal. */
bool rue_variant_equal(const struct rue_variant *a, const struct rue_variant *b);

/* The index of `word` in `names[count]`, or -1. */
int rue_word_find(const char *const *names, int count, const char *word);

/* Writes "raw folder" or "preprocessed tensor float32" to `out` [bytes]. */
void rue_variant_describe(const struct rue_variant *variant, char *out, unsigned long bytes);

#endif
