#include "study_budget.h"

#include <math.h>

#include "probes.h"
#include "study_clock.h"
#include "study_space.h"
#include "study_strategy.h"
#include "units.h"

/* The reports take a moment as well, and estimates err. */
static const double budget_share = 0.97;
static const double unknown_rate = 1e12; /* images a second of a loader that was not measured yet */
static const double estimate_margin = 1.05;

double rue_study_budget_left_s(const struct rue_study *study)
{
    double budget_s = (double)study->goal->budget.time_ns / 1e9;
    return fmax(0, budget_s * budget_share - (double)rue_study_spent_ns(study) / 1e9);
}

/* The least time that --budget takes, and that leaves `s` for trials: "12ms", "3s". */
static const char *enough_text(const struct rue_study *study, double s, char *out, size_t bytes)
{
    double enough_s = ((double)rue_study_spent_ns(study) / 1e9 + s) * estimate_margin / budget_share;
    if (enough_s < 1)
        snprintf(out, bytes, "%.0fms", ceil(enough_s * 1e3));
    else
        snprintf(out, bytes, "%.0fs", ceil(enough_s));
    return out;
}

rue_status rue_study_check_trials(const struct rue_study *study, rue_error *error)
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

/* What the grid that keeps so many values of each knob takes with trials as short as can be. */
static double shortest_s(const struct rue_plan_goal *goal, const int keep[RUE_KNOB_COUNT])
{
    struct rue_space space = rue_space_thin(goal->space, keep);
    return rue_plan_on(goal, &space, goal->whole_jobs ? INFINITY : 1).expected_s;
}

rue_status rue_study_check_grid(const struct rue_study *study, const struct rue_plan_goal *goal,
                                rue_error *error)
{
    int keep[RUE_KNOB_COUNT] = {[0 ... RUE_KNOB_COUNT - 1] = 1};
    if (study->goal->budget.trials) return rue_study_check_trials(study, error);
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
                    rue_format_duration(rue_study_spent_ns(study), spent, sizeof spent),
                    rue_format_duration((uint64_t)(least_s * 1e9), trials, sizeof trials),
                    enough_text(study, enough_s, enough, sizeof enough),
                    two ? ", to compare two of them" : "");
}

/* The trial of `model` with `config` on the variant, RUE_NONE: of the loader alone. The loader is taken to
 * gain with each worker until every CPU has one. */
static struct rue_plan_scenario scenario_of(const struct rue_study *study, size_t variant, size_t model,
                                            const struct rue_config *config)
{
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    bool open = variant < study->variant_count; /* a sample is not, before it is converted */
    double rate = study->one_worker_images_per_s[variant];
    if (!hello->measures[RUE_LOAD] || !(rate > 0)) rate = unknown_rate;
    struct rue_plan_scenario scenario = {.loader = {rate, rate * rue_study_usable_cpus(hello)},
                                         .job_images = study->variants[open ? variant : 0].job_images};
    uint64_t batch = (uint64_t)config->value[RUE_BATCH_SIZE];
    if (model == RUE_NONE) return scenario;
    scenario.compute_s_per_image = study->compute_s_per_image[model];
    if (study->models[model].known)
        scenario.compute_s_per_image =
            (double)rue_profile_batch_ns(&study->models[model].profile, batch) / 1e9 / (double)batch;
    return scenario;
}

/* Compute probes come behind those of the loader. */
static bool is_probed(const struct rue_study *study)
{
    for (size_t m = 0; m < study->model_count; m++)
        if (study->compute_s_per_image[m] > 0) return true;
    return false;
}

/* One configuration on every model of the variant, and the probes before it, as short as can be. */
static double config_s(const struct rue_study *study, size_t variant, const struct rue_config *config)
{
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    bool probes =
        study->strategy && rue_study_predicts(study) && hello->measures[RUE_LOAD] && !is_probed(study);
    struct rue_plan_scenario loader = scenario_of(study, variant, RUE_NONE, config);
    uint64_t images = rue_plan_images(hello->whole_jobs ? INFINITY : 1, config, loader.job_images);
    double probe_s = rue_plan_trial_s(&loader, config, images) + study->trial_overhead_s;
    double sum_s = probes ? RUE_PROBES_LOAD_LEAST * probe_s : 0;
    for (size_t m = 0; m < study->model_count; m++) {
        struct rue_plan_scenario joint = scenario_of(study, variant, m, config);
        double compute_s =
            RUE_PROBES_COMPUTE_BATCHES * joint.compute_s_per_image * config->value[RUE_BATCH_SIZE];
        sum_s += rue_plan_trial_s(&joint, config, images) + study->trial_overhead_s;
        if (probes && hello->measures[RUE_COMPUTE]) sum_s += compute_s + study->trial_overhead_s;
    }
    return sum_s;
}

static double cheapest_s(const struct rue_study *study, size_t variant)
{
    double least_s = INFINITY;
    for (size_t i = 0, size = rue_space_size(&study->space); i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        least_s = fmin(least_s, config_s(study, variant, &config));
    }
    return least_s;
}

rue_status rue_study_check_smallest(const struct rue_study *study, size_t variants, rue_error *error)
{
    bool known = study->found_trials >= variants * study->model_count; /* what is stored may be enough */
    bool loaders = false;
    double least_s = 0;
    if (!study->goal->budget.time_ns || known) return RUE_OK;
    for (size_t v = 0; v < variants; v++) {
        least_s += cheapest_s(study, v);
        loaders |= study->one_worker_images_per_s[v] > 0;
    }
    if (least_s <= rue_study_budget_left_s(study)) return RUE_OK;
    char budget[64], enough[64], spent[RUE_UNIT_TEXT_BYTES], needed[RUE_UNIT_TEXT_BYTES];
    return rue_fail(
        error, RUE_USAGE,
        "the budget of %s is too small: %s took %s, and one configuration on every model and variant "
        "takes at least %s, as %s; give --budget %s at least, or lower --images",
        rue_budget_format(&study->goal->budget, budget, sizeof budget),
        loaders ? "opening and probing" : "opening",
        rue_format_duration(rue_study_spent_ns(study), spent, sizeof spent),
        rue_format_duration((uint64_t)(least_s * 1e9), needed, sizeof needed),
        loaders ? "the first probes show" : "the models alone need",
        enough_text(study, least_s, enough, sizeof enough));
}
