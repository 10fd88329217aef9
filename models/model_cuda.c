#include "model_cuda.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda_plan.h"
#include "units.h"

struct cuda_model {
    const struct rue_cuda_module *module;
    struct rue_cuda_device device;
    struct rue_profile profile;
    const struct rue_architecture *architecture;
    struct rue_slab_allocator slabs; /* page-locked memory; its context is the module */
    struct rue_cuda_run *run;        /* NULL before prepare */
};

/* ---- the module ---- */

/* The folder of the running program, with a slash at the end. */
static bool program_folder(char out[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", out, PATH_MAX - 1);
    if (length <= 0) return false;
    out[length] = 0;
    char *slash = strrchr(out, '/');
    if (slash) slash[1] = 0;
    return slash != NULL;
}

/* Finds the module. False: `tried` [bytes] has the places where it was searched. */
static bool find_module(char path[PATH_MAX * 2], char *tried, size_t bytes)
{
    static const char *const places[] = {"", RUE_MODULE_FOLDER "/"};
    char folder[PATH_MAX];
    size_t used = 0;
    const char *named = getenv("RUE_CUDA_MODULE");
    if (named && named[0]) return snprintf(path, PATH_MAX * 2, "%s", named), true;
    tried[0] = 0;
    if (!program_folder(folder)) return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, PATH_MAX * 2, "%s%s" RUE_CUDA_MODULE_FILE, folder, places[i]);
        if (access(path, F_OK) == 0) return true;
        if (used < bytes)
            used += (size_t)snprintf(tried + used, bytes - used, "%s%s", used ? " and " : "", path);
    }
    return false;
}

static rue_status load_module(const char *path, const struct rue_cuda_module **out, rue_error *error)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) return rue_fail(error, RUE_USAGE, "cannot open the module of CUDA kernels: %s", dlerror());
    const struct rue_cuda_module *(*table)(void);
    *(void **)&table = dlsym(library, RUE_CUDA_MODULE_SYMBOL);
    const struct rue_cuda_module *module = table ? table() : NULL;
    if (module && module->version == RUE_CUDA_MODULE_VERSION) return *out = module, RUE_OK;
    rue_status status =
        module
            ? rue_fail(error, RUE_USAGE,
                       "%s has version %u, and this rue needs version %d: build both from the same sources",
                       path, module->version, RUE_CUDA_MODULE_VERSION)
            : rue_fail(error, RUE_USAGE, "%s is not a module of rue: it lacks %s", path,
                       RUE_CUDA_MODULE_SYMBOL);
    dlclose(library);
    return status;
}

/* Opens the module once and keeps it open: CUDA cannot be restarted reliably. */
static rue_status open_module(const struct rue_cuda_module **out, rue_error *error)
{
    static const struct rue_cuda_module *opened;
    char path[PATH_MAX * 2], tried[PATH_MAX];
    if (opened) return *out = opened, RUE_OK;
    if (!find_module(path, tried, sizeof tried))
        return rue_fail(error, RUE_USAGE,
                        "this rue was built without CUDA and lacks %s: build it with the CUDA toolkit, or "
                        "simulate a device such as h100",
                        tried);
    rue_status status = load_module(path, &opened, error);
    *out = opened;
    return status;
}

static rue_status status_of_code(int code)
{
    return code == RUE_CUDA_NO_DEVICE   ? RUE_USAGE
           : code == RUE_CUDA_NO_MEMORY ? RUE_INFEASIBLE
                                        : RUE_INTERNAL;
}

static rue_status fail_model(const struct cuda_model *model, int code, const char *message, rue_error *error)
{
    return rue_fail(error, status_of_code(code), "%s: %s", model->profile.name, message);
}

/* ---- slabs ---- */

static void *allocate_pinned(void *context, size_t bytes)
{
    const struct rue_cuda_module *module = context;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
    const struct rue_slab_allocator *pages = &rue_slab_allocator_default;
    char message[RUE_CUDA_MESSAGE_BYTES];
    void *slab = pages->allocate(pages->context, bytes);
    if (!slab || module->pin(slab, whole, message) == RUE_CUDA_OK) return slab;
    pages->release(pages->context, slab, bytes);
    return NULL;
}

static void release_pinned(void *context, void *slab, size_t bytes)
{
    const struct rue_cuda_module *module = context;
    const struct rue_slab_allocator *pages = &rue_slab_allocator_default;
    module->unpin(slab);
    pages->release(pages->context, slab, bytes);
}

static const struct rue_slab_allocator *pinned_slabs(void *state)
{
    return &((struct cuda_model *)state)->slabs;
}

/* ---- the model ---- */

static rue_status fail_gpu_memory(struct cuda_model *model, const struct rue_cuda_plan *plan,
                                  rue_error *error)
{
    char need[RUE_UNIT_TEXT_BYTES], weights[RUE_UNIT_TEXT_BYTES], activations[RUE_UNIT_TEXT_BYTES],
        inputs[RUE_UNIT_TEXT_BYTES], free[RUE_UNIT_TEXT_BYTES], message[RUE_CUDA_MESSAGE_BYTES];
    uint64_t weight_bytes = rue_cuda_plan_weight_bytes(plan), input_bytes = rue_cuda_plan_input_bytes(plan),
             activation_bytes = rue_cuda_plan_activation_bytes(plan);
    struct rue_cuda_device device = model->device;
    if (model->module->device(&device, message) != RUE_CUDA_OK) device = model->device;
    return rue_fail(error, RUE_INFEASIBLE,
                    "%s: a batch of %u images needs %s of GPU memory (weights %s, activations %s, %d batches "
                    "of images %s), but %s has %s free; use smaller batches",
                    model->profile.name, plan->images,
                    rue_format_bytes(weight_bytes + activation_bytes + input_bytes, need, sizeof need),
                    rue_format_bytes(weight_bytes, weights, sizeof weights),
                    rue_format_bytes(activation_bytes, activations, sizeof activations), RUE_CUDA_IN_FLIGHT,
                    rue_format_bytes(input_bytes, inputs, sizeof inputs), device.name,
                    rue_format_bytes(device.free_bytes, free, sizeof free));
}

/* A smaller batch may need more memory in one step, because its products are divided differently. */
static void grow_plan(struct rue_cuda_plan *plan, const struct rue_cuda_plan *other)
{
    if (plan->from_elements < other->from_elements) plan->from_elements = other->from_elements;
    if (plan->to_elements < other->to_elements) plan->to_elements = other->to_elements;
}

/* Opens the run for full batches, and for the last batch if it is smaller. */
static int open_run(struct cuda_model *model, struct rue_cuda_plan *full, const struct rue_model_input *input,
                    bool share_weights, char *message, rue_error *error)
{
    struct rue_cuda_plan last_plan = {0};
    enum rue_precision precision = model->profile.precision;
    uint32_t images = (uint32_t)input->images,
             last = input->last_images == images ? 0 : (uint32_t)input->last_images;
    message[0] = 0;
    if (rue_cuda_plan_open(model->architecture, precision, images, share_weights, full, error) != RUE_OK ||
        (last && rue_cuda_plan_open(model->architecture, precision, last, share_weights, &last_plan, error) !=
                     RUE_OK))
        return rue_cuda_plan_close(&last_plan), RUE_CUDA_FAILED;
    if (last) grow_plan(full, &last_plan);
    full->input.dtype = last_plan.input.dtype = input->dtype;
    int code = model->module->open(full, &model->run, message);
    if (code == RUE_CUDA_OK && last) code = model->module->add_plan(model->run, &last_plan, message);
    rue_cuda_plan_close(&last_plan);
    return code;
}

static rue_status prepare_run(void *state, const struct rue_model_input *input, rue_error *error)
{
    rue_status status = rue_model_check_input(input, error);
    if (status != RUE_OK) return status;
    struct cuda_model *model = state;
    struct rue_cuda_plan full = {0};
    char message[RUE_CUDA_MESSAGE_BYTES];
    int code = RUE_CUDA_NO_MEMORY;
    for (int share = 0; code == RUE_CUDA_NO_MEMORY && share < 2; share++) {
        rue_cuda_plan_close(&full);
        model->module->close(model->run);
        model->run = NULL;
        code = open_run(model, &full, input, share, message, error);
    }
    status = code == RUE_CUDA_OK          ? RUE_OK
             : code == RUE_CUDA_NO_MEMORY ? fail_gpu_memory(model, &full, error)
                                          : fail_model(model, code, message, error);
    rue_cuda_plan_close(&full);
    return status;
}

static rue_status submit_to_gpu(void *state, const struct rue_batch *batch, uint64_t *ticket,
                                rue_error *error)
{
    struct cuda_model *model = state;
    char message[RUE_CUDA_MESSAGE_BYTES];
    int code = model->module->submit(model->run, batch->images, (uint32_t)batch->count, ticket, message);
    return code == RUE_CUDA_OK ? RUE_OK : fail_model(model, code, message, error);
}

static rue_status wait_for_gpu(void *state, uint64_t ticket, rue_error *error)
{
    struct cuda_model *model = state;
    char message[RUE_CUDA_MESSAGE_BYTES];
    int code = model->module->wait(model->run, ticket, message);
    return code == RUE_CUDA_OK ? RUE_OK : fail_model(model, code, message, error);
}

static struct rue_model_times read_device_times(const void *state)
{
    const struct cuda_model *model = state;
    struct rue_cuda_times sums = {0};
    if (model->run) model->module->times(model->run, &sums);
    return (struct rue_model_times){.h2d_ns = sums.copy_ns, .device_ns = sums.compute_ns};
}

static const char *slow_reason(const void *state)
{
    return ((const struct cuda_model *)state)->device.slow_reason;
}

static void close_model(void *state)
{
    struct cuda_model *model = state;
    model->module->close(model->run);
    free(model);
}

static const struct rue_model_ops cuda_ops = {.name = "cuda",
                                              .in_flight = RUE_CUDA_IN_FLIGHT,
                                              .fixed_sizes = true,
                                              .prepare = prepare_run,
                                              .submit = submit_to_gpu,
                                              .wait = wait_for_gpu,
                                              .slabs = pinned_slabs,
                                              .times = read_device_times,
                                              .caveat = slow_reason,
                                              .close = close_model};

rue_status rue_model_cuda_open(const struct rue_profile *profile, struct rue_model *out, rue_error *error)
{
    const struct rue_cuda_module *module = NULL;
    rue_error why = {0};
    char message[RUE_CUDA_MESSAGE_BYTES];
    rue_status status = open_module(&module, &why);
    if (status != RUE_OK) return rue_fail(error, status, "model '%s': %s", profile->name, why.message);
    struct cuda_model *model = calloc(1, sizeof *model);
    if (!model) return rue_fail_memory(error, "a model on the GPU", sizeof *model);
    *model =
        (struct cuda_model){.module = module,
                            .profile = *profile,
                            .architecture = profile->architecture,
                            .slabs = {.allocate = allocate_pinned,
                                      .release = release_pinned,
                                      .context = (void *)module,
                                      .memory_kind = "page-locked memory (pin_memory false needs none)"}};
    int code = module->device(&model->device, message);
    if (code == RUE_CUDA_OK) return *out = (struct rue_model){.ops = &cuda_ops, .state = model}, RUE_OK;
    status = rue_fail(error, status_of_code(code), "model '%s': %s", profile->name, message);
    free(model);
    return status;
}
