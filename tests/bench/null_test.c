/* The null test: with a loader that takes no time the simulated accelerator must not idle, or what is
 * measured with a real loader is not the loader's doing: the time that the batches take beside the time of
 * the trial after its first batch.   null_test */
#include "bench.h"
#include "model_sleep.h"
#include "no_work_source.h"
#include "trial_loop.h"
#include "units.h"

enum { TRIAL_NS = 800000000, BATCHES_MAX = 5000 };

/* Batches of `sleep_ns` each, loaded in the consumer's own thread: handing over is the loader's work. */
static void measure(uint64_t sleep_ns)
{
    uint64_t batches = TRIAL_NS / sleep_ns;
    batches = batches > BATCHES_MAX ? BATCHES_MAX : batches < 2 ? 2 : batches;
    const struct rue_profile profile = {.name = "the null test", .per_batch_ns = (double)sleep_ns};
    struct rue_trial_request request = {.measure = RUE_JOINT,
                                        .config = rue_config_default(),
                                        .workload = rue_workload_default(),
                                        .images = batches,
                                        .job_images = batches};
    struct rue_source *source = no_work_source_open(batches);
    struct rue_model model = {0};
    struct rue_trial_result result;
    rue_error error = {0};
    char what[64], sleep[RUE_UNIT_TEXT_BYTES];
    request.config.value[RUE_BATCH_SIZE] = 1;
    request.config.value[RUE_NUM_WORKERS] = 0;
    bench_check(rue_model_sleep_open(&profile, &model, &error), &error);
    rue_trial_run(NULL, &request, source, &model, &result);
    snprintf(what, sizeof what, "batches of %s, busy", rue_format_duration(sleep_ns, sleep, sizeof sleep));
    bench_row(what, "ms", (double)(sleep_ns * (uint64_t)result.batches) / 1e6, "the trial",
              (double)(result.end_to_end_ns - result.first_batch_ns) / 1e6, ">= 0.99");
    rue_trial_result_close(&result);
    rue_model_close(&model);
    rue_source_close(source);
}

int main(void)
{
    static const uint64_t sleeps_us[] = {200, 500, 1000, 2000, 5000, 10000, 50000, 200000, 1000000};
    for (size_t i = 0; i < sizeof sleeps_us / sizeof *sleeps_us; i++) measure(sleeps_us[i] * RUE_NS_PER_US);
    return 0;
}
