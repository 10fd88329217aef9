/* What the module of CUDA kernels does on the GPU at hand: whether its products are right, and how fast it
 * is.
 *
 *   cuda_figures MODULE products   against sums on the CPU
 *   cuda_figures MODULE images     how levels are normalised, against the CPU
 *   cuda_figures MODULE memory     a batch that cannot fit, and one that does after it
 *   cuda_figures MODULE speed      flop/s beside the device's, and how far copies and computing overlap
 *
 * Ends with 1 where something is wrong. */
#include <ctype.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_plan.h"
#include "cuda_test_module.h"
#include "product_fixture.h"
#include "transform.h"
#include "variant.h"

static const struct rue_cuda_module *module;
static const struct rue_cuda_test_entries *entries;
static char message[RUE_CUDA_MESSAGE_BYTES];
static int failures;

static void check(int good, const char *what)
{
    if (good) return;
    failures++;
    printf("FAILED: %s\n", what);
}

static void require(int status, const char *what)
{
    if (status == RUE_CUDA_OK) return;
    printf("FAILED: %s: %s\n", what, message);
    exit(1);
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* ---- products ---- */

static void try_product(struct rue_cuda_step step, const char *name, enum rue_precision precision, int own)
{
    step.c_stride = step.rows * step.columns;
    size_t a_count = step.count * step.a_stride + step.rows * step.inner,
           b_count = step.b_count * (step.b_stride ? step.b_stride : step.columns * step.inner),
           c_count = step.count * step.c_stride;
    float *a = product_values(a_count, 1), *b = product_values(b_count, 2), *c = product_values(c_count, 3);
    require(entries->multiply(precision, &step, a, a_count, b, b_count, c, c_count, own, message), name);
    bool rounded = precision == RUE_FP32 && step.tf32 && !own;
    double bound = rounded ? product_tf32_bound : product_bounds[precision],
           worst = product_worst_error(&step, a, b, c);
    printf("%-24s %-5s %-9s worst error %.2e, bound %.1e\n", name, rue_precision_names[precision],
           own ? "own" : "cuBLASLt", worst, bound);
    check(worst <= bound, name);
    free(a), free(b), free(c);
}

static void try_products(void)
{
    static const struct {
        const char *name;
        struct rue_cuda_step step;
    } cases[] = {
        {"one", {.rows = 200, .columns = 72, .inner = 152, .count = 1, .b_count = 1}},
        {"one row", {.rows = 1, .columns = 1000, .inner = 2048, .count = 1, .b_count = 1}},
        {"tf32", {.tf32 = 1, .rows = 256, .columns = 64, .inner = 576, .count = 1, .b_count = 1}},
        {"that overlap",
         {.tf32 = 1, .rows = 300, .columns = 64, .inner = 576, .count = 5, .b_count = 1, .a_stride = 19200}},
        {"of a head each",
         {.rows = 197,
          .columns = 200,
          .inner = 64,
          .count = 12,
          .b_count = 12,
          .a_stride = 12608,
          .b_stride = 12800}},
        {"of more than one call",
         {.rows = 8,
          .columns = 8,
          .inner = 8,
          .count = 40000,
          .b_count = 40000,
          .a_stride = 64,
          .b_stride = 64}},
        {"depthwise", PRODUCT_DEPTHWISE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int precision = 0; precision < RUE_PRECISION_COUNT; precision++)
            for (int own = 0; own < 2; own++) try_product(cases[i].step, cases[i].name, precision, own);
}

/* ---- images ---- */

/* A number is right where rounding alone, to the precision, lies between it and the CPU's. */
static void try_levels(struct rue_cuda_input input, size_t count, enum rue_precision precision)
{
    static const float half_ulp[RUE_PRECISION_COUNT] = {0, 1.0F / 2048, 1.0F / 256}, least = 1.0F / (1 << 24);
    uint8_t *levels = calloc(count, 1);
    float *out = malloc(count * sizeof *out);
    size_t wrong = 0;
    if (!levels || !out) exit(1);
    for (size_t i = 0; i < count; i++) levels[i] = (uint8_t)(i * 7 + i / 256 * 3);
    require(entries->take(precision, &input, levels, count, out, message), "levels");
    for (size_t i = 0; i < count; i++) {
        size_t channel = i / input.channel_elements % 3;
        float exact = ((float)levels[i] / 255.0F - input.mean[channel]) / input.std[channel];
        float bound = half_ulp[precision] > 0 ? fmaxf(fabsf(exact) * half_ulp[precision], least) : 0;
        wrong += !(fabsf(out[i] - exact) <= bound);
    }
    printf("%zu levels, %u a channel, %-5s %zu wrong\n", count, input.channel_elements,
           rue_precision_names[precision], wrong);
    check(wrong == 0, "levels are normalised");
    free(levels), free(out);
}

static void try_values(struct rue_cuda_input input, enum rue_precision precision)
{
    enum { COUNT = 1000 };
    float *in = product_values(COUNT, 5), out[COUNT];
    int wrong = 0;
    require(entries->take(precision, &input, in, COUNT, out, message), "values");
    for (int i = 0; i < COUNT; i++) wrong += !(fabsf(out[i] - in[i]) <= (precision ? fabsf(in[i]) / 256 : 0));
    check(wrong == 0, "values of float32 are taken as they are");
    free(in);
}

static void try_images(void)
{
    struct rue_cuda_input input = {.dtype = RUE_UINT8,
                                   .channel_elements = RUE_IMAGE_SIZE * RUE_IMAGE_SIZE,
                                   .mean = RUE_MEAN,
                                   .std = RUE_STD};
    for (int precision = 0; precision < RUE_PRECISION_COUNT; precision++) {
        input.dtype = RUE_UINT8;
        input.channel_elements = RUE_IMAGE_SIZE * RUE_IMAGE_SIZE;
        try_levels(input, RUE_TENSOR_ITEMS * 5, precision);
        try_levels(input, RUE_TENSOR_ITEMS + 13, precision); /* the rest is no sixteen */
        try_levels(input, 3, precision);
        input.channel_elements = 5 * 5; /* channels are no sixteens */
        try_levels(input, 3 * 5 * 5 * 4, precision);
        input.dtype = RUE_FLOAT32;
        try_values(input, precision);
    }
}

/* ---- memory ---- */

static void open_plan(const char *model, enum rue_precision precision, uint32_t images,
                      struct rue_cuda_plan *out)
{
    if (rue_cuda_plan_open(rue_architecture_find(model), precision, images, false, out, NULL) != RUE_OK)
        exit(1);
}

static void try_memory(void)
{
    struct rue_cuda_run *run;
    struct rue_cuda_plan plan;
    open_plan("vit_l_16", RUE_FP32, 65536, &plan);
    int status = module->open(&plan, &run, message);
    printf("a batch of 65,536 images: status %d, %s\n", status, message);
    check(status == RUE_CUDA_NO_MEMORY, "it was not refused for want of memory");
    rue_cuda_plan_close(&plan);
    open_plan("vit_l_16", RUE_FP32, 2, &plan);
    require(module->open(&plan, &run, message), "a small batch after one that was too large");
    module->close(run);
    rue_cuda_plan_close(&plan);
}

/* ---- speed ---- */

/* "NVIDIA H100 80GB HBM3" is h100, "NVIDIA L40S" none of them. */
static const struct rue_device *known_device(const char *name)
{
    static const char *const words[][2] = {{"A5000", "rtx-a5000"}, {"A100", "a100"}, {"H100", "h100"},
                                           {"H200", "h200"},       {"L4", "l4"},     {"T4", "t4"},
                                           {"4090", "rtx4090"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(name, words[i][0]);
        bool whole = at && !isalnum(at[strlen(words[i][0])]) && (at == name || !isalnum(at[-1]));
        if (whole) return rue_device_find(words[i][1]);
    }
    return NULL;
}

/* Seconds of `batches` batches with one in flight before the other, from the end of the first. */
static double run_batches(struct rue_cuda_run *run, const void *images, uint32_t count, int batches,
                          struct rue_cuda_times *times)
{
    uint64_t tickets[RUE_CUDA_IN_FLIGHT];
    struct rue_cuda_times before;
    double start = 0;
    int landed = 0;
    for (int i = 0; i <= batches; i++) {
        require(module->submit(run, images, count, &tickets[i % 2], message), "submit");
        if (i == 0) continue;
        require(module->wait(run, tickets[(i - 1) % 2], message), "wait");
        if (landed++ == 0) start = now_s(), module->times(run, &before);
    }
    require(module->wait(run, tickets[batches % 2], message), "wait");
    double took = now_s() - start;
    module->times(run, times);
    times->batches -= before.batches;
    times->copy_ns -= before.copy_ns;
    times->compute_ns -= before.compute_ns;
    return took;
}

/* Of the shorter of the two, the share that took no time of its own. */
static double compute_overlap(const struct rue_cuda_times *times, double took)
{
    double copy = (double)times->copy_ns / 1e9, compute = (double)times->compute_ns / 1e9;
    double overlap = (copy + compute - took) / fmin(copy, compute);
    return overlap < 0 ? 0 : overlap > 1 ? 1 : overlap;
}

static void measure_speed(const char *model, enum rue_precision precision, uint32_t images,
                          enum rue_dtype dtype, bool pinned, const struct rue_device *device)
{
    struct rue_cuda_run *run;
    struct rue_cuda_plan plan;
    struct rue_cuda_times times;
    open_plan(model, precision, images, &plan);
    plan.input.dtype = dtype;
    size_t bytes = (plan.input_elements * rue_dtype_bytes[dtype] + 4095) / 4096 * 4096;
    void *batch = aligned_alloc(4096, bytes);
    if (!batch) exit(1);
    memset(batch, 0x3c, bytes);
    if (pinned) require(module->pin(batch, bytes, message), "pin");
    require(module->open(&plan, &run, message), model);
    int batches = images >= 256 ? 30 : 100;
    double took = run_batches(run, batch, images, batches, &times), overlap = compute_overlap(&times, took);
    double each_s = (double)times.compute_ns / 1e9 / (double)times.batches;
    double flops =
        2.0 * (double)rue_architecture_multiply_adds(rue_architecture_find(model)) * images / each_s;
    printf("%-10s %-5s batch %-4u %-7s %s  compute %8.3f ms  copy %8.3f ms  batch %8.3f ms  overlap %5.1f %% "
           " %7.1f "
           "Tflop/s",
           model, rue_precision_names[precision], images, rue_dtype_names[dtype],
           pinned ? "pinned  " : "pageable", each_s * 1e3,
           (double)times.copy_ns / 1e6 / (double)times.batches, took * 1e3 / batches, overlap * 100,
           flops / 1e12);
    if (device && device->flops[precision] > 0)
        printf("  %4.1f %% of the data sheet's %.0f", flops / device->flops[precision] * 100,
               device->flops[precision] / 1e12);
    putchar('\n');
    if (pinned && images >= 256) check(overlap >= 0.9, "copies and computing overlap by less than 90 %");
    module->close(run);
    if (pinned) module->unpin(batch);
    free(batch);
    rue_cuda_plan_close(&plan);
}

static void try_speed(const struct rue_device *device)
{
    static const char *const models[] = {"resnet50", "vit_b_16"};
    static const uint32_t sizes[] = {32, 256};
    for (int m = 0; m < 2; m++)
        for (int precision = 0; precision < RUE_PRECISION_COUNT; precision++)
            for (int s = 0; s < 2; s++)
                measure_speed(models[m], precision, sizes[s], RUE_FLOAT32, true, device);
    measure_speed("resnet50", RUE_BF16, 256, RUE_UINT8, true, device);
    measure_speed("resnet50", RUE_BF16, 256, RUE_FLOAT32, false, device);
}

int main(int count, char **words)
{
    if (count != 3) return fprintf(stderr, "usage: cuda_figures MODULE products|images|memory|speed\n"), 2;
    void *library = dlopen(words[1], RTLD_NOW);
    if (!library) return printf("FAILED: %s\n", dlerror()), 1;
    const struct rue_cuda_module *(*table)(void);
    const struct rue_cuda_test_entries *(*more)(void);
    *(void **)&table = dlsym(library, RUE_CUDA_MODULE_SYMBOL);
    *(void **)&more = dlsym(library, RUE_CUDA_TEST_SYMBOL);
    struct rue_cuda_device device;
    module = table();
    entries = more();
    check(module->version == RUE_CUDA_MODULE_VERSION, "the module is of another version");
    require(module->device(&device, message), "the GPU");
    printf("%s, %.1f GB, %.1f GB of them free%s%s\n", device.name, (double)device.bytes / 1e9,
           (double)device.free_bytes / 1e9, device.slow_reason[0] ? "; " : "", device.slow_reason);
    if (strcmp(words[2], "products") == 0) try_products();
    if (strcmp(words[2], "images") == 0) try_images();
    if (strcmp(words[2], "memory") == 0) try_memory();
    if (strcmp(words[2], "speed") == 0) try_speed(known_device(device.name));
    return failures ? 1 : 0;
}
