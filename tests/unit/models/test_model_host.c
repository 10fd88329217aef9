#include "model_host.h"

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "architecture.h"
#include "transform.h"

enum { IMAGES_MAX = 3 };

/* What was multiplied, by a product that only touches the ends of its matrices. */
static atomic_uint_fast64_t multiply_adds;
static atomic_size_t products;
static _Atomic float first_inputs[4]; /* of the first products */

static void count(const struct rue_matrix_product *product, const struct rue_matrices *of)
{
    (void)product;
    volatile float last = of->a[of->m * of->k - 1] + of->b[0] + of->b[of->k * of->n - 1];
    (void)last;
    of->c[0] = of->c[of->m * of->n - 1] = 1;
    size_t index = atomic_fetch_add(&products, 1);
    if (index < 4) first_inputs[index] = of->a[0];
    multiply_adds += of->m * of->n * of->k;
}

static struct rue_model open_model(const char *name, int cores, bool counts)
{
    rue_error error = {0};
    struct rue_model model;
    struct rue_profile profile = {.architecture = rue_architecture_find(name), .cores = cores};
    struct rue_matrix_product product = {.name = "counter", .multiply = count};
    if (!counts)
        cr_assert_eq(rue_matrix_product_open(RUE_OPENBLAS, &product, &error), RUE_OK, "%s", error.message);
    strcpy(profile.name, name);
    cr_assert_eq(rue_model_host_open(&profile, &product, &model, &error), RUE_OK, "%s", error.message);
    multiply_adds = products = 0;
    return model;
}

static rue_status prepare(struct rue_model *model, size_t images, uint64_t batch_bytes, rue_error *error)
{
    const struct rue_model_input input = {.images = images, .batch_bytes = batch_bytes};
    return model->ops->prepare(model->state, &input, error);
}

/* Takes what the batch holds. */
static void submit(struct rue_model *model, size_t images, void *values)
{
    uint64_t ticket;
    rue_error error = {0};
    struct rue_batch batch = {.count = images, .images = values};
    cr_assert_eq(model->ops->submit(model->state, &batch, &ticket, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(model->ops->wait(model->state, ticket, &error), RUE_OK);
    free(values);
}

static void compute(struct rue_model *model, size_t images, float value)
{
    rue_error error = {0};
    float *values = malloc(images * RUE_TENSOR_ITEMS * sizeof *values);
    for (size_t i = 0; i < images * RUE_TENSOR_ITEMS; i++) values[i] = value;
    cr_assert_eq(prepare(model, images, 0, &error), RUE_OK, "%s", error.message);
    submit(model, images, values);
}

/* Multiplications of depthwise convolutions, which are no matrix products here. */
static uint64_t depthwise(const struct rue_architecture *model)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < model->layer_count; i++) {
        const struct rue_layer *layer = &model->layers[i];
        if (layer->groups > 1 && layer->n == 1)
            sum += (uint64_t)layer->m * layer->k * layer->groups * layer->repeats;
    }
    return sum;
}

static void expect_all_multiplications(const char *name, int cores, size_t images)
{
    const struct rue_architecture *architecture = rue_architecture_find(name);
    struct rue_model model = open_model(name, cores, true);
    compute(&model, images, 0);
    uint64_t wanted = images * (rue_architecture_multiply_adds(architecture) - depthwise(architecture));
    cr_assert_eq(multiply_adds, wanted, "%s: %zu and not %zu", name, (size_t)multiply_adds, (size_t)wanted);
    rue_model_close(&model);
}

Test(model_host, each_model_does_all_of_its_multiplications)
{
    static const char *const names[] = {"resnet50", "convnext_tiny", "efficientnet_v2_s", "vit_b_16",
                                        "swin_t",   "bert_base_128", "clip_vit_b_32",     "resnet152"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) expect_all_multiplications(names[i], 1, 1);
}

Test(model_host, any_number_of_cores_shares_the_images)
{
    static const char *const names[] = {"resnet18", "mobilenet_v2", "vit_b_32"};
    for (int i = 0; i < 3; i++) expect_all_multiplications(names[i], 2 + i, IMAGES_MAX);
}

Test(model_host, the_first_layer_reads_the_images)
{
    struct rue_model model = open_model("resnet18", 1, true);
    compute(&model, 2, 7);
    cr_assert_eq(first_inputs[0], 7);
    rue_model_close(&model);
}

/* The first layer's four products begin at values 0, 85,596, 171,192 and 256,788. */
Test(model_host, levels_are_normalised_first)
{
    static const float mean[] = RUE_MEAN, std[] = RUE_STD;
    static const struct {
        int image, channel;
    } first[] = {{0, 0}, {0, 1}, {1, 0}, {1, 2}};
    struct rue_model model = open_model("resnet18", 1, true);
    const struct rue_model_input input = {.images = 2, .dtype = RUE_UINT8};
    uint8_t *levels = malloc(2 * RUE_TENSOR_ITEMS);
    for (int i = 0; i < 2 * RUE_TENSOR_ITEMS; i++)
        levels[i] =
            (uint8_t)(100 * (i / RUE_TENSOR_ITEMS) + 30 * (i / (RUE_IMAGE_SIZE * RUE_IMAGE_SIZE) % 3) + 5);
    cr_assert_eq(model.ops->prepare(model.state, &input, NULL), RUE_OK);
    submit(&model, 2, levels);
    for (int i = 0; i < 4; i++) {
        int level = 100 * first[i].image + 30 * first[i].channel + 5;
        float value = ((float)level / 255 - mean[first[i].channel]) / std[first[i].channel];
        cr_assert_eq(first_inputs[i], value, "product %d has %g", i, (double)first_inputs[i]);
    }
    products = 0;
    compute(&model, 2, 7);
    cr_assert(first_inputs[0] == 7 && first_inputs[3] == 7, "batches of float32 may follow");
    rue_model_close(&model);
}

Test(model_host, batches_of_any_size_follow_each_other)
{
    struct rue_model model = open_model("mobilenet_v2", 2, true);
    uint64_t one = 0;
    for (size_t images = 1; images <= IMAGES_MAX; images++) {
        uint64_t before = multiply_adds;
        compute(&model, images % IMAGES_MAX + 1, 0);
        if (images == IMAGES_MAX) one = multiply_adds - before;
    }
    cr_assert_eq(multiply_adds, one * (2 + 3 + 1));
    rue_model_close(&model);
}

Test(model_host, matrices_are_multiplied)
{
    struct rue_model model = open_model("mobilenet_v2", 2, false);
    compute(&model, 1, 1);
    rue_model_close(&model);
}

Test(model_host, a_batch_beyond_the_memory_is_infeasible)
{
    rue_error error = {0};
    struct rue_model model = open_model("resnet18", 1, true);
    size_t images = (size_t)1 << 30;
    cr_assert_eq(prepare(&model, images, 0, &error), RUE_INFEASIBLE);
    cr_assert(strstr(error.message, "1073741824 images of resnet18 needs"), "%s", error.message);
    error = (rue_error){0};
    cr_assert_eq(prepare(&model, 1, UINT64_C(1) << 50, &error), RUE_INFEASIBLE,
                 "batches beside it take all there is");
    cr_assert(strstr(error.message, "0 B are free"), "%s", error.message);
    compute(&model, 1, 0);
    rue_model_close(&model);
}
