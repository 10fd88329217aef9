/* Which grid fits the budget, as far as what trials cost is known before the first of them. */
#include <math.h>
#include <stdlib.h>

#include "study.h"
#include "study_baselines.h"
#include "study_budget.h"
#include "study_choice.h"
#include "study_clock.h"
#include "study_costs.h"
#include "study_measure.h"
#include "study_space.h"
#include "study_strategy.h"
#include "units.h"
#include "watch.h"

enum { ENLARGE_ROUNDS = 8 };

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
        bool stored = rue_study_repeats_another(&plan->space, &config);
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
    study->plan = (struct rue_plan){
        .space = study->space, .stretch = INFINITY, .expected_s = rue_study_budget_left_s(study)};
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
    rue_status status = rue_study_probe(study, error);
    struct rue_plan_goal goal = {.space = &study->space,
                                 .scenarios = study->scenarios,
                                 .scenario_count = study->variant_count * study->model_count,
                                 .repeats = study->goal->repeats,
                                 .trial_overhead_s = study->trial_overhead_s,
                                 .whole_jobs = rue_runner_hello(study->runner)->whole_jobs,
                                 .budget_trials = budget_trials(study)};
    if (study->goal->budget.time_ns) goal.budget_s = fmax(rue_study_budget_left_s(study), 1e-9);
    rue_error small = {0};
    if (status == RUE_OK) status = rue_study_check_grid(study, &goal, &small);
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
    study->configs = calloc(size + RUE_BASELINES_MAX, sizeof *study->configs);
    if (!study->configs) return rue_fail_memory(error, "configurations", size * sizeof *study->configs);
    for (size_t i = 0; i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        bool planned = (study->plan.trials > 0 || rue_study_searches(study)) &&
                       rue_space_holds(&study->plan.space, &config),
             stored = false;
        if (rue_study_repeats_another(planned ? &study->plan.space : &study->space, &config)) continue;
        study->configs_asked++;
        rue_status status = planned ? RUE_OK : is_complete(study, &config, &stored, error);
        if (status != RUE_OK) return status;
        if (planned || stored) study->configs[study->config_count++] = config;
    }
    rue_study_list_baselines(study);
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

rue_status rue_study_plan(struct rue_study *study, rue_error *error)
{
    /* Before anything is measured; what is stored may be enough all the same. */
    double unused_s;
    rue_status status = study->found_trials ? RUE_OK : rue_study_check_trials(study, error);
    if (status == RUE_OK) status = rue_study_choose_baselines(study, error);
    if (status == RUE_OK && !study->strategy) status = rue_study_choose_strategy(study, error);
    if (status != RUE_OK) return status;
    if (!rue_study_searches(study))
        status = make_plan(study, error);
    else if (!rue_study_predicts(study))
        status = rue_study_probe(study, error);
    else if (study->goal->dry_run) /* for what the probes will take, which is worth a trial here alone */
        status = rue_study_least_s(study, &unused_s, error);
    if (status == RUE_OK && rue_study_searches(study))
        status = rue_study_check_smallest(study, study->variant_count, error);
    if (rue_study_searches(study)) leave_open(study);
    return status == RUE_OK ? open_matrices(study, error) : status;
}
