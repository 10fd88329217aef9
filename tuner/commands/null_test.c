#include "null_test.h"

#include <stdlib.h>

#include "model_sleep.h"
#include "sort.h"
#include "source_instant.h"
#include "trial_loop.h"

enum { BATCHES_MAX = 5000 };

static void judge(const struct rue_trial_result *result, struct rue_null_test *out)
{
    double busy_ns = (double)out->sleep_ns * (double)result->batches;
    double time_ns = (double)(result->end_to_end_ns - result->first_batch_ns);
    uint64_t *times = result->batch_compute_ns;
    size_t count = result->compute_count;
    rue_sort_integers(times, count);
    uint64_t late = times[(count * 99 + 99) / 100 - 1];
    out->batches = (size_t)result->batches;
    out->utilisation_ratio = time_ns > 0 ? busy_ns / time_ns : 0;
    out->p99_lateness_ns = late > out->sleep_ns ? late - out->sleep_ns : 0;
    out->passed = out->utilisation_ratio >= RUE_NULL_TEST_UTILISATION;
}

rue_status rue_null_test_run(uint64_t sleep_ns, uint64_t time_ns, struct rue_null_test *out, rue_error *error)
{
    const struct rue_profile profile = {.name = "the null test", .per_batch_ns = (double)sleep_ns};
    struct rue_trial_request request = {.measure = RUE_JOINT,
                                        .config = rue_config_default(),
                                        .workload = rue_workload_default(),
                                        .detail = true};
    struct rue_source *source = NULL;
    struct rue_model model = {0};
    struct rue_trial_result result = rue_trial_result_empty();
    request.config.value[RUE_BATCH_SIZE] = 1;
    request.config.value[RUE_NUM_WORKERS] = 0;
    uint64_t batches = time_ns / sleep_ns;
    request.images = batches > BATCHES_MAX ? BATCHES_MAX : batches < 2 ? 2 : batches;
    request.job_images = request.images;
    *out = (struct rue_null_test){.sleep_ns = sleep_ns};
    rue_status status = rue_source_instant_open(&rue_source_instant, request.images, &source, error);
    if (status == RUE_OK) status = rue_model_sleep_open(&profile, 0, &model, error);
    if (status == RUE_OK) rue_trial_run(&request, source, &model, &result);
    if (status == RUE_OK && (result.outcome != RUE_TRIAL_OK || result.compute_count == 0))
        status = rue_fail(error, RUE_INTERNAL, "the null test failed: %s", result.reason);
    if (status == RUE_OK) judge(&result, out);
    rue_trial_result_close(&result);
    rue_model_close(&model);
    rue_source_close(source);
    return status;
}
