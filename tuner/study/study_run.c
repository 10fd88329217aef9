/* The study driver: ask the strategy, measure, tell, until it has nothing more to ask or the budget is spent.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "job_time.h"
#include "progress_words.h"
#include "same_failures.h"
#include "strategy.h"
#include "study.h"
#include "study_budget.h"
#include "study_changes.h"
#include "study_clock.h"
#include "study_costs.h"
#include "study_faults.h"
#include "study_lengths.h"
#include "study_look.h"
#include "study_measure.h"
#include "study_recording.h"
#include "study_replay.h"
#include "study_space.h"
#include "study_strategy.h"
#include "study_times.h"
#include "units.h"
#include "watch.h"

/* A strategy at work: on all scenarios, or, where it predicts, on those of one variant. */
struct track {
    void *state;
    size_t first_variant;
    double share; /* of the budget */
    uint64_t spent_ns;
    bool ended;
    enum rue_outcome probe_outcome; /* of the first probe that was not ok, and why */
    char probe_reason[RUE_REASON_BYTES];
};

struct tracks {
    size_t count;
    double weights[RUE_STUDY_VARIANTS_MAX * RUE_STUDY_MODELS_MAX]; /* of the scenarios */
    size_t baselines[RUE_BASELINES_MAX];                           /* columns of those that are looked at */
    struct track at[RUE_STUDY_VARIANTS_MAX];
    size_t done;                  /* trials that were told */
    struct rue_watch *watch;      /* NULL: the study is too short for one */
    struct rue_study_times times; /* that the matrices were told */
    /* Of a strategy that does not predict: */
    size_t config;     /* at work, or left out, */
    int repeat;        /* for this time */
    bool left_out;     /* it does not fit the budget: only what is stored of it counts */
    size_t own;        /* trials that were not stored, */
    double expected_s; /* and what they were expected to take */
    size_t skipped;
};

/* The cell of the study that a track's question is about. */
struct cell {
    size_t variant, model, config;
};

static struct cell cell_of(const struct rue_study *study, const struct track *track,
                           const struct rue_ask *ask)
{
    return (struct cell){track->first_variant + ask->scenario / study->model_count,
                         ask->scenario % study->model_count, ask->config};
}

/* What an ok trial says of what is minimised. */
static double cost_of(const struct rue_study *study, size_t variant, const struct rue_trial_result *result,
                      bool *predicted)
{
    const struct rue_study_variant *data = &study->variants[variant];
    return rue_goal_cost_ns(study->goal->minimise, result, data->job_images, data->workload.drop_last,
                            predicted);
}

/* Puts the answer where the rules will look for it. */
static rue_status record(struct rue_study *study, struct rue_study_times *times, struct cell cell,
                         const struct rue_ask *ask, const struct rue_trial_result *result, rue_error *error)
{
    struct rue_cost_matrix *matrix = study->matrices[cell.variant];
    if (result->outcome != RUE_TRIAL_OK) {
        rue_cost_matrix_miss(matrix, cell.model, cell.config, result->outcome, result->reason);
        return RUE_OK;
    }
    rue_status status = RUE_OK;
    if (result->first_batch_ns != RUE_ABSENT)
        status = rue_cost_matrix_add_first_batch(matrix, cell.model, cell.config,
                                                 (double)result->first_batch_ns, error);
    if (status != RUE_OK || rue_study_predicts(study)) return status; /* the rest is told at the end */
    bool predicted;
    double cost_ns = cost_of(study, cell.variant, result, &predicted);
    rue_study_note_line(study, cell.variant, cell.model, cell.config, result);
    if (!isfinite(cost_ns) || cost_ns <= 0) {
        char reason[RUE_REASON_BYTES];
        snprintf(reason, sizeof reason, "the trial was too short to tell %s",
                 rue_goal_words[study->goal->minimise]);
        rue_cost_matrix_miss(matrix, cell.model, cell.config, RUE_TRIAL_FAILED, reason);
        return RUE_OK;
    }
    status = rue_cost_matrix_add(matrix, cell.model, cell.config, cost_ns, predicted, error);
    size_t repeats = rue_cost_matrix_cell(matrix, cell.model, cell.config)->repeats;
    const struct rue_study_time time = {.ask = *ask,
                                        .variant = cell.variant,
                                        .model = cell.model,
                                        .config = cell.config,
                                        .repeat = repeats - 1,
                                        .cost_ns = cost_ns,
                                        .result = *result};
    return status == RUE_OK ? rue_study_times_add(times, study, &time, error) : status;
}

static void show_progress(struct rue_study *study, const struct track *track, size_t done, size_t made,
                          const struct rue_ask *ask, uint64_t run_start_ns)
{
    if (done > 1 && !rue_progress_due(study->progress)) return;
    char count[64], mode[64], model_name[RUE_MODEL_NAME_BYTES + 1], best[160], label[RUE_CONFIG_TEXT_BYTES];
    char time[RUE_UNIT_TEXT_BYTES], left[RUE_UNIT_TEXT_BYTES + 8];
    struct cell cell = cell_of(study, track, ask);
    rue_config_label(&study->configs[cell.config], label);
    if (rue_study_predicts(study))
        rue_progress_describe_claim(study, track->state, best, sizeof best);
    else
        rue_progress_describe_best(study, cell.variant, best, sizeof best);
    rue_progress_describe_count(study, done, made, count, sizeof count);
    double rest = rue_progress_rest_s(study, done, made, rue_study_spent_ns(study) - run_start_ns);
    const struct rue_variant *variant = &study->variants[cell.variant].variant;
    snprintf(mode, sizeof mode, "%.60s ", study->recording ? variant->path : rue_mode_names[variant->mode]);
    snprintf(model_name, sizeof model_name, "%s ", study->models[cell.model].name);
    snprintf(left, sizeof left, ", %s left", rue_format_duration((uint64_t)(rest * 1e9), time, sizeof time));
    const struct rue_progress_part parts[] = {{0, count}, {2, mode}, {1, model_name},
                                              {0, label}, {4, best}, {3, left}};
    rue_progress_show_parts(study->progress, parts, sizeof parts / sizeof *parts);
}

static uint64_t expected_ns(const struct rue_study *study, const struct rue_ask *ask)
{
    if (ask->expected_s > 0) return (uint64_t)(ask->expected_s * 1e9);
    if (rue_study_predicts(study))
        return study->goal->budget.time_ns / 10; /* a probe may take the budget at most */
    return (uint64_t)(study->expected_s * 1e9 / (double)study->trials);
}

static struct rue_trial_request request_of(const struct rue_study *study, struct cell cell,
                                           const struct rue_ask *ask)
{
    struct rue_trial_request request = {.measure = ask->measure,
                                        .config = study->configs[cell.config],
                                        .images = ask->images,
                                        .batches = ask->batches};
    bool joint = ask->measure == RUE_JOINT;
    if (rue_runner_hello(study->runner)->whole_jobs || (joint && !request.images))
        request.images = rue_study_trial_images(study, cell.variant, &request.config);
    request.detail = joint && !rue_study_predicts(study);
    return request;
}

/* The answer to a question: the `nth` in the store, or a new one. */
static rue_status answer(struct rue_study *study, struct cell cell, const struct rue_ask *ask, size_t nth,
                         struct rue_trial_result *result, rue_error *error)
{
    struct rue_trial_request request = request_of(study, cell, ask);
    return rue_study_measure(study, cell.variant, ask->measure == RUE_LOAD ? RUE_NONE : cell.model, &request,
                             nth, expected_ns(study, ask), result, error);
}

static void mark_partial(struct rue_study *study, const char *why, size_t done)
{
    study->partial = true;
    if (rue_study_predicts(study))
        snprintf(study->partial_reason, sizeof study->partial_reason, "%s after %zu trials", why, done);
    else
        snprintf(study->partial_reason, sizeof study->partial_reason, "%s after %zu of %zu trials", why, done,
                 study->trials);
}

/* The track that has spent least of its share, and its next question; NULL when none has one. */
static struct track *next_track(const struct rue_study *study, struct tracks *tracks, struct rue_ask *ask)
{
    for (;;) {
        struct track *next = NULL;
        for (size_t i = 0; i < tracks->count; i++) {
            struct track *track = &tracks->at[i];
            if (track->ended) continue;
            if (!next || (double)track->spent_ns / track->share < (double)next->spent_ns / next->share)
                next = track;
        }
        if (!next || study->strategy->ask(next->state, ask)) return next;
        next->ended = true;
    }
}

/* Tells the strategy, and counts what the trial cost, now or when it was made: so the tracks take turns
 * alike. */
static void tell(const struct rue_study *study, struct track *track, const struct rue_ask *ask,
                 const struct rue_trial_result *result)
{
    if (result->cost_ns > 0) track->spent_ns += (uint64_t)result->cost_ns;
    if (study->strategy->tell) study->strategy->tell(track->state, ask, result);
}

/* Whether a probe says something new of the costs: of the models only the last one of them does. */
static bool note_costs(struct rue_study *study, size_t variant, const struct rue_ask *ask,
                       const struct rue_trial_result *result)
{
    size_t model = ask->scenario % study->model_count;
    bool load = ask->measure == RUE_LOAD && !(study->one_worker_images_per_s[variant] > 0);
    bool compute = ask->measure == RUE_COMPUTE && !study->models[model].known &&
                   !(study->compute_s_per_image[model] > 0);
    if (load) rue_study_note_loader(study, variant, result);
    if (compute) rue_study_note_compute(study, model, result);
    for (size_t m = 0; m < study->model_count; m++)
        compute &= study->models[m].known || study->compute_s_per_image[m] > 0;
    return load || compute;
}

/* The first probes say whether the budget can hold a study. Of a probe that was not ok: damaged
 * data end the run at once, others are remembered, as there are more probes. */
static rue_status check_probe(struct rue_study *study, struct track *track, const struct rue_ask *ask,
                              const struct rue_trial_result *result, rue_error *error)
{
    bool ok = result->outcome == RUE_TRIAL_OK;
    if (ok && note_costs(study, track->first_variant, ask, result))
        return rue_study_check_smallest(study, study->variant_count, error);
    if (ask->measure == RUE_JOINT || ok) return RUE_OK;
    if (rue_study_is_data_fault(study, track->first_variant, result->outcome, result->reason))
        return rue_study_fail_probe(study, track->first_variant, result->outcome, result->reason, error);
    if (track->probe_outcome != RUE_TRIAL_OK) return RUE_OK;
    track->probe_outcome = result->outcome;
    snprintf(track->probe_reason, sizeof track->probe_reason, "%s", result->reason);
    return RUE_OK;
}

static bool is_spent(const struct rue_study *study)
{
    const struct rue_budget *budget = &study->goal->budget;
    return (budget->time_ns && rue_study_spent_ns(study) >= budget->time_ns) ||
           (budget->trials && study->made >= budget->trials);
}

/* Trials of which it is not sure whether they were made before or after a change of the machine. */
static rue_status measure_again(struct rue_study *study, struct rue_study_times *times, rue_error *error)
{
    struct rue_study_time *time;
    rue_status status = RUE_OK;
    while (status == RUE_OK && !is_spent(study) && (time = rue_study_times_again(times, study))) {
        struct rue_trial_result result;
        bool predicted;
        struct cell cell = {time->variant, time->model, time->config};
        status = rue_interrupt_status();
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        status = answer(study, cell, &time->ask, RUE_STUDY_ANEW, &result, error);
        if (status != RUE_OK) return status;
        double cost_ns =
            result.outcome == RUE_TRIAL_OK ? cost_of(study, cell.variant, &result, &predicted) : NAN;
        if (isfinite(cost_ns) && cost_ns > 0)
            status = rue_study_time_replace(study, time, cost_ns, &result, error);
        rue_trial_result_close(&result);
    }
    return status;
}

/* What has been told so far is corrected for a change of the machine. */
static rue_status take_change(struct rue_study *study, struct tracks *tracks,
                              const struct rue_speed_change *change, rue_error *error)
{
    for (size_t i = 0; study->strategy->shift && i < tracks->count; i++)
        study->strategy->shift(tracks->at[i].state, change->since, change->by);
    rue_status status = rue_study_times_shift(&tracks->times, study, error);
    return status == RUE_OK ? measure_again(study, &tracks->times, error) : status;
}

/* What all tracks need to recommend anything. */
static struct rue_watch_reserve reserve_of(const struct rue_study *study, const struct tracks *tracks)
{
    struct rue_watch_reserve sum = {0};
    for (size_t i = 0; study->strategy->reserve && i < tracks->count; i++) {
        struct rue_watch_reserve one = {0};
        study->strategy->reserve(tracks->at[i].state, &one.seconds, &one.trials);
        sum.seconds += one.seconds;
        sum.trials += one.trials;
    }
    return sum;
}

/* Looks after the machine when a trial has been made; what that costs is the track's. */
static rue_status look_after(struct rue_study *study, struct tracks *tracks, struct track *track,
                             const struct rue_watched *watched, const struct rue_trial_result *result,
                             rue_error *error)
{
    bool changed, recorded = rue_runner_hello(study->runner)->whole_jobs;
    struct rue_speed_change change;
    uint64_t before_ns = rue_study_spent_ns(study);
    size_t made = study->made;
    study->rows[study->row_count - 1].disturbed = !recorded && rue_watched_is_far(watched, result);
    if (!tracks->watch) return RUE_OK;
    rue_status status = rue_watch_note(tracks->watch, watched, result, error);
    if (status == RUE_OK)
        status = rue_watch_look(tracks->watch, reserve_of(study, tracks), &changed, &change, error);
    if (status == RUE_OK && changed) status = take_change(study, tracks, &change, error);
    uint64_t spent_ns = rue_study_spent_ns(study) - before_ns;
    track->spent_ns += spent_ns;
    if (study->strategy->spend)
        study->strategy->spend(track->state, (double)spent_ns / 1e9, study->made - made);
    return status;
}

/* Measures, and tells everybody. `nth`: which stored trial will do. */
static rue_status step(struct rue_study *study, struct tracks *tracks, struct track *track,
                       struct rue_ask *ask, size_t nth, struct rue_same_failures *failures, rue_error *error)
{
    struct cell cell = cell_of(study, track, ask);
    struct rue_watched watched = {.done = tracks->done,
                                  .variant = cell.variant,
                                  .model = cell.model,
                                  .config = cell.config,
                                  .measure = ask->measure};
    struct rue_trial_result result;
    if (study->strategy->expect &&
        !study->strategy->expect(track->state, ask, &watched.expected_s, &watched.expected_sd))
        watched.expected_s = 0;
    rue_status status = answer(study, cell, ask, nth, &result, error);
    if (status != RUE_OK) return status;
    ask->stored = study->was_stored;
    ask->trial = watched.trial = study->last_trial;
    if (ask->measure == RUE_JOINT) status = record(study, &tracks->times, cell, ask, &result, error);
    tell(study, track, ask, &result);
    tracks->done++;
    if (!ask->stored && !rue_study_predicts(study)) {
        tracks->own++;
        const struct rue_config *config = &study->configs[cell.config];
        uint64_t images = rue_study_trial_images(study, cell.variant, config);
        tracks->expected_s += rue_study_trial_s(study, cell.variant, cell.model, config, images);
    }
    if (status == RUE_OK) status = check_probe(study, track, ask, &result, error);
    if (status == RUE_OK && !ask->stored) status = rue_same_failures_count(failures, &result, error);
    if (status == RUE_OK && !ask->stored) status = look_after(study, tracks, track, &watched, &result, error);
    rue_trial_result_close(&result);
    return status;
}

/* What the strategy believes of the cells of its variant becomes the matrix's. */
static rue_status put_estimates(struct rue_study *study, const struct track *track, rue_error *error)
{
    size_t variant = track->first_variant;
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < study->model_count * study->config_count; i++) {
        struct rue_estimate estimate;
        size_t model = i / study->config_count, config = i % study->config_count;
        if (!study->strategy->estimate(track->state, model, config, &estimate)) continue;
        rue_cost_matrix_estimate_first_batch(study->matrices[variant], model, config,
                                             estimate.first_batch_s * 1e9);
        status = rue_cost_matrix_estimate(study->matrices[variant], model, config, estimate.time_s * 1e9,
                                          estimate.sd, estimate.trials, !estimate.full, error);
    }
    return status;
}

/* Whether a signal ended what a strategy was thinking. */
static rue_status check_thinking(struct rue_study *study, const struct tracks *tracks, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && study->strategy->status && i < tracks->count; i++)
        status = study->strategy->status(tracks->at[i].state, NULL);
    if (status != RUE_INTERRUPTED && status != RUE_TERMINATED) return RUE_OK; /* see check_end */
    mark_partial(study, "interrupted", tracks->done);
    return rue_fail(error, status, "interrupted");
}

/* Whether the configuration that the question begins fits what is left of the budget, if it costs as many
 * times what is expected of it as those before. The first one fits any number of trials. */
static bool fits(const struct rue_study *study, const struct tracks *tracks, size_t config, double spent_s)
{
    const struct rue_budget *budget = &study->goal->budget;
    size_t scenarios = study->variant_count * study->model_count;
    if (budget->trials)
        return tracks->own == 0 || tracks->own + scenarios <= rue_watch_spares(study, budget->trials);
    double pace = tracks->expected_s > 0 ? spent_s / tracks->expected_s : 1;
    return !budget->time_ns ||
           pace * rue_study_config_s(study, &study->configs[config]) <= rue_study_budget_left_s(study);
}

/* Whether the question is for the store alone, and that has no answer. */
static rue_status skip(struct rue_study *study, struct tracks *tracks, struct cell cell,
                       const struct rue_ask *ask, size_t nth, double spent_s, bool *out, rue_error *error)
{
    *out = false;
    if (rue_study_predicts(study)) return RUE_OK;
    if (tracks->config != ask->config || tracks->repeat != ask->repeat)
        tracks->left_out = !fits(study, tracks, ask->config, spent_s);
    tracks->config = ask->config;
    tracks->repeat = ask->repeat;
    if (!tracks->left_out && !is_spent(study)) return RUE_OK;
    struct rue_trial_request request = request_of(study, cell, ask);
    bool stored = false;
    rue_status status = RUE_OK;
    if (study->found_trials)
        status = rue_study_is_stored(study, cell.variant, cell.model, &request, nth, &stored, error);
    *out = !stored;
    tracks->skipped += !stored;
    return status;
}

static rue_status loop(struct rue_study *study, struct tracks *tracks, rue_error *error)
{
    struct rue_same_failures failures = {0};
    struct rue_ask ask;
    struct track *track;
    uint64_t run_start_ns = rue_study_spent_ns(study);
    while ((track = next_track(study, tracks, &ask))) {
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK) rue_fail(error, status, "interrupted");
        if (status == RUE_OK && rue_study_predicts(study) && is_spent(study)) {
            mark_partial(study, "the budget was spent", tracks->done);
            return RUE_OK;
        }
        size_t nth = study->stored_untold && ask.repeat > 0 ? RUE_STUDY_ANEW : (size_t)ask.repeat;
        double spent_s = (double)(rue_study_spent_ns(study) - run_start_ns) / 1e9;
        struct cell cell = cell_of(study, track, &ask);
        bool skipped = false;
        if (status == RUE_OK) status = skip(study, tracks, cell, &ask, nth, spent_s, &skipped, error);
        if (skipped) continue;
        if (status == RUE_OK) status = step(study, tracks, track, &ask, nth, &failures, error);
        if (status != RUE_OK) {
            mark_partial(study,
                         status == RUE_INTERRUPTED || status == RUE_TERMINATED ? "interrupted" : "stopped",
                         tracks->done);
            return status;
        }
        show_progress(study, track, tracks->done, study->made, &ask, run_start_ns);
    }
    if (tracks->skipped) mark_partial(study, "the budget was spent", tracks->done);
    return check_thinking(study, tracks, error);
}

/* Where a baseline is recommended in place of what the strategy has chosen, it is claimed of that. */
static rue_status claim_recommended(struct rue_study *study, const struct track *track, rue_error *error)
{
    size_t variant = track->first_variant;
    struct rue_claim *claim = &study->claims[variant];
    struct rue_selection *selection;
    struct rue_baseline_findings baselines;
    if (!study->claimed[variant]) return RUE_OK;
    rue_status status = rue_study_select(study, variant, &selection, &baselines, error);
    if (status != RUE_OK) return status;
    if (selection->recommended != claim->config && selection->recommended != RUE_NONE)
        study->claimed[variant] = study->strategy->claim(track->state, selection->recommended, claim);
    rue_selection_close(selection);
    return RUE_OK;
}

/* What the strategy believes and claims becomes the study's. */
static rue_status take_estimates(struct rue_study *study, const struct track *track, rue_error *error)
{
    size_t variant = track->first_variant;
    rue_status status = RUE_OK;
    study->claimed[variant] = study->strategy->claim(track->state, SIZE_MAX, &study->claims[variant]);
    if (!study->claimed[variant] && track->probe_outcome != RUE_TRIAL_OK)
        return rue_study_fail_probe(study, variant, track->probe_outcome, track->probe_reason, error);
    /* Where a limit leaves nothing to claim, what was expected says why. */
    bool stopped = rue_interrupt_status() != RUE_OK; /* which leaves estimates without a claim */
    if (!study->claimed[variant] && !study->goal->max_first_batch_ns && !stopped) return RUE_OK;
    if (study->strategy->learned)
        status = study->strategy->learned(track->state, &study->knowledge[variant], error);
    if (study->claimed[variant] && !study->claims[variant].verified && !study->partial)
        mark_partial(study, "the budget was spent", study->row_count);
    if (status == RUE_OK) status = put_estimates(study, track, error);
    return status == RUE_OK ? claim_recommended(study, track, error) : status;
}

/* What every scenario weighs; NULL where all do alike. */
static const double *weigh(const struct rue_study *study, double *weights)
{
    if (study->goal->rules.weight_count == 0) return NULL;
    for (size_t i = 0; i < study->variant_count * study->model_count; i++)
        weights[i] =
            rue_ranking_rules_weight(&study->goal->rules, study->models[i % study->model_count].name);
    return weights;
}

/* A strategy that ended because something failed says so. */
static rue_status check_end(const struct rue_study *study, const struct track *track, rue_error *error)
{
    rue_error why = {0};
    rue_status status = study->strategy->status ? study->strategy->status(track->state, &why) : RUE_OK;
    if (status != RUE_MEMORY && status != RUE_INTERNAL)
        return RUE_OK; /* trials that failed are told of elsewhere */
    return rue_fail(error, status, "the strategy %s gave up: %s", study->strategy->name, why.message);
}

/* Of the budget for one of `count` tracks: alike, but of a table's time each variant gets the share of its
 * own. */
static double share_of(const struct rue_study *study, size_t variant, size_t count)
{
    if (!study->recording || count == 1) return 1 / (double)count;
    return fmax(1e-9, rue_study_recording_s(study, variant) / rue_study_recording_s(study, RUE_NONE));
}

static rue_status open_tracks(struct rue_study *study, struct tracks *out, rue_error *error)
{
    bool predicts = rue_study_predicts(study);
    double left_s = study->goal->budget.time_ns ? study->expected_s : INFINITY;
    size_t count = predicts ? study->variant_count : 1, baseline_count = 0;
    for (size_t b = 0; b < study->baseline_count; b++)
        if (study->baselines[b].column != RUE_NONE)
            out->baselines[baseline_count++] = study->baselines[b].column;
    rue_status status = RUE_OK;
    for (size_t v = 0; status == RUE_OK && v < count; v++) {
        struct track *track = &out->at[out->count++]; /* to be closed also where what follows fails */
        track->first_variant = v;
        track->share = share_of(study, v, count);
        struct rue_strategy_setup setup = rue_study_strategy_setup(study, v);
        if (!predicts) setup.grid.scenario_count *= study->variant_count;
        setup.aim = (struct rue_setup_aim){.objective = study->goal->rules.objective,
                                           .weights = weigh(study, out->weights),
                                           .epsilon_ratio = study->goal->epsilon_ratio,
                                           .confidence = study->goal->confidence,
                                           .repeats = study->goal->repeats};
        setup.budget = (struct rue_setup_budget){left_s * track->share, study->goal->budget.trials / count};
        setup.job.first_batch_limit_s = (double)study->goal->max_first_batch_ns / 1e9;
        setup.known.baselines = out->baselines;
        setup.known.baseline_count = baseline_count;
        if (study->priors[v].used) setup.known.prior = &study->priors[v].prior;
        status = study->strategy->open(&setup, &track->state, error);
        if (status == RUE_OK && predicts) status = rue_study_tell_stored(study, v, track->state, error);
    }
    return status;
}

/* What a strategy has come to becomes the study's. */
static rue_status take_results(struct rue_study *study, const struct track *track, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t end = rue_study_predicts(study) ? track->first_variant + 1 : study->variant_count;
    if (rue_study_predicts(study)) status = take_estimates(study, track, error);
    for (size_t v = track->first_variant; status == RUE_OK && v < end; v++)
        status = rue_study_find_lengths(study, v, track->state, error);
    return status;
}

rue_status rue_study_run(struct rue_study *study, rue_error *error)
{
    struct tracks tracks = {.config = SIZE_MAX};
    rue_status status = open_tracks(study, &tracks, error);
    study->made = 0;
    if (status == RUE_OK) status = rue_watch_open(study, &tracks.watch, error);
    if (status == RUE_OK) status = loop(study, &tracks, error);
    bool usable = status == RUE_OK || study->partial;
    for (size_t i = 0; i < tracks.count; i++) {
        rue_error lost = {0};
        if (usable && take_results(study, &tracks.at[i], &lost) != RUE_OK && status == RUE_OK)
            status = rue_fail(error, lost.status, "%s", lost.message);
        if (status == RUE_OK) status = check_end(study, &tracks.at[i], error);
        study->strategy->close(tracks.at[i].state);
    }
    rue_study_times_mark(&tracks.times, study);
    if (rue_study_predicts(study)) rue_study_take_marks(study);
    rue_watch_conclude(tracks.watch);
    if (status == RUE_OK) status = rue_study_look_after(study, error);
    rue_watch_close(tracks.watch);
    rue_study_times_close(&tracks.times);
    return status;
}
