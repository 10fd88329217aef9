#include "kernels.h"

#include <string.h>

const struct rue_kernels *const rue_kernels[] = {
#ifdef __x86_64__
    &rue_kernels_avx2,
#endif
    &rue_kernels_portable, NULL};

/* Not an ifunc: sanitizers crash with one. */
const struct rue_kernels *rue_kernels_best(void)
{
    size_t i = 0;
    while (!rue_kernels[i]->usable()) i++;
    return rue_kernels[i];
}

static bool rounds_correctly(const struct rue_kernels *kernels, const struct rue_normal *normal)
{
    uint8_t levels[256];
    float values[256];
    for (int level = 0; level < 256; level++) levels[level] = (uint8_t)level;
    for (int c = 0; c < RUE_CHANNELS; c++) {
        kernels->normalize(normal, c, levels, 256, values);
        if (memcmp(values, normal->value[c], sizeof values) != 0) return false;
    }
    return true;
}

const struct rue_kernels *rue_kernels_normal(const float mean[RUE_CHANNELS], const float std[RUE_CHANNELS],
                                             struct rue_normal *normal)
{
    for (int c = 0; c < RUE_CHANNELS; c++) {
        normal->mean[c] = mean[c];
        normal->std[c] = std[c];
        for (int level = 0; level < 256; level++)
            normal->value[c][level] = ((float)level / 255.0F - mean[c]) / std[c];
    }
    size_t i = 0;
    while (!rue_kernels[i]->usable() || (rue_kernels[i + 1] && !rounds_correctly(rue_kernels[i], normal)))
        i++;
    return rue_kernels[i];
}
