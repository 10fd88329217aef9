/* Runs a study: asks the strategy, measures, and lets it observe the result, until it has no more questions
 * or the budget is spent. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "causes.h"
#include "interrupt.h"
#include "job_time.h"
#include "runner_farm.h"
#include "strategy.h"
#include "study.h"
#include "study_costs.h"
#include "study_farm.h"
#include "study_outcome.h"
#include "study_recording.h"
#include "study_show.h"
#include "study_space.h"
#include "study_tracks.h"
#include "study_trials.h"
#include "study_views.h"
#include "units.h"
#include "watch.h"

/* Answers a question with the `nth` stored trial, or with a new one. */
static rue_status answer_question(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  struct rue_study_cell cell, const struct rue_question *question, size_t nth,
                                  struct rue_trial_result *result, rue_error *error)
{
    struct rue_trial_request request = rue_study_make_request(setup, cell, question);
    return rue_study_measure(setup, ledger, cell.variant,
                             question->measure == RUE_LOAD ? RUE_NONE : cell.model, &request, nth,
                             rue_study_expected_ns(setup, question), result, error);
}

/* The track that has spent least of its share, and its next question; NULL: no track has one. */
static struct rue_track *next_track(const struct rue_study_setup *setup, struct rue_tracks *tracks,
                                    struct rue_question *question)
{
    for (;;) {
        struct rue_track *next = NULL;
        for (size_t i = 0; i < tracks->count; i++) {
            struct rue_track *track = &tracks->at[i];
            if (track->ended) continue;
            if (!next || (double)track->spent_ns / track->share < (double)next->spent_ns / next->share)
                next = track;
        }
        if (!next || setup->plan.strategy->ask(next->state, question)) return next;
        next->ended = true;
    }
}

/* Repeats the trials that may lie before or after a change of the machine. */
static rue_status repeat_trial(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               rue_error *error)
{
    rue_status status = RUE_OK;
    size_t i = rue_study_next_unsure(ledger, 0);
    for (; status == RUE_OK && i != RUE_NONE && !rue_study_is_spent(setup, ledger);
         i = rue_study_next_unsure(ledger, i + 1)) {
        struct rue_trial_result result;
        const struct rue_study_cell cell = {ledger->rows[i].variant, ledger->rows[i].model,
                                            ledger->rows[i].config};
        const struct rue_question question = {.measure = RUE_JOINT, .config = cell.config};
        status = rue_interrupt_status();
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        status = answer_question(setup, ledger, cell, &question, RUE_STUDY_NEW_TRIAL, &result, error);
        if (status != RUE_OK) return status;
        if (ledger->rows[ledger->last_row].cost_ns > 0) {
            ledger->rows[ledger->last_row].config = cell.config;
            ledger->rows[i].config = RUE_NONE;
        }
        rue_trial_result_close(&result);
    }
    return status;
}

/* Corrects earlier observations for a change of the machine. */
static rue_status apply_change(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               struct rue_tracks *tracks, const struct rue_speed_change *change,
                               rue_error *error)
{
    for (size_t i = 0; setup->plan.strategy->shift && i < tracks->count; i++)
        setup->plan.strategy->shift(tracks->at[i].state, change->since, change->slowdown);
    return rue_study_predicts(setup) ? RUE_OK : repeat_trial(setup, ledger, error);
}

/* The budget that all tracks need for a recommendation. */
static struct rue_watch_reserve watch_reserve(const struct rue_study_setup *setup,
                                              const struct rue_tracks *tracks)
{
    struct rue_watch_reserve sum = {0};
    for (size_t i = 0; setup->plan.strategy->reserve && i < tracks->count; i++) {
        struct rue_watch_reserve one = {0};
        setup->plan.strategy->reserve(tracks->at[i].state, &one.seconds, &one.trials);
        sum.seconds += one.seconds;
        sum.trials += one.trials;
    }
    return sum;
}

/* Makes the references that are due after a new trial; the track pays for them. */
static rue_status check_machine(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                struct rue_tracks *tracks, struct rue_track *track, rue_error *error)
{
    bool changed;
    struct rue_speed_change change;
    if (!tracks->watch) return RUE_OK;
    uint64_t before_ns = rue_study_spent_ns(setup, ledger);
    size_t run_trials = ledger->run_trials;
    rue_status status =
        rue_watch_check(tracks->watch, watch_reserve(setup, tracks), &changed, &change, error);
    if (status == RUE_OK && changed) status = apply_change(setup, ledger, tracks, &change, error);
    uint64_t spent_ns = rue_study_spent_ns(setup, ledger) - before_ns;
    track->spent_ns += spent_ns;
    if (setup->plan.strategy->spend)
        setup->plan.strategy->spend(track->state, 0, (double)spent_ns / 1e9, ledger->run_trials - run_trials);
    return status;
}

/* Answers one question, by the `nth` stored trial if it exists, and updates all that depends on it. */
static rue_status step_track(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_tracks *tracks, struct rue_track *track,
                             struct rue_question *question, size_t nth, rue_error *error)
{
    const struct rue_strategy_ops *strategy = setup->plan.strategy;
    struct rue_study_cell cell = rue_study_find_cell(setup, track, question);
    struct rue_trial_result result;
    double expected_s = 0, expected_sd = 0;
    bool expected = strategy->expect && strategy->expect(track->state, question, &expected_s, &expected_sd);
    rue_status status = answer_question(setup, ledger, cell, question, nth, &result, error);
    if (status != RUE_OK) return status;
    status = rue_study_absorb(setup, ledger, tracks, track, question, &result, error);
    if (status == RUE_OK && !question->stored)
        status = rue_same_failures_count(&tracks->failures, &result, error);
    rue_trial_result_close(&result);
    if (status != RUE_OK || question->stored) return status;
    if (expected && !rue_study_hello(setup)->whole_jobs)
        rue_study_note_error(ledger, expected_s, expected_sd);
    return check_machine(setup, ledger, tracks, track, error);
}

/* Copies the strategy's estimates of its variant's cells to the matrix. */
static rue_status store_estimates(const struct rue_study_setup *setup, struct rue_study_outcome *outcome,
                                  const struct rue_track *track, rue_error *error)
{
    size_t variant = track->first_variant;
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < setup->model_count * setup->config_count; i++) {
        struct rue_estimate estimate;
        size_t model = i / setup->config_count, config = i % setup->config_count;
        if (!setup->plan.strategy->estimate(track->state, model, config, &estimate)) continue;
        rue_cost_matrix_estimate_first_batch(outcome->variants[variant].matrix, model, config,
                                             estimate.first_batch_s * 1e9);
        status =
            rue_cost_matrix_estimate(outcome->variants[variant].matrix, model, config, estimate.time_s * 1e9,
                                     estimate.sd, estimate.trials, !estimate.full, error);
    }
    return status;
}

/* Whether a configuration fits the rest of the budget, scaling its expected time by the ratio of measured to
 * expected time so far. The first one always fits a budget of trials. */
static bool fits_budget(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                        const struct rue_tracks *tracks, size_t config, double spent_s)
{
    const struct rue_budget *budget = &setup->goal.search.budget;
    size_t scenarios = setup->variant_count * setup->model_count;
    if (budget->trials)
        return tracks->new_trials == 0 ||
               tracks->new_trials + scenarios <= rue_watch_strategy_trials(setup, budget->trials);
    double pace = tracks->expected_s > 0 ? spent_s / tracks->expected_s : 1;
    return !budget->time_ns || pace * rue_study_config_s(setup, &setup->configs[config]) <=
                                   rue_study_budget_left_s(setup, ledger);
}

/* Whether stored trials may still answer later questions of a track whose question has no stored answer. */
static bool is_probing(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                       const struct rue_track *track)
{
    struct rue_claim claim;
    return ledger->found_trials && setup->plan.strategy->claim &&
           !setup->plan.strategy->claim(track->state, SIZE_MAX, &claim);
}

/* `*out`: skip this question, because it does not fit the budget and the store has no answer. A strategy that
 * predicts then ends, unless it is still probing. */
static rue_status check_skip(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_tracks *tracks, struct rue_track *track,
                             const struct rue_question *question, size_t nth, double spent_s, bool *out,
                             rue_error *error)
{
    bool predicts = rue_study_predicts(setup), stored = false;
    *out = false;
    if (!predicts && (tracks->config != question->config || tracks->repeat != question->repeat))
        tracks->over_budget = !fits_budget(setup, ledger, tracks, question->config, spent_s);
    tracks->config = question->config;
    tracks->repeat = question->repeat;
    if (!tracks->over_budget && !rue_study_is_spent(setup, ledger)) return RUE_OK;
    struct rue_study_cell cell = rue_study_find_cell(setup, track, question);
    struct rue_trial_request request = rue_study_make_request(setup, cell, question);
    size_t model = question->measure == RUE_LOAD ? RUE_NONE : cell.model;
    rue_status status = RUE_OK;
    if (ledger->found_trials)
        status = rue_study_is_stored(setup, ledger, cell.variant, model, &request, nth, &stored, error);
    if (status != RUE_OK) return status;
    *out = !stored;
    tracks->skipped += !stored;
    track->ended = predicts && !stored && !is_probing(setup, ledger, track);
    return RUE_OK;
}

static rue_status run_questions(struct rue_study *study, struct rue_tracks *tracks, rue_error *error)
{
    struct rue_question question;
    struct rue_track *track;
    struct rue_study_cell cell;
    uint64_t run_start_ns = rue_study_spent_ns(&study->setup, &study->ledger);
    while ((track = next_track(&study->setup, tracks, &question))) {
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK) rue_fail(error, status, "interrupted");
        size_t nth = study->ledger.stored_unobserved && question.repeat > 0 ? RUE_STUDY_NEW_TRIAL
                                                                            : (size_t)question.repeat;
        double spent_s = (double)(rue_study_spent_ns(&study->setup, &study->ledger) - run_start_ns) / 1e9;
        bool skipped = false;
        if (status == RUE_OK)
            status = check_skip(&study->setup, &study->ledger, tracks, track, &question, nth, spent_s,
                                &skipped, error);
        if (skipped) continue;
        if (status == RUE_OK)
            status = step_track(&study->setup, &study->ledger, tracks, track, &question, nth, error);
        if (status != RUE_OK) {
            bool signal = status == RUE_INTERRUPTED || status == RUE_TERMINATED;
            rue_study_mark_partial(study, signal ? "interrupted" : "stopped");
            return status;
        }
        cell = rue_study_find_cell(&study->setup, track, &question);
        rue_study_show_progress(&study->setup, &study->ledger, track->state, cell.variant, cell.model,
                                &study->setup.configs[cell.config], run_start_ns);
    }
    if (tracks->skipped) rue_study_mark_partial(study, "the budget was spent");
    return rue_study_check_signal(study, tracks, error);
}

/* If a baseline is recommended instead of the strategy's choice, the claim must be about the baseline. */
static rue_status claim_recommended(struct rue_study *study, const struct rue_track *track, rue_error *error)
{
    size_t variant = track->first_variant;
    struct rue_claim *claim = &study->outcome.variants[variant].claim;
    struct rue_selection *selection;
    struct rue_baseline_findings baselines;
    if (!study->outcome.variants[variant].claimed) return RUE_OK;
    rue_status status = rue_study_select(study, variant, &selection, &baselines, error);
    if (status != RUE_OK) return status;
    if (selection->recommended != claim->config && selection->recommended != RUE_NONE)
        study->outcome.variants[variant].claimed =
            study->setup.plan.strategy->claim(track->state, selection->recommended, claim);
    rue_selection_close(selection);
    return RUE_OK;
}

/* Copies the strategy's claim, knowledge and estimates to the outcome. */
static rue_status copy_estimates(struct rue_study *study, const struct rue_track *track, rue_error *error)
{
    size_t variant = track->first_variant;
    rue_status status = RUE_OK;
    study->outcome.variants[variant].claimed =
        study->setup.plan.strategy->claim(track->state, SIZE_MAX, &study->outcome.variants[variant].claim);
    if (!study->outcome.variants[variant].claimed && track->probe_outcome != RUE_TRIAL_OK)
        return rue_study_fail_probe(&study->setup, variant, track->probe_outcome, track->probe_reason, error);
    /* With a limit on the first batch, estimates show why there is no claim; a stopped run has no claim
     * either. */
    bool stopped = rue_interrupt_status() != RUE_OK;
    if (!study->outcome.variants[variant].claimed && !study->setup.goal.search.max_first_batch_ns && !stopped)
        return RUE_OK;
    if (study->setup.plan.strategy->knowledge)
        status = study->setup.plan.strategy->knowledge(track->state,
                                                       &study->outcome.variants[variant].knowledge, error);
    if (study->outcome.variants[variant].claimed && !study->outcome.variants[variant].claim.verified &&
        !study->outcome.partial)
        rue_study_mark_partial(study, "the budget was spent");
    if (status == RUE_OK) status = store_estimates(&study->setup, &study->outcome, track, error);
    return status == RUE_OK ? claim_recommended(study, track, error) : status;
}

/* The weights of all scenarios; NULL: all are equal. */
static const double *fill_weights(const struct rue_study_setup *setup, double *weights)
{
    if (setup->goal.search.rules.weight_count == 0) return NULL;
    for (size_t i = 0; i < setup->variant_count * setup->model_count; i++)
        weights[i] =
            rue_ranking_rules_weight(&setup->goal.search.rules, setup->models[i % setup->model_count].name);
    return weights;
}

/* Fails if the strategy ended because of an error of its own. */
static rue_status check_strategy(const struct rue_study_setup *setup, const struct rue_track *track,
                                 rue_error *error)
{
    rue_error why = {0};
    rue_status status =
        setup->plan.strategy->status ? setup->plan.strategy->status(track->state, &why) : RUE_OK;
    if (status != RUE_MEMORY && status != RUE_INTERNAL)
        return RUE_OK; /* failed trials are reported elsewhere */
    return rue_fail(error, status, "the strategy %s failed: %s", setup->plan.strategy->name, why.message);
}

static rue_status open_tracks(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                              struct rue_tracks *out, rue_error *error)
{
    bool predicts = rue_study_predicts(setup);
    double remaining_s = setup->goal.search.budget.time_ns ? setup->plan.expected_s : INFINITY;
    size_t count = predicts ? setup->variant_count : 1;
    for (size_t b = 0; b < setup->baselines.count; b++) out->baselines[b] = setup->baselines.at[b].column;
    rue_status status = RUE_OK;
    for (size_t v = 0; status == RUE_OK && v < count; v++) {
        struct rue_track *track = &out->at[out->count++]; /* to be closed also if the rest fails */
        track->first_variant = v;
        track->share = 1 / (double)count;
        if (setup->host.recording && count > 1) /* in proportion to the variants' times in the table */
            track->share =
                fmax(1e-9, rue_study_recording_s(setup, v) / rue_study_recording_s(setup, RUE_NONE));
        struct rue_strategy_setup strategy_setup = rue_study_strategy_setup(setup, v);
        if (!predicts) strategy_setup.grid.scenario_count *= setup->variant_count;
        strategy_setup.aim = (struct rue_setup_aim){.objective = setup->goal.search.rules.objective,
                                                    .weights = fill_weights(setup, out->weights),
                                                    .epsilon_ratio = setup->goal.search.epsilon_ratio,
                                                    .confidence = setup->goal.search.confidence,
                                                    .repeats = setup->goal.search.repeats};
        strategy_setup.budget =
            (struct rue_setup_budget){remaining_s * track->share, setup->goal.search.budget.trials / count};
        struct rue_runner_group *farm = rue_runner_farm(setup->host.runner);
        strategy_setup.runner.nodes = farm ? rue_runner_group_count(farm) : 0;
        strategy_setup.job.first_batch_limit_s = (double)setup->goal.search.max_first_batch_ns / 1e9;
        strategy_setup.known.baselines = out->baselines;
        strategy_setup.known.baseline_count = setup->baselines.count;
        if (setup->priors[v].used) strategy_setup.known.prior = &setup->priors[v].prior;
        status = setup->plan.strategy->open(&strategy_setup, &track->state, error);
        if (status == RUE_OK && predicts)
            status = rue_study_observe_stored(setup, ledger, v, track->state, error);
    }
    return status;
}

/* Copies a strategy's results to the outcome. */
static rue_status collect_results(struct rue_study *study, const struct rue_track *track, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t end = rue_study_predicts(&study->setup) ? track->first_variant + 1 : study->setup.variant_count;
    if (study->setup.plan.strategy->judge)
        status = study->setup.plan.strategy->judge(track->state, &study->outcome.recheck, error);
    else if (rue_study_predicts(&study->setup))
        status = copy_estimates(study, track, error);
    for (size_t v = track->first_variant; status == RUE_OK && v < end; v++) {
        rue_study_mark_disturbed(study, v, track->state);
        status = rue_study_find_lengths(study, v, track->state, error);
    }
    return status;
}

rue_status rue_study_run(struct rue_study *study, rue_error *error)
{
    struct rue_tracks tracks = {.config = SIZE_MAX};
    rue_status status = open_tracks(&study->setup, &study->ledger, &tracks, error);
    study->ledger.run_trials = 0;
    bool farm = rue_runner_farm(study->setup.host.runner);
    if (status == RUE_OK && !farm)
        status = rue_watch_open(&study->setup, &study->ledger, &tracks.watch, error);
    if (status == RUE_OK)
        status = farm ? rue_study_run_farm(study, &tracks, error) : run_questions(study, &tracks, error);
    bool usable = status == RUE_OK || study->outcome.partial;
    rue_error lost = {0};
    for (size_t v = 0; lost.status == RUE_OK && v < study->setup.variant_count; v++)
        usable &= rue_study_matrix(&study->setup, &study->ledger, v, &study->outcome.variants[v].matrix,
                                   &lost) == RUE_OK;
    if (lost.status != RUE_OK && status == RUE_OK) status = rue_fail(error, lost.status, "%s", lost.message);
    for (size_t i = 0; i < tracks.count; i++) {
        if (usable && collect_results(study, &tracks.at[i], &lost) != RUE_OK && status == RUE_OK)
            status = rue_fail(error, lost.status, "%s", lost.message);
        if (status == RUE_OK) status = check_strategy(&study->setup, &tracks.at[i], error);
        study->setup.plan.strategy->close(tracks.at[i].state);
    }
    rue_watch_close(tracks.watch, study->outcome.changes.disturbance);
    if (status == RUE_OK)
        status = rue_causes_check_idle(&study->setup, "after the last trial",
                                       study->outcome.changes.busy_after, error);
    return status;
}
