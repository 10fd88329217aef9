#include "cost_probes.h"

#include <math.h>

#include "flight.h"
#include "probes.h"
#include "study_costs.h"
#include "study_space.h"
#include "trial_failures.h"

enum { FEW_IMAGES = 128, MANY_IMAGES = 1024 };
enum { WORK_IMAGES = 8 }; /* of a compute probe on a CPU */

/* One short trial of a loader, and its result. */
struct rate {
    int workers;
    uint64_t images;                /* at least; two batches are */
    double images_per_s;            /* 0 when it was not ok */
    double overhead_s;              /* of the trial, in addition to its end_to_end_ns */
    struct rue_trial_result result; /* without its arrays */
};

/* Measures the loader's images/s: load-only if the runner can, else jointly with the first model. */
static rue_status probe_rate(struct rue_study_setup *setup, struct rue_study_ledger *ledger, size_t variant,
                             struct rate *rate, rue_error *error)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    bool load = hello->measures[RUE_LOAD];
    struct rue_config config = rue_space_at(&setup->space, 0);
    config.value[RUE_NUM_WORKERS] = rate->workers;
    uint64_t job = setup->variants[variant].job_images, batch = (uint64_t)config.value[RUE_BATCH_SIZE];
    size_t requested = variant;
    if (!setup->variants[variant].opened.digest[0]) variant = 0; /* a dry run has no converted sample */
    uint64_t images = rate->images < 2 * batch ? 2 * batch : rate->images;
    if (images > job || hello->whole_jobs) images = job;
    struct rue_flight flight = {
        .at = {.variant = variant, .model = load ? RUE_NONE : 0},
        .request = {.measure = load ? RUE_LOAD : RUE_JOINT, .config = config, .images = images}};
    const struct rue_trial_result *result = &flight.result;
    rue_status status = rue_study_measure(setup, ledger, &flight, 0, error);
    if (status != RUE_OK) return status;
    rate->result = *result;
    rue_trial_result_drop_lists(&rate->result);
    status = rue_study_check_data(result, error);
    if (result->outcome == RUE_TRIAL_OK) {
        double duration_s = (double)result->end_to_end_ns / 1e9;
        rate->images_per_s = (double)result->images / duration_s;
        if (result->cost_ns != RUE_ABSENT)
            rate->overhead_s = fmax(0, (double)result->cost_ns / 1e9 - duration_s);
        rue_study_note_loader(setup, requested, result);
    }
    rue_trial_result_close(&flight.result);
    return status;
}

/* Measures with one worker and with one worker per CPU. If one of the two fails, the other replaces it; if
 * both fail, tries the smallest number of workers. */
static rue_status probe_loader(struct rue_study_setup *setup, struct rue_study_ledger *ledger, size_t variant,
                               rue_error *error)
{
    int one = rue_space_nearest(&setup->space, RUE_NUM_WORKERS, 1);
    int all =
        rue_space_nearest(&setup->space, RUE_NUM_WORKERS, rue_study_usable_cpus(rue_study_hello(setup)));
    struct rate single = {.workers = one, .images = FEW_IMAGES}, multi;
    rue_progress_show(setup->progress, "probing the loader: %s",
                      rue_mode_names[setup->variants[variant].variant.mode]);
    rue_status status = probe_rate(setup, ledger, variant, &single, error);
    multi = all != one ? (struct rate){.workers = all, .images = MANY_IMAGES} : single;
    if (status == RUE_OK && all != one) status = probe_rate(setup, ledger, variant, &multi, error);
    int least = setup->space.values[RUE_NUM_WORKERS][0];
    if (status == RUE_OK && !single.images_per_s && !multi.images_per_s && least < one) {
        single = (struct rate){.workers = least, .images = FEW_IMAGES};
        status = probe_rate(setup, ledger, variant, &single, error);
    }
    if (status != RUE_OK) return status;
    if (!single.images_per_s && !multi.images_per_s)
        return rue_study_fail_probe(setup, variant, &single.result, error);
    setup->costs.all_workers_images_per_s[variant] = fmax(single.images_per_s, multi.images_per_s);
    setup->costs.trial_overhead_s =
        fmax(setup->costs.trial_overhead_s, fmax(single.overhead_s, multi.overhead_s));
    return RUE_OK;
}

/* Measures the seconds per image of models with unknown profile and of models that compute on a CPU. */
static rue_status probe_model(struct rue_study_setup *setup, struct rue_study_ledger *ledger, size_t index,
                              rue_error *error)
{
    const struct rue_study_model *model = &setup->models[index];
    struct rue_flight flight = {.at.model = index,
                                .request = {.measure = RUE_COMPUTE,
                                            .config = rue_space_at(&setup->space, 0),
                                            .batches = RUE_PROBES_COMPUTE_BATCHES}};
    const int *sizes = setup->space.values[RUE_BATCH_SIZE], count = setup->space.count[RUE_BATCH_SIZE];
    bool on_cpu = model->profile.consumer == RUE_CONSUMER_HOST && !model->profile.measured;
    flight.request.config.value[RUE_BATCH_SIZE] = !on_cpu                  ? sizes[count / 2]
                                                  : sizes[0] < WORK_IMAGES ? sizes[0]
                                                                           : WORK_IMAGES;
    if (model->known && !on_cpu) return RUE_OK;
    if (!rue_study_hello(setup)->measures[RUE_COMPUTE]) return RUE_OK;
    rue_progress_show(setup->progress, "probing %s", model->name);
    rue_status status = rue_study_measure(setup, ledger, &flight, 0, error);
    if (status != RUE_OK) return status;
    if (flight.result.outcome == RUE_TRIAL_OK) rue_study_note_compute(setup, index, &flight.result);
    rue_trial_result_close(&flight.result);
    return RUE_OK;
}

rue_status rue_study_probe_least(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 rue_error *error)
{
    int one = rue_space_nearest(&setup->space, RUE_NUM_WORKERS, 1);
    rue_status status = RUE_OK;
    for (size_t v = 0; status == RUE_OK && v < setup->variant_count; v++) {
        struct rate single = {.workers = one, .images = FEW_IMAGES};
        status = probe_rate(setup, ledger, v, &single, error);
    }
    ledger->probe_rows = ledger->row_count;
    return status;
}

rue_status rue_study_probe(struct rue_study_setup *setup, struct rue_study_ledger *ledger, rue_error *error)
{
    rue_status status = RUE_OK;
    if (setup->costs.probed) return RUE_OK;
    setup->costs.probed = true;
    for (size_t m = 0; status == RUE_OK && m < setup->model_count; m++)
        status = probe_model(setup, ledger, m, error);
    for (size_t v = 0; status == RUE_OK && v < setup->variant_count; v++) {
        size_t first = 0; /* with the same data: of other ranks, which may fail, nothing is probed */
        while (!rue_variant_equal(&setup->variants[first].variant, &setup->variants[v].variant)) first++;
        if (first == v) status = probe_loader(setup, ledger, v, error);
        setup->costs.one_worker_images_per_s[v] = setup->costs.one_worker_images_per_s[first];
        setup->costs.all_workers_images_per_s[v] = setup->costs.all_workers_images_per_s[first];
    }
    ledger->probe_rows = ledger->row_count;
    return status;
}
