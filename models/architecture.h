/* What a model does with one image of 224 x 224 pixels (a language model: with one sequence of tokens), layer
 * by layer, as matrix products: counted from torchvision's definitions by models/trace_layers.py, those that
 * it lacks from their papers. */
#ifndef RUE_ARCHITECTURE_H
#define RUE_ARCHITECTURE_H

#include <stddef.h>
#include <stdint.h>

enum rue_layer_kind {
    RUE_CONVOLUTION, /* one product of images * m rows a group; k counts the window */
    RUE_LINEAR,      /* one product of images * m rows */
    RUE_ATTENTION,   /* images * groups products, both sides of which are activations */
};

/* C[m,n] = A[m,k] B[k,n] for each group and image. */
struct rue_layer {
    enum rue_layer_kind kind;
    uint32_t m, n, k;
    uint32_t groups;        /* of channels; of attention: heads x windows */
    uint32_t repeats;       /* how many layers of the model are like this one */
    uint32_t read_elements; /* of activations, an image */
};

struct rue_architecture {
    const char *name; /* torchvision's; NULL ends a table */
    uint64_t parameters;
    uint64_t peak_elements; /* activations of one image that are alive at one time, at most */
    uint64_t
        moved_elements; /* read and written by all that is no product: norms, activation functions, sums */
    uint32_t moves;     /* the operations that do so */
    const struct rue_layer *layers;
    size_t layer_count;
};

#define RUE_LAYERS(table) table, sizeof table / sizeof *table

/* All of them, index 0 upwards; NULL past the last. */
const struct rue_architecture *rue_architecture_at(size_t index);

/* By its exact name, or NULL. */
const struct rue_architecture *rue_architecture_find(const char *name);

/* Multiplications with addition, of one image. */
uint64_t rue_architecture_multiply_adds(const struct rue_architecture *architecture);

/* Tables that end with a NULL name, for architecture.c. */
extern const struct rue_architecture rue_architectures_convolution[];
extern const struct rue_architecture rue_architectures_mobile[];
extern const struct rue_architecture rue_architectures_transformer[];

#endif
