#include "watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "baseline.h"
#include "causes.h"
#include "disturbance.h"
#include "notice.h"
#include "probes.h"
#include "slowdown.h"
#include "sort.h"
#include "study_costs.h"
#include "study_ledger.h"
#include "study_outcome.h"
#include "study_trials.h"
#include "trial_shape.h"

enum {
    LEAST_TRIALS = 10,
    LEAST_BUDGET = 50,
    LOOKS = 5,
    PENDING = 16,
    ERRORS = 64,
    GOODS = 32,
    WORKERS = 4,
    ROUNDS = 3,
    MANY = 85,
    SEEN_MAX = 1024,
    ASKED = 2 /* times, how fast computing is, when a change is sure */
};

static const double suspicion = 3;          /* a logarithm of a likelihood ratio: one in twenty by chance */
static const double false_alarms = 0.05;    /* of a study of MANY references, 500 trials */
static const double cost_share = 0.12;      /* of the time, for references */
static const double suspected_share = 0.25; /* of it, where a change is suspected */
static const double least_s = 0.1, trial_share = 0.3; /* a reference takes that, or that of a usual trial */
static const double prediction_spread = 1.5; /* predictions are surer of themselves than they should be */
static const double repeat_sd = 0.06;        /* of the logarithms of two trials of a cell */
static const double computing_sd = 0.05;     /* what two compute trials differ by without a reason */
static const double alike = 0.08;            /* loading and computing are slower by the same */

/* The reference of a variant. */
struct reference {
    bool chosen, dead; /* dead: it does not run */
    size_t model;
    struct rue_trial_request request;
    struct rue_baseline baseline;
    double pending[PENDING]; /* [pending_count] logarithms of its times since suspicion */
    size_t pending_count;
};

/* How far off a trial was that the strategy expected. */
struct error_of {
    size_t trial;
    double error, sd;
};

/* When a reference was as expected. */
struct good {
    size_t trial; /* the first after it */
    size_t rows;  /* of the study */
};

struct rue_watch {
    struct rue_study *study;
    struct reference references[RUE_STUDY_VARIANTS_MAX];
    struct rue_slowdown sure, own; /* told by references, by the trials themselves */
    struct rue_causes *causes;     /* NULL on a virtual clock */
    double *times;                 /* [variants][models][configs] logarithm of the last; NaN: none */
    struct error_of errors[ERRORS];
    size_t error_count;
    struct rue_watched last;  /* noted */
    size_t fresh;             /* trials since the last reference */
    struct good goods[GOODS]; /* the last of good_count; the first is the beginning */
    size_t good_count;
    double references_s; /* beyond the first of all */
    double last_s;       /* the last reference */
    double trials_s, trial_count;
    struct rue_trial_request computing; /* the first compute trial, and its time for a batch before any
                                           change */
    size_t computing_variant, computing_model;
    double computing_s;
};

/* ---- what a reference is ---- */

static void choose(const struct rue_study_setup *setup, size_t variant, size_t *model,
                   struct rue_trial_request *request)
{
    bool load = rue_study_hello(setup)->measures[RUE_LOAD];
    uint64_t job = setup->variants[variant].job_images;
    /* A small batch, a few workers. */
    size_t config = rue_probes_nearest(setup->configs, setup->config_count, 1, WORKERS, NULL);
    *model = load ? RUE_NONE : 0;
    *request =
        (struct rue_trial_request){.measure = load ? RUE_LOAD : RUE_JOINT, .config = setup->configs[config]};
    uint64_t batch = rue_trial_batch(&request->config);
    request->images = ROUNDS * rue_trial_loaders(&request->config) * batch;
    uint64_t most = job;
    if (!load && !rue_study_predicts(setup)) { /* shorter than what is measured: it is never taken for that */
        uint64_t measured = rue_study_trial_images(setup, variant, &request->config);
        most = measured > batch ? measured - batch : 1;
    }
    if (request->images > most) request->images = most;
}

/* Recorded times do not change any more. */
static bool is_recorded(const struct rue_study_setup *setup)
{
    return rue_study_hello(setup)->whole_jobs;
}

static bool is_long(const struct rue_study_setup *setup)
{
    if (is_recorded(setup)) return false;
    size_t cells = setup->variant_count * setup->model_count * setup->config_count;
    size_t most = setup->goal.search.budget.trials;
    if (most && most < LEAST_BUDGET) return false;
    return (rue_study_predicts(setup) ? cells : setup->plan.trials) >= LEAST_TRIALS;
}

bool rue_watch_plan(const struct rue_study_setup *setup, struct rue_watch_plan *out)
{
    if (!is_long(setup)) return false;
    choose(setup, 0, &out->model, &out->request);
    out->references = RUE_BASELINE_LEAST * setup->variant_count + setup->plan.trials / RUE_WATCH_PERIOD;
    return true;
}

size_t rue_watch_spares(const struct rue_study_setup *setup, size_t trials)
{
    if (trials < LEAST_BUDGET || is_recorded(setup)) return trials;
    size_t begins = (RUE_BASELINE_LEAST + 1) * setup->variant_count; /* one of them may be too short */
    return (trials - begins) * RUE_WATCH_PERIOD / (RUE_WATCH_PERIOD + 1);
}

void rue_watch_close(struct rue_watch *watch)
{
    if (!watch) return;
    rue_causes_close(watch->causes);
    free(watch->times);
    free(watch);
}

static struct rue_speed speed_now(const struct rue_study_ledger *ledger)
{
    return rue_speed_history_at(&ledger->speeds, SIZE_MAX);
}

static void note_computing(struct rue_watch *watch, const struct rue_watched *watched,
                           const struct rue_trial_result *result)
{
    if (watch->computing_s > 0 || result->compute_ns <= 0 || result->batches <= 0) return;
    watch->computing_s = (double)result->compute_ns / 1e9 / (double)result->batches /
                         exp(speed_now(&watch->study->ledger).compute);
    watch->computing = (struct rue_trial_request){
        .measure = RUE_COMPUTE, .config = result->config, .batches = (uint64_t)result->batches};
    watch->computing_variant = watched->variant;
    watch->computing_model = watched->model;
}

/* Compute trials that were made for the plan do for a comparison. */
static void take_probes(struct rue_watch *watch)
{
    const struct rue_study *study = watch->study;
    for (size_t i = 0; study->ledger.reused == 0 && i < study->ledger.probe_rows; i++) {
        const struct rue_trial_row *row = &study->ledger.rows[i].trial;
        struct rue_watched watched = {.measure = row->request.measure};
        while (watched.model + 1 < study->setup.model_count &&
               strcmp(study->setup.models[watched.model].name, row->request.model) != 0)
            watched.model++;
        if (row->request.measure == RUE_COMPUTE && row->result.outcome == RUE_TRIAL_OK)
            note_computing(watch, &watched, &row->result);
    }
}

rue_status rue_watch_open(struct rue_study *study, struct rue_watch **out, rue_error *error)
{
    *out = NULL;
    if (!is_long(&study->setup)) return RUE_OK;
    struct rue_watch *watch = calloc(1, sizeof *watch);
    if (!watch) return rue_fail_memory(error, "a watch", sizeof *watch);
    size_t cells = study->setup.variant_count * study->setup.model_count * study->setup.config_count;
    watch->study = study;
    watch->sure = rue_slowdown_open(false_alarms, MANY);
    watch->own = rue_slowdown_open(false_alarms, MANY);
    watch->times = calloc(cells, sizeof *watch->times);
    rue_status status = watch->times ? RUE_OK : rue_fail_memory(error, "times", cells * sizeof(double));
    for (size_t i = 0; status == RUE_OK && i < cells; i++) watch->times[i] = NAN;
    if (status == RUE_OK && !rue_study_hello(&study->setup)->virtual_clock)
        status = rue_causes_open("", &watch->causes, error);
    if (status != RUE_OK) return rue_watch_close(watch), status;
    take_probes(watch);
    *out = watch;
    return RUE_OK;
}

/* ---- trials ---- */

static void note_error(struct rue_watch *watch, size_t trial, double error, double sd)
{
    watch->errors[watch->error_count++ % ERRORS] = (struct error_of){trial, error, sd};
    rue_slowdown_tell(&watch->own, trial, error, sd);
}

/* Of an ok joint trial; false where nothing was expected of it. */
static bool find_error(const struct rue_watched *watched, const struct rue_trial_result *result,
                       double *error, double *sd)
{
    if (!(watched->expected_s > 0)) return false;
    *error = log((double)result->end_to_end_ns / 1e9) - log(watched->expected_s);
    *sd = prediction_spread * watched->expected_sd;
    return true;
}

static bool is_joint(const struct rue_watched *watched, const struct rue_trial_result *result)
{
    return result->outcome == RUE_TRIAL_OK && watched->measure == RUE_JOINT && result->end_to_end_ns > 0;
}

bool rue_watched_is_far(const struct rue_watched *watched, const struct rue_trial_result *result)
{
    double error, sd;
    return is_joint(watched, result) && find_error(watched, result, &error, &sd) &&
           rue_disturbance_is_likely(error, sd);
}

static void note_joint(struct rue_watch *watch, const struct rue_watched *watched,
                       const struct rue_trial_result *result)
{
    const struct rue_study *study = watch->study;
    double time = log((double)result->end_to_end_ns / 1e9), load = speed_now(&study->ledger).load;
    double *before = &watch->times[(watched->variant * study->setup.model_count + watched->model) *
                                       study->setup.config_count +
                                   watched->config];
    double error, sd;
    if (find_error(watched, result, &error, &sd))
        note_error(watch, watched->trial, error, sd);
    else if (!rue_study_predicts(&study->setup) && !isnan(*before))
        note_error(watch, watched->trial, time - *before - load, repeat_sd);
    *before = time - load;
}

static double cpu_s(const struct rue_trial_result *result)
{
    return result->end_to_end_ns > 0 ? result->cpu_ratio * (double)result->end_to_end_ns / 1e9 : NAN;
}

rue_status rue_watch_note(struct rue_watch *watch, const struct rue_watched *watched,
                          const struct rue_trial_result *result, rue_error *error)
{
    if (watch->trial_count == 0)
        watch->goods[watch->good_count++] = (struct good){watched->trial, watch->study->ledger.row_count - 1};
    watch->last = *watched;
    watch->fresh++;
    if (result->cost_ns > 0) watch->trials_s += (double)result->cost_ns / 1e9;
    watch->trial_count++;
    bool ok = result->outcome == RUE_TRIAL_OK;
    if (is_joint(watched, result)) note_joint(watch, watched, result);
    if (ok && watched->measure == RUE_COMPUTE) note_computing(watch, watched, result);
    return watch->causes ? rue_causes_note(watch->causes, watched->trial, cpu_s(result), error) : RUE_OK;
}

/* ---- references ---- */

/* RUE_OK with `*value`, the logarithm of its seconds, or with NaN where it does not run. */
static rue_status measure(struct rue_watch *watch, size_t variant, struct reference *reference, double *value,
                          rue_error *error)
{
    struct rue_trial_result result;
    *value = NAN;
    rue_status status =
        rue_study_measure(&watch->study->setup, &watch->study->ledger, variant, reference->model,
                          &reference->request, RUE_STUDY_ANEW, 0, &result, error);
    if (status != RUE_OK) return status;
    bool first = reference->baseline.count < RUE_BASELINE_LEAST;
    if (result.cost_ns > 0) watch->last_s = (double)result.cost_ns / 1e9;
    if (!first) watch->references_s += watch->last_s;
    if (result.outcome == RUE_TRIAL_OK && result.end_to_end_ns > 0)
        *value = log((double)result.end_to_end_ns / 1e9);
    if (watch->causes) status = rue_causes_note(watch->causes, watch->last.trial, cpu_s(&result), error);
    rue_trial_result_close(&result);
    return status;
}

/* A reference that is over in no time says little: a longer one takes its place before the first counts. */
static bool lengthen(const struct rue_watch *watch, size_t variant, struct reference *reference, double value)
{
    uint64_t job = watch->study->setup.variants[variant].job_images;
    double usual_s = watch->trials_s / watch->trial_count, wanted_s = fmin(least_s, trial_share * usual_s);
    if (reference->baseline.count > 0 || reference->model != RUE_NONE || !(wanted_s > 1.5 * exp(value)) ||
        reference->request.images >= job)
        return false;
    reference->request.images =
        (uint64_t)fmin((double)job, ceil((double)reference->request.images * wanted_s / exp(value)));
    return true;
}

static void set_good(struct rue_watch *watch)
{
    watch->goods[watch->good_count++ % GOODS] =
        (struct good){watch->last.trial + 1, watch->study->ledger.row_count};
}

/* The last before that trial: those behind it were taken for good while a change was not suspected yet. */
static struct good good_before(const struct rue_watch *watch, size_t trial)
{
    size_t oldest = watch->good_count > GOODS ? watch->good_count - GOODS : 0, at = watch->good_count - 1;
    while (at > oldest && watch->goods[at % GOODS].trial >= trial) at--;
    return watch->goods[at % GOODS];
}

static void judge(struct rue_watch *watch, struct reference *reference, double value)
{
    double error, sd;
    if (!rue_baseline_error(&reference->baseline, value, &error, &sd)) {
        rue_baseline_add(&reference->baseline, value);
        set_good(watch);
        return;
    }
    rue_slowdown_tell(&watch->sure, watch->last.trial + 1, error, sd);
    if (rue_slowdown_evidence(&watch->sure, NULL) >= suspicion) {
        rue_baseline_scatter(&reference->baseline, value);
        if (reference->pending_count < PENDING) reference->pending[reference->pending_count++] = value;
        return;
    }
    rue_baseline_add(&reference->baseline, value);
    rue_slowdown_forget(&watch->own);
    reference->pending_count = 0;
    set_good(watch);
}

/* Rows of the store that may be references. */
struct seen {
    size_t count;
    struct row {
        uint64_t id, images;
        double log_s;
    } at[SEEN_MAX];
};

/* Load-only references are made longer where they take no time; joint ones are as they are. */
static rue_status look_up_seen(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               size_t variant, size_t model, const struct rue_trial_request *like,
                               struct seen *seen, rue_error *error)
{
    uint64_t after = 0;
    while (seen->count < SEEN_MAX) {
        struct rue_trial_request request = *like;
        struct rue_trial_result result;
        struct row row;
        uint64_t started_ns;
        bool found;
        rue_status status = rue_study_look_up(setup, ledger, variant, model, &request,
                                              (struct rue_store_pick){.after = after}, &found, &row.id,
                                              &started_ns, &result, error);
        if (status != RUE_OK || !found) return status;
        after = row.id;
        row.images = result.images > 0 ? (uint64_t)result.images : 0;
        row.log_s = log((double)result.end_to_end_ns / 1e9);
        bool good = result.outcome == RUE_TRIAL_OK && result.end_to_end_ns > 0;
        if (good && (like->measure == RUE_LOAD || row.images == like->images)) seen->at[seen->count++] = row;
        rue_trial_result_close(&result);
    }
    return RUE_OK;
}

static size_t count_of(const struct seen *seen, uint64_t images)
{
    size_t count = 0;
    for (size_t i = 0; i < seen->count; i++) count += seen->at[i].images == images;
    return count;
}

/* Nothing is repeated as often as a reference. */
static uint64_t most_frequent(const struct seen *seen)
{
    uint64_t images = 0;
    for (size_t i = 0; i < seen->count; i++)
        if (count_of(seen, seen->at[i].images) >= count_of(seen, images)) images = seen->at[i].images;
    return images;
}

/* Makes the request of a reference that is to be begun the one that earlier runs made there, and adds what it
 * took, at the speed of now, to its baseline: a machine that has changed between two runs is noticed as one
 * that changes in a run. */
static rue_status find_earlier_references(const struct rue_study_setup *setup,
                                          struct rue_study_ledger *ledger, size_t variant, size_t model,
                                          struct rue_trial_request *request, struct rue_baseline *baseline,
                                          rue_error *error)
{
    struct seen *seen = calloc(1, sizeof *seen);
    if (!seen) return rue_fail_memory(error, "references", sizeof *seen);
    rue_status status = look_up_seen(setup, ledger, variant, model, request, seen, error);
    uint64_t images = most_frequent(seen);
    bool known = status == RUE_OK && count_of(seen, images) >= RUE_BASELINE_LEAST;
    if (known) request->images = images;
    for (size_t i = 0; known && i < seen->count; i++) {
        const struct row *row = &seen->at[i];
        double load_then = rue_speed_history_at(&ledger->speeds, row->id).load,
               load_now = rue_speed_history_at(&ledger->speeds, SIZE_MAX).load;
        if (row->images == images) rue_baseline_add(baseline, row->log_s - load_then + load_now);
    }
    free(seen);
    return status;
}

static rue_status refer(struct rue_watch *watch, size_t variant, rue_error *error)
{
    struct reference *reference = &watch->references[variant];
    double value;
    rue_status status = RUE_OK;
    if (!reference->chosen) {
        choose(&watch->study->setup, variant, &reference->model, &reference->request);
        status = find_earlier_references(&watch->study->setup, &watch->study->ledger, variant,
                                         reference->model, &reference->request, &reference->baseline, error);
    }
    reference->chosen = true;
    if (status == RUE_OK) status = measure(watch, variant, reference, &value, error);
    watch->fresh = 0;
    if (status != RUE_OK) return status;
    if (isnan(value))
        reference->dead = true;
    else if (!lengthen(watch, variant, reference, value))
        judge(watch, reference, value);
    return RUE_OK;
}

static bool is_affordable(const struct rue_watch *watch, double share)
{
    return watch->references_s <= share * watch->trials_s;
}

static bool is_due(const struct rue_watch *watch, size_t variant, struct rue_watch_reserve reserve)
{
    const struct reference *reference = &watch->references[variant];
    uint64_t budget = watch->study->setup.goal.search.budget.time_ns;
    if (reference->dead || rue_slowdown_is_sure(&watch->sure)) return false;
    size_t trials = watch->study->setup.goal.search.budget.trials;
    double spent_s = (double)rue_study_spent_ns(&watch->study->setup, &watch->study->ledger) / 1e9;
    if (budget && spent_s + reserve.seconds + watch->last_s >= (double)budget / 1e9) return false;
    size_t kept_back = watch->computing_s > 0 ? ASKED : 0;
    if (trials && watch->study->ledger.made + kept_back + reserve.trials >= trials) return false;
    if (reference->baseline.count < RUE_BASELINE_LEAST)
        return rue_study_predicts(&watch->study->setup) ||
               watch->study->setup.plan.trials >= watch->last.done + LEAST_TRIALS || watch->good_count > 1;
    bool suspected = rue_slowdown_evidence(&watch->sure, NULL) >= suspicion ||
                     rue_slowdown_evidence(&watch->own, NULL) >= suspicion;
    if (suspected) return is_affordable(watch, suspected_share);
    return watch->fresh >= RUE_WATCH_PERIOD && is_affordable(watch, cost_share);
}

/* ---- a change ---- */

/* The trial between the last reference that was as expected and the first that was not, from which on the
 * trials themselves fit the change best; the middle of those that fit alike. */
static size_t locate(const struct rue_watch *watch, size_t first, size_t end, double shift)
{
    double best = -INFINITY;
    size_t from = end, to = end;
    for (size_t at = first; at <= end; at++) {
        double sum = 0;
        for (size_t i = 0; i < ERRORS && i < watch->error_count; i++) {
            const struct error_of *own = &watch->errors[i];
            if (own->trial >= at && own->trial < end) sum += rue_slowdown_ratio(own->error, own->sd, shift);
        }
        if (sum > best + 1e-9) best = sum, from = at;
        if (sum >= best - 1e-9) to = at;
    }
    return from + (to - from) / 2;
}

/* How much slower computing has become: the first compute trial is made again. Models that sleep take their
 * time as ever; where nothing tells, computing is as slow as loading. */
static rue_status ask_computing(struct rue_watch *watch, double load, double *out, rue_error *error)
{
    const struct rue_study *study = watch->study;
    double least = INFINITY;
    rue_status status = RUE_OK;
    *out =
        watch->references[watch->last.variant].model == RUE_NONE && study->setup.models[0].known ? 0 : load;
    for (int i = 0; status == RUE_OK && watch->computing_s > 0 && i < ASKED; i++) {
        struct rue_trial_result result;
        status =
            rue_study_measure(&watch->study->setup, &watch->study->ledger, watch->computing_variant,
                              watch->computing_model, &watch->computing, RUE_STUDY_ANEW, 0, &result, error);
        if (status != RUE_OK) return status;
        if (result.outcome == RUE_TRIAL_OK && result.compute_ns > 0 && result.batches > 0)
            least = fmin(least, (double)result.compute_ns / 1e9 / (double)result.batches);
        rue_trial_result_close(&result);
    }
    if (!isfinite(least)) return status;
    *out = log(least / watch->computing_s) - speed_now(&study->ledger).compute;
    if (fabs(*out) < computing_sd) *out = 0;
    if (fabs(*out - load) < alike) *out = load;
    return status;
}

static rue_status tell(struct rue_watch *watch, struct rue_notice *notice, rue_error *error)
{
    struct rue_study *study = watch->study;
    char text[RUE_NOTICE_TEXT_BYTES];
    if (watch->causes) rue_causes_explain(watch->causes, notice->unsure, notice->cause);
    rue_notice_text(notice, text, sizeof text);
    rue_progress_note(study->setup.progress, "%s", text);
    return rue_study_note_change(&study->setup, &study->ledger, notice, error);
}

static double median_of(double *values, size_t count)
{
    rue_sort_doubles(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static rue_status conclude_change(struct rue_watch *watch, size_t variant, struct rue_speed_change *out,
                                  rue_error *error)
{
    struct reference *reference = &watch->references[variant];
    struct rue_notice notice = {.noticed = watch->study->ledger.rows[watch->study->ledger.last_row].trial.id};
    double mean, sd;
    rue_slowdown_evidence(&watch->sure, &notice.unsure_end);
    struct good good = good_before(watch, notice.unsure_end);
    notice.unsure = good.trial;
    rue_baseline_expect(&reference->baseline, &mean, &sd);
    notice.load_log = median_of(reference->pending, reference->pending_count) - mean;
    notice.trial = locate(watch, notice.unsure, notice.unsure_end, notice.load_log);
    rue_status status = ask_computing(watch, notice.load_log, &notice.compute_log, error);
    if (status == RUE_OK) status = tell(watch, &notice, error);
    if (status != RUE_OK) return status;
    *out = (struct rue_speed_change){notice.trial, {notice.load_log, notice.compute_log}};
    for (size_t v = 0; v < RUE_STUDY_VARIANTS_MAX; v++) {
        struct reference *other = &watch->references[v];
        rue_baseline_forget(&other->baseline);
        for (size_t i = 0; i < other->pending_count; i++)
            rue_baseline_add(&other->baseline, other->pending[i]);
        other->pending_count = 0;
    }
    rue_slowdown_forget(&watch->sure);
    rue_slowdown_forget(&watch->own);
    watch->error_count = 0;
    for (size_t i = good.rows; i < watch->study->ledger.row_count; i++)
        watch->study->ledger.rows[i].trial.disturbed = false; /* it was the machine */
    set_good(watch);
    return RUE_OK;
}

rue_status rue_watch_look(struct rue_watch *watch, struct rue_watch_reserve reserve, bool *changed,
                          struct rue_speed_change *change, rue_error *error)
{
    size_t variant = watch->last.variant;
    rue_status status = RUE_OK;
    *changed = false;
    for (int i = 0; status == RUE_OK && i < LOOKS && is_due(watch, variant, reserve); i++)
        status = refer(watch, variant, error);
    if (status != RUE_OK || !rue_slowdown_is_sure(&watch->sure)) return status;
    for (size_t v = 0; v < watch->study->setup.variant_count; v++)
        if (watch->references[v].pending_count > watch->references[variant].pending_count) variant = v;
    *changed = true;
    return conclude_change(watch, variant, change, error);
}

void rue_watch_conclude(struct rue_watch *watch)
{
    if (!watch || !watch->causes) return;
    struct rue_study *study = watch->study;
    rue_causes_summarise(watch->causes, study->outcome.disturbance);
}
