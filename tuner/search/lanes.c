#include "lanes.h"

#include "study_outcome.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>

void rue_lanes_wake(struct rue_schedule *schedule)
{
    for (size_t l = 0; l < schedule->count; l++) schedule->lanes[l].waits = false;
}

/* ---- the budget ---- */

static void spend_time(struct rue_schedule *schedule, const struct rue_lane *lane, uint64_t spent_ns)
{
    for (size_t i = 0; rue_lanes_strategy(schedule)->spend && i < schedule->tracks->count; i++)
        rue_lanes_strategy(schedule)->spend(schedule->tracks->at[i].state, lane->node,
                                            (double)spent_ns / 1e9 * schedule->tracks->at[i].share, 0);
}

void rue_lanes_advance(struct rue_schedule *schedule, struct rue_lane *lane, uint64_t now_ns)
{
    if (lane->busy || lane->dropped || now_ns <= lane->clock_ns) return;
    spend_time(schedule, lane, now_ns - lane->clock_ns);
    lane->clock_ns = now_ns;
}

void rue_lanes_charge(struct rue_schedule *schedule, const struct rue_lane *lane, uint64_t cost_ns,
                      size_t trials)
{
    const struct rue_strategy_ops *strategy = rue_lanes_strategy(schedule);
    struct rue_track *track = lane->last;
    if (!track) {
        spend_time(schedule, lane, cost_ns);
        track = &schedule->tracks->at[schedule->charged++ % schedule->tracks->count];
        cost_ns = 0;
    }
    track->spent_ns += cost_ns;
    if (strategy->spend) strategy->spend(track->state, lane->node, (double)cost_ns / 1e9, trials);
}

static size_t count_running(const struct rue_schedule *schedule)
{
    size_t running = 0;
    for (size_t l = 0; l < schedule->count; l++)
        running += schedule->lanes[l].busy && !schedule->lanes[l].starting;
    return running;
}

struct rue_watch_reserve rue_lanes_watch_reserve(const struct rue_schedule *schedule)
{
    struct rue_watch_reserve sum = {.trials = count_running(schedule)};
    for (size_t i = 0; rue_lanes_strategy(schedule)->reserve && i < schedule->tracks->count; i++) {
        struct rue_watch_reserve one = {0};
        rue_lanes_strategy(schedule)->reserve(schedule->tracks->at[i].state, &one.seconds, &one.trials);
        sum.seconds += one.seconds;
        sum.trials += one.trials;
    }
    return sum;
}

bool rue_lanes_is_spent(const struct rue_schedule *schedule, const struct rue_lane *lane)
{
    const struct rue_budget *budget = &schedule->study->setup.goal.search.budget;
    size_t trials = schedule->study->ledger.run_trials + count_running(schedule);
    return (budget->time_ns && lane->clock_ns >= budget->time_ns) ||
           (budget->trials && trials >= budget->trials);
}

/* ---- lanes that differ or end ---- */

static void end_lane(struct rue_schedule *schedule, struct rue_lane *lane, const char *why)
{
    const struct rue_rank *rank = lane->runner->rank;
    snprintf(schedule->last_drop, sizeof schedule->last_drop, "rank %d (%s) %s", rank->rank, rank->node, why);
    lane->dropped = true;
}

/* The lane's trials from `since` on are in no matrix, and are not reused. */
static rue_status discard_trials(struct rue_schedule *schedule, const struct rue_lane *lane, size_t since,
                                 const char *why, rue_error *error)
{
    struct rue_study_ledger *ledger = &schedule->study->ledger;
    const struct rue_rank *rank = lane->runner->rank;
    char text[2 * RUE_NOTICE_TEXT_BYTES];
    struct rue_dropped_node dropped = {.rank = (uint64_t)rank->rank,
                                       .discarded_end = schedule->last_trial + 1};
    dropped.discarded = since < dropped.discarded_end ? since : dropped.discarded_end;
    snprintf(dropped.node, sizeof dropped.node, "%s", rank->node);
    snprintf(dropped.why, sizeof dropped.why, "%s", why);
    for (size_t i = 0; i < ledger->row_count; i++) {
        struct rue_ledger_row *row = &ledger->rows[i];
        if (row->node != lane->node || row->stored || row->trial.id < schedule->first_trial) continue;
        row->discarded = row->trial.id >= dropped.discarded;
        if (row->discarded || row->trial.result.outcome != RUE_TRIAL_OK) row->config = RUE_NONE;
    }
    rue_dropped_node_text(&dropped, text, sizeof text);
    rue_progress_note(schedule->study->setup.progress, "%s", text);
    return rue_study_note_dropped(ledger, &dropped, error);
}

static rue_status drop(struct rue_schedule *schedule, struct rue_lane *lane, size_t since, const char *why,
                       rue_error *error)
{
    size_t first = schedule->first_trial; /* earlier runs are judged by themselves */
    if (!first || since < first) since = first ? first : SIZE_MAX;
    end_lane(schedule, lane, why);
    rue_trial_result_close(&lane->trial.flight.result); /* of a trial in progress, on a virtual clock */
    lane->busy = lane->has_asked = false;
    for (size_t i = 0; i < schedule->tracks->count; i++)
        rue_lanes_strategy(schedule)->drop(schedule->tracks->at[i].state, lane->node, since);
    rue_watch_drop(schedule->watch, lane->number);
    rue_lanes_wake(schedule);
    return discard_trials(schedule, lane, since, why, error);
}

/* Each drop changes what is usual. */
rue_status rue_lanes_drop_different(struct rue_schedule *schedule, rue_error *error)
{
    char why[RUE_REASON_BYTES + 60], ratio[RUE_UNIT_TEXT_BYTES];
    struct rue_node_difference found = {0};
    if (schedule->watch) found = rue_watch_find_different(schedule->watch);
    if (!found.node) return RUE_OK;
    struct rue_lane *lane = &schedule->lanes[found.node - 1];
    if (found.failed)
        snprintf(why, sizeof why, "failed reference trials: %s", lane->failures.last);
    else if (found.noisy)
        snprintf(why, sizeof why,
                 "differs from the other nodes: its reference trials vary by %.0f %%, theirs by %.1f %%",
                 100 * found.scatter, 100 * found.usual_scatter);
    else
        snprintf(why, sizeof why,
                 "differs from the other nodes: the time of its reference trials is %s times theirs",
                 rue_format_times(found.ratio, ratio, sizeof ratio));
    rue_status status = drop(schedule, lane, found.since, why, error);
    return status == RUE_OK ? rue_lanes_drop_different(schedule, error) : status;
}

/* If it differed already, its trials since then do not count. */
rue_status rue_lanes_lose(struct rue_schedule *schedule, struct rue_lane *lane, const char *text,
                          const rue_error *why, rue_error *error)
{
    if (schedule->count == 1 && why) return rue_fail(error, RUE_RUNNER, "%s", why->message);
    if (schedule->count == 1 && lane->runner->rank) end_lane(schedule, lane, text);
    if (schedule->count == 1) return RUE_OK;
    struct rue_node_difference found = rue_watch_compare(schedule->watch);
    size_t since = found.node == lane->node ? found.since : SIZE_MAX;
    rue_status status = drop(schedule, lane, since, text, error);
    return status == RUE_OK ? rue_lanes_drop_different(schedule, error) : status;
}

rue_status rue_lanes_count_failures(struct rue_schedule *schedule, struct rue_lane *lane, rue_error *error)
{
    char why[RUE_REASON_BYTES + 60];
    rue_error end = {0};
    bool succeeds = false, all = true;
    lane->failures.succeeds = lane->trial.flight.result.outcome == RUE_TRIAL_OK;
    rue_status status = rue_same_failures_count(&lane->failures.same, &lane->trial.flight.result, &end);
    lane->failures.fails = status != RUE_OK;
    if (status == RUE_OK) return RUE_OK;
    for (size_t l = 0; l < schedule->count; l++) {
        succeeds |= schedule->lanes[l].failures.succeeds && !schedule->lanes[l].dropped;
        all &= schedule->lanes[l].failures.fails || schedule->lanes[l].dropped;
    }
    if (all) return rue_fail(error, status, "%s", end.message);
    if (!succeeds) return RUE_OK;
    snprintf(why, sizeof why, "failed %d trials, one after the other: %s", lane->failures.same.in_a_row,
             lane->failures.last);
    return rue_lanes_lose(schedule, lane, why, NULL, error);
}
