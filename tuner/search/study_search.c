#include "study_search.h"

#include <stdlib.h>

#include "causes.h"
#include "interrupt.h"
#include "scheduler.h"
#include "study_outcome.h"
#include "study_recording.h"
#include "study_views.h"
#include "trial_failures.h"

/* Copies the strategy's estimates of its variant's cells to the matrix. */
static rue_status store_estimates(const struct rue_study_setup *setup, struct rue_study_outcome *outcome,
                                  const struct rue_track *track, rue_error *error)
{
    size_t variant = track->first_variant;
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < setup->model_count * setup->config_count; i++) {
        struct rue_estimate estimate;
        size_t model = i / setup->config_count, config = i % setup->config_count;
        if (!rue_study_has_cell(setup, variant, model, config) ||
            !setup->plan.strategy->estimate(track->state, model, config, &estimate))
            continue;
        rue_cost_matrix_estimate_first_batch(outcome->variants[variant].matrix, model, config,
                                             estimate.first_batch_s * 1e9);
        status =
            rue_cost_matrix_estimate(outcome->variants[variant].matrix, model, config, estimate.time_s * 1e9,
                                     estimate.sd, estimate.trials, !estimate.full, error);
    }
    return status;
}

/* If a baseline is recommended instead of the strategy's choice, the claim must be about the baseline. */
static rue_status claim_recommended(struct rue_study *study, const struct rue_track *track, rue_error *error)
{
    size_t variant = track->first_variant;
    struct rue_claim *claim = &study->outcome.variants[variant].claim;
    struct rue_selection *selection;
    if (!study->outcome.variants[variant].claimed) return RUE_OK;
    rue_status status = rue_study_select(study, variant, &selection, error);
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
    if (!study->outcome.variants[variant].claimed && track->failed_probe.outcome != RUE_TRIAL_OK)
        return rue_study_fail_probe(&study->setup, variant, &track->failed_probe, error);
    /* Estimates show why nothing is claimed: a limit on the first batch excludes it, or the run was stopped.
     */
    bool stopped = rue_interrupt_status() != RUE_OK;
    if (!study->outcome.variants[variant].claimed && !study->setup.goal.search.max_first_batch_ns && !stopped)
        return RUE_OK;
    if (study->setup.plan.strategy->knowledge)
        status = study->setup.plan.strategy->knowledge(track->state,
                                                       &study->outcome.variants[variant].knowledge, error);
    if (status == RUE_OK) status = store_estimates(&study->setup, &study->outcome, track, error);
    return status == RUE_OK ? claim_recommended(study, track, error) : status;
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

/* Copies a strategy's results to the outcome. */
static rue_status collect_results(struct rue_study *study, const struct rue_track *track, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t end = rue_study_predicts(&study->setup) ? track->first_variant + 1 : study->setup.variant_count;
    if (study->setup.plan.strategy->judge)
        status = study->setup.plan.strategy->judge(track->state, &study->outcome.recheck, error);
    else
        status = rue_study_check_failures(&study->setup, &study->ledger, error);
    if (status == RUE_OK && study->setup.plan.strategy->estimate)
        status = copy_estimates(study, track, error);
    for (size_t v = track->first_variant; status == RUE_OK && v < end; v++) {
        rue_study_mark_disturbed(study, v, track->state);
        status = rue_study_find_lengths(study, v, track->state, error);
    }
    return status;
}

rue_status rue_study_run(struct rue_study *study, rue_error *error)
{
    struct rue_tracks tracks;
    struct rue_watch *watch = NULL;
    rue_status status = rue_tracks_open(&study->setup, &study->ledger, &tracks, error);
    study->ledger.run_trials = 0;
    if (status == RUE_OK) status = rue_watch_open(&study->setup, &study->ledger, &watch, error);
    if (status == RUE_OK) status = rue_schedule(study, &tracks, watch, error);
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
    }
    rue_tracks_close(&study->setup, &tracks);
    rue_watch_close(watch, study->outcome.changes.disturbance);
    if (status == RUE_OK)
        status = rue_causes_check_idle(&study->setup, "after the last trial",
                                       study->outcome.changes.busy_after, error);
    return status;
}

rue_status rue_study_perform(struct rue_study *study, rue_error *error)
{
    struct rue_study_end *end = &study->end;
    end->ran = rue_study_run(study, &end->why);
    rue_progress_close(study->setup.progress);
    return end->ran == RUE_USAGE ? rue_fail(error, end->ran, "%s", end->why.message) : RUE_OK;
}
