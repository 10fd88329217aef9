/* Predicts every cell from a few probes, then measures what decides: the configuration that is believed to be
 * the best, one that may be better, or both back to back, on the model and as long as tells most about their
 * difference for its cost. Ends when, with the confidence asked for, nothing is better by more than epsilon,
 * or with the budget; by then what leads has been measured on every model. */
#include <math.h>
#include <stdlib.h>

#include "duel.h"
#include "probes.h"

enum { FIRST_LOOK = 5, SURE_LOOKS = 2 };

static const double load_share = 0.12;    /* of the budget, for load-only probes */
static const double survey_share = 0.3;   /* of it, for joint trials in their place */
static const double look_growth = 1.4;    /* of the joint trials, from one look to the next */
static const double earlier_ratio = 0.02; /* more than the leader's: what was recommended earlier is tried */

enum phase { LOAD, COMPUTE, DECIDE, ENDED };

struct search {
    struct rue_duel duel;
    enum phase phase;
    size_t look_at; /* joint trials */
    size_t sure;    /* looks in a row that found it good enough */
    size_t audits;
    bool compared;          /* with the baselines */
    struct rue_claim claim; /* as it was after so many joint trials less one */
    size_t claimed;         /* 0: there is none yet */
    bool final;             /* by as many draws as there may be */
    bool stale;             /* the prediction is to be made anew */
};

/* ---- phases ---- */

static void update_search(struct search *search)
{
    search->stale = false;
    rue_duel_update(&search->duel);
}

static void claim_anew(struct search *search, size_t draws, size_t config)
{
    struct rue_duel *duel = &search->duel;
    rue_forecast_claim(duel->forecast, duel->joints, draws, config, &search->claim);
    search->claimed = duel->joints + 1;
    search->final = draws == RUE_FORECAST_CLAIM_DRAWS;
}

/* Probes of the models' compute follow; what was probed until then is in the prediction. */
static void after_load(struct search *search)
{
    struct rue_duel *duel = &search->duel;
    update_search(search);
    if (duel->status == RUE_OK) rue_duel_push_compute_probes(duel);
    search->phase = COMPUTE;
}

/* What an earlier study recommended is measured at once where it may be as good here. */
static void push_earlier_choice(struct rue_duel *duel)
{
    const struct rue_prior *prior = duel->setup.known.prior;
    size_t unseen;
    if (!prior || prior->config >= duel->setup.grid.config_count) return;
    double leading = rue_forecast_regret(duel->forecast, rue_forecast_ranked(duel->forecast, 0));
    if (rue_forecast_regret(duel->forecast, prior->config) <= leading + earlier_ratio &&
        rue_duel_verification_s(duel, prior->config, &unseen) <= rue_duel_remaining_s(duel) / 2)
        rue_duel_push_verification(duel, prior->config);
}

static void after_compute(struct search *search)
{
    struct rue_duel *duel = &search->duel;
    update_search(search);
    if (duel->status != RUE_OK) return;
    search->phase = DECIDE;
    search->look_at = FIRST_LOOK;
    push_earlier_choice(duel);
    search->stale = !rue_question_queue_is_empty(&duel->queue);
}

/* Looks at all that was learned, now and then: each look is one more chance to be sure by mistake. */
static void look_at_claim(struct search *search)
{
    struct rue_duel *duel = &search->duel;
    double joints = (double)duel->joints;
    update_search(search);
    if (duel->status != RUE_OK || duel->joints < search->look_at) return;
    bool missed = joints >= look_growth * (double)search->look_at; /* a study goes on */
    search->look_at = (size_t)ceil(fmax(joints + 2, look_growth * joints));
    claim_anew(search, RUE_FORECAST_LOOK_DRAWS, SIZE_MAX);
    bool sure = search->claim.verified && search->claim.prediction_error_ratio == 0 &&
                search->claim.bound_ratio <= duel->setup.aim.epsilon_ratio;
    search->sure = sure ? search->sure + 1 + missed : 0;
}

static void push_next_trial(struct search *search, bool due)
{
    struct rue_duel *duel = &search->duel;
    size_t leader = rue_forecast_ranked(duel->forecast, 0), unseen, reserved = 0;
    double reserve_s = search->compared ? 0 : rue_duel_baselines_s(duel, &reserved);
    double left_s = rue_duel_remaining_s(duel) - rue_duel_verification_s(duel, leader, &unseen),
           rest_s = left_s - reserve_s;
    bool last = rest_s < 0 ||
                rue_posterior_trial_count(duel->forecast->posterior) >= RUE_POSTERIOR_TRIALS_MAX ||
                rue_duel_lacks_trials(duel, unseen + 1 + reserved);
    bool room = left_s >= 0 && !rue_duel_lacks_trials(duel, unseen);
    bool sure = search->sure >= SURE_LOOKS && duel->joints >= 2 * duel->setup.grid.scenario_count;
    /* A claim that would do is of what was measured on every model. */
    bool promising = search->claimed > 0 && search->claim.bound_ratio <= duel->setup.aim.epsilon_ratio;
    if (sure && rue_duel_push_finalists(duel, rest_s)) return;
    if (due && promising && room && unseen > 0) {
        rue_duel_push_best_verification(duel);
        return;
    }
    if (!last) rue_duel_push_next(duel, rest_s, search->claim.prediction_error_ratio > 0, &search->audits);
    if (!rue_question_queue_is_empty(&duel->queue)) return;
    if (duel->status == RUE_OK && (room || !rue_forecast_is_any_verified(duel->forecast)))
        rue_duel_push_best_verification(duel);
}

static void decide_next(struct search *search)
{
    struct rue_duel *duel = &search->duel;
    bool due = duel->joints >= search->look_at;
    if (search->stale || due) look_at_claim(search);
    if (duel->status == RUE_OK) push_next_trial(search, due);
    if (duel->status == RUE_OK && rue_question_queue_is_empty(&duel->queue) && !search->compared) {
        search->compared = true;
        rue_duel_push_baselines(duel);
    }
    if (duel->status == RUE_OK && rue_question_queue_is_empty(&duel->queue)) search->phase = ENDED;
}

/* ---- ask and tell ---- */

/* Whether the first trials have cost so much that no more are made: those that tell most come first. */
static bool is_probed_enough(const struct rue_duel *duel)
{
    size_t least = duel->surveys ? duel->setup.grid.scenario_count : RUE_PROBES_LOAD_MIN;
    double share = duel->surveys ? survey_share : load_share;
    return duel->costs.made >= least && duel->costs.spent_s > share * duel->setup.budget.seconds;
}

/* Whether a question is still of use: what does not run is not tried on other models. */
static bool is_of_use(const struct search *search, const struct rue_question *ask)
{
    const struct rue_duel *duel = &search->duel;
    if (search->phase == LOAD && is_probed_enough(duel)) return false;
    if (ask->measure != RUE_JOINT) return true;
    bool known = search->phase == LOAD && rue_question_queue_count_same(&duel->history, ask) > 0;
    return !known && !duel->forecast->excluded[ask->config];
}

static bool pop_useful(struct search *search, struct rue_question *out)
{
    while (rue_question_queue_pop(&search->duel.queue, out))
        if (is_of_use(search, out)) return true;
    return false;
}

static bool duel_ask(void *state, struct rue_question *out)
{
    static void (*const go_on[])(struct search *) = {
        [LOAD] = after_load, [COMPUTE] = after_compute, [DECIDE] = decide_next};
    struct search *search = state;
    struct rue_duel *duel = &search->duel;
    while (duel->status == RUE_OK && !pop_useful(search, out)) {
        if (search->phase == ENDED) return false;
        go_on[search->phase](search);
    }
    if (duel->status != RUE_OK) return false;
    if (out->measure == RUE_JOINT) out->repeat = rue_question_queue_count_same(&duel->history, out);
    return true;
}

static bool is_probed(const struct search *search)
{
    return search->phase == DECIDE || search->phase == ENDED;
}

static bool is_late(const struct rue_duel *duel, const struct rue_trial_result *result)
{
    double limit_s = duel->setup.job.first_batch_limit_s;
    return limit_s > 0 && result->first_batch_ns != RUE_ABSENT &&
           (double)result->first_batch_ns > limit_s * 1e9;
}

static void duel_observe(void *state, const struct rue_question *ask, const struct rue_trial_result *result)
{
    struct search *search = state;
    rue_duel_observe(&search->duel, ask, result);
    /* It is not recommended: another one is. */
    if (ask->measure == RUE_JOINT && (result->outcome != RUE_TRIAL_OK || is_late(&search->duel, result)))
        search->stale = true;
}

/* ---- what is known ---- */

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

/* While the search goes on, what was claimed a few trials ago will do. */
static bool is_claim_recent(const struct search *search)
{
    const struct rue_duel *duel = &search->duel;
    bool goes_on = search->phase == DECIDE && rue_setup_check_stop(&duel->setup, NULL) == RUE_OK;
    return (search->final && search->claimed > duel->joints) ||
           (goes_on && search->claimed > 0 && !duel->forecast->ineligible[search->claim.config]);
}

static bool duel_claim(void *state, size_t config, struct rue_claim *out)
{
    struct search *search = state;
    struct rue_duel *duel = &search->duel;
    if (!is_probed(search) || duel->status != RUE_OK) return false;
    if (!is_claim_recent(search) || (config != SIZE_MAX && config != search->claim.config))
        claim_anew(search, RUE_FORECAST_CLAIM_DRAWS, config);
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

static bool duel_expect(void *state, const struct rue_question *ask, double *time_s, double *sd)
{
    struct search *search = state;
    return ask->measure == RUE_JOINT && is_probed(search) &&
           rue_forecast_predict_trial(search->duel.forecast, ask->scenario, ask->config, ask->images, time_s,
                                      sd);
}

static void duel_shift(void *state, size_t trial, struct rue_speed change)
{
    struct search *search = state;
    rue_prediction_add_speed_change(search->duel.forecast->prediction, trial, change);
    search->stale = true;
    if (search->phase == ENDED) update_search(search);
}

static void duel_spend(void *state, double seconds, size_t trials)
{
    struct rue_duel *duel = &((struct search *)state)->duel;
    duel->costs.spent_s += seconds;
    duel->costs.made += trials;
}

static void duel_reserve(void *state, double *seconds, size_t *trials)
{
    const struct search *search = state;
    const struct rue_duel *duel = &search->duel;
    size_t leader = rue_forecast_ranked(duel->forecast, 0);
    if (search->phase != DECIDE || leader == SIZE_MAX || rue_forecast_is_any_verified(duel->forecast)) return;
    *seconds = rue_duel_verification_s(duel, leader, trials);
}

static double duel_job_s(void *state, size_t scenario, size_t config, uint64_t images)
{
    const struct search *search = state;
    return rue_forecast_job_s(search->duel.forecast, scenario, config, images);
}

/* ---- the strategy ---- */

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
    if (!search) return rue_fail_memory(error, "a duel", sizeof *search);
    rue_status status = rue_duel_open(&search->duel, setup, error);
    if (status != RUE_OK) return duel_close(search), status;
    rue_duel_push_load_probes(&search->duel);
    *state = search;
    return RUE_OK;
}

const struct rue_strategy_ops rue_strategy_duel = {
    .name = "duel",
    .help = "predicts every cell from a few probes, measures what decides",
    .open = duel_open,
    .ask = duel_ask,
    .observe = duel_observe,
    .estimate = duel_estimate,
    .claim = duel_claim,
    .knowledge = duel_knowledge,
    .status = duel_status,
    .expect = duel_expect,
    .shift = duel_shift,
    .spend = duel_spend,
    .reserve = duel_reserve,
    .job_s = duel_job_s,
    .close = duel_close,
};
