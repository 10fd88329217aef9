/* Arithmetic a second of models on one core, beside that of one large product. host_model [REPEATS] */
#include "architecture.h"
#include "bench.h"
#include "catalogue.h"
#include "fetcher.h"
#include "model_host.h"

enum { PEAK = 1024, IMAGES = 8, MODELS = 5 };

static struct rue_matrix_product product;

/* GFLOP/s, a multiplication with addition counting two. */
static double run_product(void *context)
{
    struct rue_matrices *matrices = context;
    double start = bench_now();
    product.multiply(&product, matrices);
    return 2.0 * PEAK * PEAK * PEAK / 1e9 / (bench_now() - start);
}

struct side {
    struct rue_profile profile;
    struct rue_model model;
    struct rue_batch batch;
};

static double run_model(void *context)
{
    struct side *side = context;
    rue_error error = {0};
    uint64_t ticket;
    double flops = 2.0 * (double)rue_architecture_multiply_adds(side->profile.architecture) * IMAGES;
    const struct rue_model_input input = {.images = IMAGES};
    bench_check(side->model.ops->prepare(side->model.state, &input, &error), &error);
    double start = bench_now();
    bench_check(side->model.ops->submit(side->model.state, &side->batch, &ticket, &error), &error);
    return flops / 1e9 / (bench_now() - start);
}

static float *ones(size_t count)
{
    float *values = malloc(count * sizeof *values);
    for (size_t i = 0; i < count; i++) values[i] = 1;
    return values;
}

int main(int argc, char **argv)
{
    static const char *const specs[MODELS] = {"resnet18@host:1", "resnet50@host:1", "vit_b_32@host:1",
                                              "convnext_tiny@host:1", "mobilenet_v2@host:1"};
    static struct side sides[MODELS];
    struct bench_side all[MODELS + 1];
    rue_error error = {0};
    double medians[MODELS + 1];
    char what[128];
    bench_check(rue_matrix_product_open(RUE_OPENBLAS, &product, &error), &error);
    struct rue_matrices matrices = {
        PEAK, PEAK, PEAK, ones(PEAK * PEAK), ones(PEAK * PEAK), ones(PEAK * PEAK)};
    float *images = ones(IMAGES * (RUE_TENSOR_ITEMS * rue_dtype_bytes[RUE_FLOAT32]) / sizeof(float));
    for (int m = 0; m < MODELS; m++) {
        struct side *side = &sides[m];
        bench_check(rue_catalogue_find(specs[m], &side->profile, &error), &error);
        bench_check(rue_model_host_open(&side->profile, &product, &side->model, &error), &error);
        side->batch = (struct rue_batch){.count = IMAGES, .images = images};
        all[m] = (struct bench_side){specs[m], run_model, side};
    }
    all[MODELS] = (struct bench_side){"sgemm", run_product, &matrices};
    bench_run(all, MODELS + 1, argc > 1 ? atoi(argv[1]) : 9, medians);
    for (int m = 0; m < MODELS; m++) {
        snprintf(what, sizeof what, "%s, batches of %d, %s", specs[m], IMAGES, product.name);
        bench_row(what, "GFLOP/s", medians[m], "one product of 1024 x 1024 x 1024", medians[MODELS], "");
    }
    return 0;
}
