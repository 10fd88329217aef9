#include "flight.h"

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
    if (row->trial.measure != RUE_JOINT || result->outcome != RUE_TRIAL_OK) return;
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
    row->trial.measure = flight->request.measure;
    row->trial.config = flight->request.config;
    row->trial.images = flight->request.images;
    row->trial.batches = flight->request.batches;
    row->trial.result = *result;
    judge_row(setup, result, row);
    bool joint = flight->request.measure == RUE_JOINT && result->outcome == RUE_TRIAL_OK;
    status = rue_rank_times_add(&ledger->rank_times[row->variant], joint ? result->ranks : NULL, error);
    rue_trial_result_drop_lists(&row->trial.result);
    return status;
}

void rue_flight_complete(const struct rue_study_setup *setup, struct rue_flight *flight)
{
    const struct rue_study_variant *variant = &setup->variants[flight->at.variant];
    struct rue_trial_request *request = &flight->request;
    flight->origin = rue_study_origin(setup, flight->at.variant, flight->at.model);
    request->variant = variant->variant;
    request->workload = variant->workload;
    request->job_images = variant->job_images;
    /* Ranks that are compared may slow each other down, at worst as if they loaded one after the other. */
    uint64_t slower =
        setup->goal.loader.deployment.numbers.count ? (uint64_t)variant->workload.world_size : 1;
    request->limits =
        (struct rue_limits){time_limit_ns(&setup->goal, slower * flight->expected_ns), setup->memory_bytes};
    if (flight->at.model == RUE_NONE) return;
    snprintf(request->model, sizeof request->model, "%s", setup->models[flight->at.model].name);
}

/* Clocks: on a virtual one each lane has its own; the real one is that of the study. */
static uint64_t flight_now_ns(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                              const struct rue_flight *flight)
{
    if (rue_study_hello(setup)->virtual_clock) return *flight->clock_ns;
    uint64_t now_ns = rue_study_spent_ns(setup, ledger); /* reported costs may be ahead of it */
    return setup->host.runners->count > 1 && *flight->clock_ns > now_ns ? *flight->clock_ns : now_ns;
}

static const char *model_profile(const struct rue_study_setup *setup, size_t model)
{
    return model == RUE_NONE ? NULL : setup->models[model].profile_json;
}

/* A row of the plan or of this run, such as a reference, may also answer a question of the strategy. */
static bool find_known_row(const struct rue_study_ledger *ledger, uint64_t id, size_t *row)
{
    bool own = ledger->first_own && id >= ledger->first_own;
    size_t end = own ? ledger->row_count : ledger->probe_rows;
    for (*row = 0; *row < end; ++*row)
        if (ledger->rows[*row].trial.id == id) return true;
    return false;
}

/* `answered`: there is such a row. */
static rue_status find_stored(struct rue_study_ledger *ledger, struct rue_flight *flight,
                              struct rue_store_position position, rue_error *error)
{
    struct rue_store_trial trial;
    rue_status status =
        rue_store_find_trial(ledger->store, &flight->origin, &flight->request, position, &trial, error);
    flight->answered = status == RUE_OK && trial.id;
    flight->result = trial.result;
    flight->at.trial.id = trial.id;
    flight->at.trial.started_ns = flight->answered ? trial.started_ns : 0;
    return status;
}

rue_status rue_flight_answer(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, size_t nth, rue_error *error)
{
    struct rue_ledger_row *at = &flight->at;
    rue_flight_complete(setup, flight);
    flight->request.repeat = nth == RUE_STUDY_NEW_TRIAL ? 0 : nth;
    rue_status status = find_stored(ledger, flight, (struct rue_store_position){.nth = nth}, error);
    flight->stored = flight->answered;
    if (!flight->answered || find_known_row(ledger, at->trial.id, &flight->row)) return status;
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
 * It does not count against the budget, unless other nodes worked at the same time. */
static bool discard_suspended(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                              struct rue_flight *flight)
{
    if (!ledger->clock.suspended)
        rue_progress_note(setup->progress,
                          "a trial was suspended: its result is discarded, and the trial is repeated");
    ledger->clock.suspended = true;
    if (!flight->at.node)
        ledger->clock.suspended_ns += flight_now_ns(setup, ledger, flight) - flight->at.trial.started_ns;
    rue_trial_result_fail(&flight->result, "the trial was suspended and continued %d times",
                          ++flight->suspensions);
    return flight->suspensions < SUSPENDED_MAX;
}

/* Of several runners, the row of a trial that failed names the node. */
static void name_node(const struct rue_study_setup *setup, struct rue_flight *flight)
{
    const struct rue_rank *rank = flight->runner->rank;
    char reason[RUE_REASON_BYTES + RUE_NODE_BYTES + 32];
    struct rue_trial_result *result = &flight->result;
    if (result->outcome == RUE_TRIAL_OK) return;
    memcpy(flight->failure, result->reason, sizeof flight->failure);
    if (!rank || setup->host.runners->count == 1) return;
    snprintf(reason, sizeof reason, "on rank %d (%s): %s", rank->rank, rank->node, flight->failure);
    rue_error_shorten(reason, result->reason, sizeof result->reason);
}

/* Whether to try again: a trial that was not warm or cold as requested counts only at the last attempt; its
 * row records the cache state in any case. */
static bool is_retried(struct rue_flight *flight)
{
    struct rue_trial_result *result = &flight->result;
    bool ran = result->outcome == RUE_TRIAL_OK || result->outcome == RUE_TRIAL_FAILED;
    flight->attempts++;
    bool missed = result->cache_missed == 1 && ran && flight->attempts < MISSED_MAX;
    if (missed) result->outcome = RUE_TRIAL_FAILED;
    return (missed || (result->retry && flight->attempts < RETRY_MAX)) && !rue_runner_is_lost(flight->runner);
}

/* Stores the result. */
static rue_status record_trial(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               struct rue_flight *flight, rue_error *error)
{
    struct rue_ledger_trial *trial = &flight->at.trial;
    *flight->clock_ns = trial->started_ns + rue_study_cost_ns(&flight->result);
    ledger->run_trials++;
    flight->at.suspended_ns = ledger->clock.suspended_ns;
    struct rue_store_trial row = rue_store_make_trial(&flight->origin, &flight->request);
    row.started_ns = trial->started_ns;
    row.result = flight->result;
    rue_status status = rue_store_add_trial(ledger->store, &row, error);
    trial->id = row.id;
    if (!ledger->first_own) ledger->first_own = row.id;
    return status == RUE_OK ? note_row(setup, ledger, flight, error) : status;
}

rue_status rue_flight_finish(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                             struct rue_flight *flight, rue_error *error)
{
    bool lost = rue_runner_is_lost(flight->runner), repeats = false;
    if (rue_runner_was_suspended(flight->runner)) repeats = discard_suspended(setup, ledger, flight) && !lost;
    if (!repeats) {
        rue_study_count_cost(setup, ledger, flight->at.trial.started_ns, &flight->result);
        repeats = is_retried(flight);
        name_node(setup, flight);
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

rue_status rue_flight_load(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                           struct rue_flight *flight, uint64_t id, rue_error *error)
{
    struct rue_ledger_row *at = &flight->at;
    rue_flight_complete(setup, flight);
    rue_status status = find_stored(ledger, flight, (struct rue_store_position){.after = id - 1}, error);
    flight->answered &= at->trial.id == id;
    if (!flight->answered || find_known_row(ledger, id, &flight->row)) return status;
    ledger->reused++;
    return note_row(setup, ledger, flight, error);
}

rue_status rue_flight_visit_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                   struct rue_flight *flight, rue_store_visit *visit, void *context,
                                   rue_error *error)
{
    rue_flight_complete(setup, flight);
    return rue_store_visit_trials(ledger->store, &flight->origin, &flight->request, visit, context, error);
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
