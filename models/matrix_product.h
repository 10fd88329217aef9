/* Matrix products on this machine's CPUs, by OpenBLAS, which is opened when a model asks for it. */
#ifndef RUE_MATRIX_PRODUCT_H
#define RUE_MATRIX_PRODUCT_H

#include <stddef.h>

#include "error.h"

enum { RUE_MATRIX_PRODUCT_NAME_BYTES = 32 };

#define RUE_OPENBLAS "libopenblas.so.0"

/* C[m,n] = A[m,k] B[k,n], row by row and without gaps; A and B are read, C is overwritten. They do not
 * overlap. */
struct rue_matrices {
    size_t m, n, k;
    const float *a, *b;
    float *c;
};

struct rue_matrix_product {
    char name[RUE_MATRIX_PRODUCT_NAME_BYTES]; /* "OpenBLAS 0.3.21" */
    /* On the calling thread alone; several may call it at once. */
    void (*multiply)(const struct rue_matrix_product *product, const struct rue_matrices *matrices);
    void (*symbol)(void); /* OpenBLAS's */
};

/* Opens the shared library of that name, which stays open and starts no threads. RUE_USAGE where it is not
 * installed. Not while other threads read the environment. */
rue_status rue_matrix_product_open(const char *library, struct rue_matrix_product *out,
                                   rue_error *error) RUE_MUST_CHECK;

#endif
