#include "study_trials.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advice.h"
#include "array.h"
#include "hash.h"
#include "interrupt.h"
#include "job_time.h"
#include "objective.h"
#include "study_ledger.h"
#include "units.h"
#include "workload_json.h"

/* Whether another variant is a copy: the same data in the same format. */
static bool has_copy(const struct rue_study_setup *setup, size_t index)
{
    const struct rue_study_variant *own = &setup->variants[index];
    for (size_t v = 0; v < setup->variant_count; v++) {
        const struct rue_study_variant *other = &setup->variants[v];
        if (strcmp(other->variant.path, own->variant.path) != 0 &&
            strcmp(other->opened.digest, own->opened.digest) == 0 &&
            other->variant.mode == own->variant.mode &&
            strcmp(other->variant.format, own->variant.format) == 0 &&
            strcmp(other->variant.dtype, own->variant.dtype) == 0)
            return true;
    }
    return false;
}

struct rue_store_scenario rue_study_scenario(const struct rue_study_setup *setup, size_t variant_index,
                                             size_t model_index)
{
    const struct rue_study_variant *variant = &setup->variants[variant_index];
    struct rue_store_scenario scenario = {
        .variant = variant->variant, .workload = variant->workload, .job_images = variant->job_images};
    snprintf(scenario.data_digest, sizeof scenario.data_digest, "%s", variant->opened.digest);
    /* Copies are distinguished by path; all other data are identified by their content alone. */
    if (has_copy(setup, variant_index)) {
        const char *path = variant->variant.path;
        snprintf(scenario.data_digest, sizeof scenario.data_digest, "%.20s-%08" PRIx32,
                 variant->opened.digest, (uint32_t)rue_hash(RUE_HASH_START, path, strlen(path)));
    }
    snprintf(scenario.runner, sizeof scenario.runner, "%s", setup->host.identity);
    snprintf(scenario.machine, sizeof scenario.machine, "%s", setup->host.machine);
    if (model_index == RUE_NONE) return scenario;
    const struct rue_study_model *model = &setup->models[model_index];
    snprintf(scenario.model, sizeof scenario.model, "%s", model->name);
    snprintf(scenario.model_profile, sizeof scenario.model_profile, "%s", model->profile_json);
    return scenario;
}

void rue_study_key(const struct rue_study_setup *setup, size_t variant, char out[RUE_LEDGER_KEY_BYTES])
{
    char workload[RUE_WORKLOAD_TEXT_BYTES];
    struct rue_store_scenario scenario = rue_study_scenario(setup, variant, RUE_NONE);
    rue_workload_canonical(&scenario.workload, workload);
    rue_recommendation_scenario(&scenario, workload, out);
}

/* Attempts at a trial that was not warm or cold as requested; attempts at a trial that is suspended. */
enum { MISSED_MAX = 3, SUSPENDED_MAX = 5, RETRY_MAX = 2 };

/* A trial that takes longer counts as hanging. */
static uint64_t time_limit_ns(const struct rue_study_goal *goal, uint64_t expected_ns)
{
    uint64_t least = 60 * RUE_NS_PER_S, most = RUE_TRIAL_FIELD_MAX;
    if (goal->loader.trial_timeout_ns) return goal->loader.trial_timeout_ns;
    if (expected_ns > most / 10) return most;
    return expected_ns > least / 10 ? expected_ns * 10 : least;
}

/* A runner that checks the limit itself gets up to 10 s more to report it. */
static uint64_t timeout_ns(uint64_t limit_ns)
{
    uint64_t grace = 10 * RUE_NS_PER_S;
    return limit_ns + (limit_ns < grace ? limit_ns : grace);
}

/* Computes the minimised cost of an ok joint trial, before its arrays are dropped. */
static void judge_row(const struct rue_study_setup *setup, const struct rue_trial_result *result,
                      struct rue_ledger_row *row)
{
    const struct rue_study_variant *data = &setup->variants[row->variant];
    row->cost_ns = NAN;
    if (row->trial.request.measure != RUE_JOINT || result->outcome != RUE_TRIAL_OK) return;
    row->cost_ns = rue_goal_cost_ns(setup->goal.search.minimise, result, data->job_images,
                                    data->workload.drop_last, &row->predicted);
    row->line = rue_job_line_from(result);
}

/* Adds the row of a trial that has a result. */
static rue_status note_row(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           struct rue_flight *flight, rue_error *error)
{
    const struct rue_trial_result *result = &flight->result;
    rue_status status = rue_array_grow(&ledger->rows, &ledger->row_capacity, ledger->row_count + 1,
                                       sizeof *ledger->rows, "rows", error);
    if (status != RUE_OK) return status;
    struct rue_ledger_row *row = &ledger->rows[flight->row = ledger->row_count++];
    *row = flight->at;
    row->config = RUE_NONE;
    row->trial.request = flight->request;
    row->trial.result = *result;
    judge_row(setup, result, row);
    bool joint = flight->request.measure == RUE_JOINT && result->outcome == RUE_TRIAL_OK;
    status = rue_rank_times_add(&ledger->rank_times[row->variant], joint ? result->ranks : NULL, error);
    rue_trial_result_drop_lists(&row->trial.result);
    return status;
}

/* Fills in the scenario and the rest of the request. */
static void complete_request(const struct rue_study_setup *setup, struct rue_flight *flight)
{
    const struct rue_study_variant *variant = &setup->variants[flight->at.variant];
    struct rue_trial_request *request = &flight->request;
    flight->scenario = rue_study_scenario(setup, flight->at.variant, flight->at.model);
    request->variant = variant->variant;
    request->workload = variant->workload;
    request->job_images = variant->job_images;
    /* Ranks that are compared may slow each other down, at worst as if they loaded one after the other. */
    uint64_t slower = setup->goal.job.ranks.count ? (uint64_t)variant->workload.world_size : 1;
    request->limits =
        (struct rue_limits){time_limit_ns(&setup->goal, slower * flight->expected_ns), setup->memory_bytes};
    snprintf(request->model, sizeof request->model, "%s", flight->scenario.model);
}

/* ---- a trial ---- */

/* Clocks: on a virtual one each lane has its own; the real one is that of the study. */
static uint64_t flight_now_ns(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                              const struct rue_flight *flight)
{
    return rue_study_hello(setup)->virtual_clock ? *flight->clock_ns : rue_study_spent_ns(setup, ledger);
}

static const char *model_profile(const struct rue_study_setup *setup, size_t model)
{
    return model == RUE_NONE ? NULL : setup->models[model].profile_json;
}

/* A row that was measured for the plan may also answer a question of the strategy. */
static bool find_probe_row(const struct rue_study_ledger *ledger, uint64_t id, size_t *row)
{
    for (*row = 0; *row < ledger->probe_rows; ++*row)
        if (ledger->rows[*row].trial.id == id) return true;
    return false;
}

rue_status rue_flight_answer(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, size_t nth, rue_error *error)
{
    struct rue_ledger_row *at = &flight->at;
    complete_request(setup, flight);
    flight->request.repeat = nth == RUE_STUDY_NEW_TRIAL ? 0 : nth;
    flight->answered = flight->stored = false;
    rue_status status = rue_store_find_trial(ledger->store, &flight->scenario, &flight->request,
                                             (struct rue_store_position){.nth = nth}, &flight->answered,
                                             &flight->result, &at->trial.id, &at->trial.started_ns, error);
    flight->answered &= status == RUE_OK;
    flight->stored = flight->answered;
    if (!flight->answered || find_probe_row(ledger, at->trial.id, &flight->row)) return status;
    ledger->reused++;
    at->stored = true;
    if (setup->host.recording) { /* costs as much as a new trial */
        rue_study_count_cost(setup, ledger, *flight->clock_ns, &flight->result);
        *flight->clock_ns += rue_study_cost_ns(&flight->result);
        flight->stored = false;
    }
    return note_row(setup, ledger, flight, error);
}

rue_status rue_flight_begin(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            struct rue_flight *flight, rue_error *error)
{
    flight->at.trial.started_ns = flight_now_ns(setup, ledger, flight);
    return rue_runner_begin(flight->runner, &flight->request, model_profile(setup, flight->at.model),
                            timeout_ns(flight->request.limits.time_ns), error);
}

/* A suspended trial has useless times. False: it was suspended too often to be repeated, and has failed.
 * Alone, it does not count against the budget. */
static bool discard_suspended(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                              struct rue_flight *flight)
{
    if (!ledger->clock.suspended)
        rue_progress_note(setup->progress,
                          "a trial was suspended: its result is discarded, and the trial is repeated");
    ledger->clock.suspended = true;
    if (setup->host.runners->count == 1)
        ledger->clock.suspended_ns += flight_now_ns(setup, ledger, flight) - flight->at.trial.started_ns;
    rue_trial_result_fail(&flight->result, "the trial was suspended and continued %d times",
                          ++flight->suspensions);
    return flight->suspensions < SUSPENDED_MAX;
}

/* Of several runners, the row of a trial that failed names the node. */
static void name_node(struct rue_flight *flight)
{
    const struct rue_rank *rank = flight->runner->rank;
    char reason[RUE_REASON_BYTES + RUE_NODE_BYTES + 32];
    struct rue_trial_result *result = &flight->result;
    if (result->outcome == RUE_TRIAL_OK) return;
    memcpy(flight->failure, result->reason, sizeof flight->failure);
    if (!rank) return;
    snprintf(reason, sizeof reason, "on rank %d (%s): %s", rank->rank, rank->node, flight->failure);
    rue_error_shorten(reason, result->reason, sizeof result->reason);
}

/* Whether to try again: a trial that was not warm or cold as requested counts only at the last attempt; its
 * row records the cache state in any case. */
static bool is_retried(struct rue_flight *flight)
{
    struct rue_trial_result *result = &flight->result;
    flight->attempts++;
    bool missed =
        result->cache_missed == 1 && result->outcome == RUE_TRIAL_OK && flight->attempts < MISSED_MAX;
    if (missed) result->outcome = RUE_TRIAL_FAILED;
    return (missed || (result->retry && flight->attempts < RETRY_MAX)) && !rue_runner_is_lost(flight->runner);
}

/* Stores the result. */
static rue_status record_trial(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               struct rue_flight *flight, rue_error *error)
{
    struct rue_trial_row *trial = &flight->at.trial;
    rue_study_count_cost(setup, ledger, trial->started_ns, &flight->result);
    *flight->clock_ns = trial->started_ns + rue_study_cost_ns(&flight->result);
    ledger->run_trials++;
    flight->at.suspended_ns = ledger->clock.suspended_ns;
    rue_status status = rue_store_add_trial(ledger->store, &flight->scenario, &flight->request,
                                            &flight->result, trial->started_ns, &trial->id, error);
    return status == RUE_OK ? note_row(setup, ledger, flight, error) : status;
}

rue_status rue_flight_finish(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, rue_error *error)
{
    bool lost = rue_runner_is_lost(flight->runner), repeats = false;
    if (rue_runner_was_suspended(flight->runner)) repeats = discard_suspended(setup, ledger, flight) && !lost;
    if (!repeats) {
        repeats = is_retried(flight);
        name_node(flight);
        rue_status status = record_trial(setup, ledger, flight, error);
        flight->answered = status == RUE_OK && !repeats;
        if (status != RUE_OK || !repeats) return status;
    }
    rue_trial_result_close(&flight->result);
    return rue_flight_begin(setup, ledger, flight, error);
}

rue_status rue_study_measure(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, size_t nth, rue_error *error)
{
    uint64_t clock_ns = rue_study_spent_ns(setup, ledger);
    flight->runner = setup->host.runners->at;
    flight->clock_ns = &clock_ns;
    rue_status status = rue_flight_answer(setup, ledger, flight, nth, error);
    if (status == RUE_OK && !flight->answered) status = rue_flight_begin(setup, ledger, flight, error);
    while (status == RUE_OK && !flight->answered) {
        status = rue_runner_finish(flight->runner, &flight->result, error);
        if (status == RUE_OK) status = rue_flight_finish(setup, ledger, flight, error);
    }
    if (status != RUE_OK) rue_trial_result_close(&flight->result);
    return status;
}

/* ---- stored trials ---- */

rue_status rue_study_visit_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  struct rue_flight *flight, rue_store_visit *visit, void *context,
                                  rue_error *error)
{
    complete_request(setup, flight);
    return rue_store_visit_trials(ledger->store, &flight->scenario, &flight->request, visit, context, error);
}

rue_status rue_study_is_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               struct rue_flight *flight, size_t nth, bool *stored, rue_error *error)
{
    complete_request(setup, flight);
    rue_status status = rue_store_find_trial(ledger->store, &flight->scenario, &flight->request,
                                             (struct rue_store_position){.nth = nth}, stored, &flight->result,
                                             NULL, NULL, error);
    rue_trial_result_close(&flight->result);
    return status;
}

/* Limit of stored trials that a strategy observes: its time grows with the cube of their number, and more
 * trials hardly change its estimates. */
enum { OBSERVED_MAX = 500 };

/* A stored row that a strategy can observe. */
struct stored {
    uint64_t id;
    struct rue_question question;
    size_t newer; /* rows of the same cell after it */
};

struct stored_list {
    struct stored *at; /* [count] */
    size_t count, capacity;
    struct rue_question question; /* of the visited cell */
};

static rue_status add_stored(void *context, uint64_t id, const struct rue_trial_result *result,
                             rue_error *error)
{
    struct stored_list *list = context;
    if (result->outcome != RUE_TRIAL_OK || result->images <= 0) return RUE_OK;
    rue_status status =
        rue_array_grow(&list->at, &list->capacity, list->count + 1, sizeof *list->at, "stored trials", error);
    if (status != RUE_OK) return status;
    struct stored *stored = &list->at[list->count++];
    *stored = (struct stored){.id = id, .question = list->question};
    if (stored->question.measure == RUE_COMPUTE)
        stored->question.batches = (uint64_t)result->batches;
    else
        stored->question.images = (uint64_t)result->images;
    return RUE_OK;
}

static struct rue_flight stored_flight(const struct rue_study_setup *setup, size_t variant,
                                       const struct rue_question *question)
{
    return (struct rue_flight){
        .at = {.variant = variant, .model = question->measure == RUE_LOAD ? RUE_NONE : question->scenario},
        .request = {.measure = question->measure,
                    .config = setup->configs[question->config],
                    .images = 1,
                    .batches = 1}};
}

/* Collects all rows of one cell, of any length, oldest first. */
static rue_status collect_cell(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               size_t variant, struct rue_question question, struct stored_list *list,
                               rue_error *error)
{
    size_t first = list->count;
    struct rue_flight flight = stored_flight(setup, variant, &question);
    list->question = question;
    rue_status status = rue_interrupt_status();
    if (status == RUE_OK) status = rue_study_visit_stored(setup, ledger, &flight, add_stored, list, error);
    for (size_t i = first; i < list->count; i++) list->at[i].newer = list->count - 1 - i;
    return status;
}

static rue_status collect_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 size_t variant, struct stored_list *list, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t c = 0; status == RUE_OK && c < setup->config_count; c++) {
        struct rue_question question = {.measure = RUE_LOAD, .config = c, .stored = true};
        status = collect_cell(setup, ledger, variant, question, list, error);
        for (size_t i = 0; status == RUE_OK && i < 2 * setup->model_count; i++) {
            question.measure = i % 2 ? RUE_JOINT : RUE_COMPUTE;
            question.scenario = i / 2;
            status = collect_cell(setup, ledger, variant, question, list, error);
        }
    }
    return status;
}

/* The newest row of every cell first. */
static int compare_newer(const void *left, const void *right)
{
    const struct stored *a = left, *b = right;
    if (a->newer != b->newer) return a->newer < b->newer ? -1 : 1;
    return (a->id < b->id) - (a->id > b->id);
}

static int compare_ids(const void *left, const void *right)
{
    const struct stored *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

size_t rue_study_find_node(const struct rue_study_setup *setup, const char *ranks)
{
    const struct rue_runners *runners = setup->host.runners;
    char name[RUE_NODE_BYTES];
    size_t count = runners->count > 1 && rue_rank_find_node(ranks, name) ? runners->count : 0;
    for (size_t n = 1; n <= count; n++)
        if (strcmp(runners->at[n - 1].rank->node, name) == 0) return n;
    return 0;
}

/* Loads stored row `id`, and adds it to the ledger, but not twice. Not `answered`: it does not exist any
 * more. */
static rue_status load_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                              struct rue_flight *flight, uint64_t id, rue_error *error)
{
    struct rue_ledger_row *at = &flight->at;
    complete_request(setup, flight);
    rue_status status = rue_store_find_trial(ledger->store, &flight->scenario, &flight->request,
                                             (struct rue_store_position){.after = id - 1}, &flight->answered,
                                             &flight->result, &at->trial.id, &at->trial.started_ns, error);
    flight->answered &= status == RUE_OK && at->trial.id == id;
    if (!flight->answered || find_probe_row(ledger, id, &flight->row)) return status;
    ledger->reused++;
    return note_row(setup, ledger, flight, error);
}

static rue_status observe_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 size_t variant, void *state, struct stored *stored, rue_error *error)
{
    struct rue_question *question = &stored->question;
    struct rue_flight flight = stored_flight(setup, variant, question);
    rue_status status = load_stored(setup, ledger, &flight, stored->id, error);
    if (status == RUE_OK && flight.answered) {
        struct rue_ledger_row *row = &ledger->rows[flight.row];
        row->trial.request.images = question->images;
        if (question->measure == RUE_JOINT) row->config = question->config;
        question->trial = stored->id;
        question->node = rue_study_find_node(setup, flight.result.ranks);
        setup->plan.strategy->observe(state, question, &flight.result);
    }
    rue_trial_result_close(&flight.result);
    return status;
}

rue_status rue_study_observe_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    size_t variant, void *state, rue_error *error)
{
    struct stored_list list = {0};
    if (ledger->found_trials == 0) return RUE_OK;
    rue_status status = collect_stored(setup, ledger, variant, &list, error);
    if (list.count > OBSERVED_MAX) {
        ledger->stored_unobserved = true;
        qsort(list.at, list.count, sizeof *list.at, compare_newer);
        list.count = OBSERVED_MAX;
    }
    if (list.count > 0) qsort(list.at, list.count, sizeof *list.at, compare_ids);
    for (size_t i = 0; status == RUE_OK && i < list.count; i++) {
        status = rue_interrupt_status();
        if (status == RUE_OK) status = observe_stored(setup, ledger, variant, state, &list.at[i], error);
    }
    for (size_t i = 0; setup->plan.strategy->shift && i < ledger->speeds.count; i++)
        setup->plan.strategy->shift(state, ledger->speeds.at[i].since, ledger->speeds.at[i].slowdown);
    ledger->probe_rows = ledger->row_count;
    free(list.at);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s", rue_status_text(status));
}

bool rue_study_is_data_fault(const struct rue_study_setup *setup, size_t variant, enum rue_outcome outcome,
                             const char *reason)
{
    const char *path = setup->variants[variant].variant.path;
    return outcome == RUE_TRIAL_FAILED && path[0] && strstr(reason, path);
}

rue_status rue_study_fail_probe(const struct rue_study_setup *setup, size_t variant, enum rue_outcome outcome,
                                const char *reason, rue_error *error)
{
    if (rue_study_is_data_fault(setup, variant, outcome, reason))
        return rue_fail(error, RUE_DATA,
                        "%s; remove or replace the file, or continue without it: --bad-images replace",
                        reason);
    if (outcome == RUE_TRIAL_INFEASIBLE)
        return rue_fail(error, RUE_INFEASIBLE, "the smallest batch size is infeasible: %s%s", reason,
                        rue_advice_given(reason)
                            ? ""
                            : "; give smaller batches with --batch-size, or raise --max-memory");
    const char *path = setup->variants[variant].variant.path;
    return rue_fail(error, RUE_INFEASIBLE,
                    "the first trials on %s failed: %s; fix this, then run the same command to continue",
                    path[0] ? path : "the runner's data", reason);
}

enum { SAME_FAILURES_MAX = 5 };

/* The next significant character of a reason. Numbers (process, file, address) are skipped, because they do
 * not describe the failure; an exit code does. */
static char next_significant(const char *reason, const char **at)
{
    static const char code[] = "exit code ";
    const size_t code_bytes = sizeof code - 1;
    while (isdigit((unsigned char)**at)) {
        size_t before = (size_t)(*at - reason);
        if (before >= code_bytes && memcmp(*at - code_bytes, code, code_bytes) == 0) return *(*at)++;
        bool hexadecimal = (*at)[0] == '0' && (*at)[1] == 'x';
        *at += hexadecimal ? 2 + strspn(*at + 2, "0123456789abcdefABCDEF") : strspn(*at, "0123456789");
    }
    return **at ? *(*at)++ : 0;
}

static bool is_same_failure(const char *a, const char *b)
{
    const char *in_a = a, *in_b = b;
    for (;;) {
        char one = next_significant(a, &in_a), other = next_significant(b, &in_b);
        if (one != other) return false;
        if (!one) return true;
    }
}

rue_status rue_same_failures_count(struct rue_same_failures *failures, const struct rue_trial_result *result,
                                   rue_error *error)
{
    if (result->outcome == RUE_TRIAL_INFEASIBLE) return RUE_OK;
    bool failed = result->outcome == RUE_TRIAL_FAILED || result->outcome == RUE_TRIAL_TIMEOUT;
    bool is_repeat = failed && is_same_failure(failures->reason, result->reason);
    failures->in_a_row = failed ? (is_repeat ? failures->in_a_row + 1 : 1) : 0;
    snprintf(failures->reason, sizeof failures->reason, "%s", failed ? result->reason : "");
    if (failures->in_a_row < SAME_FAILURES_MAX) return RUE_OK;
    return rue_fail(
        error, RUE_INFEASIBLE,
        "stopped after %d identical failures: %s; fix this, then run the same command to continue",
        failures->in_a_row, result->reason);
}
