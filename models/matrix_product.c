#include "matrix_product.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From cblas.h, which is not needed to build this. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111 };
typedef void sgemm(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
                   const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);

static void multiply_by_openblas(const struct rue_matrix_product *product,
                                 const struct rue_matrices *matrices)
{
    int m = (int)matrices->m, n = (int)matrices->n, k = (int)matrices->k;
    ((sgemm *)product->symbol)(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, m, n, k, 1, matrices->a, k,
                               matrices->b, n, 0, matrices->c, n);
}

/* By default OpenBLAS starts one thread per CPU when it is opened. */
static void *open_without_threads(const char *library)
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

rue_status rue_matrix_product_open(const char *library, struct rue_matrix_product *out, rue_error *error)
{
    void (*set_threads)(int) = NULL;
    const char *(*config)(void) = NULL;
    *out = (struct rue_matrix_product){.multiply = multiply_by_openblas};
    void *handle = open_without_threads(library);
    if (handle) {
        *(void **)&out->symbol = dlsym(handle, "cblas_sgemm");
        *(void **)&set_threads = dlsym(handle, "openblas_set_num_threads");
        *(void **)&config = dlsym(handle, "openblas_get_config");
        dlclose(handle);
    }
    if (!out->symbol || !set_threads || !config)
        return rue_fail(error, RUE_USAGE,
                        "models on the CPUs need OpenBLAS, but %s is not usable: %s; install it (apt-get "
                        "install libopenblas0)",
                        library, handle ? "it is another library" : "it is not installed");
    set_threads(1);
    copy_name(config(), out->name);
    return RUE_OK;
}
