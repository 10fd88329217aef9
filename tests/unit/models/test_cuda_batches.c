/* Batches in the module of CUDA kernels: each holds its own images, whatever the order in which the device
 * works, and what is computed of them is what the plan says. */
#include <sys/mman.h>

#include "cuda_module_fixture.h"

enum { BATCHES = 5 };

TestSuite(cuda_batches, .timeout = 120);

/* ---- batches ---- */

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

static void run_step(const struct rue_cuda_step *step)
{
    const float *b = (step->b_is_activations ? expected.from : expected.weights) + step->b_offset;
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

static float read_value(const struct rue_cuda_input *input, const void *slab, uint64_t i)
{
    uint64_t channel = input->dtype ? i / input->channel_elements % 3 : 0;
    if (!input->dtype) return ((const float *)slab)[i];
    return ((float)((const uint8_t *)slab)[i] / 255.0f - input->mean[channel]) / input->std[channel];
}

/* At the end of each batch on the device. */
static void check_batch(void)
{
    int batch = expected.done++;
    const struct rue_cuda_plan *plan = batch == BATCHES - 1 && expected.last ? expected.last : expected.full;
    for (uint64_t i = 0; i < plan->input_elements; i++)
        expected.from[i] = read_value(&plan->input, expected.slabs[batch], i);
    for (uint64_t i = 0; i < plan->step_count; i++) run_step(&plan->steps[i]);
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
    if (last) check(module->add_plan(run, last, message), "add");
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
    check_all_is_freed("batches");
    return expected.worst;
}

/* Levels whose channels are so many sixteens, and such whose are not. */
static const struct rue_cuda_input inputs[4] = {[1] = {1, 16, {0.5f, 0.4f, 0.6f}, {0.5f, 0.6f, 0.7f}},
                                                [3] = {1, 13, {0.4f, 0.5f, 0.5f}, {0.6f, 0.5f, 0.6f}}};

static void check_batches(bool library)
{
    struct rue_cuda_step full_steps[STEPS], last_steps[STEPS];
    struct rue_cuda_plan full = make_plan(FULL, full_steps), last = make_plan(LAST, last_steps);
    struct rue_cuda_times times;
    open_module("rue_cuda_emulated.so", library);
    for (uint64_t seed = 0; seed < (library ? 40 : 12); seed++) {
        emulated_cuda_set_seed(seed);
        full.precision = last.precision = seed % RUE_PRECISION_COUNT;
        full.input = last.input = inputs[seed % 4];
        double worst = run_batches(&full, &last, seed % 4 < 3, &times);
        double bound = fmax(1e-5, 2 * product_bounds[full.precision]);
        cr_assert_leq(worst, bound, "seed %d: %g", (int)seed, worst);
    }
}

Test(cuda_batches, batches_keep_their_images_in_any_order_of_work)
{
    check_batches(false);
}

Test(cuda_batches, batches_keep_their_images_with_cublaslt)
{
    check_batches(true);
}

Test(cuda_batches, a_copy_that_is_not_waited_for_would_be_noticed)
{
    struct rue_cuda_step steps[STEPS];
    struct rue_cuda_plan full = make_plan(FULL, steps);
    struct rue_cuda_times times;
    double worst = 0;
    open_module("rue_cuda_careless.so", true); /* whose products are right */
    for (uint64_t seed = 0; seed < 4; seed++) {
        emulated_cuda_set_seed(seed);
        worst = fmax(worst, run_batches(&full, NULL, false, &times));
    }
    cr_assert_gt(worst, 0.01);
}

Test(cuda_batches, times_are_those_of_copies_and_of_computing)
{
    struct rue_cuda_step steps[STEPS];
    struct rue_cuda_plan full = make_plan(FULL, steps);
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

Test(cuda_batches, a_plan_is_computed_within_its_memory)
{
    check_plan(false);
}

Test(cuda_batches, a_plan_is_computed_within_its_memory_with_cublaslt)
{
    check_plan(true);
}

/* cuBLASLt gets their addresses, and checks them. */
Test(cuda_batches, products_of_every_model_are_in_bounds_and_aligned)
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
        check(module->add_plan(run, &last, message), model->name);
        module->close(run);
        rue_cuda_plan_close(&full);
        rue_cuda_plan_close(&last);
    }
    check_all_is_freed("all models");
}
