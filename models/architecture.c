#include "architecture.h"

#include <string.h>

const struct rue_architecture *rue_architecture_at(size_t index)
{
    const struct rue_architecture *const families[] = {
        rue_architectures_convolution, rue_architectures_mobile, rue_architectures_transformer};
    for (size_t f = 0; f < sizeof families / sizeof *families; f++)
        for (const struct rue_architecture *at = families[f]; at->name; at++)
            if (index-- == 0) return at;
    return NULL;
}

const struct rue_architecture *rue_architecture_find(const char *name)
{
    const struct rue_architecture *at;
    for (size_t i = 0; (at = rue_architecture_at(i)); i++)
        if (strcmp(at->name, name) == 0) return at;
    return NULL;
}

uint64_t rue_architecture_multiply_adds(const struct rue_architecture *architecture)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < architecture->layer_count; i++) {
        const struct rue_layer *layer = &architecture->layers[i];
        sum += (uint64_t)layer->m * layer->n * layer->k * layer->groups * layer->repeats;
    }
    return sum;
}
