#include "variant.h"

#include <stdio.h>
#include <string.h>

const char *const rue_mode_names[RUE_MODE_COUNT + 1] = {"raw", "preprocessed", NULL};
const char *const rue_dtype_names[RUE_DTYPE_COUNT + 1] = {"float32", "uint8", "float16", NULL};
const char *const rue_batch_dtype_names[] = {"float32", "uint8", NULL};
const unsigned rue_dtype_bytes[RUE_DTYPE_COUNT] = {4, 1, 2};

bool rue_variant_equal(const struct rue_variant *a, const struct rue_variant *b)
{
    return a->mode == b->mode && strcmp(a->format, b->format) == 0 && strcmp(a->dtype, b->dtype) == 0 &&
           strcmp(a->path, b->path) == 0 && strcmp(a->image_key, b->image_key) == 0 &&
           strcmp(a->label_key, b->label_key) == 0 && strcmp(a->subset, b->subset) == 0;
}

int rue_word_find(const char *const *names, int count, const char *word)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], word) == 0) return i;
    return -1;
}

void rue_variant_describe(const struct rue_variant *variant, char *out, unsigned long bytes)
{
    snprintf(out, bytes, "%s %s%s%s", rue_mode_names[variant->mode], variant->format,
             variant->dtype[0] ? " " : "", variant->dtype);
}
