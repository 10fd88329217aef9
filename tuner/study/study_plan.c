/* What is tried, and what it takes, as far as that is known before. */
#include <stdlib.h>

#include "study.h"
#include "study_baselines.h"
#include "study_budget.h"
#include "study_choice.h"
#include "study_costs.h"
#include "study_measure.h"
#include "study_space.h"
#include "study_strategy.h"

enum { CONFIGS_MAX = 65536 };

static rue_status list_configs(struct rue_study *study, rue_error *error)
{
    size_t size = rue_space_size(&study->space);
    study->configs = calloc(size + RUE_BASELINES_MAX, sizeof *study->configs);
    if (!study->configs) return rue_fail_memory(error, "configurations", size * sizeof *study->configs);
    for (size_t i = 0; i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        if (!rue_study_repeats_another(&study->space, &config))
            study->configs[study->config_count++] = config;
    }
    rue_study_list_baselines(study);
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
    for (size_t v = 0; status == RUE_OK && v < study->variant_count; v++)
        study->matrices[v]->first_limit_ns = study->goal->max_first_batch_ns;
    return status;
}

/* All trials of all configurations, and what the store spares of them. */
static rue_status expect_all(struct rue_study *study, rue_error *error)
{
    size_t repeats = (size_t)study->goal->repeats, models = study->model_count;
    rue_status status = RUE_OK;
    study->trials = study->config_count * study->variant_count * models * repeats;
    for (size_t i = 0; i < study->config_count; i++)
        study->expected_s += rue_study_config_s(study, &study->configs[i]) * study->goal->repeats;
    for (size_t i = 0; status == RUE_OK && study->found_trials && i < study->trials; i++) {
        size_t scenario = i / repeats % (models * study->variant_count), variant = scenario / models;
        const struct rue_config *config = &study->configs[i / repeats / models / study->variant_count];
        struct rue_trial_request request = {.measure = RUE_JOINT,
                                            .config = *config,
                                            .images = rue_study_trial_images(study, variant, config)};
        bool stored;
        status =
            rue_study_is_stored(study, variant, scenario % models, &request, i % repeats, &stored, error);
        if (status == RUE_OK && stored)
            study->stored_s += rue_study_trial_s(study, variant, scenario % models, config, request.images);
    }
    return status;
}

/* What does not depend on the length of the job does not take whole jobs to find out. */
static rue_status choose_length(struct rue_study *study, rue_error *error)
{
    bool whole = study->goal->minimise == RUE_GOAL_TIME || rue_runner_hello(study->runner)->whole_jobs;
    rue_status status = rue_study_probe(study, error);
    study->short_trials =
        !whole && study->goal->budget.time_ns && rue_study_whole_s(study) > rue_study_budget_left_s(study);
    return status;
}

rue_status rue_study_plan(struct rue_study *study, rue_error *error)
{
    size_t size = rue_space_size(&study->space);
    if (size > CONFIGS_MAX)
        return rue_fail(
            error, RUE_USAGE,
            "the space holds %zu configurations, and at most %d can be looked at; give fewer values", size,
            CONFIGS_MAX);
    /* Before anything is measured; what is stored may be enough all the same. */
    rue_status status = study->found_trials ? RUE_OK : rue_study_check_trials(study, error);
    if (status == RUE_OK) status = rue_study_choose_baselines(study, error);
    if (status == RUE_OK && !study->strategy) status = rue_study_choose_strategy(study, error);
    if (status != RUE_OK) return status;
    if (!rue_study_predicts(study))
        status = choose_length(study, error);
    else if (study->goal->dry_run) /* for what the probes will take, which is worth a trial here alone */
        status = rue_study_probe_least(study, error);
    if (status == RUE_OK) status = open_matrices(study, error);
    if (status == RUE_OK && !rue_study_predicts(study)) status = expect_all(study, error);
    if (rue_study_predicts(study)) study->expected_s = rue_study_budget_left_s(study);
    return status == RUE_OK ? rue_study_check_smallest(study, study->variant_count, error) : status;
}
