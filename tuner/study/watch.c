#include "watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "findings.h"
#include "probes.h"
#include "slowdown.h"
#include "study_costs.h"
#include "study_ledger.h"
#include "study_outcome.h"
#include "study_trials.h"

enum {
    LEAST_TRIALS = 10,
    LEAST_BUDGET = 50,
    CHECKS_MAX = 5,
    PENDING = 16,
    WORKERS = 4,
    ROUNDS = 3,
    USUAL_REFERENCES = 85,
    STORED_TRIALS_MAX = 1024,
    COMPUTE_REPEATS = 2 /* compute trials after a change */
};

static const double suspicion = 2;                  /* log likelihood ratio; by chance 1 in 7 */
static const double false_alarms = 0.05;            /* per study of USUAL_REFERENCES references, 500 trials */
static const double cost_share = 0.12;              /* of the time, for references */
static const double suspected_share = 0.25;         /* of the time, if a change is suspected */
static const double min_s = 0.1, trial_share = 0.3; /* length of a reference: 0.1 s, or 0.3 usual trials */
static const double equal_tolerance = 0.1;          /* smaller differences count as the same speed */

/* The reference of a variant. */
struct reference {
    bool chosen, failed;
    size_t model;
    struct rue_trial_request request;
    struct rue_reference_level baseline;
    double initial;          /* logarithm of its time at the initial speed; 0: unknown */
    bool anchored;           /* `initial` is final */
    double pending[PENDING]; /* [pending_count] logarithms of its times since a change is suspected */
    size_t pending_count;
};

struct rue_watch {
    const struct rue_study_setup *setup;
    struct rue_study_ledger *ledger;
    struct reference references[RUE_STUDY_VARIANTS_MAX];
    struct rue_slowdown slowdown; /* evidence from references */
    struct rue_causes *causes;    /* NULL on a virtual clock */
    size_t first_row;             /* of the ledger since the watch began */
    size_t trials_since;          /* trials since the last reference */
    double references_s;          /* without the first RUE_REFERENCE_VALUES_MIN of each variant */
    double last_s;                /* the last reference */
    double trials_s, trial_count;
};

/* ---- the reference ---- */

void rue_watch_choose_reference(const struct rue_study_setup *setup, size_t variant, size_t *model,
                                struct rue_trial_request *request)
{
    bool load = rue_study_hello(setup)->measures[RUE_LOAD];
    uint64_t job = setup->variants[variant].job_images;
    /* A small batch and a few workers. */
    size_t config = rue_probes_nearest(setup->configs, setup->config_count, 1, WORKERS);
    *model = load ? RUE_NONE : 0;
    *request =
        (struct rue_trial_request){.measure = load ? RUE_LOAD : RUE_JOINT, .config = setup->configs[config]};
    uint64_t batch = rue_trial_batch(&request->config);
    request->images = ROUNDS * rue_trial_loaders(&request->config) * batch;
    uint64_t most = job;
    if (!load &&
        !rue_study_predicts(setup)) { /* shorter than the study's trials, so it is never reused as one */
        uint64_t measured = rue_study_trial_images(setup, variant, &request->config);
        most = measured > batch ? measured - batch : 1;
    }
    if (request->images > most) request->images = most;
}

/* Recorded times cannot change. */
static bool is_recorded(const struct rue_study_setup *setup)
{
    return rue_study_hello(setup)->whole_jobs;
}

static bool is_long_enough(const struct rue_study_setup *setup)
{
    if (is_recorded(setup) || setup->goal.search.checked) return false;
    size_t cells = setup->variant_count * setup->model_count * setup->config_count;
    size_t most = setup->goal.search.budget.trials;
    if (most && most < LEAST_BUDGET) return false;
    return (rue_study_predicts(setup) ? cells : setup->plan.trials) >= LEAST_TRIALS;
}

bool rue_watch_plan(const struct rue_study_setup *setup, struct rue_watch_plan *out)
{
    if (!is_long_enough(setup)) return false;
    rue_watch_choose_reference(setup, 0, &out->model, &out->request);
    out->references = RUE_REFERENCE_VALUES_MIN * setup->variant_count + setup->plan.trials / RUE_WATCH_PERIOD;
    return true;
}

size_t rue_watch_strategy_trials(const struct rue_study_setup *setup, size_t trials)
{
    if (trials < LEAST_BUDGET || is_recorded(setup)) return trials;
    size_t begins = (RUE_REFERENCE_VALUES_MIN + 1) * setup->variant_count; /* the first may be too short */
    return (trials - begins) * RUE_WATCH_PERIOD / (RUE_WATCH_PERIOD + 1);
}

rue_status rue_watch_open(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          struct rue_watch **out, rue_error *error)
{
    *out = NULL;
    if (!is_long_enough(setup)) return RUE_OK;
    struct rue_watch *watch = calloc(1, sizeof *watch);
    if (!watch) return rue_fail_memory(error, "a watch", sizeof *watch);
    watch->setup = setup;
    watch->ledger = ledger;
    watch->slowdown = rue_slowdown_open(false_alarms, USUAL_REFERENCES);
    rue_status status = RUE_OK;
    if (!rue_study_hello(setup)->virtual_clock) status = rue_causes_open("", &watch->causes, error);
    if (status != RUE_OK) return rue_watch_close(watch, NULL), status;
    *out = watch;
    return RUE_OK;
}

void rue_watch_close(struct rue_watch *watch, char disturbance[RUE_CAUSES_BYTES])
{
    if (!watch) return;
    if (watch->causes && disturbance) rue_causes_summarise(watch->causes, disturbance);
    rue_causes_close(watch->causes);
    free(watch);
}

/* ---- references ---- */

static rue_status note_cause(struct rue_watch *watch, const struct rue_ledger_row *row, rue_error *error)
{
    const struct rue_trial_result *result = &row->trial.result;
    double cpu_s = result->end_to_end_ns > 0 ? result->cpu_ratio * (double)result->end_to_end_ns / 1e9 : NAN;
    return watch->causes ? rue_causes_record(watch->causes, row->trial.id, cpu_s, error) : RUE_OK;
}

/* `*value`: the logarithm of its seconds; NaN: it failed. */
static rue_status measure_reference(struct rue_watch *watch, size_t variant, struct reference *reference,
                                    double *value, rue_error *error)
{
    struct rue_trial_result result;
    *value = NAN;
    rue_status status = rue_study_measure(watch->setup, watch->ledger, variant, reference->model,
                                          &reference->request, RUE_STUDY_NEW_TRIAL, 0, &result, error);
    if (status != RUE_OK) return status;
    bool first = reference->baseline.count < RUE_REFERENCE_VALUES_MIN;
    if (result.cost_ns > 0) watch->last_s = (double)result.cost_ns / 1e9;
    if (!first) watch->references_s += watch->last_s;
    if (result.outcome == RUE_TRIAL_OK && result.end_to_end_ns > 0)
        *value = log((double)result.end_to_end_ns / 1e9);
    rue_trial_result_close(&result);
    return note_cause(watch, &watch->ledger->rows[watch->ledger->last_row], error);
}

/* A very short reference is too noisy: it is made longer before the first one counts. */
static bool lengthen_reference(const struct rue_watch *watch, size_t variant, struct reference *reference,
                               double value)
{
    uint64_t job = watch->setup->variants[variant].job_images;
    double mean_s = watch->trials_s / watch->trial_count, target_s = fmin(min_s, trial_share * mean_s);
    if (reference->baseline.count > 0 || reference->model != RUE_NONE || !(target_s > 1.5 * exp(value)) ||
        reference->request.images >= job)
        return false;
    reference->request.images =
        (uint64_t)fmin((double)job, ceil((double)reference->request.images * target_s / exp(value)));
    return true;
}

static void judge_reference(struct rue_watch *watch, struct reference *reference, double value)
{
    double error, mean, sd;
    struct rue_ledger_row *row = &watch->ledger->rows[watch->ledger->last_row];
    row->reference = true;
    if (!reference->anchored && rue_reference_level_predict(&reference->baseline, &mean, &sd))
        reference->initial = mean - rue_speed_history_at(&watch->ledger->speeds, SIZE_MAX).load;
    bool known = rue_reference_level_error(&reference->baseline, value, &error, &sd);
    if (known) rue_slowdown_observe(&watch->slowdown, row->trial.id, error, sd);
    if (rue_slowdown_evidence(&watch->slowdown, NULL) < suspicion) {
        rue_reference_level_add(&reference->baseline, value);
        reference->pending_count = 0;
        return;
    }
    rue_reference_level_add_scatter(&reference->baseline, value);
    if (reference->pending_count < PENDING) reference->pending[reference->pending_count++] = value;
}

/* Stored rows that may be references. */
struct stored {
    const struct rue_trial_request *reference;
    size_t count;
    struct stored_trial {
        uint64_t id, images;
        double log_s;
    } at[STORED_TRIALS_MAX];
};

/* Load-only references may have been made longer; joint ones keep their length. */
static rue_status add_stored_trial(void *context, uint64_t id, const struct rue_trial_result *result,
                                   rue_error *error)
{
    struct stored *stored = context;
    (void)error;
    uint64_t images = result->images > 0 ? (uint64_t)result->images : 0;
    bool good =
        result->outcome == RUE_TRIAL_OK && result->end_to_end_ns > 0 && stored->count < STORED_TRIALS_MAX;
    if (good && (stored->reference->measure == RUE_LOAD || images == stored->reference->images))
        stored->at[stored->count++] =
            (struct stored_trial){id, images, log((double)result->end_to_end_ns / 1e9)};
    return RUE_OK;
}

/* References have the most frequent length, that of `*most` trials. */
static uint64_t most_frequent(const struct stored *stored, size_t *most)
{
    uint64_t images = 0;
    for (size_t i = *most = 0; i < stored->count; i++) {
        size_t count = 0;
        for (size_t j = 0; j < stored->count; j++) count += stored->at[j].images == stored->at[i].images;
        if (count >= *most) *most = count, images = stored->at[i].images;
    }
    return images;
}

/* Continues with the references of earlier runs: copies their length, and adds their times, converted to the
 * current speed, to the baseline. So a change of the machine between two runs is detected too. */
static rue_status find_earlier_references(const struct rue_study_setup *setup,
                                          struct rue_study_ledger *ledger, size_t variant,
                                          struct reference *reference, rue_error *error)
{
    struct rue_trial_request request = reference->request;
    struct stored *stored = calloc(1, sizeof *stored);
    if (!stored) return rue_fail_memory(error, "references", sizeof *stored);
    stored->reference = &reference->request;
    rue_status status = rue_study_visit_stored(setup, ledger, variant, reference->model, &request,
                                               add_stored_trial, stored, error);
    size_t most;
    uint64_t images = most_frequent(stored, &most);
    bool known = status == RUE_OK && most >= RUE_REFERENCE_VALUES_MIN;
    if (known) reference->request.images = images;
    double load_now = rue_speed_history_at(&ledger->speeds, SIZE_MAX).load;
    for (size_t i = 0; known && i < stored->count; i++) {
        const struct stored_trial *row = &stored->at[i];
        double load_then = rue_speed_history_at(&ledger->speeds, row->id).load;
        if (row->images == images)
            rue_reference_level_add(&reference->baseline, row->log_s - load_then + load_now);
    }
    free(stored);
    return status;
}

static rue_status run_reference(struct rue_watch *watch, size_t variant, rue_error *error)
{
    struct reference *reference = &watch->references[variant];
    double value;
    rue_status status = RUE_OK;
    if (!reference->chosen) {
        rue_watch_choose_reference(watch->setup, variant, &reference->model, &reference->request);
        status = find_earlier_references(watch->setup, watch->ledger, variant, reference, error);
    }
    reference->chosen = true;
    if (status == RUE_OK) status = measure_reference(watch, variant, reference, &value, error);
    watch->trials_since = 0;
    if (status != RUE_OK) return status;
    if (isnan(value))
        reference->failed = true;
    else if (!lengthen_reference(watch, variant, reference, value))
        judge_reference(watch, reference, value);
    return RUE_OK;
}

static bool is_due(const struct rue_watch *watch, size_t variant, struct rue_watch_reserve reserve)
{
    const struct rue_study_setup *setup = watch->setup;
    const struct reference *reference = &watch->references[variant];
    const struct rue_budget *budget = &setup->goal.search.budget;
    if (reference->failed || rue_slowdown_is_detected(&watch->slowdown) ||
        watch->ledger->speeds.count == RUE_SPEED_CHANGES_MAX)
        return false;
    double spent_s = (double)rue_study_spent_ns(setup, watch->ledger) / 1e9;
    if (budget->time_ns && spent_s + reserve.seconds + watch->last_s >= (double)budget->time_ns / 1e9)
        return false;
    size_t reserved = rue_study_hello(setup)->measures[RUE_COMPUTE] ? COMPUTE_REPEATS : 0;
    if (budget->trials && watch->ledger->run_trials + reserved + reserve.trials >= budget->trials)
        return false;
    size_t begun = reference->baseline.count;
    if (begun < RUE_REFERENCE_VALUES_MIN)
        return begun || rue_study_predicts(setup) ||
               setup->plan.trials >= watch->ledger->answered + LEAST_TRIALS;
    if (rue_slowdown_evidence(&watch->slowdown, NULL) >= suspicion)
        return watch->references_s <= suspected_share * watch->trials_s;
    return watch->trials_since >= RUE_WATCH_PERIOD && watch->references_s <= cost_share * watch->trials_s;
}

/* ---- a change ---- */

/* The trial in [first, end] since which the trials fit the change best; the middle of equally good ones. */
static size_t locate_change(const struct rue_study_ledger *ledger, size_t first, size_t end, double shift)
{
    double best = -INFINITY;
    size_t from = end, to = end;
    for (size_t at = first; at <= end; at++) {
        double sum = 0;
        for (size_t i = ledger->row_count; i > 0 && ledger->rows[i - 1].trial.id >= at; i--) {
            const struct rue_ledger_row *row = &ledger->rows[i - 1];
            if (row->trial.id < end && row->error_sd > 0)
                sum += rue_slowdown_log_likelihood_ratio(row->error, row->error_sd, shift);
        }
        if (sum > best + 1e-9) best = sum, from = at;
        if (sum >= best - 1e-9) to = at;
    }
    return from + (to - from) / 2;
}

/* The first usable compute trial, and its seconds per batch at the initial speed. */
static const struct rue_ledger_row *find_computing(const struct rue_study_ledger *ledger, double *batch_s)
{
    for (size_t i = 0; i < ledger->row_count; i++) {
        const struct rue_trial_row *trial = &ledger->rows[i].trial;
        const struct rue_trial_result *result = &trial->result;
        if (trial->request.measure != RUE_COMPUTE || result->outcome != RUE_TRIAL_OK) continue;
        if (result->compute_ns <= 0 || result->batches <= 0) continue;
        *batch_s = (double)result->compute_ns / 1e9 / (double)result->batches /
                   exp(rue_speed_history_at(&ledger->speeds, trial->id).compute);
        return &ledger->rows[i];
    }
    return NULL;
}

/* Repeats the first compute trial to find how much slower computing has become, as a logarithm. Models that
 * sleep do not change. Without a compute trial, computing is assumed to change as loading does. */
static rue_status measure_computing(struct rue_watch *watch, bool by_loader, double load, double *out,
                                    rue_error *error)
{
    double least = INFINITY, before = 0;
    const struct rue_ledger_row *row = find_computing(watch->ledger, &before);
    rue_status status = RUE_OK;
    *out = by_loader && watch->setup->models[0].known ? 0 : load;
    if (!row) return RUE_OK;
    size_t variant = row->variant, model = row->model; /* rows move */
    struct rue_trial_request request = {.measure = RUE_COMPUTE,
                                        .config = row->trial.result.config,
                                        .batches = (uint64_t)row->trial.result.batches};
    for (int i = 0; i < COMPUTE_REPEATS; i++) {
        struct rue_trial_result result;
        status = rue_study_measure(watch->setup, watch->ledger, variant, model, &request, RUE_STUDY_NEW_TRIAL,
                                   0, &result, error);
        if (status != RUE_OK) return status;
        if (result.outcome == RUE_TRIAL_OK && result.compute_ns > 0 && result.batches > 0)
            least = fmin(least, (double)result.compute_ns / 1e9 / (double)result.batches);
        rue_trial_result_close(&result);
    }
    if (!isfinite(least)) return RUE_OK;
    *out = log(least / before) - rue_speed_history_at(&watch->ledger->speeds, SIZE_MAX).compute;
    if (fabs(*out - load) < equal_tolerance) *out = load;
    return RUE_OK;
}

/* The row of the last reference with the expected time before that trial: the change is later. */
static size_t last_good_reference(const struct rue_watch *watch, size_t trial)
{
    size_t at = watch->ledger->row_count - 1;
    while (at > watch->first_row &&
           !(watch->ledger->rows[at].reference && watch->ledger->rows[at].trial.id < trial))
        at--;
    return at;
}

static rue_status make_notice(struct rue_watch *watch, struct rue_notice *notice, rue_error *error)
{
    char text[RUE_NOTICE_TEXT_BYTES];
    if (watch->causes) rue_causes_explain(watch->causes, notice->uncertain, notice->cause);
    size_t used = strlen(notice->cause);
    if (notice->compute_ratio > 1 && watch->setup->models[0].known &&
        watch->setup->models[0].profile.consumer == RUE_CONSUMER_SLEEP)
        snprintf(notice->cause + used, sizeof notice->cause - used, "%ssleeping models woke late",
                 used ? ", " : "");
    rue_notice_text(notice, text, sizeof text);
    rue_progress_note(watch->setup->progress, "%s", text);
    return rue_study_note_change(watch->setup, watch->ledger, notice, error);
}

/* The earlier level of loading or computing that equals `level` within the noise; without one, `level`. */
static double snap_level(const struct rue_speed_history *history, bool computing, double level)
{
    double nearest = 0;
    for (size_t i = 0; i < history->count; i++) {
        struct rue_speed speed = rue_speed_history_at(history, history->at[i].since);
        double earlier = computing ? speed.compute : speed.load;
        if (fabs(earlier - level) < fabs(nearest - level)) nearest = earlier;
    }
    return fabs(nearest - level) < equal_tolerance ? nearest : level;
}

/* The times of references since the change become their baseline. The next change is still measured against
 * the initial speed, because errors from change to change would add up. */
static void restart_watch(struct rue_watch *watch)
{
    for (size_t v = 0; v < watch->setup->variant_count; v++) {
        struct reference *reference = &watch->references[v];
        rue_reference_level_reset(&reference->baseline);
        reference->anchored |= reference->initial != 0;
        for (size_t i = 0; i < reference->pending_count; i++)
            rue_reference_level_add(&reference->baseline, reference->pending[i]);
        reference->pending_count = 0;
    }
    rue_slowdown_reset(&watch->slowdown);
}

/* `*changed`: the speed differs from the last one. */
static rue_status conclude_change(struct rue_watch *watch, bool *changed, struct rue_speed_change *out,
                                  rue_error *error)
{
    struct rue_study_ledger *ledger = watch->ledger;
    struct reference *reference = &watch->references[0];
    struct rue_notice notice = {.noticed = ledger->rows[ledger->last_row].trial.id};
    struct rue_speed now = rue_speed_history_at(&ledger->speeds, SIZE_MAX);
    for (size_t v = 1; v < watch->setup->variant_count; v++)
        if (watch->references[v].pending_count > reference->pending_count) reference = &watch->references[v];
    rue_slowdown_evidence(&watch->slowdown, &notice.uncertain_end);
    size_t good = last_good_reference(watch, notice.uncertain_end);
    notice.uncertain = ledger->rows[good].trial.id + ledger->rows[good].reference;
    double level = rue_median(reference->pending, reference->pending_count) - reference->initial;
    double load_log = snap_level(&ledger->speeds, false, level) - now.load, compute_log;
    *changed = load_log != 0;
    if (!*changed) return restart_watch(watch), RUE_OK;
    notice.trial = locate_change(ledger, notice.uncertain, notice.uncertain_end, load_log);
    rue_status status = measure_computing(watch, reference->model == RUE_NONE, load_log, &compute_log, error);
    compute_log = snap_level(&ledger->speeds, true, now.compute + compute_log) - now.compute;
    notice.load_ratio = exp(load_log);
    notice.compute_ratio = exp(compute_log);
    if (status == RUE_OK) status = make_notice(watch, &notice, error);
    if (status != RUE_OK) return status;
    *out = (struct rue_speed_change){notice.trial, {load_log, compute_log}};
    return restart_watch(watch), RUE_OK;
}

rue_status rue_watch_check(struct rue_watch *watch, struct rue_watch_reserve reserve, bool *changed,
                           struct rue_speed_change *change, rue_error *error)
{
    const struct rue_ledger_row *row = &watch->ledger->rows[watch->ledger->last_row];
    size_t variant = row->variant;
    *changed = false;
    if (watch->trial_count++ == 0) watch->first_row = watch->ledger->last_row;
    watch->trials_since++;
    if (row->trial.result.cost_ns > 0) watch->trials_s += (double)row->trial.result.cost_ns / 1e9;
    rue_status status = note_cause(watch, row, error);
    for (int i = 0; status == RUE_OK && i < CHECKS_MAX && is_due(watch, variant, reserve); i++)
        status = run_reference(watch, variant, error);
    if (status != RUE_OK || !rue_slowdown_is_detected(&watch->slowdown)) return status;
    return conclude_change(watch, changed, change, error);
}
