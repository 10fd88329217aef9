#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "flight.h"
#include "plan.h"
#include "study_costs.h"
#include "study_prior.h"
#include "study_space.h"
#include "units.h"
#include "watch.h"

#include "cost_probes.h"
#include "stored_trials.h"

enum { FEW_CONFIGS = 4, TIME_BYTES = 32 };

/* Shares of the budget that measuring everything may cost: usually, and with few configurations, where
 * predicting costs as much. */
static const double comfortable_share = 0.5, few_share = 2;

static const char *format_s(double s, char out[TIME_BYTES])
{
    return rue_format_duration((uint64_t)(fmin(s, 1e9) * 1e9), out, TIME_BYTES);
}

static void choose_by_trials(struct rue_study_setup *setup)
{
    size_t all =
        setup->config_count * setup->model_count * setup->variant_count * (size_t)setup->goal.search.repeats;
    size_t budget = setup->goal.search.budget.trials;
    bool fits = all <= rue_watch_strategy_trials(setup, budget);
    snprintf(setup->plan.why, sizeof setup->plan.why,
             "measuring all configurations takes %zu trials, and the budget %s", all,
             fits            ? "suffices"
             : all <= budget ? "does not leave room for reference trials"
                             : "is smaller");
    setup->plan.strategy = fits ? &rue_strategy_grid : &rue_strategy_duel;
}

/* First one short trial per variant: its lower bound on the cost may already rule out the grid, and then no
 * time is spent on more probes. */
static rue_status choose_by_time(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 rue_error *error)
{
    double budget_s = (double)setup->goal.search.budget.time_ns / 1e9;
    bool few = setup->config_count <= FEW_CONFIGS;
    double share = few ? few_share : comfortable_share;
    char all[TIME_BYTES], budget[TIME_BYTES];
    rue_status status = rue_study_probe_least(setup, ledger, error);
    bool exceeds = rue_study_whole_s(setup) > share * budget_s;
    if (status == RUE_OK && !exceeds) status = rue_study_probe(setup, ledger, error);
    if (status != RUE_OK) return status;
    double whole_s = rue_study_whole_s(setup),
           remaining_s = budget_s - (double)rue_study_spent_ns(setup, ledger) / 1e9;
    bool fits = !exceeds && whole_s <= share * remaining_s;
    snprintf(setup->plan.why, sizeof setup->plan.why,
             "measuring all configurations takes %s %s, %s than %s the budget of %s",
             exceeds ? "at least" : "about", format_s(whole_s, all), fits ? "less" : "more",
             few ? "twice" : "half of", format_s(budget_s, budget));
    setup->plan.strategy = fits ? &rue_strategy_grid : &rue_strategy_duel;
    return RUE_OK;
}

/* Chooses grid if the budget easily allows measuring everything; then nothing has to be predicted. */
static rue_status choose_strategy(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  rue_error *error)
{
    if (setup->goal.search.minimise == RUE_GOAL_TIME && !setup->goal.search.budget.trials)
        return choose_by_time(setup, ledger, error);
    choose_by_trials(setup);
    if (setup->goal.search.minimise == RUE_GOAL_TIME) return RUE_OK;
    snprintf(setup->plan.why, sizeof setup->plan.why, "only the time of the job can be predicted");
    setup->plan.strategy = &rue_strategy_grid;
    return RUE_OK;
}

static size_t count_cells(const struct rue_study_setup *setup)
{
    return setup->config_count * setup->variant_count * setup->model_count;
}

/* The trial of a cell: configurations vary slowest, models fastest. */
static struct rue_flight cell_flight(const struct rue_study_setup *setup, size_t cell)
{
    size_t models = setup->model_count, variant = cell / models % setup->variant_count;
    const struct rue_config *config = &setup->configs[cell / models / setup->variant_count];
    return (struct rue_flight){.at = {.variant = variant, .model = cell % models},
                               .request = {.measure = RUE_JOINT,
                                           .config = *config,
                                           .images = rue_study_trial_images(setup, variant, config)}};
}

/* How often the store has the whole grid, at most `most` times. */
static rue_status count_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger, int most,
                               int *out, rue_error *error)
{
    size_t cells = count_cells(setup);
    for (*out = 0; ledger->found_trials && *out < most; ++*out)
        for (size_t cell = 0; cell < cells; cell++) {
            struct rue_flight flight = cell_flight(setup, cell);
            bool stored;
            rue_status status = rue_study_is_stored(setup, ledger, &flight, (size_t)*out, &stored, error);
            if (status != RUE_OK || !stored) return status;
        }
    return RUE_OK;
}

/* If the program chose the strategy, repeats of the whole grid show the uncertainty, as many as the budget
 * has room for beside those that are stored. Recorded times have none to show. */
static rue_status choose_repeats(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 rue_error *error)
{
    const struct rue_study_goal *goal = &setup->goal;
    double cells = (double)count_cells(setup), fit = INFINITY;
    int stored;
    setup->plan.repeats = goal->search.repeats;
    if (!setup->plan.why[0] || rue_study_predicts(setup) || rue_study_hello(setup)->whole_jobs) return RUE_OK;
    rue_status status = count_stored(setup, ledger, goal->search.repeats_most, &stored, error);
    if (goal->search.budget.trials)
        fit = (double)rue_watch_strategy_trials(setup, goal->search.budget.trials) / cells;
    else if (goal->search.budget.time_ns)
        fit = goal->search.repeats * rue_study_budget_left_s(setup, ledger) / rue_study_whole_s(setup);
    fit = goal->search.budget.trials ? fmax(stored, fit)
                                     : stored + fit; /* a limit of trials counts stored ones */
    fit = fmin(fit, goal->search.repeats_most);
    if (fit > goal->search.repeats) setup->plan.repeats = (int)fit;
    return status;
}

/* Estimates the cost of all trials, and the part that stored trials save. */
static rue_status estimate_all(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               rue_error *error)
{
    size_t repeats = (size_t)setup->plan.repeats;
    rue_status status = RUE_OK;
    setup->plan.trials = count_cells(setup) * repeats;
    for (size_t i = 0; i < setup->config_count; i++)
        setup->plan.expected_s += rue_study_config_s(setup, &setup->configs[i]) * setup->plan.repeats;
    for (size_t i = 0; status == RUE_OK && ledger->found_trials && i < setup->plan.trials; i++) {
        struct rue_flight flight = cell_flight(setup, i / repeats);
        bool stored;
        status = rue_study_is_stored(setup, ledger, &flight, i % repeats, &stored, error);
        if (status == RUE_OK && stored)
            setup->plan.stored_s += rue_study_trial_s(setup, flight.at.variant, flight.at.model,
                                                      &flight.request.config, flight.request.images);
    }
    return status;
}

/* Goals that do not depend on the length of the job need no whole jobs. */
static rue_status choose_length(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                rue_error *error)
{
    bool whole = setup->goal.search.minimise == RUE_GOAL_TIME || rue_study_hello(setup)->whole_jobs;
    rue_status status = rue_study_probe(setup, ledger, error);
    setup->plan.short_trials = !whole && setup->goal.search.budget.time_ns &&
                               rue_study_whole_s(setup) > rue_study_budget_left_s(setup, ledger);
    return status;
}

static rue_status plan_trials(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                              rue_error *error)
{
    /* Checked before anything is measured; stored trials may suffice with any budget. */
    rue_status status = ledger->found_trials ? RUE_OK : rue_study_check_trials(setup, error);
    if (status == RUE_OK) status = rue_study_choose_baselines(setup, error);
    if (status == RUE_OK && !setup->plan.strategy) status = choose_strategy(setup, ledger, error);
    if (status != RUE_OK) return status;
    if (!rue_study_predicts(setup)) status = choose_length(setup, ledger, error);
    rue_study_list_baselines(setup);
    if (status == RUE_OK) status = choose_repeats(setup, ledger, error);
    if (status == RUE_OK && !rue_study_predicts(setup)) status = estimate_all(setup, ledger, error);
    if (rue_study_predicts(setup)) setup->plan.expected_s = rue_study_budget_left_s(setup, ledger);
    return status == RUE_OK ? rue_study_check_smallest(setup, ledger, setup->variant_count, error) : status;
}

rue_status rue_study_plan(struct rue_study *study, rue_error *error)
{
    rue_status status = plan_trials(&study->setup, &study->ledger, error);
    if (status == RUE_OK) status = rue_study_make_priors(&study->setup, error);
    rue_progress_close(study->setup.progress);
    return status;
}
