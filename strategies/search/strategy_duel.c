/* Model-based search. A few probes predict every cell. Then each trial is the one that best separates the
 * leader from its challenger (top-two sampling): any cell and length, by reduction of variance per second.
 * Stops when, with the requested confidence, no configuration is better by more than epsilon, or at the end
 * of the budget; by then the leader has been measured on every model if the budget suffices. */
#include <math.h>
#include <stdlib.h>

#include "duel.h"
#include "probes.h"

enum { FIRST_LOOK = 5, STOP_LOOKS = 2 };

static const double load_share = 0.12;    /* of the budget, for load probes */
static const double survey_share = 0.3;   /* of the budget, for the joint trials that replace them */
static const double look_growth = 1.4;    /* of the number of joint trials, from one look to the next */
static const double earlier_ratio = 0.02; /* regret above the leader, of an earlier choice to measure */

enum phase { LOAD, COMPUTE, DECIDE, ENDED };

struct search {
    struct rue_duel duel;
    enum phase phase;
    size_t next_look;  /* number of joint trials */
    size_t stop_looks; /* consecutive looks that reached epsilon */
    size_t audits;
    bool baselines_done;    /* whole jobs of the baselines are queued */
    struct rue_claim claim; /* made after claim_joints - 1 joint trials */
    size_t claim_joints;    /* 0: none */
    bool claim_final;       /* made with the full number of draws */
    bool outdated;          /* the forecast must be updated */
};

static void update_search(struct search *search)
{
    search->outdated = false;
    rue_duel_update(&search->duel);
}

static void renew_claim(struct search *search, size_t draws, size_t config)
{
    struct rue_duel *duel = &search->duel;
    rue_forecast_claim(duel->forecast, duel->joints, draws, config, &search->claim);
    search->claim_joints = duel->joints + 1;
    search->claim_final = draws == RUE_FORECAST_CLAIM_DRAWS;
}

/* The load probes are in the forecast when compute probes start. */
static void start_compute_phase(struct search *search)
{
    struct rue_duel *duel = &search->duel;
    if (!rue_duel_is_waiting(duel)) update_search(search);
    if (duel->status == RUE_OK) rue_duel_push_compute_probes(duel);
    search->phase = COMPUTE;
}

/* Measures the earlier recommendation if it may still be good. */
static void push_earlier_choice(struct rue_duel *duel)
{
    const struct rue_prior *prior = duel->setup.known.prior;
    size_t untried;
    if (!prior || prior->config >= duel->setup.grid.config_count) return;
    double leader_regret = rue_forecast_regret(duel->forecast, rue_forecast_ranked(duel->forecast, 0));
    if (rue_forecast_regret(duel->forecast, prior->config) <= leader_regret + earlier_ratio &&
        rue_duel_verification_s(duel, prior->config, &untried) <= rue_duel_remaining_s(duel) / 2)
        rue_duel_push_verification(duel, prior->config);
}

static void start_decide_phase(struct search *search)
{
    struct rue_duel *duel = &search->duel;
    update_search(search);
    if (duel->status != RUE_OK) return;
    search->phase = DECIDE;
    search->next_look = FIRST_LOOK;
    push_earlier_choice(duel);
    search->outdated = !rue_question_queue_is_empty(&duel->queue);
}

/* An interim look at the claim. Looks are spaced by a factor, because each is one more chance of a false
 * stop. */
static void make_interim_look(struct search *search)
{
    struct rue_duel *duel = &search->duel;
    double joints = (double)duel->joints;
    update_search(search);
    if (duel->status != RUE_OK || duel->joints < search->next_look) return;
    bool skipped = joints >= look_growth * (double)search->next_look; /* looks missed by a resumed study */
    search->next_look = (size_t)ceil(fmax(joints + 2, look_growth * joints));
    renew_claim(search, RUE_FORECAST_LOOK_DRAWS, SIZE_MAX);
    bool may_stop = search->claim.verified && search->claim.prediction_error_ratio == 0 &&
                    search->claim.bound_ratio <= duel->setup.aim.epsilon_ratio;
    search->stop_looks = may_stop ? search->stop_looks + 1 + skipped : 0;
}

/* Queues the most informative trial that leaves `reserve_s` and `reserved` trials of the budget. */
static void push_comparison(struct search *search, double reserve_s, size_t reserved)
{
    struct rue_duel *duel = &search->duel;
    double limit_s = rue_duel_remaining_s(duel) - reserve_s;
    if (limit_s >= 0 && !rue_duel_lacks_trials(duel, reserved + 1) &&
        rue_posterior_trial_count(duel->forecast->posterior) < RUE_POSTERIOR_TRIALS_MAX)
        rue_duel_push_next(duel, limit_s, search->claim.prediction_error_ratio > 0, &search->audits);
}

/* The last trials measure the best on every model, one at a time, because each may change which it is. If
 * the budget does not suffice for that, they are the most informative ones. */
static void push_next_trial(struct search *search, bool look_due)
{
    struct rue_duel *duel = &search->duel;
    size_t best = rue_duel_to_verify(duel), untried, reserved = 0;
    double baselines_s = search->baselines_done ? 0 : rue_duel_baselines_s(duel, &reserved),
           finalists_s = rue_duel_finalists_s(duel, &reserved), reserve_s = baselines_s + finalists_s,
           verification_s = rue_duel_verification_s(duel, best, &untried),
           remaining_s = rue_duel_remaining_s(duel) - verification_s;
    bool affordable = rue_duel_can_verify(duel, best),
         unusable = !rue_forecast_is_any_verified(duel->forecast) &&
                    rue_forecast_prediction_error(duel->forecast) > 0;
    bool may_stop = search->stop_looks >= STOP_LOOKS && duel->joints >= 2 * duel->setup.grid.scenario_count;
    /* Only a claim about a configuration measured on every model can stop the search. */
    bool epsilon_reached =
        search->claim_joints > 0 && search->claim.bound_ratio <= duel->setup.aim.epsilon_ratio;
    if (may_stop && rue_duel_push_finalists(duel, remaining_s - baselines_s)) return;
    if (look_due && epsilon_reached && affordable && untried > 0) {
        rue_duel_push_verification(duel, best);
        return;
    }
    push_comparison(search, reserve_s + verification_s, reserved + untried);
    if (duel->status != RUE_OK || !rue_question_queue_is_empty(&duel->queue)) return;
    if (affordable || unusable)
        rue_duel_push_best_verification(duel);
    else
        push_comparison(search, reserve_s, reserved);
    if (duel->status == RUE_OK && finalists_s > 0 && rue_question_queue_is_empty(&duel->queue))
        (void)rue_duel_push_finalists(duel, remaining_s - baselines_s);
}

static void decide_next_trial(struct search *search)
{
    struct rue_duel *duel = &search->duel;
    bool look_due = duel->joints >= search->next_look;
    if (search->outdated || look_due) make_interim_look(search);
    if (duel->status == RUE_OK) push_next_trial(search, look_due);
    if (rue_duel_is_waiting(duel)) return; /* the answers may require more trials */
    if (duel->status == RUE_OK && rue_question_queue_is_empty(&duel->queue) && !search->baselines_done) {
        search->baselines_done = true;
        rue_duel_push_baselines(duel);
    }
    if (duel->status == RUE_OK && rue_question_queue_is_empty(&duel->queue)) search->phase = ENDED;
}

/* Whether the first trials have used up their share of the budget; the most informative ones come first. Of a
 * farm, trials that failed on a broken node do not suffice. */
static bool is_probed_enough(const struct rue_duel *duel)
{
    size_t least = duel->surveys ? duel->setup.grid.scenario_count : RUE_PROBES_LOAD_MIN;
    const struct rue_trial_log *log = &duel->forecast->prediction->logs[duel->surveys ? RUE_JOINT : RUE_LOAD];
    if (duel->setup.runner.nodes && log->count < least) return false;
    double share = duel->surveys ? survey_share : load_share;
    return duel->costs.new_trials >= least && duel->costs.spent_s > share * rue_duel_budget_s(duel);
}

/* Whether a queued question is still needed: excluded configurations are not tried on other models. */
static bool is_useful(const struct search *search, const struct rue_question *question)
{
    const struct rue_duel *duel = &search->duel;
    if (search->phase == LOAD && is_probed_enough(duel)) return false;
    if (question->measure != RUE_JOINT) return true;
    bool known = search->phase == LOAD && rue_question_queue_count_same(&duel->history, question) > 0;
    return !known && !duel->forecast->excluded[question->config];
}

static bool pop_useful(struct search *search, struct rue_question *out)
{
    while (rue_question_queue_pop(&search->duel.queue, search->duel.node, out))
        if (is_useful(search, out)) return true;
    return false;
}

/* Whether the node must wait for answers: of other probes, which all predictions need, or of the trials of a
 * block. */
static bool must_wait(const struct search *search)
{
    const struct rue_duel *duel = &search->duel;
    bool probing = search->phase == DECIDE ? rue_duel_is_probing(duel) : rue_duel_is_waiting(duel);
    return !rue_question_queue_is_empty(&duel->queue) ||
           (probing && (search->phase != LOAD || duel->surveys));
}

static bool duel_ask(void *state, size_t node, struct rue_question *out)
{
    static void (*const refill_queue[])(struct search *) = {
        [LOAD] = start_compute_phase, [COMPUTE] = start_decide_phase, [DECIDE] = decide_next_trial};
    struct search *search = state;
    struct rue_duel *duel = &search->duel;
    duel->node = node;
    while (duel->status == RUE_OK && !pop_useful(search, out)) {
        bool decides = search->phase == DECIDE;
        if (search->phase == ENDED || must_wait(search)) return false;
        refill_queue[search->phase](search);
        if (decides && rue_duel_is_waiting(duel) && rue_question_queue_is_empty(&duel->queue)) return false;
    }
    if (duel->status != RUE_OK) return false;
    if (out->measure == RUE_JOINT) out->repeat = rue_question_queue_count_same(&duel->history, out);
    if (node) duel->nodes[node].question = *out;
    duel->nodes[node].busy = node > 0;
    return true;
}

static bool is_probed(const struct search *search)
{
    return search->phase == DECIDE || search->phase == ENDED;
}

/* The claim must not depend on trials that are forgotten. */
static void duel_drop(void *state, size_t node, size_t since)
{
    struct search *search = state;
    bool forgets = rue_duel_drop(&search->duel, node, since);
    search->outdated = true;
    if (!forgets || !is_probed(search)) return;
    search->phase = DECIDE;
    search->claim = (struct rue_claim){0};
    search->claim_joints = search->stop_looks = 0;
    search->next_look = search->duel.joints > FIRST_LOOK ? search->duel.joints : FIRST_LOOK;
    search->baselines_done = false;
    if (search->duel.status == RUE_OK) update_search(search);
}

/* Whether the trial may change which configurations can be recommended. */
static bool changes_eligibility(const struct rue_duel *duel, size_t config,
                                const struct rue_trial_result *result)
{
    double limit_s = duel->setup.job.first_batch_limit_s;
    if (result->outcome != RUE_TRIAL_OK) return true;
    return limit_s > 0 && result->first_batch_ns != RUE_ABSENT &&
           duel->forecast->ineligible[config] != ((double)result->first_batch_ns > limit_s * 1e9);
}

static void duel_observe(void *state, const struct rue_question *question,
                         const struct rue_trial_result *result)
{
    struct search *search = state;
    rue_duel_observe(&search->duel, question, result);
    if (question->measure != RUE_JOINT)
        search->outdated |= search->phase == DECIDE; /* a probe is repeated */
    else if (rue_question_is_repeated(question, result))
        return;
    else
        search->outdated |= changes_eligibility(&search->duel, question->config, result);
}

static bool duel_estimate(void *state, size_t scenario, size_t config, struct rue_estimate *out)
{
    const struct search *search = state;
    const struct rue_duel *duel = &search->duel;
    bool stopped = duel->status == RUE_INTERRUPTED || duel->status == RUE_TERMINATED;
    if (duel->status == RUE_OK || stopped ? !is_probed(search) : duel->status != RUE_INFEASIBLE) return false;
    *out = rue_forecast_estimate(duel->forecast, scenario, config);
    out->sd = rue_forecast_sd(duel->forecast, scenario, config);
    out->first_batch_s = rue_prediction_first_batch_s(duel->forecast->prediction, scenario, config);
    return true;
}

static bool duel_interim(void *state, struct rue_claim *out)
{
    struct search *search = state;
    const struct rue_duel *duel = &search->duel;
    if (!is_probed(search) || duel->status != RUE_OK) return false;
    if (search->claim_joints == 0 || duel->forecast->ineligible[search->claim.config])
        renew_claim(search, RUE_FORECAST_LOOK_DRAWS, SIZE_MAX);
    *out = search->claim;
    return true;
}

static bool duel_claim(void *state, size_t config, struct rue_claim *out)
{
    struct search *search = state;
    struct rue_duel *duel = &search->duel;
    bool outdated = is_probed(search) && search->outdated;
    if (outdated && duel->status == RUE_OK) update_search(search);
    if (!is_probed(search) || duel->status != RUE_OK) return false;
    bool recent = search->claim_final && search->claim_joints > duel->joints;
    if (outdated || !recent || (config != SIZE_MAX && config != search->claim.config))
        renew_claim(search, RUE_FORECAST_CLAIM_DRAWS, config);
    *out = search->claim;
    return true;
}

static rue_status duel_knowledge(const void *state, struct rue_knowledge **out, rue_error *error)
{
    const struct search *search = state;
    return rue_prediction_knowledge(search->duel.forecast->prediction, out, error);
}

static rue_status duel_status(void *state, rue_error *error)
{
    return rue_duel_status(&((struct search *)state)->duel, error);
}

static bool duel_expect(void *state, const struct rue_question *question, double *time_s, double *sd)
{
    struct search *search = state;
    return question->measure == RUE_JOINT && is_probed(search) &&
           rue_forecast_predict_trial(search->duel.forecast, question->scenario, question->config,
                                      question->images, time_s, sd);
}

static void duel_shift(void *state, size_t trial, struct rue_speed change)
{
    struct search *search = state;
    rue_prediction_add_speed_change(search->duel.forecast->prediction, trial, change);
    search->outdated = true;
    if (search->phase == ENDED) update_search(search);
}

static void duel_spend(void *state, size_t node, double seconds, size_t trials)
{
    struct rue_duel *duel = &((struct search *)state)->duel;
    duel->costs.spent_s += seconds;
    duel->costs.nodes[node].spent_s += seconds;
    *(node ? &duel->costs.node_trials : &duel->costs.new_trials) += trials;
}

static void duel_reserve(void *state, double *seconds, size_t *trials)
{
    const struct search *search = state;
    const struct rue_duel *duel = &search->duel;
    if (search->phase != DECIDE || rue_forecast_ranked(duel->forecast, 0) == SIZE_MAX) return;
    size_t best = rue_duel_to_verify(duel);
    if (rue_duel_can_verify(duel, best)) *seconds = rue_duel_verification_s(duel, best, trials);
}

static double duel_job_s(void *state, size_t scenario, size_t config, uint64_t images)
{
    const struct search *search = state;
    return rue_forecast_job_s(search->duel.forecast, scenario, config, images);
}

static void duel_close(void *state)
{
    struct search *search = state;
    if (!search) return;
    rue_duel_close(&search->duel);
    free(search);
}

static rue_status duel_open(const struct rue_strategy_setup *setup, void **state, rue_error *error)
{
    *state = NULL;
    struct search *search = calloc(1, sizeof *search);
    if (!search) return rue_fail_memory(error, "the strategy duel", sizeof *search);
    rue_status status = rue_duel_open(&search->duel, setup, error);
    if (status != RUE_OK) return duel_close(search), status;
    rue_duel_push_load_probes(&search->duel);
    *state = search;
    return RUE_OK;
}

const struct rue_strategy_ops rue_strategy_duel = {
    .name = "duel",
    .help = "predicts every cell from a few probes, then measures the most informative cells",
    .open = duel_open,
    .ask = duel_ask,
    .drop = duel_drop,
    .observe = duel_observe,
    .estimate = duel_estimate,
    .claim = duel_claim,
    .interim = duel_interim,
    .knowledge = duel_knowledge,
    .status = duel_status,
    .expect = duel_expect,
    .shift = duel_shift,
    .spend = duel_spend,
    .reserve = duel_reserve,
    .job_s = duel_job_s,
    .close = duel_close,
};
