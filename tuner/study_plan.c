/* What is known before the first trial: how fast each variant's loader is, and so which grid fits the budget.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "study.h"
#include "units.h"

enum { FEW_IMAGES = 128, MANY_IMAGES = 1024 };

/* The reports take a moment as well, and estimates err. */
static const double budget_share = 0.92;

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

static rue_status fail_probe(const struct rue_study *study, size_t variant,
                             const struct rue_trial_result *result, rue_error *error)
{
    const char *path = study->variants[variant].variant.path;
    if (result->outcome == RUE_TRIAL_INFEASIBLE) return rue_fail(error, RUE_INFEASIBLE, "%s", result->reason);
    bool damaged = strstr(result->reason, path) && path[0];
    return rue_fail(error, RUE_DATA, "%s%s%s%s", damaged ? "" : path, damaged || !path[0] ? "" : ": ",
                    result->reason,
                    damaged ? "; remove or replace the file, or go on without it: --bad-images replace" : "");
}

/* Images a second of the loader with `workers`, from one short trial; load-only where the runner can, else
 * jointly with the first model. */
static rue_status probe_rate(struct rue_study *study, size_t variant, int workers, uint64_t images,
                             double *rate, double *overhead_s, rue_error *error)
{
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    bool load = hello->measures[RUE_LOAD];
    struct rue_trial_request request = {.measure = load ? RUE_LOAD : RUE_JOINT,
                                        .config = rue_space_at(&study->space, 0)};
    struct rue_trial_result result;
    request.config.value[RUE_NUM_WORKERS] = workers;
    uint64_t job = study->variants[variant].job_images,
             batch = (uint64_t)request.config.value[RUE_BATCH_SIZE];
    request.images = images < 2 * batch ? 2 * batch : images;
    if (request.images > job) request.images = job;
    uint64_t before = rue_study_spent_ns(study);
    size_t reused = study->reused;
    rue_status status =
        rue_study_measure(study, variant, load ? RUE_NONE : 0, &request, 0, 0, &result, error);
    if (status != RUE_OK) return status;
    double spent_s = (double)(rue_study_spent_ns(study) - before) / 1e9;
    if (result.outcome == RUE_TRIAL_OK) {
        *rate = (double)result.images / ((double)result.end_to_end_ns / 1e9);
        if (study->reused == reused) *overhead_s = fmax(0, spent_s - (double)result.end_to_end_ns / 1e9);
    } else {
        status = fail_probe(study, variant, &result, error);
    }
    rue_trial_result_close(&result);
    return status;
}

/* One worker and as many as there are CPUs: what lies between is taken as proportional. */
static rue_status probe_loader(struct rue_study *study, size_t variant, struct probed *out, rue_error *error)
{
    int one = nearest(&study->space, RUE_NUM_WORKERS, 1);
    int all = nearest(&study->space, RUE_NUM_WORKERS, rue_study_usable_cpus(rue_runner_hello(study->runner)));
    double one_overhead = 0.05, all_overhead = 0.05;
    rue_progress_show(study->progress, "probing the loader: %s",
                      rue_mode_names[study->variants[variant].variant.mode]);
    rue_status status = probe_rate(study, variant, one, FEW_IMAGES, &out->loader.one_worker_images_per_s,
                                   &one_overhead, error);
    out->loader.all_workers_images_per_s = out->loader.one_worker_images_per_s;
    if (status == RUE_OK && all != one)
        status = probe_rate(study, variant, all, MANY_IMAGES, &out->loader.all_workers_images_per_s,
                            &all_overhead, error);
    out->overhead_s = fmax(one_overhead, all_overhead);
    return status;
}

/* Seconds of compute an image: known for our models; asked of the runner for its own. */
static rue_status probe_model(struct rue_study *study, size_t index, double *s_per_image, rue_error *error)
{
    const struct rue_study_model *model = &study->models[index];
    struct rue_trial_request request = {
        .measure = RUE_COMPUTE, .config = rue_space_at(&study->space, 0), .batches = 1};
    int middle = study->space.values[RUE_BATCH_SIZE][study->space.count[RUE_BATCH_SIZE] / 2];
    request.config.value[RUE_BATCH_SIZE] = middle;
    *s_per_image = 0;
    if (model->known) {
        *s_per_image = (double)rue_profile_batch_ns(&model->profile, (uint64_t)middle) / 1e9 / middle;
        return RUE_OK;
    }
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

static uint64_t consumed_images(const struct rue_study_variant *variant)
{
    return variant->job_images; /* a last partial batch that is dropped depends on the batch size; it does not
                                   matter here */
}

static rue_status make_plan(struct rue_study *study, rue_error *error)
{
    size_t count = study->variant_count * study->model_count;
    struct rue_plan_scenario *scenarios = calloc(count, sizeof *scenarios);
    if (!scenarios) return rue_fail_memory(error, "scenarios", count * sizeof *scenarios);
    double compute[RUE_STUDY_MODELS_MAX], overhead_s = 0;
    rue_status status = RUE_OK;
    for (size_t m = 0; status == RUE_OK && m < study->model_count; m++)
        status = probe_model(study, m, &compute[m], error);
    for (size_t v = 0; status == RUE_OK && v < study->variant_count; v++) {
        struct probed probed = {0};
        status = probe_loader(study, v, &probed, error);
        overhead_s = fmax(overhead_s, probed.overhead_s);
        for (size_t m = 0; m < study->model_count; m++)
            scenarios[v * study->model_count + m] =
                (struct rue_plan_scenario){probed.loader, compute[m], consumed_images(&study->variants[v])};
    }
    double budget_s = (double)study->goal->budget_ns / 1e9 * budget_share;
    double left_s = budget_s - (double)rue_study_spent_ns(study) / 1e9;
    struct rue_plan_goal goal = {.space = &study->space,
                                 .scenarios = scenarios,
                                 .scenario_count = count,
                                 .repeats = study->goal->repeats,
                                 .trial_overhead_s = overhead_s,
                                 .budget_s = study->goal->budget_ns ? fmax(left_s, 1e-3) : 0};
    if (status == RUE_OK) status = rue_plan_make(&goal, &study->plan, error);
    free(scenarios);
    return status;
}

/* Without workers nothing is prefetched or shared: those knobs at their first values stand for all. */
static bool repeats_another(const struct rue_space *space, const struct rue_config *config)
{
    if (config->value[RUE_NUM_WORKERS] > 0) return false;
    for (int k = RUE_NUM_WORKERS + 1; k < RUE_KNOB_COUNT; k++)
        if (config->value[k] != space->values[k][0]) return true;
    return false;
}

static rue_status list_configs(struct rue_study *study, rue_error *error)
{
    size_t size = rue_space_size(&study->plan.space), scenarios = study->variant_count * study->model_count;
    study->configs = calloc(size, sizeof *study->configs);
    if (!study->configs) return rue_fail_memory(error, "configurations", size * sizeof *study->configs);
    for (size_t i = 0; i < size; i++) {
        struct rue_config config = rue_space_at(&study->plan.space, i);
        if (!repeats_another(&study->plan.space, &config)) study->configs[study->config_count++] = config;
    }
    study->trials = study->config_count * scenarios * (size_t)study->goal->repeats;
    for (size_t c = 0; c < study->config_count; c++)
        for (size_t v = 0; v < study->variant_count; v++) {
            uint64_t job = study->variants[v].job_images;
            bool full = rue_plan_images(study->plan.stretch, &study->configs[c], job) >= job;
            if (full) study->full_trials += study->model_count * (size_t)study->goal->repeats;
        }
    return RUE_OK;
}

static rue_status open_matrices(struct rue_study *study, rue_error *error)
{
    const char *names[RUE_STUDY_MODELS_MAX];
    for (size_t m = 0; m < study->model_count; m++) names[m] = study->models[m].name;
    rue_status status = list_configs(study, error);
    for (size_t v = 0; status == RUE_OK && v < study->variant_count; v++)
        status = rue_cost_matrix_open(study->configs, study->config_count, names, study->model_count,
                                      &study->matrices[v], error);
    return status;
}

rue_status rue_study_plan(struct rue_study *study, rue_error *error)
{
    rue_status status = make_plan(study, error);
    return status == RUE_OK ? open_matrices(study, error) : status;
}

static void show_values(const struct rue_space *space, const struct rue_space *asked, FILE *out)
{
    for (int k = 0; k < RUE_KNOB_COUNT; k++) {
        char value[32];
        fprintf(out, "  %-18s", rue_knobs[k].name);
        for (int i = 0; i < space->count[k]; i++) {
            rue_knob_format(k, space->values[k][i], value, sizeof value);
            fprintf(out, "%s%s", i ? ", " : "", value);
        }
        if (space->count[k] < asked->count[k])
            fprintf(out, "  (%d of %d, to fit the budget)", space->count[k], asked->count[k]);
        fputc('\n', out);
    }
}

void rue_study_show_plan(const struct rue_study *study, FILE *out)
{
    char a[RUE_UNIT_TEXT_BYTES], b[RUE_UNIT_TEXT_BYTES], what[64];
    for (size_t v = 0; v < study->variant_count; v++) {
        const struct rue_study_variant *variant = &study->variants[v];
        rue_variant_describe(&variant->variant, what, sizeof what);
        fprintf(out, "  %-18s%s, %s images%s; job of %s images, read %s\n", "data", what,
                rue_format_count(variant->opened.images, a, sizeof a),
                variant->sample ? " (a converted sample)" : "",
                rue_format_count(variant->job_images, b, sizeof b), variant->workload.cache);
    }
    fprintf(out, "  %-18s", "models");
    for (size_t m = 0; m < study->model_count; m++)
        fprintf(out, "%s%s", m ? ", " : "", study->models[m].name);
    fputc('\n', out);
    show_values(&study->plan.space, &study->space, out);
    fprintf(out,
            "  %-18s%zu (%zu configurations x %zu models x %zu variants x %d repeats), %zu of them the whole "
            "job\n",
            "trials", study->trials, study->config_count, study->model_count, study->variant_count,
            study->goal->repeats, study->full_trials);
    fprintf(out, "  %-18s%s expected", "cost",
            rue_format_duration((uint64_t)(study->plan.expected_s * 1e9), a, sizeof a));
    if (study->goal->budget_ns)
        fprintf(out, ", budget %s", rue_format_duration(study->goal->budget_ns, b, sizeof b));
    fputc('\n', out);
}
