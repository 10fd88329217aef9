/* The layers of a model as matrix products for one image of 224 x 224 pixels, or one sequence of tokens.
 * models/trace_layers.py wrote them from torchvision's definitions, or from papers. */
#ifndef RUE_ARCHITECTURE_H
#define RUE_ARCHITECTURE_H

#include <stddef.h>
#include <stdint.h>

enum rue_layer_kind {
    RUE_CONVOLUTION, /* one product of images * m rows per group; k counts the window */
    RUE_LINEAR,      /* one product of images * m rows */
    RUE_ATTENTION,   /* images * groups products of activations with activations */
};

/* C[m,n] = A[m,k] B[k,n] for each group and image. */
struct rue_layer {
    enum rue_layer_kind kind;
    uint32_t m, n, k;
    uint32_t groups;        /* groups of channels; attention: heads x windows */
    uint32_t repeats;       /* number of equal layers in the model */
    uint32_t read_elements; /* activations per image */
};

struct rue_architecture {
    const char *name; /* torchvision's name; NULL ends a table */
    uint64_t parameters;
    uint64_t peak_elements;  /* largest number of activations of one image that are alive at once */
    uint64_t moved_elements; /* read and written by other operations: norms, activation functions, sums */
    uint32_t moves;          /* number of these operations */
    const struct rue_layer *layers;
    size_t layer_count;
};

#define RUE_LAYERS(table) table, sizeof table / sizeof *table

/* The architecture at `index`, from 0; NULL after the last. */
const struct rue_architecture *rue_architecture_at(size_t index);

/* Finds an architecture by its exact name; NULL: unknown. */
const struct rue_architecture *rue_architecture_find(const char *name);

/* Multiply-add operations for one image. */
uint64_t rue_architecture_multiply_adds(const struct rue_architecture *architecture);

/* For architecture.c. A NULL name ends each table. */
extern const struct rue_architecture rue_architectures_convolution[];
extern const struct rue_architecture rue_architectures_mobile[];
extern const struct rue_architecture rue_architectures_transformer[];

#endif
