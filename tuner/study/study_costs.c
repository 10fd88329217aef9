#include "study_costs.h"
#include "probes.h"

#include <math.h>
#include <stdlib.h>

#include "study_faults.h"
#include "study_measure.h"
#include "study_space.h"

enum { FEW_IMAGES = 128, MANY_IMAGES = 1024 };
enum { WORK_IMAGES = 8 }; /* that tell what really computing one takes */

/* What the probes say of one variant. */
struct probed {
    struct rue_plan_loader loader;
    double overhead_s; /* of a trial, beside its end_to_end_ns */
};

/* The value of `knob` in the space that is nearest to `wanted`. */
static int nearest(const struct rue_space *space, enum rue_knob knob, int wanted)
{
    int best = space->values[knob][0];
    for (int i = 1; i < space->count[knob]; i++)
        if (abs(space->values[knob][i] - wanted) < abs(best - wanted)) best = space->values[knob][i];
    return best;
}

/* What one short trial says. */
struct rate {
    double images_per_s; /* 0 when it was not ok */
    double overhead_s;   /* of the trial, beside its end_to_end_ns */
    enum rue_outcome outcome;
    char reason[RUE_REASON_BYTES];
};

static bool names_data(const struct rue_study *study, size_t variant, const struct rate *rate)
{
    return rue_study_is_data_fault(study, variant, rate->outcome, rate->reason);
}

static rue_status fail_probe(const struct rue_study *study, size_t variant, const struct rate *rate,
                             rue_error *error)
{
    return rue_study_fail_probe(study, variant, rate->outcome, rate->reason, error);
}

void rue_study_note_loader(struct rue_study *study, size_t variant, const struct rue_trial_result *result)
{
    double took_s = (double)result->end_to_end_ns / 1e9, *rate = &study->one_worker_images_per_s[variant];
    if (*rate > 0 || !(took_s > 0)) return;
    *rate = (double)result->images / took_s / fmax(1, result->config.value[RUE_NUM_WORKERS]);
    /* On a real clock the first trial reads the data into memory as well. */
    if (rue_runner_hello(study->runner)->virtual_clock && result->cost_ns != RUE_ABSENT)
        study->trial_overhead_s = fmax(study->trial_overhead_s, (double)result->cost_ns / 1e9 - took_s);
}

void rue_study_note_compute(struct rue_study *study, size_t model, const struct rue_trial_result *result)
{
    if (result->images > 0 && result->compute_ns > 0)
        study->compute_s_per_image[model] = (double)result->compute_ns / 1e9 / (double)result->images;
}

/* Images a second of the loader with `workers`, from one short trial; load-only where the runner can, else
 * jointly with the first model. */
static rue_status probe_rate(struct rue_study *study, size_t variant, int workers, uint64_t images,
                             struct rate *out, rue_error *error)
{
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    bool load = hello->measures[RUE_LOAD];
    struct rue_trial_request request = {.measure = load ? RUE_LOAD : RUE_JOINT,
                                        .config = rue_space_at(&study->space, 0)};
    struct rue_trial_result result;
    request.config.value[RUE_NUM_WORKERS] = workers;
    uint64_t job = study->variants[variant].job_images,
             batch = (uint64_t)request.config.value[RUE_BATCH_SIZE];
    size_t asked = variant;
    if (!study->variants[variant].opened.digest[0])
        variant = 0; /* a sample that a dry run does not convert */
    request.images = images < 2 * batch ? 2 * batch : images;

    if (request.images > job || hello->whole_jobs) request.images = job;
    rue_status status =
        rue_study_measure(study, variant, load ? RUE_NONE : 0, &request, 0, 0, &result, error);
    if (status != RUE_OK) return status;
    *out = (struct rate){.outcome = result.outcome};
    snprintf(out->reason, sizeof out->reason, "%s", result.reason);
    if (result.outcome == RUE_TRIAL_OK) {
        double took_s = (double)result.end_to_end_ns / 1e9;
        out->images_per_s = (double)result.images / took_s;
        if (result.cost_ns != RUE_ABSENT) out->overhead_s = fmax(0, (double)result.cost_ns / 1e9 - took_s);
        rue_study_note_loader(study, asked, &result);
    }
    rue_trial_result_close(&result);
    return RUE_OK;
}

/* One worker and as many as there are CPUs: what lies between is taken as proportional. Where one of the two
 * does not run, the other speaks for both; where neither does, none at all may still. */
static rue_status probe_loader(struct rue_study *study, size_t variant, struct probed *out, rue_error *error)
{
    int one = nearest(&study->space, RUE_NUM_WORKERS, 1);
    int all = nearest(&study->space, RUE_NUM_WORKERS, rue_study_usable_cpus(rue_runner_hello(study->runner)));
    struct rate few, many;
    rue_progress_show(study->progress, "probing the loader: %s",
                      rue_mode_names[study->variants[variant].variant.mode]);
    rue_status status = probe_rate(study, variant, one, FEW_IMAGES, &few, error);
    if (status != RUE_OK) return status;
    if (names_data(study, variant, &few)) return fail_probe(study, variant, &few, error);
    many = few;
    if (all != one) status = probe_rate(study, variant, all, MANY_IMAGES, &many, error);
    if (status != RUE_OK) return status;
    if (names_data(study, variant, &many)) return fail_probe(study, variant, &many, error);
    int least = study->space.values[RUE_NUM_WORKERS][0];
    if (!few.images_per_s && !many.images_per_s && least < one)
        status = probe_rate(study, variant, least, FEW_IMAGES, &few, error);
    if (status != RUE_OK) return status;
    if (!few.images_per_s && !many.images_per_s) return fail_probe(study, variant, &few, error);
    if (!few.images_per_s) few = many;
    if (!many.images_per_s) many = few;
    out->loader.one_worker_images_per_s = few.images_per_s;
    out->loader.all_workers_images_per_s = many.images_per_s;
    out->overhead_s = fmax(few.overhead_s, many.overhead_s);
    return RUE_OK;
}

/* Seconds of compute an image: known of models that sleep and of those that were timed; asked of the runner
 * for its own and for those that really work, whose times are estimates until then. */
static rue_status probe_model(struct rue_study *study, size_t index, double *s_per_image, rue_error *error)
{
    const struct rue_study_model *model = &study->models[index];
    struct rue_trial_request request = {.measure = RUE_COMPUTE,
                                        .config = rue_space_at(&study->space, 0),
                                        .batches = RUE_PROBES_COMPUTE_BATCHES};
    int middle = study->space.values[RUE_BATCH_SIZE][study->space.count[RUE_BATCH_SIZE] / 2];
    bool works = model->profile.consumer != RUE_CONSUMER_SLEEP && !model->profile.measured;
    int least = request.config.value[RUE_BATCH_SIZE];
    request.config.value[RUE_BATCH_SIZE] = !works ? middle : least < WORK_IMAGES ? least : WORK_IMAGES;
    *s_per_image =
        model->known ? (double)rue_profile_batch_ns(&model->profile, (uint64_t)middle) / 1e9 / middle : 0;
    if (model->known && !works) return RUE_OK;
    if (!rue_runner_hello(study->runner)->measures[RUE_COMPUTE]) return RUE_OK;
    struct rue_trial_result result;
    rue_progress_show(study->progress, "probing %s", model->name);
    rue_status status = rue_study_measure(study, 0, index, &request, 0, 0, &result, error);
    if (status != RUE_OK) return status;
    if (result.outcome == RUE_TRIAL_OK && result.images > 0 && result.compute_ns >= 0)
        *s_per_image = (double)result.compute_ns / 1e9 / (double)result.images;
    rue_trial_result_close(&result);
    return RUE_OK;
}

/* Seconds an image where loading and computing share the CPUs: no less than the work of both. */
static double shared_s(const struct rue_study *study, size_t model, double compute_s,
                       const struct rue_plan_loader *loader)
{
    int cpus = rue_study_usable_cpus(rue_runner_hello(study->runner));
    int cores = study->models[model].profile.cores;
    return cores ? fmax(compute_s, (1 / loader->one_worker_images_per_s + compute_s * cores) / cpus)
                 : compute_s;
}

rue_status rue_study_probe(struct rue_study *study, rue_error *error)
{
    double compute[RUE_STUDY_MODELS_MAX];
    size_t count = study->variant_count * study->model_count;
    rue_status status = RUE_OK;
    if (study->scenarios) return RUE_OK;
    struct rue_plan_scenario *scenarios = calloc(count, sizeof *scenarios);
    if (!scenarios) return rue_fail_memory(error, "scenarios", count * sizeof *scenarios);
    for (size_t m = 0; status == RUE_OK && m < study->model_count; m++)
        status = probe_model(study, m, &compute[m], error);
    for (size_t v = 0; status == RUE_OK && v < study->variant_count; v++) {
        struct probed probed = {0};
        status = probe_loader(study, v, &probed, error);
        study->trial_overhead_s = fmax(study->trial_overhead_s, probed.overhead_s);
        for (size_t m = 0; m < study->model_count; m++)
            scenarios[v * study->model_count + m] = (struct rue_plan_scenario){
                probed.loader, shared_s(study, m, compute[m], &probed.loader), study->variants[v].job_images};
    }
    study->probe_rows = study->row_count;
    study->scenarios = scenarios; /* freed with the study, also where probing failed */
    return status;
}

/* The loader at its best has as many times the rate of one worker as there are workers. */
static double least_of_variant_s(const struct rue_study *study, size_t variant, double images_per_s)
{
    double sum = 0, images = (double)study->variants[variant].job_images;
    for (size_t i = 0, size = rue_space_size(&study->space); i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        if (rue_study_repeats_another(&study->space, &config)) continue;
        double load_s = images / (images_per_s * fmax(1, config.value[RUE_NUM_WORKERS]));
        uint64_t batch = (uint64_t)config.value[RUE_BATCH_SIZE];
        for (size_t m = 0; m < study->model_count; m++) {
            const struct rue_study_model *model = &study->models[m];
            double batch_s = model->known ? (double)rue_profile_batch_ns(&model->profile, batch) / 1e9 : 0;
            sum += fmax(load_s, batch_s * images / (double)batch);
        }
    }
    return sum * study->goal->repeats;
}

rue_status rue_study_least_s(struct rue_study *study, double *out, rue_error *error)
{
    int one = nearest(&study->space, RUE_NUM_WORKERS, 1);
    rue_status status = RUE_OK;
    *out = 0;
    for (size_t v = 0; status == RUE_OK && v < study->variant_count; v++) {
        struct rate few;
        status = probe_rate(study, v, one, FEW_IMAGES, &few, error);
        if (status != RUE_OK || !(few.images_per_s > 0)) continue;
        *out += least_of_variant_s(study, v, study->one_worker_images_per_s[v]);
    }
    study->probe_rows = study->row_count;
    return status;
}

rue_status rue_study_whole_s(struct rue_study *study, double *out, rue_error *error)
{
    rue_status status = rue_study_probe(study, error);
    *out = 0;
    if (status != RUE_OK) return status;
    for (size_t i = 0, size = rue_space_size(&study->space); i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        if (rue_study_repeats_another(&study->space, &config)) continue;
        for (size_t s = 0; s < study->variant_count * study->model_count; s++)
            *out += rue_plan_trial_s(&study->scenarios[s], &config, study->scenarios[s].job_images) +
                    study->trial_overhead_s;
    }
    *out *= study->goal->repeats;
    return status;
}
