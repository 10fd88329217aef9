/* The model on a GPU, with a module that computes by sleeping: no GPU is needed. */
#include "model_cuda.h"

#include <criterion/criterion.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "catalogue.h"
#include "data_fixture.h"
#include "trial_loop.h"

enum { PHOTOS = 11, IMAGE_NS = 20000, BATCH_NS = 100000, COPY_NS = 1000 };

static struct rue_model model;
static struct rue_trial_result result;
static rue_error error;
static enum rue_dtype dtype; /* of the batches */

/* Beside this program. */
static void name_module(const char *name)
{
    char path[PATH_MAX + 64];
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    cr_assert_gt(length, 0);
    path[length] = 0;
    snprintf(strrchr(path, '/') + 1, 64, "%s", name);
    setenv("RUE_CUDA_MODULE", path, 1);
}

static void setup(void)
{
    name_module("fake_cuda_module.so");
    result = rue_trial_result_empty();
    dtype = RUE_FLOAT32;
}

static void teardown(void)
{
    rue_trial_result_close(&result);
    rue_model_close(&model);
}

TestSuite(model_cuda, .init = setup, .fini = teardown, .timeout = 60);

static rue_status open_model(const char *spec)
{
    struct rue_profile profile;
    cr_assert_eq(rue_catalogue_find(spec, &profile, NULL), RUE_OK, "%s", spec);
    cr_assert_eq(profile.consumer, RUE_CONSUMER_CUDA);
    return rue_model_cuda_open(&profile, &model, &error);
}

static struct rue_trial_request make_request(enum rue_measure measure, int batch_size, int workers)
{
    struct rue_trial_request request = {.measure = measure,
                                        .config = rue_config_default(),
                                        .workload = rue_workload_default(),
                                        .images = PHOTOS,
                                        .job_images = PHOTOS,
                                        .batches = 6};
    request.config.value[RUE_BATCH_SIZE] = batch_size;
    request.config.value[RUE_NUM_WORKERS] = workers;
    request.workload.batch_dtype = dtype;
    return request;
}

static void run(const char *spec, const struct rue_trial_request *request)
{
    cr_assert_eq(open_model(spec), RUE_OK, "%s", error.message);
    temporary_folder_make();
    data_photos_make(PHOTOS);
    struct rue_source *source = data_open("photos");
    rue_trial_run(NULL, request, source, &model, &result);
    rue_source_close(source);
    temporary_folder_remove();
}

static void run_photos(const char *spec, int batch_size, int workers)
{
    struct rue_trial_request request = make_request(RUE_JOINT, batch_size, workers);
    run(spec, &request);
}

Test(model_cuda, batches_are_copied_and_computed)
{
    for (int workers = 0; workers < 3; workers += 2) {
        run_photos("resnet18@cuda:bf16", 4, workers);
        cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
        cr_assert_str_eq(result.reason, "");
        cr_assert(result.images == PHOTOS && result.batches == 3);
        cr_assert_eq(result.h2d_ns, 3 * COPY_NS, "from pinned memory");
        cr_assert_eq(result.device_ns, 3 * BATCH_NS + PHOTOS * IMAGE_NS);
        cr_assert_geq(result.end_to_end_ns, 3 * BATCH_NS + PHOTOS * IMAGE_NS);
        cr_assert_eq(result.load_wait_ns + result.compute_ns + result.shutdown_ns, result.end_to_end_ns);
        teardown();
        setup();
    }
}

Test(model_cuda, levels_are_copied_as_they_are)
{
    dtype = RUE_UINT8;
    run_photos("resnet18@cuda:bf16", 4, 2); /* 4 and 3 images, that are no whole pages */
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert_eq(result.h2d_ns, 3 * COPY_NS / 4);
    struct rue_trial_request request = make_request(RUE_COMPUTE, 3, 0);
    rue_trial_result_close(&result);
    rue_trial_run(NULL, &request, NULL, &model, &result);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert_eq(result.h2d_ns, 6 * COPY_NS / 4);
}

Test(model_cuda, without_pin_memory_batches_are_not_pinned)
{
    struct rue_trial_request request = make_request(RUE_JOINT, 4, 2);
    request.config.value[RUE_PIN_MEMORY] = false;
    run("resnet18@cuda", &request);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert_eq(result.h2d_ns, 3 * 10 * COPY_NS);
    teardown();
    request.measure = RUE_COMPUTE;
    run("resnet18@cuda", &request);
    cr_assert_eq(result.h2d_ns, 6 * 10 * COPY_NS, "nor is one that is resident");
}

Test(model_cuda, batches_of_changing_size_are_refused)
{
    for (int strategy = 0; strategy < RUE_BATCHES_COUNT; strategy++) {
        struct rue_trial_request request = make_request(RUE_JOINT, 4, 2);
        request.config.value[RUE_BATCH_STRATEGY] = strategy;
        run("resnet18@cuda", &request);
        bool changes = strategy >= RUE_BATCHES_MEMORY;
        cr_assert_eq(result.outcome, changes ? RUE_TRIAL_FAILED : RUE_TRIAL_OK, "%s", result.reason);
        cr_assert(!changes || strstr(result.reason, "use batch_strategy fixed"), "%s", result.reason);
        teardown();
    }
}

Test(model_cuda, memory_that_cannot_be_pinned_is_infeasible_and_reported)
{
    struct rue_trial_request request = make_request(RUE_JOINT, 4, 2);
    setenv("FAKE_CUDA_PINS", "1", 1);
    run("resnet18@cuda", &request);
    cr_assert_eq(result.outcome, RUE_TRIAL_INFEASIBLE);
    cr_assert(strstr(result.reason, "could allocate only 1 of 5 batch buffers of ") &&
                  strstr(result.reason, " bytes of page-locked memory (pin_memory false needs none)"),
              "%s", result.reason);
    teardown();
    setenv("FAKE_CUDA_PINS", "0", 1);
    request.measure = RUE_COMPUTE;
    run("resnet18@cuda", &request);
    cr_assert_eq(result.outcome, RUE_TRIAL_INFEASIBLE);
    cr_assert(strstr(result.reason, "page-locked memory (pin_memory false"), "%s", result.reason);
    teardown();
    request.config.value[RUE_PIN_MEMORY] = false;
    run("resnet18@cuda", &request);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
}

Test(model_cuda, compute_trials_keep_the_device_busy)
{
    struct rue_trial_request request = make_request(RUE_COMPUTE, 8, 0);
    cr_assert_eq(open_model("vit_b_16@cuda"), RUE_OK, "%s", error.message);
    rue_trial_run(NULL, &request, NULL, &model, &result);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert(result.batches == 6 && result.compute_count == 6 && result.images == 48);
    cr_assert_geq(result.compute_ns, 6 * (BATCH_NS + 8 * IMAGE_NS));
    cr_assert_eq(result.h2d_ns, 6 * COPY_NS, "without the one that warmed up");
    cr_assert_eq(result.device_ns, 6 * (BATCH_NS + 8 * IMAGE_NS));
}

Test(model_cuda, a_batch_that_is_too_large_is_infeasible_and_a_smaller_one_runs)
{
    setenv("FAKE_CUDA_BYTES", "200000000", 1);
    struct rue_trial_request request = make_request(RUE_COMPUTE, 512, 0);
    cr_assert_eq(open_model("resnet18@cuda:fp16"), RUE_OK, "%s", error.message);
    rue_trial_run(NULL, &request, NULL, &model, &result);
    cr_assert_eq(result.outcome, RUE_TRIAL_INFEASIBLE);
    cr_assert_eq(result.refused, 1, "the device, not a limit");
    cr_assert(strstr(result.reason, "a batch of 512 images needs ") &&
                  strstr(result.reason, "weights 11 MB") &&
                  strstr(result.reason, "but a GPU of the tests has 200 MB free"),
              "%s", result.reason);
    rue_trial_result_close(&result);
    request.config.value[RUE_BATCH_SIZE] = 2;
    rue_trial_run(NULL, &request, NULL, &model, &result);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
}

Test(model_cuda, uint8_batches_need_less_memory)
{
    static const char *const reported[] = {"2 batches of images 617 MB", "2 batches of images 154 MB"};
    setenv("FAKE_CUDA_BYTES", "200000000", 1);
    for (dtype = RUE_FLOAT32; dtype <= RUE_UINT8; dtype++) {
        struct rue_trial_request request = make_request(RUE_COMPUTE, 512, 0);
        cr_assert_eq(open_model("resnet18@cuda:fp16"), RUE_OK, "%s", error.message);
        rue_trial_run(NULL, &request, NULL, &model, &result);
        cr_assert_eq(result.outcome, RUE_TRIAL_INFEASIBLE);
        cr_assert(strstr(result.reason, reported[dtype]), "%s", result.reason);
        rue_trial_result_close(&result);
        rue_model_close(&model);
    }
}

/* 60,192,808 parameters in fp32 are 241 MB, those of layers of different shapes 81 MB. */
Test(model_cuda, layers_share_weights_where_memory_is_short)
{
    setenv("FAKE_CUDA_BYTES", "160000000", 1);
    struct rue_trial_request request = make_request(RUE_COMPUTE, 1, 0);
    cr_assert_eq(open_model("resnet152@cuda"), RUE_OK, "%s", error.message);
    rue_trial_run(NULL, &request, NULL, &model, &result);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
}

Test(model_cuda, the_reason_of_slow_products_is_reported)
{
    setenv("FAKE_CUDA_SLOWER", "by kernels of our own", 1);
    run_photos("resnet18@cuda", 8, 1);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK);
    cr_assert_str_eq(result.reason, "by kernels of our own");
}

Test(model_cuda, a_device_that_is_lost_fails_the_trial)
{
    setenv("FAKE_CUDA_LOST", "1", 1);
    run_photos("resnet18@cuda", 4, 2);
    cr_assert_eq(result.outcome, RUE_TRIAL_FAILED);
    cr_assert_str_eq(result.reason, "resnet18@cuda: the GPU fell off the bus");
    cr_assert(result.spent);
}

Test(model_cuda, no_device_is_one_sentence)
{
    setenv("FAKE_CUDA_DEVICE", "none", 1);
    cr_assert_eq(open_model("resnet18@cuda"), RUE_USAGE);
    cr_assert_str_eq(error.message, "model 'resnet18@cuda': the NVIDIA driver finds no GPU");
}

Test(model_cuda, a_missing_module_gets_advice)
{
    unsetenv("RUE_CUDA_MODULE");
    cr_assert_eq(open_model("resnet18@cuda"), RUE_USAGE);
    cr_assert(strstr(error.message, "built without CUDA") && strstr(error.message, "rue_cuda.so and /"), "%s",
              error.message);
}

Test(model_cuda, a_missing_module_is_named_in_the_message)
{
    name_module("no_such_module.so");
    cr_assert_eq(open_model("resnet18@cuda"), RUE_USAGE);
    cr_assert(strstr(error.message, "cannot open the module") && strstr(error.message, "no_such_module.so"),
              "%s", error.message);
}

Test(model_cuda, a_module_of_another_version_is_refused)
{
    setenv("FAKE_CUDA_VERSION", "999", 1);
    cr_assert_eq(open_model("resnet18@cuda"), RUE_USAGE);
    cr_assert(strstr(error.message, "has version 999") && strstr(error.message, "build both"), "%s",
              error.message);
}

Test(model_cuda, a_library_that_is_not_a_module_is_refused)
{
    setenv("RUE_CUDA_MODULE", "libm.so.6", 1);
    cr_assert_eq(open_model("resnet18@cuda"), RUE_USAGE);
    cr_assert(strstr(error.message, "libm.so.6 is not a module of rue"), "%s", error.message);
}
