/* What a module of CUDA kernels that is built for tests has beside its table (models/cuda_module.h). */
#ifndef RUE_CUDA_TEST_MODULE_H
#define RUE_CUDA_TEST_MODULE_H

#include "cuda_module.h"

#define RUE_CUDA_TEST_SYMBOL "rue_cuda_test_entries" /* const struct rue_cuda_test_entries *(void) */

struct rue_cuda_test_entries {
    /* One step on the host's values, which are rounded to `precision` first; `own` != 0 takes the module's
     * own kernels. Sizes in elements. */
    int (*multiply)(uint32_t precision, const struct rue_cuda_step *step, const float *a, size_t a_count,
                    const float *b, size_t b_count, float *c, size_t c_count, int own, char *message);
    /* What the products take of `count` values of a batch that lies at `images` on the host. */
    int (*take)(uint32_t precision, const struct rue_cuda_input *input, const void *images, size_t count,
                float *out, char *message);
};

#endif
