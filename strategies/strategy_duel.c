/* Predicts every cell from a few probes, then measures what decides: the configuration that is believed to be
 * the best, one that may be better, or both back to back, on the model and as long as tells most about their
 * difference for its cost. Ends when, with the confidence asked for, nothing is better by more than epsilon,
 * or with the budget; by then what leads has been measured on every model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probing.h"
#include "random.h"
#include "standing.h"
#include "survey.h"
#include "trial_costs.h"

enum { LENGTHS = 4, VERIFIED_MAX = 3 };

/* Lengths of trials: a share of the job, but some rounds of all workers at least, and some batches. */
static const struct length {
    double share, rounds, batches;
} lengths[LENGTHS] = {{0.05, 1, 2}, {0.15, 2, 4}, {0.4, 2, 4}, {1, 1, 1}};
static const double whole_share = 0.7;   /* above it, the whole job */
static const double sizes_share = 0.15;  /* of what is left of the budget, for batch sizes beyond the first */
static const double verify_margin = 1.3; /* of what the last trials may cost more than expected */
static const double rival_ratio = 0.01;  /* more mean regret than the leader's, as it is believed */
static const double refit_growth = 1.3;  /* of the joint trials, from one refit to the next */
static const double surprise = 0.15;     /* of the logarithm of a time: the prediction is to be made anew */
static const double least_gain = 1e-10;  /* of the variance of a mean regret: less is nothing */
static const double size_regret_ratio =
    0.02; /* a candidate's batch size is computed on when it is as good as that */

enum phase { LOAD, COMPUTE, DUEL, ENDED };

struct duel {
    struct rue_strategy_setup setup;
    struct rue_forecast *forecast;
    struct rue_probing *probing;
    struct rue_survey *survey; /* of a runner that measures no loading; else NULL */
    struct rue_standing *standing;
    struct rue_ask_queue queue;
    struct rue_ask_queue joint_history; /* joint questions that were answered */
    struct rue_trial_costs costs;
    enum phase phase;
    size_t joints, refit_at;
    bool *visited; /* [scenarios] of a verification */
    uint64_t seed;
    rue_status status; /* why nothing more is asked: RUE_OK while it goes on */
    rue_error error;
};

/* ---- trials ---- */

/* A trial's images, in whole batches; the whole job where that is little more. */
static uint64_t trial_images(const struct duel *duel, size_t config, const struct length *length)
{
    if (duel->setup.whole_jobs) return duel->setup.job_images;
    const int *value = duel->setup.configs[config].value;
    double batch = value[RUE_BATCH_SIZE], workers = value[RUE_NUM_WORKERS] > 0 ? value[RUE_NUM_WORKERS] : 1;
    double job = (double)duel->setup.job_images;
    double least = fmax(length->share * job, batch * fmax(length->rounds * workers, length->batches));
    return least > whole_share * job ? duel->setup.job_images : (uint64_t)(ceil(least / batch) * batch);
}

static double trial_s(const struct duel *duel, size_t model, size_t config, uint64_t images)
{
    return rue_prediction_trial_s(rue_forecast_prediction(duel->forecast), model, config, images);
}

static double left_s(const struct duel *duel)
{
    return duel->setup.budget_s - duel->costs.spent_s;
}

static void push_joint(struct duel *duel, size_t model, size_t config, uint64_t images)
{
    struct rue_ask ask = {.measure = RUE_JOINT,
                          .scenario = model,
                          .config = config,
                          .images = images,
                          .expected_s = trial_s(duel, model, config, images)};
    if (duel->status == RUE_OK) duel->status = rue_ask_queue_push(&duel->queue, &ask, &duel->error);
}

/* A set of one or two trials, and what it brings. */
struct option {
    struct rue_forecast_trial trials[2];
    size_t count;
    double gain; /* variance of the difference lessened */
    double rate; /* a second; -INFINITY where it costs too much */
};

static void rate_option(struct duel *duel, struct option *option, double most_s)
{
    const size_t *candidates;
    rue_forecast_candidates(duel->forecast, &candidates);
    double cost = rue_trial_costs_beside_s(&duel->costs, option->trials[0].model) +
                  (double)(option->count - 1) * duel->costs.overhead_s;
    for (size_t i = 0; i < option->count; i++)
        cost += trial_s(duel, option->trials[i].model, candidates[option->trials[i].position],
                        option->trials[i].images);
    option->gain = rue_forecast_gain(duel->forecast, option->trials, option->count);
    option->rate = cost > most_s ? -INFINITY : option->gain / cost;
}

/* The leader, the challenger, or both back to back; on the model, and as long, as tells most of their
 * difference for its cost. */
static struct option best_option(struct duel *duel, const size_t *candidates, size_t one, size_t other,
                                 double most_s)
{
    struct option best = {.count = 0, .rate = -INFINITY};
    rue_forecast_compare(duel->forecast, one, other);
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        for (size_t s = duel->setup.whole_jobs ? LENGTHS - 1 : 0; s < LENGTHS; s++)
            for (int who = 1; who <= 3; who++) {
                struct option option = {.count = 0};
                for (int i = 0; i < 2; i++) {
                    size_t position = i ? other : one;
                    if (!(who >> i & 1)) continue;
                    option.trials[option.count++] = (struct rue_forecast_trial){
                        m, position, trial_images(duel, candidates[position], &lengths[s])};
                }
                rate_option(duel, &option, most_s);
                if (option.rate > best.rate) best = option;
            }
    return best;
}

/* Where nothing more is told of the challenger: the trials that tell most of another candidate. */
static struct option other_option(struct duel *duel, const size_t *candidates, size_t count, size_t leader,
                                  double most_s)
{
    struct option best = {.rate = -INFINITY};
    for (size_t c = 0; c < count; c++) {
        struct option option = {.rate = -INFINITY};
        if (c != leader) option = best_option(duel, candidates, leader, c, most_s);
        if (option.rate > best.rate) best = option;
    }
    return best;
}

/* The trials that decide next; false where there are none. */
static bool push_trials(struct duel *duel, double most_s)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(duel->forecast, &candidates);
    size_t leader = rue_standing_leader(duel->standing);
    size_t draw = (size_t)rue_random_below(&duel->seed, RUE_FORECAST_DRAWS);
    size_t other = rue_standing_challenger(duel->standing, draw);
    struct option option = best_option(duel, candidates, leader, other, most_s);
    if (option.gain < least_gain) option = other_option(duel, candidates, count, leader, most_s);
    if (option.gain < least_gain) return false;
    bool turned = rue_random_below(&duel->seed, 2);
    for (size_t i = 0; i < option.count; i++) {
        const struct rue_forecast_trial *trial = &option.trials[turned ? option.count - 1 - i : i];
        push_joint(duel, trial->model, candidates[trial->position], trial->images);
    }
    return true;
}

/* ---- verification ---- */

static bool lacks_trials(const struct duel *duel, size_t wanted)
{
    return duel->setup.budget_trials > 0 && duel->costs.made + wanted > duel->setup.budget_trials;
}

/* Models that have not seen the configuration. */
static size_t unseen_count(const struct duel *duel, size_t config)
{
    size_t count = 0;
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        count += !rue_standing_is_verified_on(duel->standing, m, config);
    return count;
}

/* Seconds that the leader's trials on models that have not seen it are expected to take. */
static double verify_s(const struct duel *duel, size_t config)
{
    double sum = 0;
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        if (!rue_standing_is_verified_on(duel->standing, m, config))
            sum += trial_s(duel, m, config, trial_images(duel, config, &lengths[0])) +
                   duel->costs.overhead_s + duel->costs.switch_s;
    return sum;
}

/* The position of the best candidate after `after`; `count` where none is left. */
static size_t next_best(const struct duel *duel, size_t after, size_t count)
{
    double mean = rue_standing_mean(duel->standing, after);
    size_t best = count;
    for (size_t c = 0; c < count; c++) {
        double own = rue_standing_mean(duel->standing, c);
        if (own < mean || (own == mean && c <= after)) continue;
        if (best == count || own < rue_standing_mean(duel->standing, best)) best = c;
    }
    return best;
}

/* Seconds of a configuration's trials on models that have not seen it, where those `visited` are visited
 * anyway. */
static double verify_beside_s(const struct duel *duel, size_t config, const bool *visited)
{
    double sum = verify_s(duel, config);
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        if (visited[m] && !rue_standing_is_verified_on(duel->standing, m, config))
            sum -= duel->costs.switch_s;
    return sum;
}

/* The leader on every model that has not seen it; in the same visits, as far as there is room, those that
 * may come to lead by what is seen of it. */
static void push_verification(struct duel *duel, const size_t *candidates, size_t count)
{
    size_t chosen[VERIFIED_MAX], chosen_count = 0, trials = 0;
    size_t position = rue_standing_leader(duel->standing);
    double most = rue_standing_mean(duel->standing, position) + rival_ratio, rest_s = left_s(duel);
    memset(duel->visited, 0, duel->setup.scenario_count * sizeof *duel->visited);
    for (; chosen_count < VERIFIED_MAX && position < count; position = next_best(duel, position, count)) {
        size_t config = candidates[position];
        double cost = verify_margin * verify_beside_s(duel, config, duel->visited);
        trials += unseen_count(duel, config);
        bool room = cost <= rest_s && !lacks_trials(duel, trials);
        if (chosen_count > 0 && (!room || rue_standing_mean(duel->standing, position) > most)) break;
        rest_s -= cost;
        chosen[chosen_count++] = config;
        for (size_t m = 0; m < duel->setup.scenario_count; m++)
            duel->visited[m] |= !rue_standing_is_verified_on(duel->standing, m, config);
    }
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        for (size_t i = 0; i < chosen_count; i++)
            if (!rue_standing_is_verified_on(duel->standing, m, chosen[i]))
                push_joint(duel, m, chosen[i], trial_images(duel, chosen[i], &lengths[0]));
}

/* ---- more batch sizes ---- */

/* Seconds of a compute probe: a batch to warm up, those that count, and the change of model. */
static double compute_s(const struct duel *duel, size_t model, size_t config)
{
    uint64_t batch = (uint64_t)duel->setup.configs[config].value[RUE_BATCH_SIZE];
    double with = trial_s(duel, model, config, 2 * batch),
           without = trial_s(duel, RUE_PREDICTION_NO_MODEL, config, 2 * batch);
    return fmax(0, with - without) + duel->costs.overhead_s + duel->costs.switch_s;
}

/* Batch sizes of configurations that may be the best are computed on, too, as far as that is cheap. */
static void push_more_sizes(struct duel *duel)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(duel->forecast, &candidates);
    double least = rue_standing_mean(duel->standing, rue_standing_leader(duel->standing));
    double rest_s = sizes_share * left_s(duel);
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        for (size_t c = 0; c < count && duel->status == RUE_OK; c++) {
            bool pushed;
            if (rue_standing_mean(duel->standing, c) > least + size_regret_ratio) continue;
            if (rue_probing_is_computed(duel->probing, m, candidates[c])) continue;
            double cost = compute_s(duel, m, candidates[c]);
            if (cost > rest_s) continue;
            rest_s -= cost;
            duel->status =
                rue_probing_push_size(duel->probing, m, candidates[c], &pushed, &duel->queue, &duel->error);
        }
}

/* ---- phases ---- */

static void update(struct duel *duel)
{
    duel->status = rue_forecast_update(duel->forecast, &duel->error);
    if (duel->status != RUE_OK) return;
    duel->refit_at = (size_t)ceil((double)(duel->joints < 12 ? 12 : duel->joints) * refit_growth);
    rue_standing_update(duel->standing, duel->joints);
}

static void decide(struct duel *duel)
{
    const size_t *candidates;
    if (duel->joints >= duel->refit_at)
        update(duel);
    else
        rue_standing_update(duel->standing, duel->joints);
    if (duel->status != RUE_OK) return;
    size_t count = rue_forecast_candidates(duel->forecast, &candidates);
    size_t leader = rue_standing_leader(duel->standing);
    bool sure = count == 1 || (rue_standing_bound(duel->standing, leader) <= duel->setup.epsilon_ratio &&
                               duel->joints >= 2 * duel->setup.scenario_count);
    double unseen_s = verify_margin * verify_s(duel, candidates[leader]);
    size_t unseen = unseen_count(duel, candidates[leader]);
    bool last = left_s(duel) < unseen_s || lacks_trials(duel, unseen + 2);
    bool room = left_s(duel) >= unseen_s && !lacks_trials(duel, unseen);
    if (!sure && !last && push_trials(duel, left_s(duel) - unseen_s)) return;
    if (room || !rue_standing_claim(duel->standing).verified) push_verification(duel, candidates, count);
    if (rue_ask_queue_is_empty(&duel->queue)) duel->phase = ENDED;
}

static void after_survey(struct duel *duel)
{
    duel->status = rue_survey_push_first(duel->survey, &duel->queue, &duel->error);
    if (duel->status != RUE_OK || !rue_ask_queue_is_empty(&duel->queue)) return;
    update(duel);
    if (duel->status == RUE_OK)
        duel->status = rue_survey_push_second(duel->survey, rue_forecast_prediction(duel->forecast),
                                              &duel->costs, left_s(duel), &duel->queue, &duel->error);
    if (duel->status == RUE_OK)
        duel->status = rue_probing_push_compute(duel->probing, &duel->queue, &duel->error);
    duel->phase = COMPUTE;
}

static void after_load(struct duel *duel)
{
    if (duel->survey) {
        after_survey(duel);
        return;
    }
    update(duel);
    if (duel->status == RUE_OK)
        duel->status = rue_probing_push_again(duel->probing, rue_forecast_prediction(duel->forecast),
                                              &duel->queue, &duel->error);
    if (duel->status == RUE_OK)
        duel->status = rue_probing_push_compute(duel->probing, &duel->queue, &duel->error);
    duel->phase = COMPUTE;
}

/* What an earlier study recommended is measured at once where it may be as good here. */
static void push_earlier_choice(struct duel *duel)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(duel->forecast, &candidates), position = 0;
    if (!duel->setup.prior) return;
    while (position < count && candidates[position] != duel->setup.prior->config) position++;
    if (position == count) return;
    size_t config = candidates[position];
    double leading = rue_standing_mean(duel->standing, rue_standing_leader(duel->standing));
    if (rue_standing_mean(duel->standing, position) > leading + size_regret_ratio ||
        verify_margin * verify_s(duel, config) > left_s(duel) / 2)
        return;
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        if (!rue_standing_is_verified_on(duel->standing, m, config))
            push_joint(duel, m, config, trial_images(duel, config, &lengths[0]));
}

static void after_compute(struct duel *duel)
{
    bool distrusted = false;
    update(duel);
    if (duel->status == RUE_OK)
        duel->status = rue_probing_push_distrusted(duel->probing, rue_forecast_prediction(duel->forecast),
                                                   &distrusted, &duel->queue, &duel->error);
    if (distrusted || duel->status != RUE_OK) return;
    push_more_sizes(duel);
    push_earlier_choice(duel);
    duel->phase = DUEL;
}

/* Fills the queue once it is empty, or ends. */
static void go_on(struct duel *duel)
{
    static void (*const next[])(struct duel *) = {
        [LOAD] = after_load, [COMPUTE] = after_compute, [DUEL] = decide};
    next[duel->phase](duel);
}

/* ---- the strategy ---- */

static bool duel_ask(void *state, struct rue_ask *out)
{
    struct duel *duel = state;
    while (duel->status == RUE_OK && !rue_ask_queue_pop(&duel->queue, out)) {
        if (duel->phase == ENDED) return false;
        go_on(duel);
    }
    if (duel->status != RUE_OK) return false;
    if (out->measure == RUE_JOINT) out->repeat = rue_ask_queue_count_alike(&duel->joint_history, out);
    return true;
}

static bool is_late(const struct duel *duel, const struct rue_trial_result *result)
{
    double limit_s = duel->setup.first_batch_limit_s;
    return limit_s > 0 && result->first_batch_ns != RUE_ABSENT &&
           (double)result->first_batch_ns > limit_s * 1e9;
}

static void duel_tell(void *state, const struct rue_ask *ask, const struct rue_trial_result *result)
{
    struct duel *duel = state;
    rue_trial_costs_note(&duel->costs, ask, result);
    bool joint = ask->measure == RUE_JOINT, ok = result->outcome == RUE_TRIAL_OK;
    if (duel->status == RUE_OK && joint)
        duel->status = rue_ask_queue_push(&duel->joint_history, ask, &duel->error);
    if (joint && !ok) rue_forecast_exclude(duel->forecast, ask->config);
    if (joint && (!ok || is_late(duel, result))) {
        duel->refit_at = 0;
        if (duel->phase == ENDED) duel->phase = DUEL; /* what was to be recommended is out: another one is */
    }
    if (joint && duel->survey) rue_survey_tell(duel->survey, ask, ok);
    if (!ok || duel->status != RUE_OK) return;
    duel->joints += joint;
    double expected_ns = 1e9 * ask->expected_s, took_ns = (double)result->end_to_end_ns;
    if (joint && expected_ns > 0 && took_ns > 0 && fabs(log(took_ns / expected_ns)) > surprise)
        duel->refit_at = 0;
    duel->status =
        rue_forecast_add(duel->forecast, ask, result, rue_trial_costs_clock_s(&duel->costs), &duel->error);
}

static bool duel_estimate(void *state, size_t scenario, size_t config, struct rue_estimate *out)
{
    const struct duel *duel = state;
    bool probed = duel->phase != LOAD && duel->phase != COMPUTE;
    if (duel->status == RUE_OK ? !probed : duel->status != RUE_INFEASIBLE) return false;
    struct rue_forecast_cell cell = rue_forecast_cell(duel->forecast, scenario, config);
    const struct rue_prediction *prediction = rue_forecast_prediction(duel->forecast);
    *out = (struct rue_estimate){cell.time_s, cell.sd, cell.joint_trials, cell.full,
                                 rue_prediction_first_batch_s(prediction, scenario, config)};
    return true;
}

static double duel_job_s(void *state, size_t scenario, size_t config, uint64_t images)
{
    const struct duel *duel = state;
    return rue_forecast_job_s(duel->forecast, scenario, config, images);
}

static bool duel_claim(void *state, struct rue_claim *out)
{
    struct duel *duel = state;
    if (duel->phase == LOAD || duel->phase == COMPUTE || duel->status != RUE_OK) return false;
    rue_standing_update(duel->standing, duel->joints);
    *out = rue_standing_claim(duel->standing);
    return true;
}

static rue_status duel_learned(const void *state, struct rue_knowledge **out, rue_error *error)
{
    const struct duel *duel = state;
    return rue_prediction_learned(rue_forecast_prediction(duel->forecast), out, error);
}

static rue_status duel_status(void *state, rue_error *error)
{
    const struct duel *duel = state;
    return duel->status == RUE_OK ? RUE_OK : rue_fail(error, duel->status, "%s", duel->error.message);
}

static bool duel_expect(void *state, const struct rue_ask *ask, double *time_s, double *sd)
{
    struct duel *duel = state;
    return ask->measure == RUE_JOINT && (duel->phase == DUEL || duel->phase == ENDED) &&
           rue_forecast_expect(duel->forecast, ask->scenario, ask->config, ask->images, time_s, sd);
}

static void duel_shift(void *state, size_t trial, struct rue_speed change)
{
    struct duel *duel = state;
    rue_forecast_shift(duel->forecast, trial, change);
    duel->refit_at = 0;
    if (duel->phase == ENDED) update(duel);
}

static void duel_spend(void *state, double seconds, size_t trials)
{
    struct duel *duel = state;
    duel->costs.spent_s += seconds;
    duel->costs.made += trials;
}

static void duel_close(void *state)
{
    struct duel *duel = state;
    if (!duel) return;
    free(duel->visited);
    rue_standing_close(duel->standing);
    rue_probing_close(duel->probing);
    rue_survey_close(duel->survey);
    rue_forecast_close(duel->forecast);
    rue_ask_queue_close(&duel->queue);
    rue_ask_queue_close(&duel->joint_history);
    free(duel);
}

static rue_status duel_open(const struct rue_strategy_setup *setup, void **state, rue_error *error)
{
    *state = NULL;
    if (setup->scenario_count == 0 || setup->config_count == 0)
        return rue_fail(error, RUE_USAGE, "nothing to try: %zu scenarios, %zu configurations",
                        setup->scenario_count, setup->config_count);
    struct duel *duel = calloc(1, sizeof *duel);
    if (!duel) return rue_fail_memory(error, "a duel", sizeof *duel);
    duel->setup = *setup;
    duel->seed = rue_mix64(setup->seed);
    duel->visited = calloc(setup->scenario_count, sizeof *duel->visited);
    rue_status status = duel->visited ? RUE_OK : rue_fail_memory(error, "a duel", setup->scenario_count);
    if (status == RUE_OK) status = rue_forecast_open(&duel->setup, &duel->forecast, error);
    if (status == RUE_OK) status = rue_probing_open(&duel->setup, &duel->probing, error);
    if (status == RUE_OK) status = rue_standing_open(&duel->setup, duel->forecast, &duel->standing, error);
    if (status == RUE_OK && setup->measures[RUE_LOAD])
        status = rue_probing_push_load(duel->probing, &duel->queue, error);
    else if (status == RUE_OK)
        status = rue_survey_open(&duel->setup, &duel->survey, error);
    if (status != RUE_OK) return duel_close(duel), status;
    *state = duel;
    return RUE_OK;
}

const struct rue_strategy_ops rue_strategy_duel = {
    .name = "duel",
    .help = "predicts every cell from a few probes, measures what decides",
    .searches = true,
    .open = duel_open,
    .ask = duel_ask,
    .tell = duel_tell,
    .estimate = duel_estimate,
    .claim = duel_claim,
    .learned = duel_learned,
    .status = duel_status,
    .expect = duel_expect,
    .shift = duel_shift,
    .spend = duel_spend,
    .job_s = duel_job_s,
    .close = duel_close,
};
