#include "kernels.h"

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
