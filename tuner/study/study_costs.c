#include "study_costs.h"

#include <math.h>
#include <stdlib.h>

#include "probes.h"
#include "study_ledger.h"
#include "study_space.h"
#include "units.h"

static const double unknown_rate = 1e12; /* images/s of a loader that is not measured yet */

void rue_study_note_loader(struct rue_study_setup *setup, size_t variant,
                           const struct rue_trial_result *result)
{
    double duration_s = (double)result->end_to_end_ns / 1e9,
           *rate = &setup->costs.one_worker_images_per_s[variant];
    if (*rate > 0 || !(duration_s > 0)) return;
    *rate = (double)result->images / duration_s / fmax(1, result->config.value[RUE_NUM_WORKERS]);
    /* On a real clock, the first trial also reads the data into memory. */
    if (rue_study_hello(setup)->virtual_clock && result->cost_ns != RUE_ABSENT)
        setup->costs.trial_overhead_s =
            fmax(setup->costs.trial_overhead_s, (double)result->cost_ns / 1e9 - duration_s);
}

void rue_study_note_compute(struct rue_study_setup *setup, size_t model,
                            const struct rue_trial_result *result)
{
    if (result->images > 0 && result->compute_ns > 0)
        setup->costs.compute_s_per_image[model] = (double)result->compute_ns / 1e9 / (double)result->images;
}

/* Seconds that the model computes on a batch: measured, or from its profile; 0: unknown. */
static double batch_s(const struct rue_study_setup *setup, size_t model, uint64_t batch)
{
    const struct rue_study_model *known = &setup->models[model];
    if (setup->costs.compute_s_per_image[model] > 0)
        return setup->costs.compute_s_per_image[model] * (double)batch;
    return known->known ? (double)rue_profile_batch_ns(&known->profile, batch) / 1e9 : 0;
}

/* Seconds per image in the model. If loading and computing share the CPUs, at least the work of both. */
static double image_compute_s(const struct rue_study_setup *setup, size_t model, uint64_t batch,
                              double one_images_per_s)
{
    int cpus = rue_study_usable_cpus(rue_study_hello(setup));
    int cores = setup->models[model].profile.cores;
    double s = batch_s(setup, model, batch) / (double)batch;
    return cores ? fmax(s, (1 / one_images_per_s + s * cores) / cpus) : s;
}

double rue_study_trial_s(const struct rue_study_setup *setup, size_t variant, size_t model,
                         const struct rue_config *config, uint64_t images)
{
    const int *value = config->value;
    uint64_t batch = (uint64_t)value[RUE_BATCH_SIZE];
    double one = setup->costs.one_worker_images_per_s[variant],
           all = setup->costs.all_workers_images_per_s[variant];
    if (!(one > 0)) one = unknown_rate;
    if (!(all > 0)) all = one * rue_study_usable_cpus(rue_study_hello(setup));
    double rate = fmin(fmax(value[RUE_NUM_WORKERS], 1) * one, fmax(one, all));
    double load_s = (double)images / rate, compute_s = 0;
    if (model != RUE_NONE) compute_s = (double)images * image_compute_s(setup, model, batch, one);
    if (value[RUE_NUM_WORKERS] == 0) return load_s + compute_s + setup->costs.trial_overhead_s;
    double first_s =
        fmin((double)images, (double)batch) / (value[RUE_PARALLELISM] == RUE_PARALLEL_SAMPLE ? rate : one);
    return fmax(load_s, compute_s) + first_s + setup->costs.trial_overhead_s;
}

uint64_t rue_study_trial_images(const struct rue_study_setup *setup, size_t variant,
                                const struct rue_config *config)
{
    uint64_t job = setup->variants[variant].job_images;
    return setup->plan.short_trials ? rue_job_min_images(config, job) : job;
}

double rue_study_config_s(const struct rue_study_setup *setup, const struct rue_config *config)
{
    double sum = 0;
    for (size_t v = 0; v < setup->variant_count; v++)
        for (size_t m = 0; m < setup->model_count; m++)
            sum += rue_study_trial_s(setup, v, m, config, rue_study_trial_images(setup, v, config));
    return sum;
}

double rue_study_whole_s(const struct rue_study_setup *setup)
{
    double sum = 0;
    for (size_t i = 0; i < setup->config_count; i++) sum += rue_study_config_s(setup, &setup->configs[i]);
    return sum * setup->goal.search.repeats;
}

/* Reports need part of the budget; estimates have errors. */
static const double budget_share = 0.97;
static const double estimate_margin = 1.05;

double rue_study_budget_left_s(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger)
{
    double budget_s = (double)setup->goal.search.budget.time_ns / 1e9;
    return fmax(0, budget_s * budget_share - (double)rue_study_spent_ns(setup, ledger) / 1e9);
}

/* Formats the smallest --budget that leaves `s` seconds for trials: "12ms", "3s". */
static const char *format_smallest_budget(const struct rue_study_setup *setup,
                                          const struct rue_study_ledger *ledger, double s, char *out,
                                          size_t bytes)
{
    double suggested_s =
        ((double)rue_study_spent_ns(setup, ledger) / 1e9 + s) * estimate_margin / budget_share;
    if (suggested_s < 1)
        snprintf(out, bytes, "%.0fms", ceil(suggested_s * 1e3));
    else
        snprintf(out, bytes, "%.0fs", ceil(suggested_s));
    return out;
}

rue_status rue_study_check_trials(const struct rue_study_setup *setup, rue_error *error)
{
    size_t least = setup->model_count * setup->variant_count, budget = setup->goal.search.budget.trials;
    if (setup->plan.strategy && !rue_study_predicts(setup)) least *= (size_t)setup->goal.search.repeats;
    if (budget == 0 || budget >= least) return RUE_OK;
    char text[64];
    return rue_fail(error, RUE_USAGE,
                    "the budget of %s is too small: one configuration on every model and variant takes %zu "
                    "trials; to compare two, give at least --budget %zutrials",
                    rue_budget_format(&setup->goal.search.budget, text, sizeof text), least, 2 * least);
}

/* Seconds of one configuration on every model and variant: whole jobs, or for a predicting strategy the
 * shortest trials and their probes. The last variant may be a sample of the first that is not open yet. */
static double smallest_config_s(const struct rue_study_setup *setup, size_t variants,
                                const struct rue_config *config)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    bool short_trials = !hello->whole_jobs && (!setup->plan.strategy || rue_study_predicts(setup) ||
                                               setup->goal.search.minimise != RUE_GOAL_TIME);
    bool probes = setup->plan.strategy && rue_study_predicts(setup) && hello->measures[RUE_LOAD];
    for (size_t m = 0; m < setup->model_count; m++) /* compute probes follow the loader's */
        probes &= !(setup->costs.compute_s_per_image[m] > 0);
    double sum_s = 0;
    for (size_t v = 0; v < variants; v++) {
        uint64_t job = setup->variants[v < setup->variant_count ? v : 0].job_images;
        uint64_t images = short_trials ? rue_job_min_images(config, job) : job;
        if (probes) sum_s += RUE_PROBES_LOAD_MIN * rue_study_trial_s(setup, v, RUE_NONE, config, images);
        for (size_t m = 0; m < setup->model_count; m++) {
            sum_s += rue_study_trial_s(setup, v, m, config, images);
            if (!probes || !hello->measures[RUE_COMPUTE]) continue;
            uint64_t batch = (uint64_t)config->value[RUE_BATCH_SIZE];
            sum_s += RUE_PROBES_COMPUTE_BATCHES * batch_s(setup, m, batch) + setup->costs.trial_overhead_s;
        }
    }
    return sum_s;
}

/* Seconds of the cheapest configuration. `suggested_s`: of the two cheapest without predictions. */
static double cheapest_s(const struct rue_study_setup *setup, size_t variants, double *suggested_s)
{
    double first_s = INFINITY, second_s = INFINITY;
    for (size_t i = 0; i < setup->config_count; i++) {
        double s = smallest_config_s(setup, variants, &setup->configs[i]);
        second_s = fmin(second_s, fmax(s, first_s));
        first_s = fmin(first_s, s);
    }
    bool compares = setup->plan.strategy && !rue_study_predicts(setup) && isfinite(second_s);
    *suggested_s = compares ? first_s + second_s : first_s;
    return first_s;
}

rue_status rue_study_check_smallest(const struct rue_study_setup *setup,
                                    const struct rue_study_ledger *ledger, size_t variants, rue_error *error)
{
    bool searches = !setup->plan.strategy || rue_study_predicts(setup), loaders = false;
    /* Stored trials may suffice. */
    bool known = searches ? ledger->found_trials >= variants * setup->model_count : setup->plan.stored_s > 0;
    if (!setup->goal.search.budget.time_ns || setup->goal.search.checked || known) return RUE_OK;
    for (size_t v = 0; v < variants; v++) loaders |= setup->costs.one_worker_images_per_s[v] > 0;
    double suggested_s, needed_s = cheapest_s(setup, variants, &suggested_s);
    if (needed_s <= rue_study_budget_left_s(setup, ledger)) return RUE_OK;
    char budget[64], suggested[64], spent[RUE_UNIT_TEXT_BYTES], needed[RUE_UNIT_TEXT_BYTES];
    return rue_fail(
        error, RUE_USAGE,
        "the budget of %s is too small: %s took %s, and one configuration on every model and variant "
        "takes at least %s (%s); give at least --budget %s%s, or lower --images",
        rue_budget_format(&setup->goal.search.budget, budget, sizeof budget),
        loaders ? "opening and probing" : "opening",
        rue_format_duration(rue_study_spent_ns(setup, ledger), spent, sizeof spent),
        rue_format_duration((uint64_t)(needed_s * 1e9), needed, sizeof needed),
        loaders ? "measured by the first probes" : "the models alone",
        format_smallest_budget(setup, ledger, suggested_s, suggested, sizeof suggested),
        suggested_s > needed_s ? " for a comparison" : "");
}
