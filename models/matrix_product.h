/* Who multiplies matrices on this machine's CPUs: OpenBLAS where it is installed, or rue's own loops, which
 * are slower. */
#ifndef RUE_MATRIX_PRODUCT_H
#define RUE_MATRIX_PRODUCT_H

#include <stdbool.h>

#include "host_loops.h"

enum { RUE_MATRIX_PRODUCT_NAME_BYTES = 32 };

#define RUE_OPENBLAS "libopenblas.so.0"

struct rue_matrix_product {
    char name[RUE_MATRIX_PRODUCT_NAME_BYTES]; /* "OpenBLAS 0.3.21", "rue's own loops" */
    bool own;
    /* On the calling thread alone; several may call it at once. */
    void (*multiply)(const struct rue_matrix_product *product, const struct rue_matrices *matrices);
    void (*symbol)(void); /* OpenBLAS's */
};

/* OpenBLAS from the shared library of that name, which stays loaded, or, where it is not to be had, our own.
 * It never starts threads. Not while other threads read the environment. */
struct rue_matrix_product rue_matrix_product_find(const char *library);

#endif
