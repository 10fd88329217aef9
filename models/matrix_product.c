#include "matrix_product.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As cblas.h has them, which is not needed to build this. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111 };
typedef void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

static void multiply_by_openblas(const struct rue_matrix_product *product, const struct rue_matrices *of)
{
    int m = (int)of->m, n = (int)of->n, k = (int)of->k;
    ((sgemm *)product->symbol)(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, m, n, k, 1, of->a, k, of->b, n, 0,
                               of->c, n);
}

static void multiply_by_ourselves(const struct rue_matrix_product *product, const struct rue_matrices *of)
{
    (void)product;
    rue_host_multiply(of);
}

/* Once it is loaded OpenBLAS would start a thread for each CPU. */
static void *load_alone(const char *library)
{
    static const char variable[] = "OPENBLAS_NUM_THREADS";
    const char *set = getenv(variable);
    char *before = set ? strdup(set) : NULL;
    setenv(variable, "1", 1);
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (before)
        setenv(variable, before, 1);
    else
        unsetenv(variable);
    free(before);
    return handle;
}

/* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." */
static void copy_name(const char *config, char name[RUE_MATRIX_PRODUCT_NAME_BYTES])
{
    size_t word = strcspn(config, " "),
           words = config[word] ? word + 1 + strcspn(config + word + 1, " ") : word;
    snprintf(name, RUE_MATRIX_PRODUCT_NAME_BYTES, "%.*s", (int)words, config);
}

struct rue_matrix_product rue_matrix_product_find(const char *library)
{
    struct rue_matrix_product product = {"rue's own loops", true, multiply_by_ourselves, NULL};
    void *handle = load_alone(library);
    if (!handle) return product;
    void (*set_threads)(int);
    const char *(*config)(void);
    *(void **)&product.symbol = dlsym(handle, "cblas_sgemm");
    *(void **)&set_threads = dlsym(handle, "openblas_set_num_threads");
    *(void **)&config = dlsym(handle, "openblas_get_config");
    if (product.symbol && set_threads && config) {
        set_threads(1);
        copy_name(config(), product.name);
        product.own = false;
        product.multiply = multiply_by_openblas;
    }
    dlclose(handle);
    return product;
}
