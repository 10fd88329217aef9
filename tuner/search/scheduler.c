#include "scheduler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "lanes.h"
#include "plan_text.h"
#include "stored_trials.h"
#include "study_costs.h"
#include "study_space.h"
#include "study_views.h"
#include "units.h"

static const int check_ms = 500; /* of the budget */
static const uint64_t start_timeout_ns = 60 * RUE_NS_PER_S;
static const char no_restart[] = "cannot start its runner again";

/* ---- the budget of questions ---- */

/* Whether `trials` of `expected_s` fit the rest of the budget, scaling their time by the ratio of measured to
 * expected time so far. */
static bool fits_budget(const struct rue_schedule *schedule, size_t trials, double expected_s)
{
    const struct rue_study_setup *setup = &schedule->study->setup;
    const struct rue_tracks *tracks = schedule->tracks;
    const struct rue_budget *budget = &setup->goal.search.budget;
    if (budget->trials)
        return tracks->new_trials + trials <= rue_watch_strategy_trials(setup, budget->trials);
    double spent_s = (double)(rue_study_spent_ns(setup, &schedule->study->ledger) - schedule->start_ns) / 1e9;
    double pace = tracks->expected_s > 0 ? spent_s / tracks->expected_s : 1;
    return !budget->time_ns || pace * expected_s <= rue_study_budget_left_s(setup, &schedule->study->ledger);
}

/* A repeat that was not requested. */
static bool is_extra(const struct rue_schedule *schedule, const struct rue_question *question)
{
    return question->repeat >= schedule->study->setup.goal.search.repeats;
}

/* Whether a question of a strategy that does not predict is beyond the budget. An extra repeat begins only if
 * all of it fits. The first configuration always fits a budget of trials. */
static bool is_over_budget(const struct rue_schedule *schedule, const struct rue_question *question)
{
    const struct rue_study_setup *setup = &schedule->study->setup;
    const struct rue_tracks *tracks = schedule->tracks;
    size_t scenarios = setup->variant_count * setup->model_count;
    bool extra = is_extra(schedule, question), begins = tracks->repeat != question->repeat;
    if (extra && begins)
        return !fits_budget(schedule, scenarios * setup->config_count,
                            rue_study_whole_s(setup) / setup->goal.search.repeats);
    if (extra && tracks->over_budget) return true;
    if (setup->goal.search.budget.trials && tracks->new_trials == 0) return false;
    return !fits_budget(schedule, scenarios, rue_study_config_s(setup, &setup->configs[question->config]));
}

/* Whether stored trials may still answer later questions of a track whose question has no stored answer. */
static bool is_probing(const struct rue_schedule *schedule, const struct rue_track *track)
{
    struct rue_claim claim;
    return schedule->study->ledger.found_trials && rue_lanes_strategy(schedule)->interim &&
           !rue_lanes_strategy(schedule)->interim(track->state, &claim);
}

/* Which stored trial answers the lane's question. Of this run, reference trials of other nodes must not. */
static size_t choose_stored(const struct rue_schedule *schedule, const struct rue_lane *lane)
{
    const struct rue_study_ledger *ledger = &schedule->study->ledger;
    int repeat = lane->asked.question.repeat;
    bool is_new = schedule->count > 1 && !ledger->found_trials;
    return is_new || (ledger->stored_unobserved && repeat > 0) ? RUE_STUDY_NEW_TRIAL : (size_t)repeat;
}

static rue_status find_stored(struct rue_schedule *schedule, struct rue_lane *lane, bool *stored,
                              rue_error *error)
{
    struct rue_study *study = schedule->study;
    size_t nth = choose_stored(schedule, lane);
    *stored = false;
    if (!study->ledger.found_trials || nth == RUE_STUDY_NEW_TRIAL) return RUE_OK;
    struct rue_flight flight = rue_study_make_flight(&study->setup, &lane->asked);
    return rue_study_is_stored(&study->setup, &study->ledger, &flight, nth, stored, error);
}

/* `*out`: skip the lane's question, because it does not fit the budget and the store has no answer. A
 * strategy that predicts then ends, unless it is still probing. */
static rue_status check_skip(struct rue_schedule *schedule, struct rue_lane *lane, bool *out,
                             rue_error *error)
{
    struct rue_tracks *tracks = schedule->tracks;
    const struct rue_question *question = &lane->asked.question;
    bool predicts = rue_study_predicts(&schedule->study->setup), stored = false;
    *out = false;
    if (!predicts && (tracks->config != question->config || tracks->repeat != question->repeat))
        tracks->over_budget = is_over_budget(schedule, question);
    tracks->config = question->config;
    tracks->repeat = question->repeat;
    if (!tracks->over_budget && !rue_lanes_is_spent(schedule, lane)) return RUE_OK;
    rue_status status = find_stored(schedule, lane, &stored, error);
    if (status != RUE_OK) return status;
    *out = !stored;
    tracks->skipped += !stored && (predicts || !is_extra(schedule, question));
    lane->asked.track->ended = predicts && !stored && !is_probing(schedule, lane->asked.track);
    return RUE_OK;
}

/* ---- what a trial shows ---- */

static rue_status absorb_question(struct rue_schedule *schedule, struct rue_lane *lane, rue_error *error)
{
    struct rue_study *study = schedule->study;
    struct rue_study_cell cell = rue_study_find_cell(&study->setup, &lane->asked);
    rue_status status = rue_study_absorb(&study->setup, &study->ledger, schedule->tracks, &lane->asked,
                                         &lane->trial.flight, error);
    bool is_new = !lane->asked.question.stored;
    lane->last = lane->asked.track;
    rue_lanes_wake(schedule);
    if (status == RUE_OK && is_new) {
        lane->trials++;
        struct rue_ledger_row *row = &study->ledger.rows[lane->trial.flight.row];
        if (lane->expected.known && !rue_study_hello(&study->setup)->whole_jobs)
            rue_study_note_error(row, rue_study_contention(&study->setup, &row->trial.result),
                                 lane->expected.seconds, lane->expected.sd);
        if (schedule->watch)
            status = rue_watch_count(schedule->watch, lane->number, lane->trial.flight.row, error);
    }
    if (status == RUE_OK && is_new) status = rue_lanes_count_failures(schedule, lane, error);
    if (status == RUE_OK)
        rue_study_show_progress(&study->setup, &study->ledger, lane->last->state, cell, schedule->start_ns);
    return status;
}

/* All machines have changed: earlier observations are corrected. Of strategies that do not predict, trials
 * that may have been made before or after are repeated. */
static void apply_change(struct rue_schedule *schedule, const struct rue_watch_news *news)
{
    if (!news->changed) return;
    for (size_t i = 0; rue_lanes_strategy(schedule)->shift && i < schedule->tracks->count; i++)
        rue_lanes_strategy(schedule)->shift(schedule->tracks->at[i].state, news->change.since,
                                            news->change.slowdown);
    if (!rue_study_predicts(&schedule->study->setup)) schedule->next_unsure = 0;
    rue_lanes_wake(schedule);
}

static rue_status absorb_watch(struct rue_schedule *schedule, struct rue_lane *lane, rue_error *error)
{
    struct rue_watch_news news;
    rue_status status = rue_watch_observe(schedule->watch, lane->number, &lane->trial.task,
                                          lane->trial.flight.row, &news, error);
    if (status != RUE_OK) return status;
    apply_change(schedule, &news);
    rue_lanes_wake(schedule); /* it may need trials of others */
    return rue_lanes_drop_different(schedule, error);
}

/* The new row takes the place of the one that is unsure. */
static rue_status absorb_repeat(struct rue_schedule *schedule, struct rue_lane *lane)
{
    struct rue_ledger_row *rows = schedule->study->ledger.rows;
    if (!(rows[lane->trial.flight.row].cost_ns > 0)) return RUE_OK;
    rows[lane->trial.flight.row].config = rows[lane->trial.repeated_row].config;
    rows[lane->trial.repeated_row].config = RUE_NONE;
    return RUE_OK;
}

/* ---- what is due ---- */

/* Gives the lane its trial. */
static void load_lane(struct rue_schedule *schedule, struct rue_lane *lane, int purpose,
                      const struct rue_flight *flight)
{
    lane->trial.purpose = purpose;
    lane->trial.flight = *flight;
    lane->trial.flight.runner = lane->runner;
    lane->trial.flight.clock_ns = &lane->clock_ns;
    lane->trial.flight.at.node = lane->node;
    lane->expected.known = false;
    if (purpose != RUE_LANE_QUESTION || !rue_lanes_strategy(schedule)->expect) return;
    lane->expected.seconds = lane->expected.sd = 0;
    lane->expected.known = rue_lanes_strategy(schedule)->expect(
        lane->asked.track->state, &lane->asked.question, &lane->expected.seconds, &lane->expected.sd);
}

/* The next question that is not skipped. */
static rue_status ask(struct rue_schedule *schedule, struct rue_lane *lane, rue_error *error)
{
    bool skipped = true;
    rue_status status = RUE_OK;
    while (status == RUE_OK && skipped && !lane->has_asked) {
        status = rue_interrupt_status();
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        if (!rue_tracks_ask(&schedule->study->setup, schedule->tracks, lane->node, &lane->asked)) break;
        status = check_skip(schedule, lane, &skipped, error);
        lane->has_asked = status == RUE_OK && !skipped;
    }
    return status;
}

static rue_status choose_watched(struct rue_schedule *schedule, struct rue_lane *lane, bool *found,
                                 rue_error *error)
{
    *found = false;
    if (!schedule->watch) return RUE_OK;
    rue_status status = rue_watch_next(schedule->watch, lane->number, rue_lanes_watch_reserve(schedule),
                                       &lane->trial.task, error);
    *found = status == RUE_OK && lane->trial.task.kind != RUE_WATCH_NOTHING;
    if (!*found) return status;
    struct rue_flight flight = {.at = {.variant = lane->trial.task.variant, .model = lane->trial.task.model},
                                .request = lane->trial.task.request};
    load_lane(schedule, lane, RUE_LANE_WATCH, &flight);
    return RUE_OK;
}

/* Repeats the trials that may lie before or after a change of the machine. */
static bool choose_repeat(struct rue_schedule *schedule, struct rue_lane *lane)
{
    struct rue_study *study = schedule->study;
    if (schedule->next_unsure == RUE_NONE) return false;
    size_t row = rue_study_next_unsure(&study->ledger, schedule->next_unsure);
    bool found = row != RUE_NONE && !rue_lanes_is_spent(schedule, lane);
    schedule->next_unsure = found ? row + 1 : RUE_NONE;
    if (!found) return false;
    const struct rue_ledger_row *unsure = &study->ledger.rows[row];
    struct rue_track *track = &schedule->tracks->at[0]; /* a strategy that does not predict has one */
    struct rue_asked asked = {
        .track = track,
        .question = {.measure = RUE_JOINT,
                     .scenario =
                         (unsure->variant - track->first_variant) * study->setup.model_count + unsure->model,
                     .config = unsure->config}};
    struct rue_flight flight = rue_study_make_flight(&study->setup, &asked);
    lane->trial.repeated_row = row;
    load_lane(schedule, lane, RUE_LANE_REPEAT, &flight);
    return true;
}

/* Chooses the lane's next trial: `*found`. A study that is continued makes the first trials of the watch only
 * if a question needs a trial. */
static rue_status choose_trial(struct rue_schedule *schedule, struct rue_lane *lane, bool *found,
                               rue_error *error)
{
    bool stored = false;
    rue_status status = RUE_OK;
    *found = false;
    if (schedule->study->ledger.found_trials && lane->trials == 0) {
        status = ask(schedule, lane, error);
        if (status == RUE_OK && lane->has_asked) status = find_stored(schedule, lane, &stored, error);
        bool needed = schedule->watch && rue_watch_needs(schedule->watch, lane->number);
        if (status != RUE_OK || (!lane->has_asked && !needed)) return status;
    }
    if (!stored) status = choose_watched(schedule, lane, found, error);
    if (status == RUE_OK && !*found) *found = choose_repeat(schedule, lane);
    if (status != RUE_OK || *found) return status;
    status = ask(schedule, lane, error);
    *found = status == RUE_OK && lane->has_asked;
    if (!*found) return status;
    struct rue_flight flight = rue_study_make_flight(&schedule->study->setup, &lane->asked);
    lane->has_asked = false;
    load_lane(schedule, lane, RUE_LANE_QUESTION, &flight);
    return RUE_OK;
}

/* ---- a trial ---- */

/* The runner has ended what the lane began. On a virtual clock, the answer shows when the trial ends. */
static rue_status receive(struct rue_schedule *schedule, struct rue_lane *lane, rue_error *error)
{
    rue_error why = {0};
    rue_status status =
        rue_runner_finish(lane->runner, lane->starting ? NULL : &lane->trial.flight.result, &why);
    if (lane->dropped) /* while that was in progress */
        return rue_trial_result_close(&lane->trial.flight.result), RUE_OK;
    if (status == RUE_RUNNER) return rue_lanes_lose(schedule, lane, no_restart, &why, error);
    if (status != RUE_OK) return rue_fail(error, status, "%s", why.message);
    lane->end_ns = lane->clock_ns + rue_study_cost_ns(&lane->trial.flight.result);
    return RUE_OK;
}

/* The lane's trial is answered. A strategy observes the cost of the last attempt at its question; the rest is
 * charged. */
static rue_status absorb(struct rue_schedule *schedule, struct rue_lane *lane, rue_error *error)
{
    const struct rue_flight *flight = &lane->trial.flight;
    bool asked = lane->trial.purpose == RUE_LANE_QUESTION;
    uint64_t last_ns = rue_study_cost_ns(&flight->result),
             elapsed_ns = lane->clock_ns > lane->begun_ns ? lane->clock_ns - lane->begun_ns : 0;
    if (elapsed_ns < last_ns) elapsed_ns = last_ns;
    size_t attempts = (size_t)flight->attempts;
    lane->busy = false;
    if (flight->result.outcome != RUE_TRIAL_OK)
        memcpy(lane->failures.last, flight->failure, sizeof lane->failures.last);
    if (attempts > asked)
        rue_lanes_charge(schedule, lane, asked ? elapsed_ns - last_ns : elapsed_ns, attempts - asked);
    rue_status status = asked                                   ? absorb_question(schedule, lane, error)
                        : lane->trial.purpose == RUE_LANE_WATCH ? absorb_watch(schedule, lane, error)
                                                                : absorb_repeat(schedule, lane);
    rue_trial_result_close(&lane->trial.flight.result);
    return status;
}

/* Begins the trial that is due on a lane; a stored answer is absorbed at once. */
static rue_status begin(struct rue_schedule *schedule, struct rue_lane *lane, rue_error *error)
{
    struct rue_study *study = schedule->study;
    bool found = false;
    rue_status status = choose_trial(schedule, lane, &found, error);
    lane->waits = !found;
    if (status != RUE_OK || !found) return status;
    size_t nth =
        lane->trial.purpose == RUE_LANE_QUESTION ? choose_stored(schedule, lane) : RUE_STUDY_NEW_TRIAL;
    if (!rue_lanes_is_virtual(schedule)) /* thinking, too, takes time */
        rue_lanes_advance(schedule, lane, rue_study_spent_ns(&study->setup, &study->ledger));
    lane->begun_ns = lane->clock_ns;
    status = rue_flight_answer(&study->setup, &study->ledger, &lane->trial.flight, nth, error);
    if (status == RUE_OK && lane->trial.flight.answered) return absorb(schedule, lane, error);
    if (status == RUE_OK)
        status = rue_flight_begin(&study->setup, &study->ledger, &lane->trial.flight, error);
    lane->busy = status == RUE_OK;
    return status == RUE_OK && rue_lanes_is_virtual(schedule) ? receive(schedule, lane, error) : status;
}

/* If the trial ended the lane's runner, a new one starts while the others continue. Alone, the next trial
 * starts it: there may be none. */
static rue_status restart(struct rue_schedule *schedule, struct rue_lane *lane, rue_error *error)
{
    if (rue_runner_is_lost(lane->runner))
        return rue_lanes_lose(schedule, lane, "ended its connection", NULL, error);
    if (rue_lanes_is_virtual(schedule) || schedule->count == 1) return RUE_OK;
    rue_status status = rue_runner_begin_restart(lane->runner, &lane->starting, error);
    lane->busy = lane->starting;
    lane->starting_ns = rue_study_spent_ns(&schedule->study->setup, &schedule->study->ledger);
    return status;
}

/* What the lane began has ended. */
static rue_status finish(struct rue_schedule *schedule, struct rue_lane *lane, rue_error *error)
{
    struct rue_study *study = schedule->study;
    bool started = lane->starting;
    rue_status status = rue_lanes_is_virtual(schedule) ? RUE_OK : receive(schedule, lane, error);
    lane->starting = false;
    if (started) lane->busy = false;
    if (status != RUE_OK || started || lane->dropped) return status;
    status = rue_flight_finish(&study->setup, &study->ledger, &lane->trial.flight, error);
    if (status != RUE_OK) return status;
    if (!lane->trial.flight.answered)
        return rue_lanes_is_virtual(schedule) ? receive(schedule, lane, error) : RUE_OK;
    schedule->last_trial = study->ledger.rows[lane->trial.flight.row].trial.id;
    if (!schedule->first_trial) schedule->first_trial = schedule->last_trial;
    status = absorb(schedule, lane, error);
    return status == RUE_OK && !lane->dropped ? restart(schedule, lane, error) : status;
}

/* ---- what is next ---- */

/* The end of the study does not wait for a runner that starts for long. */
static bool starts_too_long(const struct rue_schedule *schedule, const struct rue_lane *lane)
{
    const struct rue_study *study = schedule->study;
    const struct rue_budget *budget = &study->setup.goal.search.budget;
    uint64_t now_ns = rue_study_spent_ns(&study->setup, &study->ledger);
    return lane->starting &&
           (now_ns >= lane->starting_ns + start_timeout_ns || (budget->time_ns && now_ns >= budget->time_ns));
}

/* The busy lane whose trial ends first, or the free lane with the least clock; NULL: none. Of several lanes,
 * none asks after its budget, because each question must be answered. Alone, the store may have the answers.
 */
static struct rue_lane *first_lane(struct rue_schedule *schedule, bool busy)
{
    struct rue_lane *first = NULL;
    for (size_t l = 0; l < schedule->count; l++) {
        struct rue_lane *lane = &schedule->lanes[l];
        if (lane->dropped || lane->busy != busy || (!busy && lane->waits)) continue;
        if (busy ? starts_too_long(schedule, lane)
                 : schedule->count > 1 && rue_lanes_is_spent(schedule, lane))
            continue;
        if (!first || (busy ? lane->end_ns < first->end_ns : lane->clock_ns < first->clock_ns)) first = lane;
    }
    return first;
}

/* Waits for a runner, and finishes what it has ended. */
static rue_status wait_for_lane(struct rue_schedule *schedule, rue_error *error)
{
    size_t index;
    const struct rue_runners *runners = schedule->study->setup.host.runners;
    rue_status status = rue_runner_wait(runners->at, runners->count, check_ms, &index, error);
    if (status != RUE_OK || index == SIZE_MAX) return status;
    return finish(schedule, &schedule->lanes[index], error);
}

static rue_status step(struct rue_schedule *schedule, struct rue_lane *free, struct rue_lane *busy,
                       rue_error *error)
{
    if (free && (!busy || !rue_lanes_is_virtual(schedule) || free->clock_ns < busy->end_ns))
        return begin(schedule, free, error);
    if (!rue_lanes_is_virtual(schedule)) return wait_for_lane(schedule, error);
    for (size_t l = 0; l < schedule->count; l++)
        if (schedule->lanes[l].waits) rue_lanes_advance(schedule, &schedule->lanes[l], busy->end_ns);
    return finish(schedule, busy, error);
}

static rue_status run_lanes(struct rue_schedule *schedule, rue_error *error)
{
    struct rue_study *study = schedule->study;
    size_t dropped = 0;
    for (;;) {
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        for (size_t l = 0; l < schedule->count && !rue_lanes_is_virtual(schedule); l++)
            rue_lanes_advance(schedule, &schedule->lanes[l],
                              rue_study_spent_ns(&study->setup, &study->ledger));
        struct rue_lane *free = first_lane(schedule, false), *busy = first_lane(schedule, true);
        if (!free && !busy) break;
        status = step(schedule, free, busy, error);
        if (status != RUE_OK) return status;
    }
    for (size_t l = 0; l < schedule->count; l++) dropped += schedule->lanes[l].dropped;
    if (dropped < schedule->count) return RUE_OK;
    return rue_fail(error, RUE_RUNNER, "no node is left: %s", schedule->last_drop);
}

static rue_status conclude_watch(struct rue_schedule *schedule, rue_error *error)
{
    struct rue_watch_news news;
    if (!schedule->watch) return RUE_OK;
    rue_status status = rue_watch_conclude(schedule->watch, &news, error);
    if (status != RUE_OK) return status;
    apply_change(schedule, &news);
    return rue_lanes_drop_different(schedule, error);
}

rue_status rue_schedule(struct rue_study *study, struct rue_tracks *tracks, struct rue_watch *watch,
                        rue_error *error)
{
    const struct rue_runners *runners = study->setup.host.runners;
    size_t bytes = sizeof(struct rue_schedule) + runners->count * sizeof(struct rue_lane);
    struct rue_schedule *schedule = calloc(1, bytes);
    if (!schedule) return rue_fail_memory(error, "the lanes", bytes);
    schedule->study = study;
    schedule->tracks = tracks;
    schedule->watch = watch;
    schedule->count = runners->count;
    schedule->next_unsure = RUE_NONE;
    schedule->start_ns = rue_study_spent_ns(&study->setup, &study->ledger);
    for (size_t l = 0; l < schedule->count; l++) {
        struct rue_lane *lane = &schedule->lanes[l];
        lane->number = l;
        lane->node = rue_study_node(&study->setup, l);
        lane->runner = &runners->at[l];
        lane->clock_ns = schedule->start_ns;
    }
    rue_status status = run_lanes(schedule, error);
    if (status == RUE_OK) status = conclude_watch(schedule, error);
    for (size_t l = 0; l < schedule->count; l++)
        rue_trial_result_close(&schedule->lanes[l].trial.flight.result);
    free(schedule);
    if (status == RUE_OK && tracks->skipped) rue_study_mark_partial(study, "the budget was spent");
    if (status == RUE_OK) return rue_study_check_signal(study, tracks, error);
    rue_study_mark_partial(study,
                           status == RUE_INTERRUPTED || status == RUE_TERMINATED ? "interrupted" : "stopped");
    return status;
}
