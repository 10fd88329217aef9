/* Matrix products on this machine's CPUs with OpenBLAS, which is opened when a model needs it. */
#ifndef RUE_MATRIX_PRODUCT_H
#define RUE_MATRIX_PRODUCT_H

#include <stddef.h>

#include "error.h"

enum { RUE_MATRIX_PRODUCT_NAME_BYTES = 32 };

#define RUE_OPENBLAS "libopenblas.so.0"

/* C[m,n] = A[m,k] B[k,n], row-major without gaps. C is overwritten, and must not overlap A or B. */
struct rue_matrices {
    size_t m, n, k;
    const float *a, *b;
    float *c;
};

struct rue_matrix_product {
    char name[RUE_MATRIX_PRODUCT_NAME_BYTES]; /* "OpenBLAS 0.3.21" */
    /* Runs on the calling thread. Thread-safe. */
    void (*multiply)(const struct rue_matrix_product *product, const struct rue_matrices *matrices);
    void (*symbol)(void); /* function of OpenBLAS */
};

/* Opens the shared library of that name, which is never closed and starts no threads. During the call no
 * other thread may read the environment. RUE_USAGE: the library is not installed or not usable. */
rue_status rue_matrix_product_open(const char *library, struct rue_matrix_product *out,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
