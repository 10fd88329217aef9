/* What is known before the first trial: how fast each variant's loader is, and so which grid fits the budget.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "study.h"
#include "study_clock.h"
#include "study_faults.h"
#include "study_strategy.h"
#include "units.h"
#include "watch.h"

enum { FEW_IMAGES = 128, MANY_IMAGES = 1024, ENLARGE_ROUNDS = 8 };
enum { WORK_IMAGES = 8 }; /* that tell what really computing one takes */

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
    struct rue_trial_request request = {
        .measure = RUE_COMPUTE, .config = rue_space_at(&study->space, 0), .batches = 1};
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

/* A time that --budget takes and that is no less than `s`: "12ms", "3s". */
static const char *budget_text(double s, char *out, size_t bytes)
{
    if (s < 1)
        snprintf(out, bytes, "%.0fms", ceil(s * 1e3));
    else
        snprintf(out, bytes, "%.0fs", ceil(s));
    return out;
}

/* What the grid that keeps so many values of each knob takes with trials as short as can be. */
static double shortest_s(const struct rue_plan_goal *goal, const int keep[RUE_KNOB_COUNT])
{
    struct rue_space space = rue_space_thin(goal->space, keep);
    double sum_s = 0;
    for (size_t i = 0; i < rue_space_size(&space); i++) {
        struct rue_config config = rue_space_at(&space, i);
        for (size_t s = 0; s < goal->scenario_count; s++) {
            uint64_t images =
                rue_plan_images(goal->whole_jobs ? INFINITY : 1, &config, goal->scenarios[s].job_images);
            sum_s += rue_plan_trial_s(&goal->scenarios[s], &config, images) + goal->trial_overhead_s;
        }
    }
    return sum_s * goal->repeats;
}

/* A number of trials has to be enough for one configuration on every scenario. */
static rue_status check_trials(const struct rue_study *study, rue_error *error)
{
    size_t least = study->model_count * study->variant_count, budget = study->goal->budget.trials;
    if (study->strategy && !rue_study_searches(study)) least *= (size_t)study->goal->repeats;
    if (budget == 0 || budget >= least) return RUE_OK;
    char text[64];
    return rue_fail(
        error, RUE_USAGE,
        "the budget of %s is too small: one configuration on every model and variant takes %zu; give "
        "--budget %zutrials at least, to compare two of them",
        rue_budget_format(&study->goal->budget, text, sizeof text), least, 2 * least);
}

/* One configuration on every scenario has to fit. A figure that is enough is for two where there are two: one
 * alone compares with nothing. */
static rue_status check_budget(const struct rue_study *study, const struct rue_plan_goal *goal,
                               double spent_s, rue_error *error)
{
    int keep[RUE_KNOB_COUNT] = {[0 ... RUE_KNOB_COUNT - 1] = 1};
    if (study->goal->budget.trials) return check_trials(study, error);
    double least_s = shortest_s(goal, keep), enough_s = INFINITY;
    if (least_s <= goal->budget_s) return RUE_OK;
    for (int k = 0; k < RUE_KNOB_COUNT; k++) {
        if (goal->space->count[k] < 2) continue;
        keep[k] = 2;
        enough_s = fmin(enough_s, shortest_s(goal, keep));
        keep[k] = 1;
    }
    bool two = isfinite(enough_s);
    if (!two) enough_s = least_s;
    char budget[64], enough[64], spent[RUE_UNIT_TEXT_BYTES], trials[RUE_UNIT_TEXT_BYTES];
    return rue_fail(error, RUE_USAGE,
                    "the budget of %s is too small: opening and probing took %s, and one configuration on "
                    "every model and variant takes about %s; give --budget %s at least%s, or lower --images",
                    rue_budget_format(&study->goal->budget, budget, sizeof budget),
                    rue_format_duration((uint64_t)(spent_s * 1e9), spent, sizeof spent),
                    rue_format_duration((uint64_t)(least_s * 1e9), trials, sizeof trials),
                    budget_text((spent_s + enough_s) * 1.001 / budget_share, enough, sizeof enough),
                    two ? ", to compare two of them" : "");
}

/* Without workers nothing is prefetched or shared: those knobs at their first values stand for all. Where
 * batches lie is about the consumer as well. */
static bool repeats_another(const struct rue_space *space, const struct rue_config *config)
{
    if (config->value[RUE_NUM_WORKERS] > 0) return false;
    static const enum rue_knob of_workers[] = {RUE_PREFETCH_FACTOR, RUE_PARALLELISM};
    for (size_t i = 0; i < sizeof of_workers / sizeof *of_workers; i++)
        if (config->value[of_workers[i]] != space->values[of_workers[i]][0]) return true;
    return false;
}

/* Of a plan, what the store's trials spare. */
struct spared {
    double s;
    size_t trials;
};

static rue_status sum_stored(struct rue_study *study, const struct rue_plan_goal *goal,
                             const struct rue_plan *plan, struct spared *out, rue_error *error)
{
    size_t size = rue_space_size(&plan->space), cells = size * goal->scenario_count;
    *out = (struct spared){0};
    for (size_t i = 0; i < cells * (size_t)goal->repeats; i++) {
        size_t cell = i % cells, scenario = cell % goal->scenario_count;
        struct rue_config config = rue_space_at(&plan->space, cell / goal->scenario_count);
        struct rue_trial_request request = {.measure = RUE_JOINT, .config = config};
        request.images = rue_plan_images(plan->stretch, &config, goal->scenarios[scenario].job_images);
        bool stored = repeats_another(&plan->space, &config);
        rue_status status = RUE_OK;
        if (!stored)
            status = rue_study_is_stored(study, scenario / study->model_count, scenario % study->model_count,
                                         &request, i / cells, &stored, error);
        if (status != RUE_OK) return status;
        if (!stored) continue;
        out->trials++;
        out->s +=
            rue_plan_trial_s(&goal->scenarios[scenario], &config, request.images) + goal->trial_overhead_s;
    }
    return RUE_OK;
}

/* Whether what is left to measure of the plan fits what `left` has, of time or of trials. */
static bool fits(const struct rue_plan_goal *left, const struct rue_plan *plan, const struct spared *spared)
{
    if (left->budget_trials) return plan->trials - spared->trials <= left->budget_trials;
    return plan->expected_s - spared->s <= left->budget_s;
}

/* What is stored costs nothing any more, so a larger plan may fit: as large as the one before an
 * interruption, or, of a number of trials, larger. Each round takes what the plan before it spares as given,
 * as long as what is left to measure fits. */
static rue_status enlarge_plan(struct rue_study *study, const struct rue_plan_goal *left, rue_error *error)
{
    struct spared spared;
    bool limited = left->budget_s > 0 || left->budget_trials;
    rue_status status = sum_stored(study, left, &study->plan, &spared, error);
    for (int round = 0; status == RUE_OK && round < ENLARGE_ROUNDS && limited; round++) {
        struct rue_plan_goal goal = *left;
        struct rue_plan larger;
        struct spared more = {0};
        if (left->budget_s > 0) goal.budget_s += spared.s;
        if (left->budget_trials) goal.budget_trials += spared.trials;
        status = rue_plan_make(&goal, &larger, error);
        if (status == RUE_OK) status = sum_stored(study, left, &larger, &more, error);
        if (status != RUE_OK || !fits(left, &larger, &more)) break;
        bool grows = left->budget_trials ? larger.trials > study->plan.trials : more.s > spared.s;
        if (!grows) break;
        study->plan = larger;
        spared = more;
    }
    study->stored_s = spared.s;
    return status;
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

/* Once. */
static rue_status probe_all(struct rue_study *study, rue_error *error)
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

/* Whether the store holds every trial of the configuration: then it costs nothing to rank it as well. */
static rue_status is_complete(struct rue_study *study, const struct rue_config *config, bool *stored,
                              rue_error *error)
{
    size_t scenarios = study->variant_count * study->model_count;
    rue_status status = RUE_OK;
    *stored = study->found_trials > 0;
    for (size_t i = 0; status == RUE_OK && *stored && i < scenarios * (size_t)study->goal->repeats; i++) {
        size_t scenario = i % scenarios, variant = scenario / study->model_count;
        struct rue_trial_request request = {.measure = RUE_JOINT, .config = *config};
        request.images = rue_plan_images(study->plan.stretch, config, study->variants[variant].job_images);
        status = rue_study_is_stored(study, variant, scenario % study->model_count, &request, i / scenarios,
                                     stored, error);
    }
    return status;
}

static bool any_complete(struct rue_study *study)
{
    bool stored = false;
    study->plan.stretch = 1;
    for (size_t i = 0, size = rue_space_size(&study->space); !stored && i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        if (is_complete(study, &config, &stored, NULL) != RUE_OK) return false;
    }
    return stored;
}

/* The whole space; what is tried of it, the strategy decides. */
static void leave_open(struct rue_study *study)
{
    double spent_s = (double)rue_study_spent_ns(study) / 1e9,
           budget_s = (double)study->goal->budget.time_ns / 1e9;
    study->plan = (struct rue_plan){.space = study->space, .stretch = INFINITY};
    if (study->goal->budget.time_ns) study->plan.expected_s = fmax(0, budget_s * budget_share - spent_s);
}

/* Trials of a budget that counts them: what references leave, but one configuration in any case. */
static size_t budget_trials(const struct rue_study *study)
{
    size_t all = study->goal->budget.trials, spare = rue_watch_spares(study, all);
    size_t least = study->variant_count * study->model_count * (size_t)study->goal->repeats;
    return spare < least && all >= least ? least : spare;
}

static rue_status make_plan(struct rue_study *study, rue_error *error)
{
    rue_status status = probe_all(study, error);
    struct rue_plan_goal goal = {.space = &study->space,
                                 .scenarios = study->scenarios,
                                 .scenario_count = study->variant_count * study->model_count,
                                 .repeats = study->goal->repeats,
                                 .trial_overhead_s = study->trial_overhead_s,
                                 .whole_jobs = rue_runner_hello(study->runner)->whole_jobs,
                                 .budget_trials = budget_trials(study)};
    double spent_s = (double)rue_study_spent_ns(study) / 1e9;
    if (study->goal->budget.time_ns)
        goal.budget_s = fmax((double)study->goal->budget.time_ns / 1e9 * budget_share - spent_s, 1e-9);
    rue_error small = {0};
    if (status == RUE_OK) status = check_budget(study, &goal, spent_s, &small);
    if (status == RUE_USAGE && small.message[0]) {
        if (any_complete(study)) return RUE_OK; /* nothing new fits, but what is stored can be ranked */
        return rue_fail(error, status, "%s", small.message);
    }
    if (status == RUE_OK) status = rue_plan_make(&goal, &study->plan, error);
    if (status == RUE_OK && study->found_trials) status = enlarge_plan(study, &goal, error);
    return status;
}

static rue_status list_configs(struct rue_study *study, rue_error *error)
{
    size_t size = rue_space_size(&study->space), scenarios = study->variant_count * study->model_count;
    study->configs = calloc(size, sizeof *study->configs);
    if (!study->configs) return rue_fail_memory(error, "configurations", size * sizeof *study->configs);
    for (size_t i = 0; i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        bool planned = (study->plan.trials > 0 || rue_study_searches(study)) &&
                       rue_space_holds(&study->plan.space, &config),
             stored = false;
        if (repeats_another(planned ? &study->plan.space : &study->space, &config)) continue;
        study->configs_asked++;
        rue_status status = planned ? RUE_OK : is_complete(study, &config, &stored, error);
        if (status != RUE_OK) return status;
        if (planned || stored) study->configs[study->config_count++] = config;
    }
    if (rue_study_searches(study)) return RUE_OK;
    study->trials = study->config_count * scenarios * (size_t)study->goal->repeats;
    for (size_t c = 0; c < study->config_count; c++)
        for (size_t v = 0; v < study->variant_count; v++) {
            uint64_t job = study->variants[v].job_images;
            bool full = rue_plan_images(study->plan.stretch, &study->configs[c], job) >= job;
            if (full) study->full_trials += study->model_count * (size_t)study->goal->repeats;
        }
    return RUE_OK;
}

/* What whole jobs cost, for a strategy that has no predictions of its own. */
static rue_status expect_costs(struct rue_study *study, rue_error *error)
{
    size_t scenarios = study->variant_count * study->model_count, cells = scenarios * study->config_count;
    study->expected_s = calloc(cells, sizeof *study->expected_s);
    if (!study->expected_s)
        return rue_fail_memory(error, "expected costs", cells * sizeof *study->expected_s);
    for (size_t i = 0; i < cells; i++) {
        const struct rue_plan_scenario *scenario = &study->scenarios[i / study->config_count];
        study->expected_s[i] =
            rue_plan_trial_s(scenario, &study->configs[i % study->config_count], scenario->job_images) +
            study->trial_overhead_s;
    }
    return RUE_OK;
}

size_t rue_study_config_count(const struct rue_study *study)
{
    size_t count = 0;
    for (size_t i = 0, size = rue_space_size(&study->space); i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        count += !repeats_another(&study->space, &config);
    }
    return count;
}

/* The loader at its best has as many times the rate of one worker as there are workers. */
static double least_of_variant_s(const struct rue_study *study, size_t variant, double images_per_s)
{
    double sum = 0, images = (double)study->variants[variant].job_images;
    for (size_t i = 0, size = rue_space_size(&study->space); i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        if (repeats_another(&study->space, &config)) continue;
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
        study->one_worker_images_per_s[v] = few.images_per_s / fmax(1, one);
        *out += least_of_variant_s(study, v, study->one_worker_images_per_s[v]);
    }
    study->probe_rows = study->row_count;
    return status;
}

rue_status rue_study_whole_s(struct rue_study *study, double *out, rue_error *error)
{
    rue_status status = probe_all(study, error);
    *out = 0;
    if (status != RUE_OK) return status;
    for (size_t i = 0, size = rue_space_size(&study->space); i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        if (repeats_another(&study->space, &config)) continue;
        for (size_t s = 0; s < study->variant_count * study->model_count; s++)
            *out += rue_plan_trial_s(&study->scenarios[s], &config, study->scenarios[s].job_images) +
                    study->trial_overhead_s;
    }
    *out *= study->goal->repeats;
    return status;
}

static rue_status open_matrices(struct rue_study *study, rue_error *error)
{
    const char *names[RUE_STUDY_MODELS_MAX];
    for (size_t m = 0; m < study->model_count; m++) names[m] = study->models[m].name;
    rue_status status = list_configs(study, error);
    if (status == RUE_OK && rue_study_searches(study) && !rue_study_predicts(study))
        status = expect_costs(study, error);
    for (size_t v = 0; status == RUE_OK && v < study->variant_count; v++)
        status = rue_cost_matrix_open(study->configs, study->config_count, names, study->model_count,
                                      &study->matrices[v], error);
    for (size_t v = 0; status == RUE_OK && v < study->variant_count; v++)
        rue_cost_matrix_limit_first_batch(study->matrices[v], study->goal->max_first_batch_ns);
    return status;
}

rue_status rue_study_plan(struct rue_study *study, rue_error *error)
{
    /* Before anything is measured; what is stored may be enough all the same. */
    double unused_s;
    rue_status status = study->found_trials ? RUE_OK : check_trials(study, error);
    if (status == RUE_OK && !study->strategy) status = rue_study_choose_strategy(study, error);
    if (status != RUE_OK) return status;
    if (!rue_study_searches(study))
        status = make_plan(study, error);
    else if (!rue_study_predicts(study))
        status = probe_all(study, error);
    else if (study->goal->dry_run) /* for what the probes will take, which is worth a trial here alone */
        status = rue_study_least_s(study, &unused_s, error);
    if (rue_study_searches(study)) leave_open(study);
    return status == RUE_OK ? open_matrices(study, error) : status;
}
