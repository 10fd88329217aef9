/* The module of CUDA kernels, models/model_cuda.cu, above CUDA that is emulated on the CPU
 * (emulated_cuda/emulated_cuda.h). */
#ifndef RUE_CUDA_MODULE_FIXTURE_H
#define RUE_CUDA_MODULE_FIXTURE_H

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cuda_plan.h"
#include "cuda_test_module.h"
#include "emulated_cuda.h"
#include "product_fixture.h"

enum { FULL = 3, LAST = 2, IMAGE_ELEMENTS = 40, SLAB_BYTES = 4096, STEPS = 4 };

static const struct rue_cuda_module *module;
static const struct rue_cuda_test_entries *entries;
static char message[RUE_CUDA_MESSAGE_BYTES];

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
    const struct rue_cuda_test_entries *(*more)(void);
    if (with_library) open_beside("cublaslt/libcublasLt.so.0");
    void *opened = open_beside(name);
    *(void **)&table = dlsym(opened, RUE_CUDA_MODULE_SYMBOL);
    *(void **)&more = dlsym(opened, RUE_CUDA_TEST_SYMBOL);
    module = table();
    entries = more();
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

#endif
