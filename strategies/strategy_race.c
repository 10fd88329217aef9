/* Predicts every cell from a few probes, then races those that are predicted to be the best: in every block
 * all that are left run the same model back to back, and one is out when a paired t test over the blocks says
 * that it is slower than the one that leads. Ends when one is left, when nothing is better by more than
 * epsilon, or with the budget; what leads has by then been measured on every model. */
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "searcher.h"

enum { RACERS = 5, BLOCKS_MAX = 256, LEAST_BLOCKS = 3, LENGTHS = 4 };

static const struct rue_trial_length lengths[LENGTHS] = {{1, 2, 4}, {0.4, 2, 4}, {0.15, 2, 4}, {0.05, 2, 4}};
static const struct rue_trial_length *const shortest = &lengths[LENGTHS - 1];
static const double learn_growth =
    1.4;                             /* of the joint trials, from one time that all is learned to the next */
static const double least_sd = 1e-9; /* of a logarithm: measurements that agree exactly are not that sure */

struct racer {
    size_t config;
    bool out;
    double log_s[BLOCKS_MAX]; /* of the job as each block has it; NaN where it did not run */
};

struct race {
    struct rue_searcher search; /* the first member */
    struct racer racers[RACERS];
    size_t racer_count, started; /* in the race; that it began with */
    size_t blocks;               /* that were asked */
    bool in_block;               /* what is answered belongs to the last of them */
    size_t *models;              /* [scenario_count] their order in the blocks */
    uint64_t seed;
};

static double cost_s(const struct rue_searcher *search, size_t model, size_t config,
                     const struct rue_trial_length *length)
{
    return rue_searcher_trial_s(search, model, config, rue_searcher_images(search, config, length)) +
           rue_searcher_overhead_s(search, RUE_JOINT, config);
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
    double level = (1 - race->search.setup.confidence) / (double)(race->started > 1 ? race->started - 1 : 1);
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

/* ---- the race ---- */

static void pick_racers(struct race *race)
{
    const struct rue_searcher *search = &race->search;
    race->blocks = 0;
    for (race->racer_count = 0; race->racer_count < RACERS; race->racer_count++) {
        size_t best = SIZE_MAX;
        for (size_t c = 0; c < search->setup.config_count; c++) {
            bool picked = rue_forecast_is_out(search->forecast, c);
            for (size_t r = 0; r < race->racer_count; r++) picked |= race->racers[r].config == c;
            double regret = rue_standing_regret(search->standing, c);
            if (!picked && (best == SIZE_MAX || regret < rue_standing_regret(search->standing, best)))
                best = c;
        }
        if (best == SIZE_MAX) break;
        struct racer *racer = &race->racers[race->racer_count];
        *racer = (struct racer){.config = best};
        for (size_t b = 0; b < BLOCKS_MAX; b++) racer->log_s[b] = NAN;
    }
    race->started = race->racer_count;
}

static double block_s(const struct race *race, size_t model, const struct rue_trial_length *length)
{
    double sum = race->search.costs.switch_s;
    for (size_t r = 0; r < race->racer_count; r++)
        if (!race->racers[r].out) sum += cost_s(&race->search, model, race->racers[r].config, length);
    return sum;
}

/* The longest trials with which every model still has its block. */
static const struct rue_trial_length *length_of(const struct race *race, double room_s)
{
    for (size_t i = 0; i < LENGTHS; i++) {
        double sum = 0;
        for (size_t m = 0; m < race->search.setup.scenario_count; m++) sum += block_s(race, m, &lengths[i]);
        if (sum <= room_s) return &lengths[i];
    }
    return shortest;
}

/* False where there is not the room for it. */
static bool push_block(struct race *race, const struct racer *leader)
{
    struct rue_searcher *search = &race->search;
    size_t models = search->setup.scenario_count, model = race->models[race->blocks % models], order[RACERS];
    double room_s = rue_searcher_left_s(search) - rue_searcher_verify_s(search, leader->config, NULL);
    size_t most = search->setup.answers > 0 ? search->setup.answers * models : BLOCKS_MAX;
    const struct rue_trial_length *length = length_of(race, room_s);
    if (race->blocks == BLOCKS_MAX || race->blocks >= most || block_s(race, model, length) > room_s)
        return false;
    if (rue_searcher_lacks_trials(search,
                                  count_left(race) + rue_searcher_unseen_count(search, leader->config)))
        return false;
    race->blocks++;
    race->in_block = true;
    rue_random_order(order, race->racer_count, rue_random_next(&race->seed));
    for (size_t r = 0; r < race->racer_count; r++) {
        const struct racer *racer = &race->racers[order[r]];
        if (!racer->out)
            rue_searcher_push_joint(search, model, racer->config,
                                    rue_searcher_images(search, racer->config, length));
    }
    return true;
}

/* Those that do not run, or begin too late. */
static void drop_excluded(struct race *race)
{
    for (size_t r = 0; r < race->racer_count; r++)
        race->racers[r].out |= rue_forecast_is_out(race->search.forecast, race->racers[r].config);
}

/* ---- the plan ---- */

/* The batch sizes of those that would race are computed on, too; what that tells chooses who does. */
static void race_probed(struct rue_searcher *search)
{
    struct race *race = (struct race *)search;
    pick_racers(race);
    for (size_t m = 0; m < search->setup.scenario_count; m++)
        for (size_t r = 0; r < race->racer_count && search->status == RUE_OK; r++) {
            bool pushed;
            search->status = rue_probing_push_size(search->probing, m, race->racers[r].config, &pushed,
                                                   &search->queue, &search->error);
        }
    race->racer_count = 0;
}

static void race_decide(struct rue_searcher *search)
{
    struct race *race = (struct race *)search;
    drop_slower(race);
    if (search->stale || (double)search->joints >= learn_growth * (double)search->learned)
        rue_searcher_update(search);
    if (search->status != RUE_OK) return;
    drop_excluded(race);
    if (count_left(race) == 0) pick_racers(race);
    struct racer *leader = leader_of(race);
    rue_searcher_claim_anew(search, RUE_STANDING_LOOK);
    if (search->status != RUE_OK) return;
    bool sure = search->joints >= 2 * search->setup.scenario_count &&
                search->claim.config == leader->config &&
                search->claim.bound_ratio <= search->setup.epsilon_ratio;
    bool whole_round = race->blocks >= search->setup.scenario_count;
    bool last = sure || rue_forecast_is_full(search->forecast);
    if (!last && (count_left(race) > 1 || !whole_round) && push_block(race, leader)) return;
    race->in_block = false;
    for (size_t m = 0; m < search->setup.scenario_count; m++)
        rue_searcher_push_verification(search, m, leader->config);
}

/* The job's time that a trial stands for, in the block that is running. */
static void race_note(struct rue_searcher *search, const struct rue_ask *ask,
                      const struct rue_trial_result *result)
{
    struct race *race = (struct race *)search;
    double took_s = (double)result->end_to_end_ns / 1e9;
    double expected_s = rue_searcher_trial_s(search, ask->scenario, ask->config, ask->images);
    double job_s = rue_forecast_cell(search->forecast, ask->scenario, ask->config).time_s;
    if (!race->in_block || !(took_s > 0 && expected_s > 0 && job_s > 0)) return;
    for (size_t r = 0; r < race->racer_count; r++)
        if (race->racers[r].config == ask->config)
            race->racers[r].log_s[race->blocks - 1] = log(took_s) - log(expected_s) + log(job_s);
}

static const struct rue_searcher_plan plan = {
    .verification = &lengths[LENGTHS - 1],
    .probed = race_probed,
    .decide = race_decide,
    .note = race_note,
};

/* ---- the strategy ---- */

static void race_close(void *state)
{
    struct race *race = state;
    if (!race) return;
    rue_searcher_close(&race->search);
    free(race->models);
    free(race);
}

static rue_status race_open(const struct rue_strategy_setup *setup, void **state, rue_error *error)
{
    *state = NULL;
    struct race *race = calloc(1, sizeof *race);
    if (!race) return rue_fail_memory(error, "a race", sizeof *race);
    race->seed = rue_mix64(setup->seed);
    rue_status status = rue_searcher_open(&race->search, setup, &plan, error);
    if (status == RUE_OK) {
        race->models = calloc(setup->scenario_count, sizeof *race->models);
        if (!race->models) status = rue_fail_memory(error, "a race", setup->scenario_count);
    }
    if (status != RUE_OK) return race_close(race), status;
    rue_random_order(race->models, setup->scenario_count, rue_random_next(&race->seed));
    *state = race;
    return RUE_OK;
}

const struct rue_strategy_ops rue_strategy_race = {
    .name = "race",
    .help = "predicts every cell from a few probes, races the best of them",
    .open = race_open,
    .close = race_close,
    RUE_SEARCHER_OPS,
};
