/* Predicts every cell from a few probes, then races those that are predicted to be the best: in every block
 * all that are left run the same model back to back, and one is out when a paired t test over the blocks says
 * that it is slower than the one that leads. Ends when one is left, when nothing is better by more than
 * epsilon, or with the budget; what leads has by then been measured on every model. */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "probing.h"
#include "random.h"
#include "standing.h"
#include "survey.h"
#include "trial_costs.h"

enum { RACERS = 5, BLOCKS_MAX = 256, LEAST_BLOCKS = 3, SHARES = 4 };

/* Of the job that a trial runs, the longest first; some rounds of all workers, and some batches, at least. */
static const double shares[SHARES] = {1, 0.4, 0.15, 0.05};
static const double rounds = 2, batches = 4;
static const double whole_share = 0.7;   /* above it, the whole job */
static const double verify_margin = 1.3; /* of what the last trials may cost more than expected */
static const double least_sd = 1e-9; /* of a logarithm: measurements that agree exactly are not that sure */

enum phase { LOAD, COMPUTE, SIZES, RACE, ENDED };

struct racer {
    size_t config;
    bool out;
    double log_s[BLOCKS_MAX]; /* of the job as each block has it; NaN where it did not run */
};

struct race {
    struct rue_strategy_setup setup;
    struct rue_forecast *forecast;
    struct rue_probing *probing;
    struct rue_survey *survey; /* of a runner that measures no loading; else NULL */
    struct rue_standing *standing;
    struct rue_ask_queue queue;
    struct rue_ask_queue joint_history; /* joint questions that were answered */
    struct rue_trial_costs costs;
    enum phase phase;
    struct racer racers[RACERS];
    size_t racer_count, started; /* in the race; that it began with */
    size_t blocks;               /* that were asked */
    size_t *models;              /* [scenario_count] their order in the blocks */
    size_t joints;
    uint64_t seed;
    rue_status status; /* why nothing more is asked: RUE_OK while it goes on */
    rue_error error;
};

static double left_s(const struct race *race)
{
    return race->setup.budget_s - race->costs.spent_s;
}

static size_t left_trials(const struct race *race)
{
    size_t budget = race->setup.budget_trials;
    if (budget == 0) return SIZE_MAX;
    return race->costs.made < budget ? budget - race->costs.made : 0;
}

/* ---- trials ---- */

static uint64_t trial_images(const struct race *race, size_t config, double share)
{
    const int *value = race->setup.configs[config].value;
    double batch = value[RUE_BATCH_SIZE], job = (double)race->setup.job_images;
    double least = fmax(share * job, batch * fmax(rounds * value[RUE_NUM_WORKERS], batches));
    bool whole = race->setup.whole_jobs || least > whole_share * job;
    return whole ? race->setup.job_images : (uint64_t)(ceil(least / batch) * batch);
}

static double trial_s(const struct race *race, size_t model, size_t config, uint64_t images)
{
    return rue_prediction_trial_s(rue_forecast_prediction(race->forecast), model, config, images);
}

static double cost_s(const struct race *race, size_t model, size_t config, double share)
{
    return trial_s(race, model, config, trial_images(race, config, share)) + race->costs.overhead_s;
}

static void push_joint(struct race *race, size_t model, size_t config, double share)
{
    struct rue_ask ask = {.measure = RUE_JOINT,
                          .scenario = model,
                          .config = config,
                          .images = trial_images(race, config, share)};
    ask.expected_s = trial_s(race, model, config, ask.images);
    if (race->status == RUE_OK) race->status = rue_ask_queue_push(&race->queue, &ask, &race->error);
}

/* ---- who leads, and who is out ---- */

/* The mean logarithm of a racer's times, over the blocks that all of those left have run. */
static double mean_log_s(const struct race *race, const struct racer *racer)
{
    double sum = 0, count = 0;
    for (size_t b = 0; b < race->blocks; b++) {
        bool complete = true;
        for (size_t r = 0; r < race->racer_count; r++)
            complete &= race->racers[r].out || !isnan(race->racers[r].log_s[b]);
        if (!complete) continue;
        sum += racer->log_s[b];
        count++;
    }
    return count > 0 ? sum / count : INFINITY;
}

/* NULL when all are out. */
static struct racer *leader_of(struct race *race)
{
    struct racer *leader = NULL;
    double least = INFINITY;
    for (size_t r = 0; r < race->racer_count; r++) {
        double mean = mean_log_s(race, &race->racers[r]);
        if (race->racers[r].out || (leader && mean >= least)) continue;
        leader = &race->racers[r];
        least = mean;
    }
    return leader;
}

/* Whether the blocks that both have run say so, at the level that is left to each of the rivals. */
static bool is_slower(const struct race *race, const struct racer *racer, const struct racer *leader)
{
    double sum = 0, squares = 0, count = 0;
    for (size_t b = 0; b < race->blocks; b++) {
        double more = racer->log_s[b] - leader->log_s[b];
        if (isnan(more)) continue;
        sum += more;
        squares += more * more;
        count++;
    }
    if (count < LEAST_BLOCKS) return false;
    double mean = sum / count, variance = fmax(0, squares - sum * mean) / (count - 1);
    double error = fmax(sqrt(variance), least_sd) / sqrt(count);
    double level = (1 - race->setup.confidence) / (double)(race->started > 1 ? race->started - 1 : 1);
    return mean / error > gsl_cdf_tdist_Qinv(level, count - 1);
}

static size_t count_left(const struct race *race)
{
    size_t left = 0;
    for (size_t r = 0; r < race->racer_count; r++) left += !race->racers[r].out;
    return left;
}

static void drop_slower(struct race *race)
{
    struct racer *leader = leader_of(race);
    for (size_t r = 0; leader && r < race->racer_count; r++) {
        struct racer *racer = &race->racers[r];
        if (racer != leader && !racer->out && is_slower(race, racer, leader)) racer->out = true;
    }
}

/* ---- verification ---- */

static size_t count_unverified(const struct race *race, size_t config)
{
    size_t open = 0;
    for (size_t m = 0; m < race->setup.scenario_count; m++)
        open += !rue_standing_is_verified_on(race->standing, m, config);
    return open;
}

static double verify_s(const struct race *race, size_t config)
{
    double sum = 0;
    for (size_t m = 0; m < race->setup.scenario_count; m++)
        if (!rue_standing_is_verified_on(race->standing, m, config))
            sum += cost_s(race, m, config, shares[SHARES - 1]) + race->costs.switch_s;
    return verify_margin * sum;
}

static void push_verification(struct race *race, size_t config)
{
    for (size_t m = 0; m < race->setup.scenario_count; m++)
        if (!rue_standing_is_verified_on(race->standing, m, config))
            push_joint(race, m, config, shares[SHARES - 1]);
}

/* ---- the race ---- */

static void pick_racers(struct race *race)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(race->forecast, &candidates);
    race->blocks = 0;
    for (race->racer_count = 0; race->racer_count < RACERS && race->racer_count < count;
         race->racer_count++) {
        size_t best = SIZE_MAX;
        for (size_t c = 0; c < count; c++) {
            bool picked = false;
            for (size_t r = 0; r < race->racer_count; r++) picked |= race->racers[r].config == candidates[c];
            double mean = rue_standing_mean(race->standing, c);
            if (!picked && (best == SIZE_MAX || mean < rue_standing_mean(race->standing, best))) best = c;
        }
        struct racer *racer = &race->racers[race->racer_count];
        *racer = (struct racer){.config = candidates[best]};
        for (size_t b = 0; b < BLOCKS_MAX; b++) racer->log_s[b] = NAN;
    }
    race->started = race->racer_count;
}

static double block_s(const struct race *race, size_t model, double share)
{
    double sum = race->costs.switch_s;
    for (size_t r = 0; r < race->racer_count; r++)
        if (!race->racers[r].out) sum += cost_s(race, model, race->racers[r].config, share);
    return sum;
}

/* The longest trials with which every model still has its block. */
static double share_of(const struct race *race, double room_s)
{
    for (size_t s = 0; s < SHARES; s++) {
        double sum = 0;
        for (size_t m = 0; m < race->setup.scenario_count; m++) sum += block_s(race, m, shares[s]);
        if (sum <= room_s) return shares[s];
    }
    return shares[SHARES - 1];
}

/* False where there is not the room for it. */
static bool push_block(struct race *race, const struct racer *leader)
{
    size_t scenarios = race->setup.scenario_count, model = race->models[race->blocks % scenarios];
    size_t order[RACERS], unverified = count_unverified(race, leader->config);
    double room_s = left_s(race) - verify_s(race, leader->config);
    double share = share_of(race, room_s);
    size_t most = race->setup.answers > 0 ? race->setup.answers * scenarios : BLOCKS_MAX;
    if (race->blocks == BLOCKS_MAX || race->blocks >= most || block_s(race, model, share) > room_s)
        return false;
    if (count_left(race) + unverified > left_trials(race)) return false;
    race->blocks++;
    rue_random_order(order, race->racer_count, rue_random_next(&race->seed));
    for (size_t r = 0; r < race->racer_count; r++)
        if (!race->racers[order[r]].out) push_joint(race, model, race->racers[order[r]].config, share);
    return true;
}

static void update(struct race *race)
{
    race->status = rue_forecast_update(race->forecast, &race->error);
    if (race->status == RUE_OK) rue_standing_update(race->standing, race->joints);
}

static void go_on_racing(struct race *race)
{
    drop_slower(race);
    update(race);
    if (race->status != RUE_OK) return;
    if (count_left(race) == 0) pick_racers(race); /* none of them runs: the next best */
    struct racer *leader = leader_of(race);
    bool sure =
        race->joints >= 2 * race->setup.scenario_count &&
        rue_standing_bound(race->standing, rue_standing_leader(race->standing)) <= race->setup.epsilon_ratio;
    bool whole_round = race->blocks >= race->setup.scenario_count;
    if (!sure && (count_left(race) > 1 || !whole_round) && push_block(race, leader)) return;
    push_verification(race, rue_standing_claim(race->standing).config);
    push_verification(race, leader->config);
    race->phase = ENDED;
}

/* ---- probes ---- */

static void after_survey(struct race *race)
{
    race->status = rue_survey_push_first(race->survey, &race->queue, &race->error);
    if (race->status != RUE_OK || !rue_ask_queue_is_empty(&race->queue)) return;
    update(race);
    if (race->status == RUE_OK)
        race->status = rue_survey_push_second(race->survey, rue_forecast_prediction(race->forecast),
                                              &race->costs, left_s(race), &race->queue, &race->error);
    race->phase = COMPUTE;
}

static void after_load(struct race *race)
{
    if (race->survey) {
        after_survey(race);
        return;
    }
    update(race);
    if (race->status == RUE_OK)
        race->status = rue_probing_push_again(race->probing, rue_forecast_prediction(race->forecast),
                                              &race->queue, &race->error);
    if (race->status == RUE_OK)
        race->status = rue_probing_push_compute(race->probing, &race->queue, &race->error);
    race->phase = COMPUTE;
}

/* The batch sizes of those that are about to race are computed on, too. */
static void after_compute(struct race *race)
{
    bool distrusted = false;
    update(race);
    if (race->status == RUE_OK)
        race->status = rue_probing_push_distrusted(race->probing, rue_forecast_prediction(race->forecast),
                                                   &distrusted, &race->queue, &race->error);
    if (distrusted || race->status != RUE_OK) return;
    pick_racers(race);
    for (size_t m = 0; m < race->setup.scenario_count; m++)
        for (size_t r = 0; r < race->racer_count && race->status == RUE_OK; r++) {
            bool pushed;
            race->status = rue_probing_push_size(race->probing, m, race->racers[r].config, &pushed,
                                                 &race->queue, &race->error);
        }
    race->phase = SIZES;
}

static void after_sizes(struct race *race)
{
    update(race);
    if (race->status != RUE_OK) return;
    pick_racers(race);
    race->phase = RACE;
    go_on_racing(race);
}

/* ---- the strategy ---- */

static bool race_ask(void *state, struct rue_ask *out)
{
    static void (*const next[])(struct race *) = {
        [LOAD] = after_load, [COMPUTE] = after_compute, [SIZES] = after_sizes, [RACE] = go_on_racing};
    struct race *race = state;
    while (race->status == RUE_OK && !rue_ask_queue_pop(&race->queue, out)) {
        if (race->phase == ENDED) return false;
        next[race->phase](race);
    }
    if (race->status != RUE_OK) return false;
    if (out->measure == RUE_JOINT) out->repeat = rue_ask_queue_count_alike(&race->joint_history, out);
    return true;
}

/* The job's time that a trial stands for, in the block that is running. */
static void note_block(struct race *race, const struct rue_ask *ask, const struct rue_trial_result *result)
{
    double took_s = (double)result->end_to_end_ns / 1e9;
    double expected_s = trial_s(race, ask->scenario, ask->config, ask->images);
    double job_s = rue_prediction_job_s(rue_forecast_prediction(race->forecast), ask->scenario, ask->config);
    if (!(took_s > 0 && expected_s > 0 && job_s > 0)) return;
    for (size_t r = 0; race->blocks > 0 && r < race->racer_count; r++)
        if (race->racers[r].config == ask->config)
            race->racers[r].log_s[race->blocks - 1] = log(took_s) - log(expected_s) + log(job_s);
}

static void leave_out(struct race *race, size_t config)
{
    rue_forecast_exclude(race->forecast, config);
    for (size_t r = 0; r < race->racer_count; r++) race->racers[r].out |= race->racers[r].config == config;
    if (race->phase == ENDED) race->phase = RACE; /* what was to be recommended does not run */
}

static void race_tell(void *state, const struct rue_ask *ask, const struct rue_trial_result *result)
{
    struct race *race = state;
    bool joint = ask->measure == RUE_JOINT, ok = result->outcome == RUE_TRIAL_OK;
    rue_trial_costs_note(&race->costs, ask, result);
    if (race->status == RUE_OK && joint)
        race->status = rue_ask_queue_push(&race->joint_history, ask, &race->error);
    if (joint && !ok) leave_out(race, ask->config);
    if (joint && race->survey) rue_survey_tell(race->survey, ask, ok);
    if (!ok || race->status != RUE_OK) return;
    race->joints += joint;
    if (joint && race->phase == RACE) note_block(race, ask, result);
    race->status =
        rue_forecast_add(race->forecast, ask, result, rue_trial_costs_clock_s(&race->costs), &race->error);
}

static bool knows(const struct race *race)
{
    return race->status == RUE_OK ? race->phase >= SIZES : race->status == RUE_INFEASIBLE;
}

static bool race_estimate(void *state, size_t scenario, size_t config, struct rue_estimate *out)
{
    const struct race *race = state;
    if (!knows(race)) return false;
    struct rue_forecast_cell cell = rue_forecast_cell(race->forecast, scenario, config);
    const struct rue_prediction *prediction = rue_forecast_prediction(race->forecast);
    *out = (struct rue_estimate){cell.time_s, cell.sd, cell.joint_trials, cell.full,
                                 rue_prediction_first_batch_s(prediction, scenario, config)};
    return true;
}

static double race_job_s(void *state, size_t scenario, size_t config, uint64_t images)
{
    const struct race *race = state;
    return rue_forecast_job_s(race->forecast, scenario, config, images);
}

static rue_status race_learned(const void *state, struct rue_knowledge **out, rue_error *error)
{
    const struct race *race = state;
    return rue_prediction_learned(rue_forecast_prediction(race->forecast), out, error);
}

static bool race_claim(void *state, struct rue_claim *out)
{
    struct race *race = state;
    if (!knows(race) || race->status != RUE_OK) return false;
    rue_standing_update(race->standing, race->joints);
    *out = rue_standing_claim(race->standing);
    return true;
}

static rue_status race_status(void *state, rue_error *error)
{
    const struct race *race = state;
    return race->status == RUE_OK ? RUE_OK : rue_fail(error, race->status, "%s", race->error.message);
}

static void race_close(void *state)
{
    struct race *race = state;
    if (!race) return;
    rue_standing_close(race->standing);
    rue_survey_close(race->survey);
    rue_probing_close(race->probing);
    rue_forecast_close(race->forecast);
    rue_ask_queue_close(&race->queue);
    free(race->models);
    rue_ask_queue_close(&race->joint_history);
    free(race);
}

static rue_status set_up(struct race *race, rue_error *error)
{
    const struct rue_strategy_setup *setup = &race->setup;
    race->models = calloc(setup->scenario_count, sizeof *race->models);
    if (!race->models) return rue_fail_memory(error, "a race", setup->scenario_count);
    rue_random_order(race->models, setup->scenario_count, rue_random_next(&race->seed));
    rue_status status = rue_forecast_open(setup, &race->forecast, error);
    if (status == RUE_OK) status = rue_probing_open(setup, &race->probing, error);
    if (status == RUE_OK) status = rue_standing_open(setup, race->forecast, &race->standing, error);
    if (status != RUE_OK) return status;
    if (setup->measures[RUE_LOAD]) return rue_probing_push_load(race->probing, &race->queue, error);
    return rue_survey_open(setup, &race->survey, error);
}

static rue_status race_open(const struct rue_strategy_setup *setup, void **state, rue_error *error)
{
    *state = NULL;
    if (setup->scenario_count == 0 || setup->config_count == 0)
        return rue_fail(error, RUE_USAGE, "nothing to try: %zu scenarios, %zu configurations",
                        setup->scenario_count, setup->config_count);
    struct race *race = calloc(1, sizeof *race);
    if (!race) return rue_fail_memory(error, "a race", sizeof *race);
    race->setup = *setup;
    race->seed = rue_mix64(setup->seed);
    rue_status status = set_up(race, error);
    if (status != RUE_OK) return race_close(race), status;
    *state = race;
    return RUE_OK;
}

const struct rue_strategy_ops rue_strategy_race = {
    .name = "race",
    .help = "predicts every cell from a few probes, races the best of them",
    .searches = true,
    .open = race_open,
    .ask = race_ask,
    .tell = race_tell,
    .estimate = race_estimate,
    .claim = race_claim,
    .job_s = race_job_s,
    .learned = race_learned,
    .status = race_status,
    .close = race_close,
};
