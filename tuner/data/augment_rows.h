/* Parameters of augmentation as JSON lines, CSV or npy. */
#ifndef RUE_AUGMENT_ROWS_H
#define RUE_AUGMENT_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "augmentation.h"

/* What drew the sets. */
struct rue_augment_origin {
    struct rue_recipe recipe;
    struct rue_augmentation_key key;
    uint32_t width, height; /* of the image after its crop */
};

struct rue_augment_format {
    const char *name, *mark; /* the mark begins every such file */
    size_t row_bytes;        /* of the longest row */
    bool has_operations;     /* rows can hold a list of operations, for recipes that draw more than numbers */
    /* Writes what precedes `rows` rows; returns its bytes, at most RUE_AUGMENT_HEAD_BYTES. */
    size_t (*head)(char *out, uint64_t rows);
    size_t (*rows)(char *out, const struct rue_augment_origin *origin, const struct rue_augmentation *sets,
                   size_t count);
};

enum { RUE_AUGMENT_HEAD_BYTES = 512 };

extern const struct rue_augment_format rue_augment_jsonl, rue_augment_csv, rue_augment_npy;

#endif
