/* The module of CUDA kernels: whether its products are sums, what it does when calls fail, and what it leaves
 * behind. */
#include "cuda_module_fixture.h"

enum { OUT_OF_MEMORY = 2, UNKNOWN = 999 }; /* of CUDA's errors */

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
    {"depthwise", PRODUCT_DEPTHWISE},
};

static double relative_error(struct rue_cuda_step step, enum rue_precision precision, int own)
{
    step.c_stride = step.rows * step.columns;
    size_t a_count = (step.count - 1) * step.a_stride + step.rows * step.inner,
           b_count = (step.b_count - 1) * step.b_stride + step.columns * step.inner,
           c_count = step.count * step.c_stride;
    if (step.kind == RUE_CUDA_DEPTHWISE) a_count = step.count * step.a_stride + step.inner;
    float *a = product_values(a_count, 1), *b = product_values(b_count, 2), *c = product_values(c_count, 3);
    check(entries->multiply(precision, &step, a, a_count, b, b_count, c, c_count, own, message), "multiply");
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
            double worst = relative_error(cases[i].step, (enum rue_precision)precision, !library);
            cr_assert_leq(worst, bound, "%s, %s: %g", cases[i].name, rue_precision_names[precision], worst);
            if (rounded) cr_assert_gt(worst, product_bounds[RUE_FP32], "TF32 was asked for");
        }
    check_all_is_freed("products");
}

Test(cuda_module, own_products_are_sums)
{
    open_module("rue_cuda_emulated.so", false);
    for (uint64_t seed = 0; seed < 2; seed++) {
        emulated_cuda_set_seed(seed);
        check_products(false);
    }
}

Test(cuda_module, products_are_described_as_cublaslt_expects)
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
        worst = fmax(worst, relative_error(cases[0].step, RUE_FP32, 1));
    }
    cr_assert_gt(worst, 0.01);
}

Test(cuda_module, move_steps_keep_values_in_bounds)
{
    float from[800], to[800];
    struct rue_cuda_step step = {.kind = RUE_CUDA_MOVE, .rows = 800, .columns = 1, .count = 1};
    open_module("rue_cuda_emulated.so", false);
    for (int precision = 0; precision < RUE_PRECISION_COUNT; precision++) {
        for (int i = 0; i < 800; i++) to[i] = (float)(i - 400) / 16, from[i] = 7;
        check(entries->multiply((uint32_t)precision, &step, from, 800, from, 1, to, 800, 1, message), "move");
        for (int i = 0; i < 800; i++) {
            double x = (i - 400) / 16.0, wanted = x / (1 + fabs(x));
            cr_assert_leq(fabs(to[i] - wanted), product_bounds[precision], "%d: %g", i, (double)to[i]);
        }
    }
}

/* ---- failures ---- */

/* What went wrong in one use of the module from its beginning to its end. */
static int use_module(void)
{
    struct rue_cuda_step full_steps[STEPS], last_steps[STEPS];
    struct rue_cuda_plan full = make_plan(FULL, full_steps), last = make_plan(LAST, last_steps);
    struct rue_cuda_device device;
    struct rue_cuda_run *run = NULL;
    uint64_t tickets[2] = {0};
    static float slabs[2][1024] __attribute__((aligned(SLAB_BYTES)));
    bool pinned[2] = {false};
    int status = module->device(&device, message), in_flight = 0;
    for (int i = 0; status == RUE_CUDA_OK && i < 2; i++)
        pinned[i] = (status = module->pin(slabs[i], sizeof slabs[i], message)) == RUE_CUDA_OK;
    if (status == RUE_CUDA_OK) status = module->open(&full, &run, message);
    if (status == RUE_CUDA_OK) status = module->add_plan(run, &last, message);
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
        check_all_is_freed(failed);
        if (!failed[0]) {
            cr_assert_gt(call, 60, "all of them");
            break;
        }
        if (count > 1 || gives_back(failed)) continue;
        cr_assert_eq(status, wanted, "call %d, %s: %d, %s", (int)call, failed, status, message);
        const char *named = strcmp(failed, "cudaLaunchKernel") == 0 ? "the kernel " : failed;
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

Test(cuda_module, a_plan_beyond_the_memory_is_refused_and_freed)
{
    struct rue_cuda_step steps[STEPS];
    struct rue_cuda_plan plan = make_plan(FULL, steps);
    struct rue_cuda_run *run;
    struct rue_cuda_device device;
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
        check_all_is_freed("no memory");
    }
    cr_assert_gt(refused, 10);
    check(module->device(&device, message), "device");
    cr_assert(device.bytes == device.free_bytes && device.bytes > 0);
    check(use_module(), "with more memory");
}

Test(cuda_module, memory_of_the_host_is_not_that_of_the_gpu)
{
    float slab[8];
    open_module("rue_cuda_emulated.so", false);
    emulated_cuda_fail(0, 1, OUT_OF_MEMORY);
    cr_assert_eq(module->pin(slab, sizeof slab, message), RUE_CUDA_NO_MEMORY);
    cr_assert_str_eq(message, "cannot page-lock more host memory");
}

Test(cuda_module, a_batch_of_an_unknown_size_is_refused)
{
    struct rue_cuda_step steps[STEPS];
    struct rue_cuda_plan plan = make_plan(FULL, steps);
    struct rue_cuda_run *run;
    uint64_t ticket;
    float slab[FULL * IMAGE_ELEMENTS] = {0};
    open_module("rue_cuda_emulated.so", false);
    check(module->open(&plan, &run, message), "open");
    cr_assert_eq(module->submit(run, slab, LAST, &ticket, message), RUE_CUDA_FAILED);
    cr_assert_str_eq(message, "the batch size was not prepared");
    module->close(run);
    check_all_is_freed("a size");
}

Test(cuda_module, missing_parts_are_one_sentence)
{
    static const struct {
        const char *device, *message;
    } kinds[] = {
        {"none", "the NVIDIA driver finds no GPU with CUDA_VISIBLE_DEVICES='7': change or unset it"},
        {"no-driver", "there is no NVIDIA driver here (libcuda.so.1): install one, or simulate"},
        {"old-driver", "the NVIDIA driver supports CUDA 11.8, and rue_cuda.so needs 13.0: install a newer"},
        {"stub", "libcuda.so.1 is the stub of the CUDA toolkit, not a driver: remove its folder"},
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

Test(cuda_module, own_products_are_reported_as_slow_reason)
{
    struct rue_cuda_device device;
    open_module("rue_cuda_emulated.so", false);
    check(module->device(&device, message), "device");
    cr_assert_str_eq(device.name, "an emulated GPU");
    cr_assert_str_eq(device.slow_reason,
                     "rue's own kernels compute the products, which is slower than cuBLASLt: "
                     "libcublasLt.so.0 was not found");
}

Test(cuda_module, no_slow_reason_with_cublaslt)
{
    struct rue_cuda_device device;
    open_module("rue_cuda_emulated.so", true);
    check(module->device(&device, message), "device");
    cr_assert_str_eq(device.slow_reason, "");
}
