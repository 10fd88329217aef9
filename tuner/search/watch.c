#include "watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probes.h"
#include "reference.h"
#include "study_costs.h"
#include "study_space.h"

enum {
    LEAST_TRIALS = 10,
    LEAST_BUDGET = 50,
    CHECKS_MAX = 5,
    ALARM_LEAST = 4,
    ALARM_MOST = 6,    /* references of each lane, if one has changed */
    ALARM_TRIALS = 10, /* of each lane, after which one that cannot make references is not waited for */
    USUAL_REFERENCES = 85
};

static const double suspicion = 2;                  /* log likelihood ratio; by chance 1 in 7 */
static const double false_alarms = 0.05;            /* per study of USUAL_REFERENCES references, 500 trials */
static const double cost_share = 0.05;              /* of the time, for references */
static const double surprised_share = 0.12;         /* of the time, after a trial that was unexpected */
static const double suspected_share = 0.25;         /* of the time, if references show a change */
static const double surprise_sds = 3;               /* error of an unexpected trial */
static const double min_s = 0.1, trial_share = 0.3; /* length of a reference: 0.1 s, or 0.3 usual trials */
static const double first_s = 0.3;                  /* its length before the first trial */
struct watched_lane {
    bool dropped;
    struct rue_slowdown slowdown; /* evidence from its references */
    struct rue_reference_series series[RUE_STUDY_VARIANTS_MAX];
    size_t variant;      /* of its last trial; of several lanes, all references are those of the first */
    size_t trials_since; /* its last reference */
    bool surprised;      /* by one of them */
    int checks;          /* references that may still follow its last trial */
    bool owes;           /* references, because a lane has changed */
    int made;            /* of them */
};

struct rue_watch {
    const struct rue_study_setup *setup;
    struct rue_study_ledger *ledger;
    bool speeds; /* are watched: the study is long enough */
    struct rue_reference references[RUE_STUDY_VARIANTS_MAX];
    struct rue_like_nodes like;
    struct rue_causes *causes; /* NULL on a virtual clock, and of several machines */
    size_t first_row;          /* of the ledger since the watch began */
    double references_s;       /* without the first RUE_REFERENCE_VALUES_MIN of each variant */
    double last_s;             /* the last reference */
    double trials_s, trial_count;
    bool alarm;          /* a lane has changed, and it is not known yet whether the others have, too */
    size_t alarm_trials; /* of all lanes, since then */
    uint64_t last_trial; /* of this run: its number */
    struct rue_machine_change change; /* of all lanes */
    size_t measuring;                 /* the lane that repeats its compute trial */
    size_t count;
    struct watched_lane lanes[]; /* [count] */
};

/* ---- whether to watch ---- */

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
    struct rue_reference reference = rue_reference_choose(setup, 0);
    out->model = reference.model;
    out->request = reference.request;
    out->references = RUE_REFERENCE_VALUES_MIN * setup->variant_count + setup->plan.trials / RUE_WATCH_PERIOD;
    return true;
}

size_t rue_watch_strategy_trials(const struct rue_study_setup *setup, size_t trials)
{
    if (trials < LEAST_BUDGET || is_recorded(setup)) return trials;
    size_t begins = (RUE_REFERENCE_VALUES_MIN + 1) * setup->variant_count; /* the first may be too short */
    return (trials - begins) * RUE_WATCH_PERIOD / (RUE_WATCH_PERIOD + 1);
}

/* Of several nodes, the first references take at most half of a budget of trials. */
static void choose_comparisons(struct rue_watch *watch)
{
    const struct rue_study_setup *setup = watch->setup;
    const struct rue_hello *hello = rue_study_hello(setup);
    size_t trials = setup->goal.search.budget.trials,
           kinds = hello->measures[RUE_LOAD] && hello->measures[RUE_COMPUTE] ? 2 : 1;
    watch->like.count = watch->count;
    if (watch->count == 1) return;
    watch->like.kinds = kinds;
    while (trials && watch->like.kinds &&
           2 * watch->count * (1 + RUE_NODE_TIMES_MIN * watch->like.kinds) > trials)
        watch->like.kinds--;
    if (watch->like.kinds < kinds)
        rue_progress_note(setup->progress, "the budget has too few trials to compare %s",
                          watch->like.kinds ? "how fast the nodes compute" : "the nodes");
}

rue_status rue_watch_open(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          struct rue_watch **out, rue_error *error)
{
    size_t count = setup->host.runners->count;
    *out = NULL;
    if (count == 1 && !is_long_enough(setup)) return RUE_OK;
    struct rue_watch *watch = calloc(1, sizeof *watch + count * sizeof *watch->lanes);
    if (!watch) return rue_fail_memory(error, "a watch", sizeof *watch + count * sizeof *watch->lanes);
    watch->setup = setup;
    watch->ledger = ledger;
    watch->speeds = is_long_enough(setup);
    watch->count = count;
    watch->first_row = ledger->row_count;
    choose_comparisons(watch);
    for (size_t l = 0; l < count; l++) {
        watch->lanes[l].slowdown = rue_slowdown_open(false_alarms, USUAL_REFERENCES);
        for (size_t v = 0; v < RUE_STUDY_VARIANTS_MAX; v++)
            watch->lanes[l].series[v] =
                (struct rue_reference_series){.variant = v, .node = rue_study_node(setup, l)};
    }
    rue_status status = RUE_OK;
    if (!rue_study_hello(setup)->virtual_clock && count == 1)
        status = rue_causes_open("", &watch->causes, error);
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

/* ---- an alarm: a lane has changed ---- */

static bool any_owes(const struct rue_watch *watch)
{
    bool any = false;
    for (size_t l = 0; l < watch->count; l++) any |= watch->lanes[l].owes && !watch->lanes[l].dropped;
    return any;
}

/* Not all have changed. Those that differ too much are to be dropped; then the others continue at their new
 * speed. */
static void end_alarm(struct rue_watch *watch)
{
    watch->alarm = false;
    for (size_t l = 0; l < watch->count; l++) watch->lanes[l].owes = false;
    if (rue_like_nodes_find(&watch->like).node) return;
    for (size_t l = 0; l < watch->count; l++) {
        struct watched_lane *lane = &watch->lanes[l];
        if (!rue_slowdown_is_detected(&lane->slowdown)) continue;
        rue_slowdown_reset(&lane->slowdown);
        rue_reference_restart(&lane->series[lane->variant]);
    }
}

/* The lane makes no more of the references that it owes. */
static void give_up(struct rue_watch *watch, struct watched_lane *lane)
{
    lane->owes = false;
    if (watch->alarm && !any_owes(watch)) end_alarm(watch);
}

/* A trial of this run. An alarm does not last forever. */
static void note_trial(struct rue_watch *watch, uint64_t id)
{
    watch->last_trial = id;
    if (watch->alarm && ++watch->alarm_trials > ALARM_TRIALS * watch->count) end_alarm(watch);
}

/* ---- what is due ---- */

static rue_status note_cause(struct rue_watch *watch, const struct rue_ledger_row *row, rue_error *error)
{
    const struct rue_trial_result *result = &row->trial.result;
    double cpu_s = result->end_to_end_ns > 0 ? result->cpu_ratio * (double)result->end_to_end_ns / 1e9 : NAN;
    return watch->causes ? rue_causes_record(watch->causes, row->trial.id, cpu_s, error) : RUE_OK;
}

static bool has_times(const struct rue_watch *watch, size_t variant)
{
    for (size_t l = 0; l < watch->count; l++)
        if (!watch->lanes[l].dropped && watch->lanes[l].series[variant].baseline.count) return true;
    return false;
}

/* The reference of the lane's last trial, with its earlier times. */
static rue_status begin_series(struct rue_watch *watch, struct rue_reference_series *series, rue_error *error)
{
    struct rue_reference *reference = &watch->references[series->variant];
    if (!reference->chosen) *reference = rue_reference_choose(watch->setup, series->variant);
    if (series->begun) return RUE_OK;
    series->begun = true;
    return rue_reference_continue(watch->setup, watch->ledger, reference, has_times(watch, series->variant),
                                  series, error);
}

static bool fits_budget(const struct rue_watch *watch, struct rue_watch_reserve reserve)
{
    const struct rue_budget *budget = &watch->setup->goal.search.budget;
    double spent_s = (double)rue_study_spent_ns(watch->setup, watch->ledger) / 1e9;
    if (budget->time_ns && spent_s + reserve.seconds + watch->last_s >= (double)budget->time_ns / 1e9)
        return false;
    size_t reserved = rue_study_hello(watch->setup)->measures[RUE_COMPUTE] ? RUE_CHANGE_REPEATS : 0;
    return !budget->trials || watch->ledger->run_trials + reserved + reserve.trials < budget->trials;
}

/* Whether the lane's reference is due after its last trial. */
static bool is_due(const struct rue_watch *watch, const struct watched_lane *lane,
                   struct rue_watch_reserve reserve)
{
    const struct rue_reference_series *series = &lane->series[lane->variant];
    if (!watch->speeds || !lane->checks || series->failed || watch->change.active ||
        rue_slowdown_is_detected(&lane->slowdown) || watch->ledger->speeds.count == RUE_SPEED_CHANGES_MAX ||
        !fits_budget(watch, reserve))
        return false;
    size_t begun = series->begun ? series->baseline.count : 0; /* the first shows a change between two runs */
    if (begun < RUE_REFERENCE_VALUES_MIN)
        return begun || rue_study_predicts(watch->setup) ||
               watch->setup->plan.trials >= watch->ledger->answered + LEAST_TRIALS;
    bool suspects = rue_slowdown_evidence(&lane->slowdown, NULL) >= suspicion;
    double share = suspects ? suspected_share : lane->surprised ? surprised_share : cost_share;
    return (suspects || lane->surprised || lane->trials_since >= RUE_WATCH_PERIOD) &&
           watch->references_s <= share * watch->trials_s;
}

static struct rue_watch_task computing_task(const struct rue_watch *watch, size_t lane)
{
    struct rue_watch_task task = {.kind = RUE_WATCH_NODE_COMPUTES,
                                  .request = watch->references[watch->lanes[lane].variant].request};
    task.request.measure = RUE_COMPUTE;
    task.request.images = 0;
    task.request.batches = RUE_PROBES_COMPUTE_BATCHES;
    return task;
}

rue_status rue_watch_next(struct rue_watch *watch, size_t lane, struct rue_watch_reserve reserve,
                          struct rue_watch_task *out, rue_error *error)
{
    struct watched_lane *own = &watch->lanes[lane];
    size_t kind;
    *out = (struct rue_watch_task){.kind = RUE_WATCH_NOTHING};
    if (own->dropped) return RUE_OK;
    if (watch->change.active && watch->measuring == lane) {
        *out = (struct rue_watch_task){RUE_WATCH_COMPUTES, watch->change.variant, watch->change.model,
                                       watch->change.request};
        return RUE_OK;
    }
    if (own->owes && !fits_budget(watch, reserve)) give_up(watch, own);
    bool compares = !watch->alarm && rue_like_nodes_is_due(&watch->like, lane + 1, &kind);
    if (!compares && !own->owes && !is_due(watch, own, reserve)) return RUE_OK;
    rue_status status = begin_series(watch, &own->series[own->variant], error);
    if (status != RUE_OK) return status;
    if (compares && kind == 1) return *out = computing_task(watch, lane), RUE_OK;
    if (own->checks) own->checks--;
    const struct rue_reference *reference = &watch->references[own->variant];
    *out = (struct rue_watch_task){RUE_WATCH_REFERENCE, own->variant, reference->model, reference->request};
    return RUE_OK;
}

rue_status rue_watch_count(struct rue_watch *watch, size_t lane, size_t row, rue_error *error)
{
    struct watched_lane *own = &watch->lanes[lane];
    const struct rue_ledger_row *trial = &watch->ledger->rows[row];
    if (watch->trial_count++ == 0 && watch->count == 1) watch->first_row = row;
    if (watch->count == 1) own->variant = trial->variant;
    note_trial(watch, trial->trial.id);
    own->trials_since++;
    own->surprised |= fabs(trial->error) > surprise_sds * trial->error_sd;
    own->checks = CHECKS_MAX;
    rue_like_nodes_count(&watch->like, lane + 1);
    if (trial->trial.result.cost_ns > 0) watch->trials_s += (double)trial->trial.result.cost_ns / 1e9;
    return note_cause(watch, trial, error);
}

/* ---- what a reference shows ---- */

/* The lane's evidence of a change grows, or its time joins the baseline. */
static void judge_time(struct rue_watch *watch, struct watched_lane *lane,
                       struct rue_reference_series *series, const struct rue_ledger_row *row, double value)
{
    double error, mean, sd;
    if (!series->anchored && rue_reference_level_predict(&series->baseline, &mean, &sd))
        series->initial = mean - rue_speed_history_at(&watch->ledger->speeds, SIZE_MAX).load;
    bool known = rue_reference_level_error(&series->baseline, value, &error, &sd);
    if (known) rue_slowdown_observe(&lane->slowdown, row->trial.id, error, sd);
    if (rue_slowdown_evidence(&lane->slowdown, NULL) < suspicion) {
        rue_reference_level_add(&series->baseline, value);
        series->pending_count = 0;
        return;
    }
    rue_reference_level_add_scatter(&series->baseline, value);
    if (series->pending_count < RUE_REFERENCE_PENDING) series->pending[series->pending_count++] = value;
}

/* Compares the nodes by a reference of `kind`; `seconds` is 0 if it failed. */
static void compare_nodes(struct rue_watch *watch, size_t lane, size_t kind, size_t row, double seconds)
{
    size_t kinds = watch->like.kinds;
    if (kind >= kinds) return;
    if (seconds > 0) {
        rue_like_nodes_add(&watch->like, lane + 1, kind, seconds, watch->last_trial);
        return;
    }
    rue_like_nodes_fail(&watch->like, lane + 1, kind);
    if (watch->like.kinds < kinds)
        rue_progress_note(
            watch->setup->progress,
            "the nodes cannot be compared%s, because reference trials fail on all; the last one %s",
            kind ? " in computing" : "", watch->ledger->rows[row].trial.result.reason);
}

/* Continues the watch at the new speed. */
static void restart_watch(struct rue_watch *watch)
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
        const struct watched_lane *lane = &watch->lanes[l];
        struct rue_reference_series most = lane->series[0];
        for (size_t v = 1; v < watch->setup->variant_count; v++)
            if (lane->series[v].pending_count > most.pending_count) most = lane->series[v];
        if (!lane->dropped && most.pending_count)
            levels[count++] = rue_median(most.pending, most.pending_count) - most.initial;
    }
    return rue_median(levels, count);
}

/* Whether all lanes have changed; `*end`: the trial since which, at the latest. Where it is certain of most,
 * it need only be likely of those that have made their references. */
static bool all_have_changed(const struct rue_watch *watch, size_t *end)
{
    size_t live = 0, certain = 0;
    *end = SIZE_MAX;
    for (size_t l = 0; l < watch->count; l++) {
        const struct watched_lane *lane = &watch->lanes[l];
        size_t since;
        if (lane->dropped) continue;
        double evidence = rue_slowdown_evidence(&lane->slowdown, &since);
        bool detected = rue_slowdown_is_detected(&lane->slowdown);
        if (!detected && (evidence < suspicion || !watch->alarm || lane->owes)) return false;
        live++;
        certain += detected;
        if (since < *end) *end = since;
    }
    return 2 * certain > live;
}

/* A lane has changed: all make references now, because the cause may be common. */
static void raise_alarm(struct rue_watch *watch)
{
    watch->alarm = true;
    watch->alarm_trials = 0;
    for (size_t l = 0; l < watch->count; l++) {
        watch->lanes[l].made = 0;
        watch->lanes[l].owes = !watch->lanes[l].dropped;
    }
}

/* All lanes have changed; this one measures how much slower computing is. */
static void begin_change(struct rue_watch *watch, size_t lane, size_t end)
{
    struct rue_change_evidence evidence = {.end = end,
                                           .level = load_level(watch),
                                           .by_loader = watch->references[watch->lanes[lane].variant].model ==
                                                        RUE_NONE,
                                           .first_row = watch->first_row,
                                           .node = rue_study_node(watch->setup, lane)};
    watch->change = rue_machine_change_begin(watch->setup, watch->ledger, evidence);
    watch->measuring = lane;
    watch->alarm = false;
    for (size_t l = 0; l < watch->count; l++) {
        watch->lanes[l].owes = false;
        watch->lanes[l].checks = 0; /* the next reference follows a trial */
    }
    if (!watch->change.active) restart_watch(watch);
}

/* After a reference of a lane. */
static void look_for_change(struct rue_watch *watch, size_t lane)
{
    size_t end;
    if (!watch->speeds || watch->change.active || watch->ledger->speeds.count == RUE_SPEED_CHANGES_MAX)
        return;
    if (all_have_changed(watch, &end)) {
        begin_change(watch, lane, end);
    } else if (!watch->alarm && (rue_slowdown_is_detected(&watch->lanes[lane].slowdown) ||
                                 rue_like_nodes_find(&watch->like).changed)) {
        raise_alarm(watch);
    }
    if (watch->alarm && !any_owes(watch)) end_alarm(watch);
}

/* One of the references that a lane owes. */
static void pay_reference(struct watched_lane *lane)
{
    bool suspect = rue_slowdown_evidence(&lane->slowdown, NULL) >= suspicion,
         detected = rue_slowdown_is_detected(&lane->slowdown);
    if (!lane->owes) return;
    lane->made++;
    lane->owes = lane->made < (suspect && !detected ? ALARM_MOST : ALARM_LEAST);
}

static void observe_reference(struct rue_watch *watch, size_t lane, const struct rue_watch_task *task,
                              size_t row)
{
    struct watched_lane *own = &watch->lanes[lane];
    struct rue_reference_series *series = &own->series[task->variant];
    struct rue_reference *reference = &watch->references[task->variant];
    struct rue_ledger_row *trial = &watch->ledger->rows[row];
    const struct rue_trial_result *result = &trial->trial.result;
    bool first = series->baseline.count < RUE_REFERENCE_VALUES_MIN;
    if (result->cost_ns > 0) watch->last_s = (double)result->cost_ns / 1e9;
    if (!first) watch->references_s += watch->last_s;
    own->trials_since = 0;
    own->surprised = false;
    double seconds = result->outcome == RUE_TRIAL_OK && result->end_to_end_ns > 0
                         ? (double)result->end_to_end_ns / 1e9
                         : 0;
    double target_s =
        watch->trial_count > 0 ? fmin(min_s, trial_share * watch->trials_s / watch->trial_count) : first_s;
    if (seconds > 0 && (task->request.images != reference->request.images ||
                        (!has_times(watch, task->variant) &&
                         rue_reference_lengthen(reference, watch->setup->variants[task->variant].job_images,
                                                seconds, target_s))))
        return; /* it was too short to count */
    series->failed = !(seconds > 0);
    /* Once the usual time is known, one while other programs used CPUs says nothing about the machine. */
    bool contended =
        watch->count == 1 && !first && rue_study_contention(watch->setup, result).whole_ratio > 1;
    trial->reference = seconds > 0 && !contended;
    if (trial->reference) judge_time(watch, own, series, trial, log(seconds));
    if (contended) own->checks = 0; /* it is not repeated at once */
    compare_nodes(watch, lane, 0, row, seconds);
    pay_reference(own);
}

rue_status rue_watch_observe(struct rue_watch *watch, size_t lane, const struct rue_watch_task *task,
                             size_t row, struct rue_watch_news *news, rue_error *error)
{
    struct rue_ledger_row *trial = &watch->ledger->rows[row];
    const struct rue_trial_result *result = &trial->trial.result;
    *news = (struct rue_watch_news){0};
    rue_status status = note_cause(watch, trial, error);
    if (status != RUE_OK) return status;
    if (task->kind == RUE_WATCH_REFERENCE) {
        observe_reference(watch, lane, task, row);
    } else if (task->kind == RUE_WATCH_NODE_COMPUTES) {
        bool ok = result->outcome == RUE_TRIAL_OK && result->compute_ns > 0 && result->images > 0;
        double image_s = ok ? (double)result->compute_ns / 1e9 / (double)result->images : 0;
        compare_nodes(watch, lane, 1, row, image_s);
    } else {
        bool last = rue_machine_change_measure(&watch->change, result);
        return last ? rue_watch_conclude(watch, news, error) : RUE_OK;
    }
    note_trial(watch, trial->trial.id);
    look_for_change(watch, lane);
    return watch->change.active && !watch->change.repeats ? rue_watch_conclude(watch, news, error) : RUE_OK;
}

rue_status rue_watch_conclude(struct rue_watch *watch, struct rue_watch_news *news, rue_error *error)
{
    if (watch->alarm) end_alarm(watch);
    *news = (struct rue_watch_news){.changed = watch->change.active};
    if (!news->changed) return RUE_OK;
    rue_status status = rue_machine_change_conclude(watch->setup, watch->ledger, watch->causes,
                                                    &watch->change, &news->change, error);
    if (status == RUE_OK) restart_watch(watch);
    return status;
}

struct rue_node_difference rue_watch_compare(const struct rue_watch *watch)
{
    return rue_like_nodes_find(&watch->like);
}

struct rue_node_difference rue_watch_find_different(const struct rue_watch *watch)
{
    struct rue_node_difference found = rue_watch_compare(watch);
    bool waits = watch->change.active || (watch->alarm && !found.failed); /* the others are measured first */
    return waits ? (struct rue_node_difference){0} : found;
}

void rue_watch_drop(struct rue_watch *watch, size_t lane)
{
    size_t end, other = lane;
    watch->lanes[lane].dropped = watch->like.nodes[lane + 1].dropped = true;
    for (size_t l = 0; l < watch->count; l++)
        if (!watch->lanes[l].dropped) other = l;
    if (watch->measuring == lane) watch->measuring = other;
    if (other == lane || watch->change.active) return;
    if (watch->speeds && all_have_changed(watch, &end) && watch->ledger->speeds.count < RUE_SPEED_CHANGES_MAX)
        begin_change(watch, other, end);
    else if (!any_owes(watch))
        end_alarm(watch);
}

bool rue_watch_needs(const struct rue_watch *watch, size_t lane)
{
    return watch->lanes[lane].owes || (watch->change.active && watch->measuring == lane);
}
