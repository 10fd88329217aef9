#include "study_farm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "like_nodes.h"
#include "probes.h"
#include "runner_farm.h"
#include "study_show.h"
#include "units.h"

static const double reference_s = 0.3; /* least time of a reference of the loader */
static const int check_ms = 500;       /* of the budget */
static const uint64_t start_timeout_ns = 60 * RUE_NS_PER_S;
static const int patience_ms = 2000; /* of the others, on a virtual clock */
static const char no_restart[] = "cannot start its runner again";

struct lane {
    uint64_t clock_ns;       /* spent time that is accounted for */
    bool busy, starting;     /* makes a trial; starts a new runner, also busy */
    uint64_t starting_ns;    /* spent time when it began to start */
    bool waits;              /* for another lane's result */
    bool stalls;             /* busy, and on a virtual clock its end is not known yet */
    struct rue_track *track; /* that asked; NULL: a reference */
    struct rue_track *asker; /* of `question` */
    bool asked;              /* it is still to be answered, after references */
    struct rue_question question;
    struct rue_study_flight flight;
    struct rue_trial_result result; /* on a virtual clock, known at once */
    uint64_t end_ns;
    char failure[RUE_REASON_BYTES]; /* of its last trial that failed */
    bool succeeds, fails;           /* its last trial for a strategy was ok; the last ones failed */
    struct rue_same_failures failures;
};

struct farm {
    struct rue_study *study;
    struct rue_tracks *tracks;
    struct rue_runner_group *runners;
    uint64_t start_ns;
    struct rue_like_nodes like;
    uint64_t reference_images;      /* 0: as chosen */
    size_t references;              /* trials, of which each track pays its part */
    size_t first_trial, last_trial; /* of this run: their numbers; 0: none */
    char last_drop[RUE_ERROR_MESSAGE_BYTES];
    struct lane lanes[RUE_NODES_MAX + 1]; /* from 1, as nodes are numbered */
};

static bool is_virtual(const struct farm *farm)
{
    return rue_study_hello(&farm->study->setup)->virtual_clock;
}

static void wake_lanes(struct farm *farm)
{
    for (size_t n = 1; n <= farm->like.count; n++) farm->lanes[n].waits = false;
}

/* Accounts for the time until `now_ns` on a lane without a trial. */
static void advance(struct farm *farm, size_t node, uint64_t now_ns)
{
    struct lane *lane = &farm->lanes[node];
    const struct rue_strategy_ops *strategy = farm->study->setup.plan.strategy;
    if (lane->busy || farm->like.nodes[node].dropped || now_ns <= lane->clock_ns) return;
    for (size_t i = 0; i < farm->tracks->count; i++)
        strategy->spend(farm->tracks->at[i].state, node,
                        (double)(now_ns - lane->clock_ns) / 1e9 * farm->tracks->at[i].share, 0);
    lane->clock_ns = now_ns;
}

/* ---- nodes that differ or end ---- */

/* The node's trials from `since` on are in no matrix, and are not reused. */
static rue_status discard_trials(struct farm *farm, size_t node, size_t since, const char *why,
                                 rue_error *error)
{
    struct rue_study_ledger *ledger = &farm->study->ledger;
    const struct rue_rank *rank = rue_runner_farm_rank(farm->runners, node - 1);
    char text[2 * RUE_NOTICE_TEXT_BYTES];
    struct rue_dropped_node dropped = {.rank = (uint64_t)rank->rank, .discarded_end = farm->last_trial + 1};
    dropped.discarded = since;
    if (dropped.discarded > dropped.discarded_end) dropped.discarded = dropped.discarded_end;
    snprintf(dropped.node, sizeof dropped.node, "%s", rank->node);
    snprintf(dropped.why, sizeof dropped.why, "%s", why);
    for (size_t i = 0; i < ledger->row_count; i++) {
        struct rue_ledger_row *row = &ledger->rows[i];
        if (row->node != node || row->trial.id < farm->first_trial) continue;
        row->discarded = row->trial.id >= dropped.discarded;
        if (row->discarded || row->trial.result.outcome != RUE_TRIAL_OK) row->config = RUE_NONE;
    }
    snprintf(farm->last_drop, sizeof farm->last_drop, "rank %d (%s) %s", rank->rank, rank->node, why);
    rue_dropped_node_text(&dropped, text, sizeof text);
    rue_progress_note(farm->study->setup.progress, "%s", text);
    return rue_study_note_dropped(&farm->study->setup, ledger, &dropped, error);
}

static rue_status drop(struct farm *farm, size_t node, size_t since, const char *why, rue_error *error)
{
    if (since < farm->first_trial || !farm->first_trial) /* earlier runs are judged by themselves */
        since = farm->first_trial ? farm->first_trial : SIZE_MAX;
    farm->like.nodes[node].dropped = true;
    rue_trial_result_close(&farm->lanes[node].result); /* of a trial in progress, on a virtual clock */
    farm->lanes[node].busy = farm->lanes[node].asked = farm->lanes[node].stalls = false;
    for (size_t i = 0; i < farm->tracks->count; i++)
        farm->study->setup.plan.strategy->drop(farm->tracks->at[i].state, node, since);
    wake_lanes(farm);
    return discard_trials(farm, node, since, why, error);
}

/* Each drop changes what is usual. */
static rue_status drop_different(struct farm *farm, rue_error *error)
{
    char why[RUE_REASON_BYTES + 60];
    struct rue_node_difference found = rue_like_nodes_find(&farm->like);
    if (!found.node) return RUE_OK;
    if (found.failed)
        snprintf(why, sizeof why, "failed reference trials: %s", farm->lanes[found.node].failure);
    else if (found.noisy)
        snprintf(why, sizeof why,
                 "differs from the other nodes: its reference trials vary by %.0f %%, theirs by %.1f %%",
                 100 * found.scatter, 100 * found.usual_scatter);
    else
        snprintf(why, sizeof why,
                 "differs from the other nodes: the time of its reference trials is %.2f times theirs",
                 found.ratio);
    rue_status status = drop(farm, found.node, found.since, why, error);
    return status == RUE_OK ? drop_different(farm, error) : status;
}

/* ---- references ---- */

static void prepare_reference(struct farm *farm, size_t node, size_t kind)
{
    const struct rue_study_setup *setup = &farm->study->setup;
    struct rue_study_flight *flight = &farm->lanes[node].flight;
    *flight = (struct rue_study_flight){.lane = node - 1, .at.node = node};
    rue_watch_choose_reference(setup, 0, &flight->at.model, &flight->request);
    if (farm->reference_images) flight->request.images = farm->reference_images;
    if (kind == 0) return;
    flight->at.model = 0;
    flight->request.measure = RUE_COMPUTE;
    flight->request.images = 0;
    flight->request.batches = RUE_PROBES_COMPUTE_BATCHES;
}

/* A very short reference is too noisy: all are made longer before the first one counts. Those that had begun
 * before do not count. */
static bool lengthen_reference(struct farm *farm, const struct lane *lane, double seconds)
{
    uint64_t job = farm->study->setup.variants[0].job_images, images = lane->flight.request.images;
    if (lane->flight.at.model != RUE_NONE) return false;
    if (!farm->reference_images)
        farm->reference_images = images;
    else if (images != farm->reference_images)
        return true;
    if (rue_like_nodes_have_times(&farm->like, 0) || 1.5 * seconds >= reference_s || images >= job)
        return false;
    farm->reference_images = (uint64_t)fmin((double)job, ceil((double)images * reference_s / seconds));
    return true;
}

static rue_status absorb_reference(struct farm *farm, size_t node, size_t last_trial, rue_error *error)
{
    struct lane *lane = &farm->lanes[node];
    const struct rue_trial_result *result = &lane->result;
    size_t kind = lane->flight.request.measure == RUE_COMPUTE;
    int64_t time_ns = kind ? result->compute_ns : result->end_to_end_ns;
    farm->study->ledger.rows[farm->study->ledger.last_row].reference = true;
    farm->study->setup.plan.strategy->spend(farm->tracks->at[farm->references++ % farm->tracks->count].state,
                                            node, 0, 1);
    bool ok = result->outcome == RUE_TRIAL_OK && time_ns > 0;
    if (ok && kind == 0 && lengthen_reference(farm, lane, (double)time_ns / 1e9)) return RUE_OK;
    if (ok) {
        rue_like_nodes_add(&farm->like, node, kind, (double)time_ns / 1e9, last_trial);
    } else {
        rue_like_nodes_fail(&farm->like, node, kind);
        if (farm->like.kinds == kind)
            rue_progress_note(farm->study->setup.progress,
                              "the nodes cannot be compared%s, because reference trials fail on all: %s",
                              kind ? " in computing" : "", lane->failure);
    }
    return drop_different(farm, error);
}

/* ---- trials ---- */

/* The next question for the node, from the track that has spent least of its share. */
static bool ask(struct farm *farm, size_t node)
{
    struct lane *lane = &farm->lanes[node];
    bool asked[RUE_STUDY_VARIANTS_MAX] = {0};
    for (size_t i = 0; i < farm->tracks->count; i++) {
        size_t next = 0;
        double least = INFINITY;
        for (size_t t = 0; t < farm->tracks->count; t++) {
            const struct rue_track *track = &farm->tracks->at[t];
            double spent = (double)track->spent_ns / track->share;
            if (!asked[t] && spent < least) next = t, least = spent;
        }
        asked[next] = true;
        lane->asker = &farm->tracks->at[next];
        lane->asked = farm->study->setup.plan.strategy->ask_for(lane->asker->state, node, &lane->question);
        if (lane->asked) return true;
    }
    return false;
}

static void prepare_question(struct farm *farm, size_t node)
{
    const struct rue_study_setup *setup = &farm->study->setup;
    struct lane *lane = &farm->lanes[node];
    lane->track = lane->asker;
    struct rue_study_cell cell = rue_study_find_cell(setup, lane->track, &lane->question);
    lane->flight =
        (struct rue_study_flight){.lane = node - 1,
                                  .at = {.node = node,
                                         .variant = cell.variant,
                                         .model = lane->question.measure == RUE_LOAD ? RUE_NONE : cell.model},
                                  .request = rue_study_make_request(setup, cell, &lane->question)};
}

/* A node on which trials fail is dropped as soon as one succeeds on another node. If they fail on all nodes,
 * the study ends. */
static rue_status count_failures(struct farm *farm, size_t node, rue_error *error)
{
    struct lane *lane = &farm->lanes[node];
    char why[RUE_REASON_BYTES + 60];
    rue_error end = {0};
    bool succeeds = false, all = true;
    lane->succeeds = lane->result.outcome == RUE_TRIAL_OK;
    rue_status status = rue_same_failures_count(&lane->failures, &lane->result, &end);
    lane->fails = status != RUE_OK;
    if (status == RUE_OK) return RUE_OK;
    for (size_t n = 1; n <= farm->like.count; n++) {
        succeeds |= farm->lanes[n].succeeds && !farm->like.nodes[n].dropped;
        all &= farm->lanes[n].fails || farm->like.nodes[n].dropped;
    }
    if (all) return rue_fail(error, status, "%s", end.message);
    if (!succeeds) return RUE_OK;
    snprintf(why, sizeof why, "failed %d trials, one after the other: %s", lane->failures.in_a_row,
             lane->failure);
    return drop(farm, node, SIZE_MAX, why, error);
}

static rue_status absorb_question(struct farm *farm, size_t node, rue_error *error)
{
    struct rue_study *study = farm->study;
    struct lane *lane = &farm->lanes[node];
    struct rue_study_cell cell = rue_study_find_cell(&study->setup, lane->track, &lane->question);
    rue_status status = rue_study_absorb(&study->setup, &study->ledger, farm->tracks, lane->track,
                                         &lane->question, &lane->result, error);
    wake_lanes(farm);
    if (status == RUE_OK && !lane->question.stored) status = count_failures(farm, node, error);
    if (status == RUE_OK)
        rue_study_show_progress(&study->setup, &study->ledger, lane->track->state, cell.variant, cell.model,
                                &study->setup.configs[cell.config], farm->start_ns);
    return status;
}

/* On a virtual clock, the answer shows when the trial ends. */
static rue_status receive(struct farm *farm, size_t node, rue_error *error)
{
    struct lane *lane = &farm->lanes[node];
    rue_error why = {0};
    rue_status status = rue_runner_farm_finish(farm->runners, node - 1, &lane->result, &why);
    lane->stalls = false;
    if (farm->like.nodes[node].dropped) /* while its trial was in progress */
        return rue_trial_result_close(&lane->result), RUE_OK;
    if (status == RUE_RUNNER) return drop(farm, node, SIZE_MAX, no_restart, error);
    if (status != RUE_OK) return rue_fail(error, status, "%s", why.message);
    int64_t cost_ns = lane->result.cost_ns != RUE_ABSENT ? lane->result.cost_ns : lane->result.end_to_end_ns;
    lane->end_ns = lane->clock_ns + (cost_ns > 0 ? (uint64_t)cost_ns : 0);
    return RUE_OK;
}

/* On a virtual clock, the others continue without a lane whose answer does not come. */
static rue_status await(struct farm *farm, size_t node, rue_error *error)
{
    struct lane *lane = &farm->lanes[node];
    lane->stalls = !rue_runner_farm_has_ended(farm->runners, node - 1, patience_ms);
    return lane->stalls ? RUE_OK : receive(farm, node, error);
}

/* Of this run, only the reference trials of other nodes could answer. */
static size_t choose_stored(const struct rue_study_ledger *ledger, const struct rue_question *question)
{
    bool answers = ledger->found_trials && (!ledger->stored_unobserved || !question->repeat);
    return answers ? (size_t)question->repeat : RUE_STUDY_NEW_TRIAL;
}

/* What is due on a lane: a question, `*nth` of its stored answers, or a reference. A study that is continued
 * makes references only if a question needs a trial. `*found`: there is something. */
static rue_status choose_trial(struct farm *farm, size_t node, bool *found, size_t *nth,
                               uint64_t *expected_ns, rue_error *error)
{
    struct rue_study *study = farm->study;
    struct lane *lane = &farm->lanes[node];
    const struct rue_study_flight *flight = &lane->flight;
    size_t kind;
    bool due = rue_like_nodes_is_due(&farm->like, node, &kind), continued = study->ledger.found_trials;
    bool open = lane->asked || ((!due || continued) && ask(farm, node)), stored = false;
    rue_status status = RUE_OK;
    if (open) {
        prepare_question(farm, node);
        *nth = choose_stored(&study->ledger, &lane->question);
        *expected_ns = rue_study_expected_ns(&study->setup, &lane->question);
    }
    if (open && due && *nth != RUE_STUDY_NEW_TRIAL)
        status = rue_study_is_stored(&study->setup, &study->ledger, flight->at.variant, flight->at.model,
                                     &lane->flight.request, *nth, &stored, error);
    bool refers = due && !stored && (open || !continued);
    lane->asked = open && refers;
    *found = open || refers;
    if (!refers) return status;
    lane->track = NULL;
    *nth = RUE_STUDY_NEW_TRIAL;
    *expected_ns = 0;
    prepare_reference(farm, node, kind);
    return status;
}

/* Begins the trial that is due on a lane; a stored answer is absorbed at once. */
static rue_status begin(struct farm *farm, size_t node, rue_error *error)
{
    struct rue_study *study = farm->study;
    struct lane *lane = &farm->lanes[node];
    size_t nth = RUE_STUDY_NEW_TRIAL;
    uint64_t expected_ns = 0;
    bool found = false, stored = false;
    rue_status status = choose_trial(farm, node, &found, &nth, &expected_ns, error);
    lane->waits = !found;
    if (status != RUE_OK || !found) return status;
    status = rue_study_begin(&study->setup, &study->ledger, &lane->flight, nth, expected_ns, lane->clock_ns,
                             &stored, &lane->result, error);
    if (status != RUE_OK) return status;
    lane->busy = !stored;
    if (!stored) return is_virtual(farm) ? await(farm, node, error) : RUE_OK;
    status = absorb_question(farm, node, error);
    rue_trial_result_close(&lane->result);
    return status;
}

static rue_status finish_restart(struct farm *farm, size_t node, rue_error *error)
{
    struct lane *lane = &farm->lanes[node];
    rue_error why = {0};
    rue_status status = rue_runner_farm_end_restart(farm->runners, node - 1, &why);
    lane->starting = lane->busy = false;
    if (status == RUE_OK || farm->like.nodes[node].dropped) return RUE_OK;
    if (status == RUE_RUNNER) return drop(farm, node, SIZE_MAX, no_restart, error);
    return rue_fail(error, status, "%s", why.message);
}

/* The trial of a lane has ended. */
static rue_status finish(struct farm *farm, size_t node, rue_error *error)
{
    struct rue_study *study = farm->study;
    struct lane *lane = &farm->lanes[node];
    size_t last_trial = farm->last_trial;
    if (lane->starting) return finish_restart(farm, node, error);
    rue_status status = is_virtual(farm) ? RUE_OK : receive(farm, node, error);
    bool repeated = false;
    if (status != RUE_OK || farm->like.nodes[node].dropped) return status;
    status = rue_study_finish(&study->setup, &study->ledger, &lane->flight, lane->clock_ns, &repeated,
                              &lane->result, error);
    if (status != RUE_OK) return status;
    if (repeated) return is_virtual(farm) ? await(farm, node, error) : RUE_OK;
    if (lane->result.outcome != RUE_TRIAL_OK)
        memcpy(lane->failure, lane->flight.failure, sizeof lane->failure);
    farm->last_trial = study->ledger.rows[study->ledger.last_row].trial.id;
    if (!farm->first_trial) farm->first_trial = farm->last_trial;
    lane->busy = false;
    if (lane->track) {
        lane->clock_ns = lane->clock_ns + (uint64_t)fmax(0, (double)lane->result.cost_ns);
        rue_like_nodes_count(&farm->like, node);
        status = absorb_question(farm, node, error);
    } else {
        advance(farm, node, lane->clock_ns + (uint64_t)fmax(0, (double)lane->result.cost_ns));
        status = absorb_reference(farm, node, last_trial, error);
    }
    rue_trial_result_close(&lane->result);
    if (status != RUE_OK || farm->like.nodes[node].dropped) return status;
    if (rue_runner_farm_is_lost(farm->runners, node - 1))
        return drop(farm, node, SIZE_MAX, "ended its connection", error);
    if (is_virtual(farm)) return RUE_OK; /* with the next trial */
    status = rue_runner_farm_restart(farm->runners, node - 1, &lane->starting, error);
    lane->busy = lane->starting;
    lane->starting_ns = rue_study_spent_ns(&study->setup, &study->ledger);
    return status;
}

/* ---- what is next ---- */

/* The busy lane whose trial ends first, or the free lane with the least clock; 0: none. The end of the study
 * does not wait for a runner that starts for long. */
static size_t first_lane(const struct farm *farm, bool busy)
{
    const struct rue_budget *budget = &farm->study->setup.goal.search.budget;
    size_t first = 0, running = 0;
    for (size_t n = 1; n <= farm->like.count; n++) running += farm->lanes[n].busy && !farm->lanes[n].starting;
    if (!busy && budget->trials && farm->study->ledger.run_trials + running >= budget->trials) return 0;
    for (size_t n = 1; n <= farm->like.count; n++) {
        const struct lane *lane = &farm->lanes[n], *best = &farm->lanes[first];
        if (farm->like.nodes[n].dropped || lane->busy != busy || (busy ? lane->stalls : lane->waits))
            continue;
        uint64_t now_ns =
            lane->starting ? rue_study_spent_ns(&farm->study->setup, &farm->study->ledger) : lane->clock_ns;
        if (lane->starting && now_ns >= lane->starting_ns + start_timeout_ns) continue;
        if ((!busy || lane->starting) && budget->time_ns && now_ns >= budget->time_ns) continue;
        if (!first || (busy ? lane->end_ns < best->end_ns : lane->clock_ns < best->clock_ns)) first = n;
    }
    return first;
}

static bool any_stalls(const struct farm *farm)
{
    bool any = false;
    for (size_t n = 1; n <= farm->like.count; n++) any |= farm->lanes[n].stalls;
    return any;
}

/* Receives the answers of stalled lanes that have come; `waits`: waits for one. */
static rue_status collect_stalled(struct farm *farm, bool waits, rue_error *error)
{
    size_t lane;
    rue_status status = waits ? rue_runner_farm_wait(farm->runners, check_ms, &lane, error) : RUE_OK;
    if (status == RUE_OK && waits && lane != SIZE_MAX) status = receive(farm, lane + 1, error);
    for (size_t n = 1; status == RUE_OK && n <= farm->like.count; n++)
        if (farm->lanes[n].stalls && rue_runner_farm_has_ended(farm->runners, n - 1, 0))
            status = receive(farm, n, error);
    return status;
}

static rue_status step(struct farm *farm, size_t free, size_t busy, rue_error *error)
{
    size_t lane;
    rue_status status = RUE_OK;
    if (free && (!busy || !is_virtual(farm) || farm->lanes[free].clock_ns < farm->lanes[busy].end_ns))
        return begin(farm, free, error);
    if (!busy) return collect_stalled(farm, true, error);
    if (!is_virtual(farm)) {
        status = rue_runner_farm_wait(farm->runners, check_ms, &lane, error);
        if (status != RUE_OK || lane == SIZE_MAX) return status;
        busy = lane + 1;
    }
    for (size_t n = 1; status == RUE_OK && is_virtual(farm) && n <= farm->like.count; n++)
        if (farm->lanes[n].waits) advance(farm, n, farm->lanes[busy].end_ns);
    return status == RUE_OK ? finish(farm, busy, error) : status;
}

static rue_status run(struct farm *farm, rue_error *error)
{
    struct rue_study *study = farm->study;
    size_t dropped = 0;
    for (;;) {
        rue_status status = rue_interrupt_status();
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        for (size_t n = 1; n <= farm->like.count && !is_virtual(farm); n++)
            advance(farm, n, rue_study_spent_ns(&study->setup, &study->ledger));
        status = collect_stalled(farm, false, error);
        if (status != RUE_OK) return status;
        size_t free = first_lane(farm, false), busy = first_lane(farm, true);
        if (!free && !busy && !any_stalls(farm)) break;
        status = step(farm, free, busy, error);
        if (status != RUE_OK) return status;
    }
    for (size_t n = 1; n <= farm->like.count; n++) dropped += farm->like.nodes[n].dropped;
    if (dropped < farm->like.count) return RUE_OK;
    return rue_fail(error, RUE_RUNNER, "no node is left: %s", farm->last_drop);
}

/* The first references take at most half of a budget of trials. */
static void choose_references(struct farm *farm)
{
    const struct rue_study_setup *setup = &farm->study->setup;
    const struct rue_hello *hello = rue_study_hello(setup);
    size_t trials = setup->goal.search.budget.trials,
           kinds = hello->measures[RUE_LOAD] && hello->measures[RUE_COMPUTE] ? 2 : 1;
    farm->like.kinds = kinds;
    while (trials && farm->like.kinds &&
           2 * farm->like.count * (1 + RUE_NODE_TIMES_MIN * farm->like.kinds) > trials)
        farm->like.kinds--;
    if (farm->like.kinds < kinds)
        rue_progress_note(setup->progress, "the budget has too few trials to compare %s",
                          farm->like.kinds ? "how fast the nodes compute" : "the nodes");
}

rue_status rue_study_run_farm(struct rue_study *study, struct rue_tracks *tracks, rue_error *error)
{
    struct farm *farm = calloc(1, sizeof *farm);
    if (!farm) return rue_fail_memory(error, "a farm", sizeof *farm);
    farm->study = study;
    farm->tracks = tracks;
    farm->runners = rue_runner_farm(study->setup.host.runner);
    farm->start_ns = rue_study_spent_ns(&study->setup, &study->ledger);
    farm->like.count = rue_runner_group_count(farm->runners);
    choose_references(farm);
    for (size_t n = 1; n <= farm->like.count; n++) farm->lanes[n].clock_ns = farm->start_ns;
    rue_status status = run(farm, error);
    for (size_t n = 1; n <= farm->like.count; n++) rue_trial_result_close(&farm->lanes[n].result);
    free(farm);
    if (status == RUE_OK) return rue_study_check_signal(study, tracks, error);
    rue_study_mark_partial(study,
                           status == RUE_INTERRUPTED || status == RUE_TERMINATED ? "interrupted" : "stopped");
    return status;
}
