#include "study_costs.h"

#include <math.h>
#include <stdlib.h>

#include "probes.h"
#include "study_faults.h"
#include "study_measure.h"
#include "study_space.h"

enum { FEW_IMAGES = 128, MANY_IMAGES = 1024 };
enum { WORK_IMAGES = 8 }; /* that tell what really computing one takes */

static const double unknown_rate = 1e12; /* images a second of a loader that was not measured yet */

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
static rue_status probe_loader(struct rue_study *study, size_t variant, rue_error *error)
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
    study->all_workers_images_per_s[variant] = fmax(few.images_per_s, many.images_per_s);
    study->trial_overhead_s = fmax(study->trial_overhead_s, fmax(few.overhead_s, many.overhead_s));
    return RUE_OK;
}

/* Seconds of compute an image: known of models that sleep and of those that were timed; asked of the runner
 * for its own and for those that really work, whose times are estimates until then. */
static rue_status probe_model(struct rue_study *study, size_t index, rue_error *error)
{
    const struct rue_study_model *model = &study->models[index];
    struct rue_trial_request request = {.measure = RUE_COMPUTE,
                                        .config = rue_space_at(&study->space, 0),
                                        .batches = RUE_PROBES_COMPUTE_BATCHES};
    int middle = study->space.values[RUE_BATCH_SIZE][study->space.count[RUE_BATCH_SIZE] / 2];
    bool works = model->profile.consumer != RUE_CONSUMER_SLEEP && !model->profile.measured;
    int least = request.config.value[RUE_BATCH_SIZE];
    request.config.value[RUE_BATCH_SIZE] = !works ? middle : least < WORK_IMAGES ? least : WORK_IMAGES;
    if (model->known && !works) return RUE_OK;
    if (!rue_runner_hello(study->runner)->measures[RUE_COMPUTE]) return RUE_OK;
    struct rue_trial_result result;
    rue_progress_show(study->progress, "probing %s", model->name);
    rue_status status = rue_study_measure(study, 0, index, &request, 0, 0, &result, error);
    if (status != RUE_OK) return status;
    if (result.outcome == RUE_TRIAL_OK) rue_study_note_compute(study, index, &result);
    rue_trial_result_close(&result);
    return RUE_OK;
}

rue_status rue_study_probe_least(struct rue_study *study, rue_error *error)
{
    int one = nearest(&study->space, RUE_NUM_WORKERS, 1);
    struct rate few;
    rue_status status = RUE_OK;
    for (size_t v = 0; status == RUE_OK && v < study->variant_count; v++)
        status = probe_rate(study, v, one, FEW_IMAGES, &few, error);
    study->probe_rows = study->row_count;
    return status;
}

rue_status rue_study_probe(struct rue_study *study, rue_error *error)
{
    rue_status status = RUE_OK;
    if (study->probed) return RUE_OK;
    study->probed = true;
    for (size_t m = 0; status == RUE_OK && m < study->model_count; m++) status = probe_model(study, m, error);
    for (size_t v = 0; status == RUE_OK && v < study->variant_count; v++)
        status = probe_loader(study, v, error);
    study->probe_rows = study->row_count;
    return status;
}

double rue_study_batch_s(const struct rue_study *study, size_t model, uint64_t batch)
{
    const struct rue_study_model *known = &study->models[model];
    if (study->compute_s_per_image[model] > 0) return study->compute_s_per_image[model] * (double)batch;
    return known->known ? (double)rue_profile_batch_ns(&known->profile, batch) / 1e9 : 0;
}

/* Seconds of an image: where loading and computing share the CPUs, no less than the work of both. */
static double consume_s(const struct rue_study *study, size_t model, uint64_t batch, double one_images_per_s)
{
    int cpus = rue_study_usable_cpus(rue_runner_hello(study->runner));
    int cores = study->models[model].profile.cores;
    double s = rue_study_batch_s(study, model, batch) / (double)batch;
    return cores ? fmax(s, (1 / one_images_per_s + s * cores) / cpus) : s;
}

double rue_study_trial_s(const struct rue_study *study, size_t variant, size_t model,
                         const struct rue_config *config, uint64_t images)
{
    const int *value = config->value;
    uint64_t batch = (uint64_t)value[RUE_BATCH_SIZE];
    double one = study->one_worker_images_per_s[variant], all = study->all_workers_images_per_s[variant];
    if (!(one > 0)) one = unknown_rate;
    if (!(all > 0)) all = one * rue_study_usable_cpus(rue_runner_hello(study->runner));
    double rate = fmin(fmax(value[RUE_NUM_WORKERS], 1) * one, fmax(one, all));
    double load_s = (double)images / rate, compute_s = 0;
    if (model != RUE_NONE) compute_s = (double)images * consume_s(study, model, batch, one);
    if (value[RUE_NUM_WORKERS] == 0) return load_s + compute_s + study->trial_overhead_s;
    double first_s =
        fmin((double)images, (double)batch) / (value[RUE_PARALLELISM] == RUE_PARALLEL_SAMPLE ? rate : one);
    return fmax(load_s, compute_s) + first_s + study->trial_overhead_s;
}

uint64_t rue_study_trial_images(const struct rue_study *study, size_t variant,
                                const struct rue_config *config)
{
    uint64_t job = study->variants[variant].job_images;
    return study->short_trials ? rue_job_floor_images(config, job) : job;
}

double rue_study_config_s(const struct rue_study *study, const struct rue_config *config)
{
    double sum = 0;
    for (size_t v = 0; v < study->variant_count; v++)
        for (size_t m = 0; m < study->model_count; m++)
            sum += rue_study_trial_s(study, v, m, config, rue_study_trial_images(study, v, config));
    return sum;
}

double rue_study_whole_s(const struct rue_study *study)
{
    double sum = 0;
    for (size_t i = 0, size = rue_space_size(&study->space); i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        if (!rue_study_repeats_another(&study->space, &config)) sum += rue_study_config_s(study, &config);
    }
    return sum * study->goal->repeats;
}
