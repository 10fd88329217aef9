#include "matrix_product.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "host_loops.h"

static const size_t shapes[][3] = {{1, 1, 1},      {1, 1000, 64}, {6, 16, 256},   {7, 17, 257},
                                   {49, 1, 9},     {193, 33, 31}, {200, 64, 300}, {13, 100, 700},
                                   {197, 197, 64}, {5, 15, 1},    {384, 48, 27}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

static float *random_values(size_t count)
{
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) values[i] = (float)rand() / (float)RAND_MAX * 2 - 1;
    return values;
}

/* As far as rounding in any order takes it: k roundings of terms as large as |a| |b|. */
static void expect_product(const struct rue_matrices *of)
{
    for (size_t i = 0; i < of->m; i++)
        for (size_t j = 0; j < of->n; j++) {
            double sum = 0, size = 0;
            for (size_t p = 0; p < of->k; p++) {
                double term = (double)of->a[i * of->k + p] * of->b[p * of->n + j];
                sum += term;
                size += fabs(term);
            }
            double bound = (double)of->k * FLT_EPSILON * size, got = of->c[i * of->n + j];
            cr_assert(fabs(got - sum) <= bound, "%zu x %zu x %zu at %zu, %zu: %g and not %g", of->m, of->n,
                      of->k, i, j, got, sum);
        }
}

static void expect_products(const struct rue_matrix_product *product)
{
    for (size_t s = 0; s < SHAPES; s++) {
        size_t m = shapes[s][0], n = shapes[s][1], k = shapes[s][2];
        float *a = random_values(m * k), *b = random_values(k * n), *c = random_values(m * n + 1);
        struct rue_matrices matrices = {m, n, k, a, b, c};
        float behind = c[m * n];
        product->multiply(product, &matrices);
        expect_product(&matrices);
        cr_assert_eq(c[m * n], behind);
        free(a);
        free(b);
        free(c);
    }
}

static struct rue_matrix_product open_product(void)
{
    rue_error error = {0};
    struct rue_matrix_product product;
    cr_assert_eq(rue_matrix_product_open(RUE_OPENBLAS, &product, &error), RUE_OK, "%s", error.message);
    return product;
}

static void expect_refusal(const char *library, const char *why)
{
    rue_error error = {0};
    struct rue_matrix_product product;
    cr_assert_eq(rue_matrix_product_open(library, &product, &error), RUE_USAGE);
    cr_assert(strstr(error.message, library) && strstr(error.message, why), "%s", error.message);
    cr_assert(strstr(error.message, "apt-get install libopenblas0"), "%s", error.message);
}

Test(matrix_product, a_library_that_cannot_multiply_is_refused)
{
    expect_refusal("libopenblas-of-nobody.so.0", "not installed");
    expect_refusal("libm.so.6", "another library");
}

Test(matrix_product, openblas_multiplies)
{
    struct rue_matrix_product product = open_product();
    cr_assert(strncmp(product.name, "OpenBLAS ", 9) == 0 && !strchr(product.name + 9, ' '), "%s",
              product.name);
    expect_products(&product);
}

Test(matrix_product, the_environment_is_as_before)
{
    setenv("OPENBLAS_NUM_THREADS", "7", 1);
    open_product();
    cr_assert_str_eq(getenv("OPENBLAS_NUM_THREADS"), "7");
    unsetenv("OPENBLAS_NUM_THREADS");
    open_product();
    cr_assert_null(getenv("OPENBLAS_NUM_THREADS"));
}

Test(matrix_product, depthwise_convolutions_are_sums_over_their_window)
{
    static const size_t cases[][4] = {{5, 1, 9, 32}, {7, 2, 9, 19}, {1, 1, 1, 3}, {10, 4, 49, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t positions = cases[i][0], step = cases[i][1], window = cases[i][2], channels = cases[i][3];
        float *in = random_values(((positions - 1) * step + window) * channels);
        float *weights = random_values(window * channels), *out = random_values(positions * channels);
        rue_host_convolve_depthwise(
            &(struct rue_depthwise){positions, step, window, channels, in, weights, out});
        for (size_t p = 0; p < positions; p++)
            for (size_t c = 0; c < channels; c++) {
                double sum = 0;
                for (size_t w = 0; w < window; w++)
                    sum += (double)in[(p * step + w) * channels + c] * weights[w * channels + c];
                cr_assert_float_eq(out[p * channels + c], sum, (double)window * window * FLT_EPSILON);
            }
        free(in);
        free(weights);
        free(out);
    }
}

Test(matrix_product, rectified_values_are_never_negative)
{
    float in[19], out[19];
    for (int i = 0; i < 19; i++) in[i] = (float)(i - 9);
    rue_host_rectify(in, out, 19);
    for (int i = 0; i < 19; i++) cr_assert_eq(out[i], fmaxf(0, in[i] * 0.5F + 0.25F));
}
