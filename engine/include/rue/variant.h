/* A variant is what a loader can open: data mode + format (+ dtype for preprocessed), at a path. */
#ifndef RUE_VARIANT_H
#define RUE_VARIANT_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

enum rue_mode { RUE_RAW, RUE_PREPROCESSED, RUE_MODE_COUNT };
extern const char *const rue_mode_names[RUE_MODE_COUNT + 1]; /* "raw", "preprocessed", NULL */

enum rue_dtype { RUE_FLOAT32, RUE_UINT8, RUE_DTYPE_COUNT };
extern const char *const rue_dtype_names[RUE_DTYPE_COUNT + 1]; /* "float32", "uint8", NULL */
extern const unsigned rue_dtype_bytes[RUE_DTYPE_COUNT];

/* Unless something else is said, images of more pixels than this are refused from their header: 16k × 16k.
 */
#define RUE_MAX_PIXELS_DEFAULT (UINT64_C(16384) * 16384)

enum { RUE_VARIANT_KEY_BYTES = 64 };

struct rue_variant {
    enum rue_mode mode;
    char format[16]; /* "folder", "tensor", or what a foreign runner calls its own */
    char dtype[16];  /* of preprocessed items; "" for raw */
    char path[PATH_MAX];
    char image_key[RUE_VARIANT_KEY_BYTES]; /* what the data call images and labels; "": the usual names */
    char label_key[RUE_VARIANT_KEY_BYTES];
};

/* Whether they are the same data: mode, format, dtype, path and keys. */
bool rue_variant_equal(const struct rue_variant *a, const struct rue_variant *b);

/* The index of `word` in `names[count]`, or -1. */
int rue_word_find(const char *const *names, int count, const char *word);

/* "raw folder", "preprocessed tensor float32". */
void rue_variant_describe(const struct rue_variant *variant, char *out, unsigned long bytes);

#endif
