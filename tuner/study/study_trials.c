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
#include "runner_farm.h"
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

static rue_status note_row(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           struct rue_ledger_row at, const struct rue_trial_request *request,
                           const struct rue_trial_result *result, rue_error *error)
{
    rue_status status = rue_array_grow(&ledger->rows, &ledger->row_capacity, ledger->row_count + 1,
                                       sizeof *ledger->rows, "rows", error);
    if (status != RUE_OK) return status;
    struct rue_ledger_row *row = &ledger->rows[ledger->last_row = ledger->row_count++];
    *row = at;
    row->trial.request = *request;
    row->trial.result = *result;
    judge_row(setup, result, row);
    bool joint = request->measure == RUE_JOINT && result->outcome == RUE_TRIAL_OK;
    status = rue_rank_times_add(&ledger->rank_times[at.variant], joint ? result->ranks : NULL, error);
    rue_trial_result_drop_lists(&row->trial.result);
    return status;
}

/* Fills in the rest of the request; returns its scenario. */
static struct rue_store_scenario complete_request(const struct rue_study_setup *setup, size_t variant_index,
                                                  size_t model_index, uint64_t expected_ns,
                                                  struct rue_trial_request *request)
{
    const struct rue_study_variant *variant = &setup->variants[variant_index];
    struct rue_store_scenario scenario = rue_study_scenario(setup, variant_index, model_index);
    request->variant = variant->variant;
    request->workload = variant->workload;
    request->job_images = variant->job_images;
    /* Ranks that are compared may slow each other down, at worst as if they loaded one after the other. */
    uint64_t slower = setup->goal.job.ranks.count ? (uint64_t)variant->workload.world_size : 1;
    request->limits =
        (struct rue_limits){time_limit_ns(&setup->goal, slower * expected_ns), setup->memory_bytes};
    snprintf(request->model, sizeof request->model, "%s", scenario.model);
    return scenario;
}

rue_status rue_study_visit_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  size_t variant, size_t model, struct rue_trial_request *request,
                                  rue_store_visit *visit, void *context, rue_error *error)
{
    struct rue_store_scenario scenario = complete_request(setup, variant, model, 0, request);
    return rue_store_visit_trials(ledger->store, &scenario, request, visit, context, error);
}

/* A row that was measured for the plan may also answer a question of the strategy. */
static bool find_probe_row(struct rue_study_ledger *ledger, uint64_t id)
{
    for (size_t i = 0; i < ledger->probe_rows; i++)
        if (ledger->rows[i].trial.id == id) return ledger->last_row = i, true;
    return false;
}

/* A suspended trial has useless times. False: it was suspended too often to be repeated, and has failed. */
static bool discard_suspended(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                              int suspensions, struct rue_trial_result *result)
{
    if (!ledger->clock.suspended)
        rue_progress_note(setup->progress,
                          "a trial was suspended: its result is discarded, and the trial is repeated");
    ledger->clock.suspended = true;
    rue_trial_result_fail(result, "the trial was suspended and continued %d times", suspensions);
    return suspensions < SUSPENDED_MAX;
}

/* Measures until a trial was not suspended. Discarded trials do not count against the budget. */
static rue_status measure_awake(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                struct rue_trial_request *request, const char *profile, uint64_t *started_ns,
                                struct rue_trial_result *result, rue_error *error)
{
    for (int suspensions = 1;; suspensions++) {
        *started_ns = rue_study_spent_ns(setup, ledger);
        rue_status status = rue_runner_trial(setup->host.runner, request, profile,
                                             timeout_ns(request->limits.time_ns), result, error);
        if (status != RUE_OK || !rue_runner_was_suspended(setup->host.runner)) return status;
        ledger->clock.suspended_ns += rue_study_spent_ns(setup, ledger) - *started_ns;
        if (!discard_suspended(setup, ledger, suspensions, result)) return RUE_OK;
        rue_trial_result_close(result);
    }
}

/* A trial that was not warm or cold as requested counts only at the last attempt; its row records the cache
 * state in any case. */
static void count_trial(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                        uint64_t started_ns, int attempt, struct rue_trial_result *result)
{
    rue_study_count_cost(setup, ledger, started_ns, result);
    ledger->run_trials++;
    if (result->cache_missed == 1 && result->outcome == RUE_TRIAL_OK && attempt < MISSED_MAX)
        result->outcome = RUE_TRIAL_FAILED;
}

static bool has_missed(const struct rue_trial_result *result)
{
    return result->cache_missed == 1 && result->outcome == RUE_TRIAL_FAILED;
}

/* Stores the result of a trial. */
static rue_status record_trial(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               const struct rue_store_scenario *scenario, struct rue_ledger_row at,
                               const struct rue_trial_request *request, struct rue_trial_result *result,
                               rue_error *error)
{
    struct rue_trial_row *trial = &at.trial;
    at.suspended_ns = ledger->clock.suspended_ns;
    ledger->was_stored = false; /* another lane may have asked meanwhile */
    rue_status status =
        rue_store_add_trial(ledger->store, scenario, request, result, trial->started_ns, &trial->id, error);
    if (status == RUE_OK) status = note_row(setup, ledger, at, request, result, error);
    if (status != RUE_OK) rue_trial_result_close(result);
    return status;
}

static const char *model_profile(const struct rue_study_setup *setup, size_t model)
{
    return model == RUE_NONE ? NULL : setup->models[model].profile_json;
}

/* Answers with the `nth` stored row, if it exists: `*found`. */
static rue_status answer_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                const struct rue_store_scenario *scenario, struct rue_ledger_row *at,
                                struct rue_trial_request *request, size_t nth, bool *found,
                                struct rue_trial_result *result, rue_error *error)
{
    uint64_t *id = &at->trial.id, *started_ns = &at->trial.started_ns;
    request->repeat = nth == RUE_STUDY_NEW_TRIAL ? 0 : nth;
    rue_status status =
        rue_store_find_trial(ledger->store, scenario, request, (struct rue_store_position){.nth = nth}, found,
                             result, id, started_ns, error);
    *found = status == RUE_OK && *found;
    ledger->was_stored = *found;
    if (!*found || find_probe_row(ledger, *id)) return status;
    ledger->reused++;
    at->stored = true;
    if (setup->host.recording) { /* costs as much as a new trial */
        rue_study_count_cost(setup, ledger, rue_study_spent_ns(setup, ledger), result);
        ledger->was_stored = false;
    }
    return note_row(setup, ledger, *at, request, result, error);
}

rue_status rue_study_measure(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             size_t variant, size_t model, struct rue_trial_request *request, size_t nth,
                             uint64_t expected_ns, struct rue_trial_result *result, rue_error *error)
{
    struct rue_store_scenario scenario = complete_request(setup, variant, model, expected_ns, request);
    struct rue_ledger_row at = {.variant = variant, .model = model, .config = RUE_NONE};
    bool found, repeats = true;
    rue_status status = answer_stored(setup, ledger, &scenario, &at, request, nth, &found, result, error);
    for (int attempt = 1; status == RUE_OK && !found && repeats; attempt++) {
        rue_trial_result_close(result);
        status = measure_awake(setup, ledger, request, model_profile(setup, model), &at.trial.started_ns,
                               result, error);
        if (status != RUE_OK) break;
        count_trial(setup, ledger, at.trial.started_ns, attempt, result);
        status = record_trial(setup, ledger, &scenario, at, request, result, error);
        repeats = (has_missed(result) && attempt < MISSED_MAX) || (result->retry && attempt < RETRY_MAX);
    }
    return status;
}

/* ---- a lane of a farm ---- */

static rue_status begin_lane(const struct rue_study_setup *setup, struct rue_study_flight *flight,
                             uint64_t now_ns, rue_error *error)
{
    flight->at.trial.started_ns = now_ns;
    return rue_runner_farm_begin(rue_runner_farm(setup->host.runner), flight->lane, &flight->request,
                                 model_profile(setup, flight->at.model),
                                 timeout_ns(flight->request.limits.time_ns), error);
}

rue_status rue_study_begin(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           struct rue_study_flight *flight, size_t nth, uint64_t expected_ns, uint64_t now_ns,
                           bool *stored, struct rue_trial_result *result, rue_error *error)
{
    flight->at.config = RUE_NONE;
    flight->attempt = 1;
    flight->scenario =
        complete_request(setup, flight->at.variant, flight->at.model, expected_ns, &flight->request);
    rue_status status = answer_stored(setup, ledger, &flight->scenario, &flight->at, &flight->request, nth,
                                      stored, result, error);
    return status == RUE_OK && !*stored ? begin_lane(setup, flight, now_ns, error) : status;
}

/* The row of a trial that failed names the node. */
static void name_node(const struct rue_study_setup *setup, struct rue_study_flight *flight,
                      struct rue_trial_result *result)
{
    const struct rue_rank *rank = rue_runner_farm_rank(rue_runner_farm(setup->host.runner), flight->lane);
    char reason[RUE_REASON_BYTES + RUE_NODE_BYTES + 32];
    if (result->outcome == RUE_TRIAL_OK) return;
    memcpy(flight->failure, result->reason, sizeof flight->failure);
    snprintf(reason, sizeof reason, "on rank %d (%s): %s", rank->rank, rank->node, flight->failure);
    rue_error_shorten(reason, result->reason, sizeof result->reason);
}

rue_status rue_study_finish(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                            struct rue_study_flight *flight, uint64_t now_ns, bool *repeated,
                            struct rue_trial_result *result, rue_error *error)
{
    const struct rue_runner_group *farm = rue_runner_farm(setup->host.runner);
    bool lost = rue_runner_farm_is_lost(farm, flight->lane);
    *repeated = rue_runner_farm_was_suspended(farm, flight->lane) &&
                discard_suspended(setup, ledger, ++flight->suspensions, result) && !lost;
    if (!*repeated) {
        count_trial(setup, ledger, flight->at.trial.started_ns, flight->attempt, result);
        name_node(setup, flight, result);
        rue_status status =
            record_trial(setup, ledger, &flight->scenario, flight->at, &flight->request, result, error);
        *repeated = has_missed(result) && !lost && flight->attempt++ < MISSED_MAX;
        if (status != RUE_OK || !*repeated) return status;
    }
    rue_trial_result_close(result);
    return begin_lane(setup, flight, now_ns, error);
}

rue_status rue_study_is_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               size_t variant, size_t model, struct rue_trial_request *request, size_t nth,
                               bool *stored, rue_error *error)
{
    struct rue_trial_result result;
    struct rue_store_scenario scenario = complete_request(setup, variant, model, 0, request);
    rue_status status =
        rue_store_find_trial(ledger->store, &scenario, request, (struct rue_store_position){.nth = nth},
                             stored, &result, NULL, NULL, error);
    rue_trial_result_close(&result);
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

static size_t ask_model(const struct rue_question *question)
{
    return question->measure == RUE_LOAD ? RUE_NONE : question->scenario;
}

/* Collects all rows of one cell, of any length, oldest first. */
static rue_status collect_cell(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               size_t variant, struct rue_question question, struct stored_list *list,
                               rue_error *error)
{
    size_t first = list->count;
    struct rue_trial_request request = {
        .measure = question.measure, .config = setup->configs[question.config], .images = 1, .batches = 1};
    list->question = question;
    rue_status status = rue_interrupt_status();
    if (status == RUE_OK)
        status = rue_study_visit_stored(setup, ledger, variant, ask_model(&question), &request, add_stored,
                                        list, error);
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

rue_status rue_study_load_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 size_t variant, size_t model, struct rue_trial_request *request, uint64_t id,
                                 bool *found, struct rue_trial_result *result, rue_error *error)
{
    struct rue_store_scenario scenario = complete_request(setup, variant, model, 0, request);
    struct rue_ledger_row at = {.variant = variant, .model = model, .config = RUE_NONE};
    rue_status status =
        rue_store_find_trial(ledger->store, &scenario, request, (struct rue_store_position){.after = id - 1},
                             found, result, &at.trial.id, &at.trial.started_ns, error);
    *found = status == RUE_OK && *found && at.trial.id == id;
    if (*found && !find_probe_row(ledger, id)) {
        ledger->reused++;
        status = note_row(setup, ledger, at, request, result, error);
    }
    if (status != RUE_OK || !*found) rue_trial_result_close(result);
    return status;
}

/* The node of a farm that made a stored trial; 0: none of the nodes now. */
static size_t find_node(const struct rue_study_setup *setup, const char *ranks)
{
    const struct rue_runner_group *farm = rue_runner_farm(setup->host.runner);
    char name[RUE_NODE_BYTES];
    size_t count = farm && rue_rank_find_node(ranks, name) ? rue_runner_group_count(farm) : 0;
    for (size_t n = 1; n <= count; n++)
        if (strcmp(rue_runner_farm_rank(farm, n - 1)->node, name) == 0) return n;
    return 0;
}

static rue_status observe_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 size_t variant, void *state, struct stored *stored, rue_error *error)
{
    struct rue_trial_request request = {.measure = stored->question.measure,
                                        .config = setup->configs[stored->question.config],
                                        .images = 1,
                                        .batches = 1};
    struct rue_trial_result result;
    bool found;
    rue_status status = rue_study_load_stored(setup, ledger, variant, ask_model(&stored->question), &request,
                                              stored->id, &found, &result, error);
    if (status != RUE_OK || !found) return status;
    struct rue_ledger_row *row = &ledger->rows[ledger->last_row];
    row->trial.request.images = stored->question.images;
    if (request.measure == RUE_JOINT) row->config = stored->question.config;
    stored->question.trial = stored->id;
    stored->question.node = find_node(setup, result.ranks);
    setup->plan.strategy->observe(state, &stored->question, &result);
    rue_trial_result_close(&result);
    return RUE_OK;
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
