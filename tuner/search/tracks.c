#include "tracks.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "stored_trials.h"
#include "study_costs.h"
#include "study_recording.h"
#include "study_space.h"
#include "trial_failures.h"

/* The weights of all scenarios; NULL: all are equal. */
static const double *fill_weights(const struct rue_study_setup *setup, double *weights)
{
    if (setup->goal.search.rules.weight_count == 0) return NULL;
    for (size_t i = 0; i < setup->variant_count * setup->model_count; i++)
        weights[i] =
            rue_ranking_rules_weight(&setup->goal.search.rules, setup->models[i % setup->model_count].name);
    return weights;
}

rue_status rue_tracks_open(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           struct rue_tracks *out, rue_error *error)
{
    bool predicts = rue_study_predicts(setup);
    *out = (struct rue_tracks){.config = SIZE_MAX};
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
                                                    .repeats = setup->plan.repeats};
        strategy_setup.budget =
            (struct rue_setup_budget){remaining_s * track->share, setup->goal.search.budget.trials / count};
        size_t nodes = setup->host.runners->count;
        strategy_setup.runner.nodes = nodes > 1 ? nodes : 0;
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

void rue_tracks_close(const struct rue_study_setup *setup, struct rue_tracks *tracks)
{
    for (size_t i = 0; i < tracks->count; i++) setup->plan.strategy->close(tracks->at[i].state);
}

bool rue_tracks_ask(const struct rue_study_setup *setup, struct rue_tracks *tracks, size_t node,
                    struct rue_asked *out)
{
    bool asked[RUE_STUDY_VARIANTS_MAX] = {0};
    for (;;) {
        size_t next = SIZE_MAX;
        double least = INFINITY;
        for (size_t t = 0; t < tracks->count; t++) {
            const struct rue_track *track = &tracks->at[t];
            double spent = (double)track->spent_ns / track->share;
            if (!asked[t] && !track->ended && spent < least) next = t, least = spent;
        }
        if (next == SIZE_MAX) return false;
        asked[next] = true;
        out->track = &tracks->at[next];
        if (setup->plan.strategy->ask(out->track->state, node, &out->question)) return true;
    }
}

struct rue_study_cell rue_study_find_cell(const struct rue_study_setup *setup, const struct rue_asked *asked)
{
    const struct rue_question *question = &asked->question;
    return (struct rue_study_cell){asked->track->first_variant + question->scenario / setup->model_count,
                                   question->scenario % setup->model_count, question->config};
}

/* The expected time of its trial. */
static uint64_t expected_ns(const struct rue_study_setup *setup, const struct rue_question *question)
{
    if (question->expected_s > 0) return (uint64_t)(question->expected_s * 1e9);
    if (rue_study_predicts(setup))
        return setup->goal.search.budget.time_ns / 10; /* the timeout of a probe is then the budget */
    return (uint64_t)(setup->plan.expected_s * 1e9 / (double)setup->plan.trials);
}

struct rue_flight rue_study_make_flight(const struct rue_study_setup *setup, const struct rue_asked *asked)
{
    const struct rue_question *question = &asked->question;
    struct rue_study_cell cell = rue_study_find_cell(setup, asked);
    bool joint = question->measure == RUE_JOINT;
    struct rue_flight flight = {
        .at = {.variant = cell.variant, .model = question->measure == RUE_LOAD ? RUE_NONE : cell.model},
        .request = {.measure = question->measure,
                    .config = setup->configs[cell.config],
                    .images = question->images,
                    .batches = question->batches},
        .expected_ns = expected_ns(setup, question)};
    if (rue_study_hello(setup)->whole_jobs || (joint && !question->images))
        flight.request.images = rue_study_trial_images(setup, cell.variant, &flight.request.config);
    flight.request.detail = joint && (!rue_study_predicts(setup) || setup->goal.search.checked);
    return flight;
}

void rue_study_mark_partial(struct rue_study *study, const char *why)
{
    const struct rue_study_ledger *ledger = &study->ledger;
    char all[48] = "";
    bool joint = false;
    for (size_t i = 0; i < ledger->row_count; i++) joint |= ledger->rows[i].trial.measure == RUE_JOINT;
    if (!rue_study_predicts(&study->setup)) snprintf(all, sizeof all, " of %zu", study->setup.plan.trials);
    study->outcome.partial = true;
    char *out = study->outcome.partial_reason;
    size_t bytes = sizeof study->outcome.partial_reason;
    if (ledger->answered)
        snprintf(out, bytes, "%s after %zu%s trial%s%s", why, ledger->answered, all,
                 ledger->answered == 1 && !all[0] ? "" : "s", joint ? "" : " of the loader or a model alone");
    else
        snprintf(out, bytes, "%s before the first trial", why);
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
    rue_status status = rue_study_check_data(result, error);
    if (status != RUE_OK) return status;
    if (question->measure == RUE_JOINT || track->failed_probe.outcome != RUE_TRIAL_OK) return RUE_OK;
    track->failed_probe = *result;
    rue_trial_result_drop_lists(&track->failed_probe);
    return RUE_OK;
}

rue_status rue_study_absorb(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            struct rue_tracks *tracks, struct rue_asked *asked,
                            const struct rue_flight *flight, rue_error *error)
{
    const struct rue_strategy_ops *strategy = setup->plan.strategy;
    const struct rue_trial_result *result = &flight->result;
    struct rue_track *track = asked->track;
    struct rue_question *question = &asked->question;
    struct rue_study_cell cell = rue_study_find_cell(setup, asked);
    struct rue_ledger_row *row = &ledger->rows[flight->row];
    question->stored = flight->stored;
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
