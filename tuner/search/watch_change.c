/* A change of all machines: since when, how much, and why. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study_outcome.h"
#include "watch_state.h"

static const double equal_tolerance = 0.1; /* smaller differences count as the same speed */

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

/* The first usable compute trial on that node (0: any), and its seconds per batch at the initial speed. */
static const struct rue_ledger_row *find_computing(const struct rue_study_ledger *ledger, size_t node,
                                                   double *batch_s)
{
    for (size_t i = 0; i < ledger->row_count; i++) {
        const struct rue_trial_row *trial = &ledger->rows[i].trial;
        const struct rue_trial_result *result = &trial->result;
        if (trial->request.measure != RUE_COMPUTE || result->outcome != RUE_TRIAL_OK) continue;
        if (result->compute_ns <= 0 || result->batches <= 0 || ledger->rows[i].node != node) continue;
        *batch_s = (double)result->compute_ns / 1e9 / (double)result->batches /
                   exp(rue_speed_history_at(&ledger->speeds, trial->id).compute);
        return &ledger->rows[i];
    }
    return NULL;
}

/* The first compute trial is repeated to find how much slower computing has become. */
static struct rue_watch_task choose_computing(const struct rue_watch *watch, size_t lane, double *before)
{
    const struct rue_ledger_row *row =
        find_computing(watch->ledger, rue_study_node(watch->setup, lane), before);
    if (!row) return (struct rue_watch_task){.kind = RUE_WATCH_NOTHING};
    return (struct rue_watch_task){.kind = RUE_WATCH_COMPUTES,
                                   .variant = row->variant,
                                   .model = row->model,
                                   .request = {.measure = RUE_COMPUTE,
                                               .config = row->trial.result.config,
                                               .batches = (uint64_t)row->trial.result.batches}};
}

/* By how much computing has become slower, as a logarithm. Models that sleep do not change. Without a compute
 * trial, computing is assumed to change as loading does. */
static double computing_change(const struct rue_watch *watch)
{
    const struct rue_watched_change *change = &watch->change;
    bool by_loader = watch->references[watch->lanes[change->lane].variant].model == RUE_NONE;
    if (change->task.kind == RUE_WATCH_NOTHING || !isfinite(change->least))
        return by_loader && watch->setup->models[0].known ? 0 : change->load;
    double now = rue_speed_history_at(&watch->ledger->speeds, SIZE_MAX).compute,
           found = log(change->least / change->before) - now;
    return fabs(found - change->load) < equal_tolerance ? change->load : found;
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

void rue_watch_restart(struct rue_watch *watch)
{
    for (size_t l = 0; l < watch->count; l++) {
        for (size_t v = 0; v < watch->setup->variant_count; v++)
            rue_reference_restart(&watch->lanes[l].series[v]);
        rue_slowdown_reset(&watch->lanes[l].slowdown);
    }
    rue_like_nodes_restart(&watch->like);
}

/* How far the references are from the initial speed: the median over the lanes, each by the reference with
 * most times since the change. */
static double load_level(const struct rue_watch *watch)
{
    double levels[RUE_NODES_MAX];
    size_t count = 0;
    for (size_t l = 0; l < watch->count && count < RUE_NODES_MAX; l++) {
        const struct rue_watched_lane *lane = &watch->lanes[l];
        struct rue_reference_series most = lane->series[0];
        for (size_t v = 1; v < watch->setup->variant_count; v++)
            if (lane->series[v].pending_count > most.pending_count) most = lane->series[v];
        if (!lane->dropped && most.pending_count)
            levels[count++] = rue_median(most.pending, most.pending_count) - most.initial;
    }
    return rue_median(levels, count);
}

bool rue_watch_begin_change(struct rue_watch *watch, size_t lane, size_t end)
{
    const struct rue_study_ledger *ledger = watch->ledger;
    struct rue_watched_change *change = &watch->change;
    struct rue_speed now = rue_speed_history_at(&ledger->speeds, SIZE_MAX);
    *change = (struct rue_watched_change){.active = true, .lane = lane, .least = INFINITY};
    change->load = snap_level(&ledger->speeds, false, load_level(watch)) - now.load;
    change->active = change->load != 0;
    if (!change->active) return false;
    size_t good = last_good_reference(watch, end);
    change->notice =
        (struct rue_notice){.noticed = ledger->rows[ledger->row_count - 1].trial.id,
                            .uncertain = ledger->rows[good].trial.id + ledger->rows[good].reference,
                            .uncertain_end = end};
    change->notice.trial = locate_change(ledger, change->notice.uncertain, end, change->load);
    change->task = choose_computing(watch, lane, &change->before);
    return true;
}

rue_status rue_watch_conclude(struct rue_watch *watch, struct rue_watch_news *news, rue_error *error)
{
    struct rue_watched_change *change = &watch->change;
    *news = (struct rue_watch_news){.changed = change->active};
    if (!change->active) return RUE_OK;
    double now = rue_speed_history_at(&watch->ledger->speeds, SIZE_MAX).compute,
           compute = snap_level(&watch->ledger->speeds, true, now + computing_change(watch)) - now;
    change->notice.load_ratio = exp(change->load);
    change->notice.compute_ratio = exp(compute);
    news->change = (struct rue_speed_change){change->notice.trial, {change->load, compute}};
    change->active = false;
    rue_status status = make_notice(watch, &change->notice, error);
    if (status == RUE_OK) rue_watch_restart(watch);
    return status;
}

rue_status rue_watch_measure_change(struct rue_watch *watch, size_t row, struct rue_watch_news *news,
                                    rue_error *error)
{
    struct rue_watched_change *change = &watch->change;
    const struct rue_trial_result *result = &watch->ledger->rows[row].trial.result;
    if (change->task.kind == RUE_WATCH_NOTHING) return rue_watch_conclude(watch, news, error);
    if (result->outcome == RUE_TRIAL_OK && result->compute_ns > 0 && result->batches > 0)
        change->least = fmin(change->least, (double)result->compute_ns / 1e9 / (double)result->batches);
    return ++change->repeats < RUE_WATCH_COMPUTE_REPEATS ? RUE_OK : rue_watch_conclude(watch, news, error);
}
