#include "study_budget.h"

#include <math.h>

#include "probes.h"
#include "study_clock.h"
#include "study_costs.h"
#include "study_space.h"
#include "study_strategy.h"
#include "units.h"

/* The reports take a moment as well, and estimates err. */
static const double budget_share = 0.97;
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
    if (study->strategy && !rue_study_predicts(study)) least *= (size_t)study->goal->repeats;
    if (budget == 0 || budget >= least) return RUE_OK;
    char text[64];
    return rue_fail(
        error, RUE_USAGE,
        "the budget of %s is too small: one configuration on every model and variant takes %zu; give "
        "--budget %zutrials at least, to compare two of them",
        rue_budget_format(&study->goal->budget, text, sizeof text), least, 2 * least);
}

/* Compute probes come behind those of the loader. */
static bool is_probed(const struct rue_study *study)
{
    for (size_t m = 0; m < study->model_count; m++)
        if (study->compute_s_per_image[m] > 0) return true;
    return false;
}

/* One configuration on every model and variant: whole jobs, or, of a strategy that predicts, trials as short
 * as can be and the probes before them. The last variant may not be open yet: a sample of the first. */
static double config_s(const struct rue_study *study, size_t variants, const struct rue_config *config)
{
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    bool short_trials = !hello->whole_jobs && (!study->strategy || rue_study_predicts(study) ||
                                               study->goal->minimise != RUE_GOAL_TIME);
    bool probes =
        study->strategy && rue_study_predicts(study) && hello->measures[RUE_LOAD] && !is_probed(study);
    double sum_s = 0;
    for (size_t v = 0; v < variants; v++) {
        uint64_t job = study->variants[v < study->variant_count ? v : 0].job_images;
        uint64_t images = short_trials ? rue_job_floor_images(config, job) : job;
        if (probes) sum_s += RUE_PROBES_LOAD_LEAST * rue_study_trial_s(study, v, RUE_NONE, config, images);
        for (size_t m = 0; m < study->model_count; m++) {
            sum_s += rue_study_trial_s(study, v, m, config, images);
            if (!probes || !hello->measures[RUE_COMPUTE]) continue;
            uint64_t batch = (uint64_t)config->value[RUE_BATCH_SIZE];
            sum_s +=
                RUE_PROBES_COMPUTE_BATCHES * rue_study_batch_s(study, m, batch) + study->trial_overhead_s;
        }
    }
    return sum_s;
}

/* Of the cheapest configuration; and what is enough to compare: of a strategy that predicts the same, else of
 * the two cheapest. */
static double cheapest_s(const struct rue_study *study, size_t variants, double *enough_s)
{
    double least_s = INFINITY, second_s = INFINITY;
    for (size_t i = 0, size = rue_space_size(&study->space); i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        if (rue_study_repeats_another(&study->space, &config)) continue;
        double s = config_s(study, variants, &config);
        second_s = fmin(second_s, fmax(s, least_s));
        least_s = fmin(least_s, s);
    }
    bool two = study->strategy && !rue_study_predicts(study) && isfinite(second_s);
    *enough_s = two ? least_s + second_s : least_s;
    return least_s;
}

rue_status rue_study_check_smallest(const struct rue_study *study, size_t variants, rue_error *error)
{
    bool searches = !study->strategy || rue_study_predicts(study), loaders = false;
    /* What is stored may be enough. */
    bool known = searches ? study->found_trials >= variants * study->model_count : study->stored_s > 0;
    if (!study->goal->budget.time_ns || known) return RUE_OK;
    for (size_t v = 0; v < variants; v++) loaders |= study->one_worker_images_per_s[v] > 0;
    double enough_s, least_s = cheapest_s(study, variants, &enough_s);
    if (least_s <= rue_study_budget_left_s(study)) return RUE_OK;
    char budget[64], enough[64], spent[RUE_UNIT_TEXT_BYTES], needed[RUE_UNIT_TEXT_BYTES];
    return rue_fail(
        error, RUE_USAGE,
        "the budget of %s is too small: %s took %s, and one configuration on every model and variant "
        "takes at least %s, as %s; give --budget %s at least%s, or lower --images",
        rue_budget_format(&study->goal->budget, budget, sizeof budget),
        loaders ? "opening and probing" : "opening",
        rue_format_duration(rue_study_spent_ns(study), spent, sizeof spent),
        rue_format_duration((uint64_t)(least_s * 1e9), needed, sizeof needed),
        loaders ? "the first probes show" : "the models alone need",
        enough_text(study, enough_s, enough, sizeof enough),
        enough_s > least_s ? ", to compare two of them" : "");
}
