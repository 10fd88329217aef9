#include "study_tracks.h"

#include <stdio.h>
#include <string.h>

#include "study_costs.h"
#include "study_space.h"
#include "study_trials.h"

struct rue_study_cell rue_study_find_cell(const struct rue_study_setup *setup, const struct rue_track *track,
                                          const struct rue_question *question)
{
    return (struct rue_study_cell){track->first_variant + question->scenario / setup->model_count,
                                   question->scenario % setup->model_count, question->config};
}

uint64_t rue_study_expected_ns(const struct rue_study_setup *setup, const struct rue_question *question)
{
    if (question->expected_s > 0) return (uint64_t)(question->expected_s * 1e9);
    if (rue_study_predicts(setup))
        return setup->goal.search.budget.time_ns / 10; /* the timeout of a probe is then the budget */
    return (uint64_t)(setup->plan.expected_s * 1e9 / (double)setup->plan.trials);
}

struct rue_trial_request rue_study_make_request(const struct rue_study_setup *setup,
                                                struct rue_study_cell cell,
                                                const struct rue_question *question)
{
    struct rue_trial_request request = {.measure = question->measure,
                                        .config = setup->configs[cell.config],
                                        .images = question->images,
                                        .batches = question->batches};
    bool joint = question->measure == RUE_JOINT;
    if (rue_study_hello(setup)->whole_jobs || (joint && !request.images))
        request.images = rue_study_trial_images(setup, cell.variant, &request.config);
    request.detail = joint && (!rue_study_predicts(setup) || setup->goal.search.checked);
    return request;
}

void rue_study_mark_partial(struct rue_study *study, const char *why)
{
    char all[48] = "";
    if (!rue_study_predicts(&study->setup)) snprintf(all, sizeof all, " of %zu", study->setup.plan.trials);
    study->outcome.partial = true;
    snprintf(study->outcome.partial_reason, sizeof study->outcome.partial_reason, "%s after %zu%s trials",
             why, study->ledger.answered, all);
}

/* Records the costs that a probe shows. True if rue_study_check_smallest now knows more: after the first
 * load-only probe, and after the compute probe of the last model. */
static bool note_costs(struct rue_study_setup *setup, size_t variant, const struct rue_question *question,
                       const struct rue_trial_result *result)
{
    size_t model = question->scenario % setup->model_count;
    bool load = question->measure == RUE_LOAD && !(setup->costs.one_worker_images_per_s[variant] > 0);
    bool compute = question->measure == RUE_COMPUTE && !setup->models[model].known &&
                   !(setup->costs.compute_s_per_image[model] > 0);
    if (load) rue_study_note_loader(setup, variant, result);
    if (compute) rue_study_note_compute(setup, model, result);
    for (size_t m = 0; m < setup->model_count; m++)
        compute &= setup->models[m].known || setup->costs.compute_s_per_image[m] > 0;
    return load || compute;
}

/* Checks after a probe whether the budget suffices. Damaged data end the run at once; other failures are
 * recorded, because more probes follow. */
static rue_status check_probe(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                              struct rue_track *track, const struct rue_question *question,
                              const struct rue_trial_result *result, rue_error *error)
{
    bool ok = result->outcome == RUE_TRIAL_OK;
    if (ok && note_costs(setup, track->first_variant, question, result))
        return rue_study_check_smallest(setup, ledger, setup->variant_count, error);
    bool first = ledger->answered == 1;
    if ((question->measure == RUE_JOINT && !first) || ok) return RUE_OK;
    if (rue_study_is_data_fault(setup, track->first_variant, result->outcome, result->reason))
        return rue_study_fail_probe(setup, track->first_variant, result->outcome, result->reason, error);
    if (question->measure == RUE_JOINT || track->probe_outcome != RUE_TRIAL_OK) return RUE_OK;
    track->probe_outcome = result->outcome;
    snprintf(track->probe_reason, sizeof track->probe_reason, "%s", result->reason);
    return RUE_OK;
}

bool rue_study_is_spent(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger)
{
    const struct rue_budget *budget = &setup->goal.search.budget;
    return (budget->time_ns && rue_study_spent_ns(setup, ledger) >= budget->time_ns) ||
           (budget->trials && ledger->run_trials >= budget->trials);
}

rue_status rue_study_absorb(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            struct rue_tracks *tracks, struct rue_track *track, struct rue_question *question,
                            const struct rue_trial_result *result, rue_error *error)
{
    const struct rue_strategy_ops *strategy = setup->plan.strategy;
    struct rue_study_cell cell = rue_study_find_cell(setup, track, question);
    question->stored = ledger->was_stored;
    struct rue_ledger_row *row = &ledger->rows[ledger->last_row];
    question->trial = row->trial.id;
    if (question->measure == RUE_JOINT && !rue_question_is_repeated(question, result))
        row->config = cell.config;
    /* Stored trials count at their former cost: tracks alternate in the same order when a study continues. */
    if (result->cost_ns > 0) track->spent_ns += (uint64_t)result->cost_ns;
    if (strategy->observe) strategy->observe(track->state, question, result);
    ledger->answered++;
    if (!question->stored && !rue_study_predicts(setup)) {
        tracks->new_trials++;
        const struct rue_config *config = &setup->configs[cell.config];
        uint64_t images = rue_study_trial_images(setup, cell.variant, config);
        tracks->expected_s += rue_study_trial_s(setup, cell.variant, cell.model, config, images);
    }
    return rue_question_is_repeated(question, result)
               ? RUE_OK
               : check_probe(setup, ledger, track, question, result, error);
}

rue_status rue_study_check_signal(struct rue_study *study, const struct rue_tracks *tracks, rue_error *error)
{
    const struct rue_strategy_ops *strategy = study->setup.plan.strategy;
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && strategy->status && i < tracks->count; i++)
        status = strategy->status(tracks->at[i].state, NULL);
    if (status != RUE_INTERRUPTED && status != RUE_TERMINATED) return RUE_OK; /* see check_strategy */
    rue_study_mark_partial(study, "interrupted");
    return rue_fail(error, status, "interrupted");
}
