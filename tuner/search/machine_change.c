#include "machine_change.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study_outcome.h"

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

/* The first usable compute trial on that node, and its seconds per batch at the initial speed. */
static const struct rue_ledger_row *find_computing(const struct rue_study_ledger *ledger, size_t node,
                                                   double *batch_s)
{
    for (size_t i = 0; i < ledger->row_count; i++) {
        const struct rue_ledger_trial *trial = &ledger->rows[i].trial;
        const struct rue_trial_result *result = &trial->result;
        if (trial->measure != RUE_COMPUTE || result->outcome != RUE_TRIAL_OK) continue;
        if (result->compute_ns <= 0 || result->batches <= 0 || ledger->rows[i].node != node) continue;
        *batch_s = (double)result->compute_ns / 1e9 / (double)result->batches /
                   exp(rue_speed_history_at(&ledger->speeds, trial->id).compute);
        return &ledger->rows[i];
    }
    return NULL;
}

/* The row of the last reference with the expected time before that trial: the change is later. */
static size_t last_good_reference(const struct rue_study_ledger *ledger, size_t first_row, size_t trial)
{
    size_t at = ledger->row_count - 1;
    while (at > first_row && !(ledger->rows[at].reference && ledger->rows[at].trial.id < trial)) at--;
    return at;
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

struct rue_machine_change rue_machine_change_begin(const struct rue_study_setup *setup,
                                                   const struct rue_study_ledger *ledger,
                                                   struct rue_change_evidence evidence)
{
    struct rue_speed now = rue_speed_history_at(&ledger->speeds, SIZE_MAX);
    struct rue_machine_change change = {.load = snap_level(&ledger->speeds, false, evidence.level) - now.load,
                                        .least = INFINITY};
    change.active = change.load != 0;
    if (!change.active) return change;
    const struct rue_ledger_row *good =
        &ledger->rows[last_good_reference(ledger, evidence.first_row, evidence.end)];
    change.notice = (struct rue_notice){.noticed = ledger->rows[ledger->row_count - 1].trial.id,
                                        .uncertain = good->trial.id + good->reference,
                                        .uncertain_end = evidence.end};
    change.notice.trial = locate_change(ledger, change.notice.uncertain, evidence.end, change.load);
    change.assumed = evidence.by_loader && setup->models[0].known ? 0 : change.load; /* models that sleep */
    const struct rue_ledger_row *row = find_computing(ledger, evidence.node, &change.before);
    change.repeats = row;
    if (!row) return change;
    change.variant = row->variant;
    change.model = row->model;
    change.request = (struct rue_trial_request){.measure = RUE_COMPUTE,
                                                .config = row->trial.result.config,
                                                .batches = (uint64_t)row->trial.result.batches};
    return change;
}

bool rue_machine_change_measure(struct rue_machine_change *change, const struct rue_trial_result *result)
{
    if (result->outcome == RUE_TRIAL_OK && result->compute_ns > 0 && result->batches > 0)
        change->least = fmin(change->least, (double)result->compute_ns / 1e9 / (double)result->batches);
    return ++change->repeated == RUE_CHANGE_REPEATS;
}

/* How much slower computing has become, a logarithm. */
static double computing_change(const struct rue_study_ledger *ledger, const struct rue_machine_change *change)
{
    if (!isfinite(change->least)) return change->assumed;
    double now = rue_speed_history_at(&ledger->speeds, SIZE_MAX).compute,
           found = log(change->least / change->before) - now;
    return fabs(found - change->load) < equal_tolerance ? change->load : found;
}

static rue_status make_notice(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                              const struct rue_causes *causes, struct rue_notice *notice, rue_error *error)
{
    char text[RUE_NOTICE_TEXT_BYTES];
    if (causes) rue_causes_explain(causes, notice->uncertain, notice->cause);
    size_t used = strlen(notice->cause);
    if (notice->compute_ratio > 1 && setup->models[0].known &&
        setup->models[0].profile.consumer == RUE_CONSUMER_SLEEP)
        snprintf(notice->cause + used, sizeof notice->cause - used, "%ssleeping models woke late",
                 used ? ", " : "");
    rue_notice_text(notice, text, sizeof text);
    rue_progress_note(setup->progress, "%s", text);
    return rue_study_note_change(ledger, notice, error);
}

rue_status rue_machine_change_conclude(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                       const struct rue_causes *causes, struct rue_machine_change *change,
                                       struct rue_speed_change *out, rue_error *error)
{
    double now = rue_speed_history_at(&ledger->speeds, SIZE_MAX).compute,
           compute = snap_level(&ledger->speeds, true, now + computing_change(ledger, change)) - now;
    change->notice.load_ratio = exp(change->load);
    change->notice.compute_ratio = exp(compute);
    *out = (struct rue_speed_change){change->notice.trial, {change->load, compute}};
    change->active = false;
    return make_notice(setup, ledger, causes, &change->notice, error);
}
