/* The module of CUDA kernels itself, models/model_cuda.cu, above CUDA that is emulated on the CPU
 * (emulated_cuda/emulated_cuda.h): what it computes, what it waits for, and what it leaves behind. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cuda_plan.h"
#include "emulated_cuda.h"
#include "product_fixture.h"

enum { FULL = 3, LAST = 2, IMAGE_ELEMENTS = 40, BATCHES = 5, SLAB_BYTES = 4096, STEPS = 4 };
enum { OUT_OF_MEMORY = 2, UNKNOWN = 999 }; /* of CUDA's errors */

static const struct rue_cuda_module *module;
static char message[RUE_CUDA_MESSAGE_BYTES];

/* ---- the module ---- */

/* Beside this program. */
static void *open_beside(const char *name)
{
    char path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    cr_assert_gt(length, 0);
    path[length] = 0;
    snprintf(strrchr(path, '/') + 1, 64, "%s", name);
    void *opened = dlopen(path, RTLD_NOW);
    cr_assert_not_null(opened, "%s", dlerror());
    return opened;
}

/* With cuBLASLt its products are that's: a library that is loaded is found by its name. */
static void open_module(const char *name, bool with_library)
{
    const struct rue_cuda_module *(*table)(void);
    if (with_library) open_beside("cublaslt/libcublasLt.so.0");
    *(void **)&table = dlsym(open_beside(name), RUE_CUDA_MODULE_SYMBOL);
    module = table();
    cr_assert_eq(module->version, RUE_CUDA_MODULE_VERSION);
}

static void check(int status, const char *what)
{
    cr_assert_eq(status, RUE_CUDA_OK, "%s: %s", what, message);
}

static void check_nothing_is_left(const char *after)
{
    struct emulated_cuda_counts left = emulated_cuda_count();
    cr_assert(
        !left.allocations && !left.streams && !left.events && !left.graphs && !left.registrations &&
            !left.library_objects,
        "%s: %zu allocations, %zu streams, %zu events, %zu graphs, %zu registrations, %zu of cuBLASLt's",
        after, left.allocations, left.streams, left.events, left.graphs, left.registrations,
        left.library_objects);
}

TestSuite(cuda_module, .timeout = 120);

/* ---- products ---- */

static const struct {
    const char *name;
    struct rue_cuda_step step;
} cases[] = {
    {"one", {.rows = 70, .columns = 66, .inner = 37, .count = 1, .b_count = 1}},
    {"one row", {.rows = 1, .columns = 100, .inner = 64, .count = 1, .b_count = 1}},
    {"one value", {.rows = 1, .columns = 1, .inner = 1, .count = 1, .b_count = 1}},
    {"tf32", {.tf32 = 1, .rows = 65, .columns = 8, .inner = 40, .count = 1, .b_count = 1}},
    {"that overlap",
     {.tf32 = 1, .rows = 20, .columns = 8, .inner = 24, .count = 5, .b_count = 1, .a_stride = 160}},
    {"with one for all", {.rows = 6, .columns = 8, .inner = 8, .count = 19, .b_count = 1, .a_stride = 48}},
    {"of a head each",
     {.rows = 9, .columns = 16, .inner = 8, .count = 20, .b_count = 20, .a_stride = 80, .b_stride = 128}},
    {"depthwise",
     {.kind = RUE_CUDA_DEPTHWISE,
      .rows = 49,
      .columns = 1,
      .inner = 9,
      .count = 96,
      .b_count = 32,
      .a_stride = 196,
      .b_stride = 9}},
};

static double error_of(struct rue_cuda_step step, enum rue_precision precision, int own)
{
    step.c_stride = step.rows * step.columns;
    size_t a_count = (step.count - 1) * step.a_stride + step.rows * step.inner,
           b_count = (step.b_count - 1) * step.b_stride + step.columns * step.inner,
           c_count = step.count * step.c_stride;
    if (step.kind == RUE_CUDA_DEPTHWISE) a_count = step.count * step.a_stride + step.inner;
    float *a = product_values(a_count, 1), *b = product_values(b_count, 2), *c = product_values(c_count, 3);
    check(module->multiply(precision, &step, a, a_count, b, b_count, c, c_count, own, message), "multiply");
    double worst = product_worst_error(&step, a, b, c);
    free(a), free(b), free(c);
    return worst;
}

static void check_products(bool library)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int precision = 0; precision < RUE_PRECISION_COUNT; precision++) {
            bool rounded = precision == RUE_FP32 && cases[i].step.tf32 && library;
            double bound = rounded ? product_tf32_bound : product_bounds[precision];
            double worst = error_of(cases[i].step, (enum rue_precision)precision, !library);
            cr_assert_leq(worst, bound, "%s, %s: %g", cases[i].name, rue_precision_names[precision], worst);
            if (rounded) cr_assert_gt(worst, product_bounds[RUE_FP32], "TF32 was asked for");
        }
    check_nothing_is_left("products");
}

Test(cuda_module, own_products_are_sums)
{
    open_module("rue_cuda_emulated.so", false);
    for (uint64_t seed = 0; seed < 2; seed++) {
        emulated_cuda_set_seed(seed);
        check_products(false);
    }
}

Test(cuda_module, products_of_cublaslt_are_described_as_it_takes_them)
{
    open_module("rue_cuda_emulated.so", true);
    check_products(true);
}

Test(cuda_module, a_kernel_without_its_barriers_would_be_noticed)
{
    double worst = 0;
    open_module("rue_cuda_careless.so", false);
    for (uint64_t seed = 0; seed < 4; seed++) {
        emulated_cuda_set_seed(seed);
        worst = fmax(worst, error_of(cases[0].step, RUE_FP32, 1));
    }
    cr_assert_gt(worst, 0.01);
}

Test(cuda_module, what_moves_keeps_values_in_bounds)
{
    float from[800], to[800];
    struct rue_cuda_step step = {.kind = RUE_CUDA_MOVE, .rows = 800, .columns = 1, .count = 1};
    open_module("rue_cuda_emulated.so", false);
    for (int precision = 0; precision < RUE_PRECISION_COUNT; precision++) {
        for (int i = 0; i < 800; i++) to[i] = (float)(i - 400) / 16, from[i] = 7;
        check(module->multiply((uint32_t)precision, &step, from, 800, from, 1, to, 800, 1, message), "move");
        for (int i = 0; i < 800; i++) {
            double x = (i - 400) / 16.0, wanted = x / (1 + fabs(x));
            cr_assert_leq(fabs(to[i] - wanted), product_bounds[precision], "%d: %g", i, (double)to[i]);
        }
    }
}

/* ---- batches ---- */

/* A product with weights, one of activations that takes several calls, a depthwise one, and what moves. */
static struct rue_cuda_plan plan_of(uint64_t images, struct rue_cuda_step steps[STEPS])
{
    steps[0] =
        (struct rue_cuda_step){.rows = images * 5, .columns = 16, .inner = 8, .count = 1, .b_count = 1};
    steps[1] = (struct rue_cuda_step){.from_images = 1,
                                      .rows = 5,
                                      .columns = 8,
                                      .inner = 8,
                                      .count = images * 6,
                                      .b_count = (uint32_t)images * 6,
                                      .a_stride = 40,
                                      .b_stride = 64,
                                      .b_offset = (images * 240 + 127) / 128 * 128};
    steps[2] = (struct rue_cuda_step){.kind = RUE_CUDA_DEPTHWISE,
                                      .rows = 4,
                                      .columns = 1,
                                      .inner = 9,
                                      .count = images * 4,
                                      .b_count = 4,
                                      .a_stride = 16,
                                      .b_stride = 9,
                                      .b_offset = 128};
    steps[3] = (struct rue_cuda_step){.kind = RUE_CUDA_MOVE, .rows = images * 120, .columns = 1, .count = 1};
    for (int i = 0; i < STEPS; i++) steps[i].c_stride = steps[i].rows * steps[i].columns;
    return (struct rue_cuda_plan){.images = (uint32_t)images,
                                  .input_elements = images * IMAGE_ELEMENTS,
                                  .weight_elements = 256,
                                  .from_elements = steps[1].b_offset + steps[1].count * 64,
                                  .to_elements = images * 240,
                                  .step_count = STEPS,
                                  .steps = steps};
}

/* The same work by sums: the memory of the run as it is to be. */
static struct {
    const struct rue_cuda_plan *full, *last;
    float *from, *to, *weights;
    float *slabs[BATCHES];
    uint64_t input_elements; /* of the largest batch */
    int done;
    double worst;
} expected;

enum { WEIGHTS, FROM, TO }; /* the first of the run's allocations */

/* As floats; the caller frees them. */
static float *copy_memory(size_t index, uint64_t count)
{
    size_t bytes;
    const void *memory = emulated_cuda_memory(index, &bytes);
    float *copy = malloc(count * sizeof *copy);
    cr_assert(copy && bytes >= count * rue_precision_bytes(expected.full->precision));
    for (uint64_t i = 0; i < count; i++) {
        uint32_t bits =
            expected.full->precision == RUE_BF16 ? (uint32_t)((const uint16_t *)memory)[i] << 16 : 0;
        memcpy(&copy[i], &bits, sizeof bits);
        if (expected.full->precision == RUE_FP32) copy[i] = ((const float *)memory)[i];
        if (expected.full->precision == RUE_FP16) copy[i] = (float)((const _Float16 *)memory)[i];
    }
    return copy;
}

static void take_step(const struct rue_cuda_step *step)
{
    const float *b = (step->from_images ? expected.from : expected.weights) + step->b_offset;
    double absolute;
    if (step->kind == RUE_CUDA_MOVE) {
        for (uint64_t i = 0; i < step->rows; i++)
            expected.from[i] = expected.to[i] / (1 + fabsf(expected.to[i]));
        return;
    }
    for (uint64_t t = 0; t < step->count; t++)
        for (uint64_t r = 0; r < step->rows; r++)
            for (uint64_t q = 0; q < step->columns; q++)
                expected.to[t * step->c_stride + r * step->columns + q] =
                    (float)product_sum(step, expected.from, b, t, r, q, &absolute);
}

static void compare(float *wanted, size_t index, uint64_t count)
{
    float *memory = copy_memory(index, count);
    for (uint64_t i = 0; i < count; i++) {
        double error = fabs((double)memory[i] - (double)wanted[i]);
        if (!(error <= expected.worst)) expected.worst = error;
        wanted[i] = memory[i];
    }
    free(memory);
}

/* At the end of each batch on the device. */
static void check_batch(void)
{
    int batch = expected.done++;
    const struct rue_cuda_plan *plan = batch == BATCHES - 1 && expected.last ? expected.last : expected.full;
    memcpy(expected.from, expected.slabs[batch], plan->input_elements * sizeof(float));
    for (uint64_t i = 0; i < plan->step_count; i++) take_step(&plan->steps[i]);
    compare(expected.from, FROM, expected.full->from_elements);
    compare(expected.to, TO, expected.full->to_elements);
}

/* A whole number of pages. */
static size_t slab_bytes(const struct rue_cuda_plan *plan)
{
    return (plan->input_elements * sizeof(float) + SLAB_BYTES - 1) / SLAB_BYTES * SLAB_BYTES;
}

static void make_slabs(const struct rue_cuda_plan *full, bool pinned)
{
    for (int i = 0; i < BATCHES; i++) {
        expected.slabs[i] =
            mmap(NULL, slab_bytes(full), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        float *values = product_values(full->input_elements, (unsigned)i + 10);
        memcpy(expected.slabs[i], values, full->input_elements * sizeof *values);
        free(values);
        if (pinned) check(module->pin(expected.slabs[i], slab_bytes(full), message), "pin");
    }
}

static void remove_slabs(const struct rue_cuda_plan *full, bool pinned)
{
    for (int i = 0; i < BATCHES; i++) {
        if (pinned) module->unpin(expected.slabs[i]);
        munmap(expected.slabs[i], slab_bytes(full));
    }
}

/* Batches two at a time, the last of which is smaller where there is a `last`; the largest difference to what
 * is expected. */
static double run_batches(const struct rue_cuda_plan *full, const struct rue_cuda_plan *last, bool pinned,
                          struct rue_cuda_times *times)
{
    struct rue_cuda_run *run;
    uint64_t tickets[BATCHES];
    make_slabs(full, pinned);
    check(module->open(full, &run, message), "open");
    if (last) check(module->add(run, last, message), "add");
    expected.full = full, expected.last = last, expected.done = 0, expected.worst = 0;
    expected.weights = copy_memory(WEIGHTS, full->weight_elements);
    expected.from = copy_memory(FROM, full->from_elements);
    expected.to = copy_memory(TO, full->to_elements);
    emulated_cuda_watch(check_batch);
    for (int i = 0; i <= BATCHES; i++) {
        uint32_t images = i == BATCHES - 1 && last ? last->images : full->images;
        if (i < BATCHES)
            check(module->submit(run, expected.slabs[i], images, &tickets[i], message), "submit");
        if (i == 0) continue;
        if (module->wait(run, tickets[i - 1], message) != RUE_CUDA_OK) expected.worst = INFINITY;
        cr_assert_geq(expected.done, i, "its work is done");
    }
    cr_assert_eq(expected.done, BATCHES);
    emulated_cuda_watch(NULL);
    module->times(run, times);
    remove_slabs(full, pinned);
    module->close(run);
    free(expected.weights), free(expected.from), free(expected.to);
    check_nothing_is_left("batches");
    return expected.worst;
}

static void check_batches(bool library)
{
    struct rue_cuda_step full_steps[STEPS], last_steps[STEPS];
    struct rue_cuda_plan full = plan_of(FULL, full_steps), last = plan_of(LAST, last_steps);
    struct rue_cuda_times times;
    open_module("rue_cuda_emulated.so", library);
    for (uint64_t seed = 0; seed < (library ? 40 : 10); seed++) {
        emulated_cuda_set_seed(seed);
        full.precision = last.precision = seed % RUE_PRECISION_COUNT;
        double worst = run_batches(&full, &last, seed % 4 < 3, &times);
        double bound = fmax(1e-5, 2 * product_bounds[full.precision]);
        cr_assert_leq(worst, bound, "seed %d: %g", (int)seed, worst);
    }
}

Test(cuda_module, batches_hold_their_own_images_in_whatever_order_work_is_done)
{
    check_batches(false);
}

Test(cuda_module, batches_hold_their_own_images_with_cublaslt)
{
    check_batches(true);
}

Test(cuda_module, a_copy_that_is_not_waited_for_would_be_noticed)
{
    struct rue_cuda_step steps[STEPS];
    struct rue_cuda_plan full = plan_of(FULL, steps);
    struct rue_cuda_times times;
    double worst = 0;
    open_module("rue_cuda_careless.so", true); /* whose products are right */
    for (uint64_t seed = 0; seed < 4; seed++) {
        emulated_cuda_set_seed(seed);
        worst = fmax(worst, run_batches(&full, NULL, false, &times));
    }
    cr_assert_gt(worst, 0.01);
}

Test(cuda_module, times_are_those_of_copies_and_of_computing)
{
    struct rue_cuda_step steps[STEPS];
    struct rue_cuda_plan full = plan_of(FULL, steps);
    struct rue_cuda_times times;
    int kernels = 1 + STEPS + 1; /* one converts, and 18 products are two calls */
    int64_t copy_ns = BATCHES * (FULL * IMAGE_ELEMENTS * 4 / EMULATED_CUDA_COPY_BYTES_PER_NS),
            compute_ns = BATCHES * kernels * EMULATED_CUDA_KERNEL_NS;
    open_module("rue_cuda_emulated.so", false);
    run_batches(&full, NULL, true, &times);
    cr_assert_eq(times.batches, BATCHES);
    cr_assert_leq(llabs((int64_t)times.copy_ns - copy_ns), BATCHES, "%ld", (long)times.copy_ns);
    cr_assert_leq(llabs((int64_t)times.compute_ns - compute_ns), BATCHES, "%ld", (long)times.compute_ns);
}

/* ---- plans of the planner ---- */

/* Every kind of layer, and a convolution of several products that overlap. */
static const struct rue_layer layers[] = {
    {RUE_CONVOLUTION, 2048, 8, 9, 1, 1, 2100}, {RUE_CONVOLUTION, 49, 1, 9, 8, 2, 648},
    {RUE_CONVOLUTION, 16, 5, 8, 4, 1, 512},    {RUE_ATTENTION, 5, 5, 8, 3, 2, 240},
    {RUE_LINEAR, 1, 10, 20, 1, 1, 20},
};
static const struct rue_architecture small_model = {"small", 0, 40000, 1200, 3, RUE_LAYERS(layers)};

static void check_plan(bool library)
{
    struct rue_cuda_plan full, last;
    struct rue_cuda_times times;
    open_module("rue_cuda_emulated.so", library);
    emulated_cuda_set_seed(5);
    for (int share = library ? 0 : 1; share < 2; share++) {
        cr_assert_eq(rue_cuda_plan_open(&small_model, RUE_FP32, FULL, share, &full, NULL), RUE_OK);
        cr_assert_eq(rue_cuda_plan_open(&small_model, RUE_FP32, LAST, share, &last, NULL), RUE_OK);
        double worst = run_batches(&full, &last, true, &times);
        cr_assert_leq(worst, library ? product_tf32_bound : 1e-5, "%g", worst);
        rue_cuda_plan_close(&full);
        rue_cuda_plan_close(&last);
    }
}

Test(cuda_module, a_plan_is_computed_within_its_memory)
{
    check_plan(false);
}

Test(cuda_module, a_plan_is_computed_within_its_memory_with_cublaslt)
{
    check_plan(true);
}

/* cuBLASLt is told where they lie, and checks that. */
Test(cuda_module, products_of_every_model_lie_in_their_memory_and_are_aligned)
{
    open_module("rue_cuda_emulated.so", true);
    emulated_cuda_skip();
    for (size_t i = 0; rue_architecture_at(i); i++) {
        struct rue_cuda_plan full, last;
        struct rue_cuda_run *run;
        enum rue_precision precision = (enum rue_precision)(i % RUE_PRECISION_COUNT);
        const struct rue_architecture *model = rue_architecture_at(i);
        cr_assert_eq(rue_cuda_plan_open(model, precision, FULL, true, &full, NULL), RUE_OK);
        cr_assert_eq(rue_cuda_plan_open(model, precision, 1, true, &last, NULL), RUE_OK);
        if (full.from_elements < last.from_elements) full.from_elements = last.from_elements;
        if (full.to_elements < last.to_elements) full.to_elements = last.to_elements;
        check(module->open(&full, &run, message), model->name);
        check(module->add(run, &last, message), model->name);
        module->close(run);
        rue_cuda_plan_close(&full);
        rue_cuda_plan_close(&last);
    }
    check_nothing_is_left("all models");
}

/* ---- failures ---- */

/* What went wrong in one use of the module from its beginning to its end. */
static int use_module(void)
{
    struct rue_cuda_step full_steps[STEPS], last_steps[STEPS];
    struct rue_cuda_plan full = plan_of(FULL, full_steps), last = plan_of(LAST, last_steps);
    struct rue_cuda_device device;
    struct rue_cuda_run *run = NULL;
    uint64_t tickets[2] = {0};
    static float slabs[2][1024] __attribute__((aligned(SLAB_BYTES)));
    bool pinned[2] = {false};
    int status = module->device(&device, message), in_flight = 0;
    for (int i = 0; status == RUE_CUDA_OK && i < 2; i++)
        pinned[i] = (status = module->pin(slabs[i], sizeof slabs[i], message)) == RUE_CUDA_OK;
    if (status == RUE_CUDA_OK) status = module->open(&full, &run, message);
    if (status == RUE_CUDA_OK) status = module->add(run, &last, message);
    for (int i = 0; status == RUE_CUDA_OK && i < 2; i++) {
        status = module->submit(run, slabs[i], i ? LAST : FULL, &tickets[i], message);
        if (status == RUE_CUDA_OK) in_flight++;
    }
    for (int i = 0; i < in_flight; i++) {
        char other[RUE_CUDA_MESSAGE_BYTES];
        int waited = module->wait(run, tickets[i], status == RUE_CUDA_OK ? message : other);
        if (status == RUE_CUDA_OK) status = waited;
    }
    for (int i = 0; i < 2; i++) /* as the loader does it: before the model is closed */
        if (pinned[i]) module->unpin(slabs[i]);
    module->close(run);
    return status;
}

/* What gives back tells nobody of a failure: nothing can be done about it. */
static bool gives_back(const char *name)
{
    return strstr(name, "Destroy") || strstr(name, "Free") || strstr(name, "Unregister") ||
           strcmp(name, "cudaDeviceSynchronize") == 0 || strcmp(name, "cublasLtCreate") == 0;
}

static void fail_each_call(uint64_t count, int error, int wanted)
{
    emulated_cuda_skip();
    for (uint64_t call = 0;; call++) {
        message[0] = 0;
        emulated_cuda_set_seed(call % 4);
        emulated_cuda_fail(call, count, error);
        int status = use_module();
        const char *failed = emulated_cuda_failed();
        check_nothing_is_left(failed);
        if (!failed[0]) {
            cr_assert_gt(call, 60, "all of them");
            break;
        }
        if (count > 1 || gives_back(failed)) continue;
        cr_assert_eq(status, wanted, "call %d, %s: %d, %s", (int)call, failed, status, message);
        const char *named = strcmp(failed, "cudaLaunchKernel") == 0 ? "launch" : failed;
        if (wanted == RUE_CUDA_FAILED) cr_assert_not_null(strstr(message, named), "%s: %s", failed, message);
    }
    emulated_cuda_fail(UINT64_MAX / 2, 0, 0);
    check(use_module(), "it goes well after all that failed");
}

Test(cuda_module, each_call_may_fail)
{
    open_module("rue_cuda_emulated.so", false);
    fail_each_call(1, UNKNOWN, RUE_CUDA_FAILED);
}

Test(cuda_module, each_call_may_fail_with_cublaslt)
{
    open_module("rue_cuda_emulated.so", true);
    fail_each_call(1, UNKNOWN, RUE_CUDA_FAILED);
}

Test(cuda_module, memory_may_run_out_in_each_call)
{
    open_module("rue_cuda_emulated.so", true);
    fail_each_call(1, OUT_OF_MEMORY, RUE_CUDA_NO_MEMORY);
}

Test(cuda_module, the_device_may_be_lost_in_each_call)
{
    open_module("rue_cuda_emulated.so", false);
    fail_each_call(UINT64_MAX, UNKNOWN, RUE_CUDA_FAILED);
}

Test(cuda_module, what_does_not_fit_is_refused_and_leaves_nothing)
{
    struct rue_cuda_step steps[STEPS];
    struct rue_cuda_plan plan = plan_of(FULL, steps);
    struct rue_cuda_run *run;
    struct rue_cuda_device device;
    struct rue_cuda_times times;
    size_t bytes = 32 << 20; /* which cuBLASLt is to have */
    int refused = 0;
    open_module("rue_cuda_emulated.so", false);
    for (int status = RUE_CUDA_NO_MEMORY; status != RUE_CUDA_OK; bytes += 500, refused++) {
        emulated_cuda_set_bytes(bytes);
        status = module->open(&plan, &run, message);
        if (status == RUE_CUDA_OK)
            module->close(run);
        else
            cr_assert_eq(status, RUE_CUDA_NO_MEMORY, "%zu: %s", bytes, message);
        check_nothing_is_left("no memory");
    }
    cr_assert_gt(refused, 10);
    check(module->device(&device, message), "device");
    cr_assert(device.bytes == device.free_bytes && device.bytes > 0);
    run_batches(&plan, NULL, true, &times);
}

Test(cuda_module, memory_of_the_host_is_not_that_of_the_gpu)
{
    float slab[8];
    open_module("rue_cuda_emulated.so", false);
    emulated_cuda_fail(0, 1, OUT_OF_MEMORY);
    cr_assert_eq(module->pin(slab, sizeof slab, message), RUE_CUDA_NO_MEMORY);
    cr_assert_str_eq(message, "no more of the host's memory can be pinned");
}

Test(cuda_module, a_batch_of_an_unknown_size_is_refused)
{
    struct rue_cuda_step steps[STEPS];
    struct rue_cuda_plan plan = plan_of(FULL, steps);
    struct rue_cuda_run *run;
    uint64_t ticket;
    float slab[FULL * IMAGE_ELEMENTS] = {0};
    open_module("rue_cuda_emulated.so", false);
    check(module->open(&plan, &run, message), "open");
    cr_assert_eq(module->submit(run, slab, LAST, &ticket, message), RUE_CUDA_FAILED);
    cr_assert_str_eq(message, "a batch of a size that was not made ready for");
    module->close(run);
    check_nothing_is_left("a size");
}

Test(cuda_module, what_a_machine_lacks_is_one_sentence)
{
    static const struct {
        const char *device, *message;
    } kinds[] = {
        {"none", "the NVIDIA driver finds no GPU among those that CUDA_VISIBLE_DEVICES='7' leaves"},
        {"no-driver", "there is no NVIDIA driver here (libcuda.so.1): install one, or name"},
        {"old-driver", "the NVIDIA driver is one for CUDA 11.8, and rue_cuda.so needs 13.0: install a newer"},
        {"stub", "libcuda.so.1 is the CUDA toolkit's stub and no driver: take its folder out"},
        {"other-kernels", "rue_cuda.so was not built for an emulated GPU: build rue with "
                          "-DCMAKE_CUDA_ARCHITECTURES=90"},
    };
    struct rue_cuda_device device;
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    open_module("rue_cuda_emulated.so", false);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        emulated_cuda_set_device(kinds[i].device);
        cr_assert_eq(module->device(&device, message), RUE_CUDA_NO_DEVICE);
        cr_assert_eq(strncmp(message, kinds[i].message, strlen(kinds[i].message)), 0, "%s", message);
    }
}

Test(cuda_module, it_says_when_products_are_its_own)
{
    struct rue_cuda_device device;
    open_module("rue_cuda_emulated.so", false);
    check(module->device(&device, message), "device");
    cr_assert_str_eq(device.name, "an emulated GPU");
    cr_assert_str_eq(device.slower, "products by rue's own kernels, which are slower than cuBLASLt's: "
                                    "libcublasLt.so.0 was not found");
}

Test(cuda_module, it_has_nothing_to_say_with_cublaslt)
{
    struct rue_cuda_device device;
    open_module("rue_cuda_emulated.so", true);
    check(module->device(&device, message), "device");
    cr_assert_str_eq(device.slower, "");
}
