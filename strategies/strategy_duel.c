/* Predicts every cell from a few probes, then measures what decides: the configuration that is believed to be
 * the best, one that may be better, or both back to back, on the model and as long as tells most about their
 * difference for its cost. Ends when, with the confidence asked for, nothing is better by more than epsilon,
 * or with the budget; by then what leads has been measured on every model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "searcher.h"

enum { LENGTHS = 4, VERIFIED_MAX = 3 };

static const struct rue_trial_length lengths[LENGTHS] = {{0.05, 1, 2}, {0.15, 2, 4}, {0.4, 2, 4}, {1, 1, 1}};
static const double sizes_share = 0.15;       /* of what is left of the budget, for further batch sizes */
static const double size_regret_ratio = 0.02; /* more than the leader's: its batch size is computed on, too */
static const double rival_ratio = 0.01;       /* more than the leader's: it is verified, too */
static const double refit_growth = 1.3;       /* of the joint trials, from one refit to the next */
static const double least_gain = 1e-10;       /* of the variance of a mean regret: less is nothing */

struct duel {
    struct rue_searcher search; /* the first member */
    size_t refit_at;            /* joint trials */
    bool *visited;              /* [scenarios] of a verification */
    uint64_t seed;
};

/* ---- trials ---- */

/* A set of one or two trials, and what it brings. */
struct option {
    struct rue_forecast_trial trials[2];
    size_t count;
    double gain; /* variance of the difference lessened */
    double rate; /* a second; -INFINITY where it costs too much */
};

static void rate_option(struct rue_searcher *search, struct option *option, double most_s)
{
    const size_t *candidates;
    rue_forecast_candidates(search->forecast, &candidates);
    double cost = rue_trial_costs_switch_s(&search->costs, option->trials[0].model);
    for (size_t i = 0; i < option->count; i++) {
        const struct rue_forecast_trial *trial = &option->trials[i];
        size_t config = candidates[trial->position];
        cost += rue_searcher_trial_s(search, trial->model, config, trial->images) +
                rue_searcher_overhead_s(search, RUE_JOINT, config);
    }
    option->gain = rue_forecast_gain(search->forecast, option->trials, option->count);
    option->rate = cost > most_s ? -INFINITY : option->gain / cost;
}

/* The leader, the challenger, or both back to back; on the model, and as long, as tells most of their
 * difference for its cost. */
static struct option best_option(struct rue_searcher *search, const size_t *candidates, size_t one,
                                 size_t other, double most_s)
{
    struct option best = {.count = 0, .rate = -INFINITY};
    rue_forecast_compare(search->forecast, one, other);
    for (size_t m = 0; m < search->setup.scenario_count && search->status == RUE_OK; m++) {
        search->status = rue_setup_check_stop(&search->setup, &search->error);
        for (size_t s = search->setup.whole_jobs ? LENGTHS - 1 : 0; s < LENGTHS; s++)
            for (int who = 1; who <= 3; who++) {
                struct option option = {.count = 0};
                for (int i = 0; i < 2; i++) {
                    size_t position = i ? other : one;
                    if (!(who >> i & 1)) continue;
                    option.trials[option.count++] = (struct rue_forecast_trial){
                        m, position, rue_searcher_images(search, candidates[position], &lengths[s])};
                }
                rate_option(search, &option, most_s);
                if (option.rate > best.rate) best = option;
            }
    }
    return best;
}

/* Where nothing more is told of the challenger: the trials that tell most of another candidate. */
static struct option other_option(struct rue_searcher *search, const size_t *candidates, size_t count,
                                  size_t leader, double most_s)
{
    struct option best = {.rate = -INFINITY};
    for (size_t c = 0; c < count && search->status == RUE_OK; c++) {
        struct option option = {.rate = -INFINITY};
        if (c != leader) option = best_option(search, candidates, leader, c, most_s);
        if (option.rate > best.rate) best = option;
    }
    return best;
}

/* The trials that decide next; false where there are none. */
static bool push_trials(struct duel *duel, double most_s)
{
    struct rue_searcher *search = &duel->search;
    const size_t *candidates;
    size_t count = rue_forecast_candidates(search->forecast, &candidates);
    size_t leader = rue_standing_leader(search->standing);
    size_t draw = (size_t)rue_random_below(&duel->seed, RUE_FORECAST_DRAWS);
    size_t other = rue_standing_challenger(search->standing, draw);
    struct option option = best_option(search, candidates, leader, other, most_s);
    if (option.gain < least_gain) option = other_option(search, candidates, count, leader, most_s);
    if (option.gain < least_gain) return false;
    bool turned = rue_random_below(&duel->seed, 2);
    for (size_t i = 0; i < option.count; i++) {
        const struct rue_forecast_trial *trial = &option.trials[turned ? option.count - 1 - i : i];
        rue_searcher_push_joint(search, trial->model, candidates[trial->position], trial->images);
    }
    return true;
}

/* ---- verification ---- */

/* The position of the best candidate after `after`; `count` where none is left. */
static size_t next_best(const struct rue_searcher *search, size_t after, size_t count)
{
    double mean = rue_standing_mean(search->standing, after);
    size_t best = count;
    for (size_t c = 0; c < count; c++) {
        double own = rue_standing_mean(search->standing, c);
        if (own < mean || (own == mean && c <= after)) continue;
        if (best == count || own < rue_standing_mean(search->standing, best)) best = c;
    }
    return best;
}

/* The leader on every model that has not seen it; in the same visits, as far as there is room, those that
 * may come to lead by what is seen of it. */
static void push_verification(struct duel *duel, const size_t *candidates, size_t count)
{
    struct rue_searcher *search = &duel->search;
    size_t chosen[VERIFIED_MAX], chosen_count = 0, trials = 0, models = search->setup.scenario_count;
    size_t position = rue_standing_leader(search->standing);
    double most = rue_standing_mean(search->standing, position) + rival_ratio;
    double rest_s = rue_searcher_left_s(search);
    memset(duel->visited, 0, models * sizeof *duel->visited);
    for (; chosen_count < VERIFIED_MAX && position < count; position = next_best(search, position, count)) {
        size_t config = candidates[position];
        double cost = rue_searcher_verify_s(search, config, duel->visited);
        trials += rue_searcher_unseen_count(search, config);
        bool room = cost <= rest_s && !rue_searcher_lacks_trials(search, trials);
        if (chosen_count > 0 && (!room || rue_standing_mean(search->standing, position) > most)) break;
        rest_s -= cost;
        chosen[chosen_count++] = config;
        for (size_t m = 0; m < models; m++) duel->visited[m] |= rue_searcher_is_unseen(search, m, config);
    }
    for (size_t m = 0; m < models; m++)
        for (size_t i = 0; i < chosen_count; i++) rue_searcher_push_verification(search, m, chosen[i]);
}

/* ---- more batch sizes ---- */

/* Seconds of a compute probe: a batch to warm up, those that count, and the change of model. */
static double compute_s(const struct rue_searcher *search, size_t model, size_t config)
{
    uint64_t batch = (uint64_t)search->setup.configs[config].value[RUE_BATCH_SIZE];
    double with = rue_searcher_trial_s(search, model, config, 2 * batch),
           without = rue_searcher_trial_s(search, RUE_PREDICTION_NO_MODEL, config, 2 * batch);
    return fmax(0, with - without) + rue_searcher_overhead_s(search, RUE_COMPUTE, config) +
           search->costs.switch_s;
}

/* Batch sizes of configurations that may be the best are computed on, too, as far as that is cheap. */
static void push_more_sizes(struct rue_searcher *search)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(search->forecast, &candidates);
    double least = rue_standing_mean(search->standing, rue_standing_leader(search->standing));
    double rest_s = sizes_share * rue_searcher_left_s(search);
    for (size_t m = 0; m < search->setup.scenario_count; m++)
        for (size_t c = 0; c < count && search->status == RUE_OK; c++) {
            bool pushed;
            if (rue_standing_mean(search->standing, c) > least + size_regret_ratio) continue;
            if (rue_probing_is_computed(search->probing, m, candidates[c])) continue;
            double cost = compute_s(search, m, candidates[c]);
            if (cost > rest_s) continue;
            rest_s -= cost;
            search->status = rue_probing_push_size(search->probing, m, candidates[c], &pushed, &search->queue,
                                                   &search->error);
        }
}

/* What an earlier study recommended is measured at once where it may be as good here. */
static void push_earlier_choice(struct rue_searcher *search)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(search->forecast, &candidates), position = 0;
    if (!search->setup.prior) return;
    while (position < count && candidates[position] != search->setup.prior->config) position++;
    if (position == count) return;
    size_t config = candidates[position];
    double leading = rue_standing_mean(search->standing, rue_standing_leader(search->standing));
    if (rue_standing_mean(search->standing, position) > leading + size_regret_ratio ||
        rue_searcher_verify_s(search, config, NULL) > rue_searcher_left_s(search) / 2)
        return;
    for (size_t m = 0; m < search->setup.scenario_count; m++)
        rue_searcher_push_verification(search, m, config);
}

/* ---- the plan ---- */

static size_t next_refit(const struct rue_searcher *search)
{
    return (size_t)ceil((double)(search->joints < 12 ? 12 : search->joints) * refit_growth);
}

static void duel_probed(struct rue_searcher *search)
{
    struct duel *duel = (struct duel *)search;
    duel->refit_at = next_refit(search);
    push_more_sizes(search);
    push_earlier_choice(search);
}

static void duel_decide(struct rue_searcher *search)
{
    struct duel *duel = (struct duel *)search;
    const size_t *candidates;
    if (search->stale || search->joints >= duel->refit_at) {
        rue_searcher_update(search);
        duel->refit_at = next_refit(search);
    } else {
        rue_standing_update(search->standing, search->joints);
    }
    if (search->status != RUE_OK) return;
    size_t count = rue_forecast_candidates(search->forecast, &candidates);
    size_t leader = rue_standing_leader(search->standing);
    bool sure = count == 1 || (rue_standing_bound(search->standing, leader) <= search->setup.epsilon_ratio &&
                               search->joints >= 2 * search->setup.scenario_count);
    double rest_s = rue_searcher_left_s(search) - rue_searcher_verify_s(search, candidates[leader], NULL);
    size_t unseen = rue_searcher_unseen_count(search, candidates[leader]);
    bool last = rest_s < 0 || rue_searcher_lacks_trials(search, unseen + 2);
    bool room = rest_s >= 0 && !rue_searcher_lacks_trials(search, unseen);
    if (!sure && !last && push_trials(duel, rest_s)) return;
    if (room || !rue_standing_claim(search->standing).verified) push_verification(duel, candidates, count);
}

static const struct rue_searcher_plan plan = {
    .verification = &lengths[0],
    .probed = duel_probed,
    .decide = duel_decide,
};

/* ---- the strategy ---- */

static void duel_close(void *state)
{
    struct duel *duel = state;
    if (!duel) return;
    rue_searcher_close(&duel->search);
    free(duel->visited);
    free(duel);
}

static rue_status duel_open(const struct rue_strategy_setup *setup, void **state, rue_error *error)
{
    *state = NULL;
    struct duel *duel = calloc(1, sizeof *duel);
    if (!duel) return rue_fail_memory(error, "a duel", sizeof *duel);
    duel->seed = rue_mix64(setup->seed);
    rue_status status = rue_searcher_open(&duel->search, setup, &plan, error);
    if (status == RUE_OK) {
        duel->visited = calloc(setup->scenario_count, sizeof *duel->visited);
        if (!duel->visited) status = rue_fail_memory(error, "a duel", setup->scenario_count);
    }
    if (status != RUE_OK) return duel_close(duel), status;
    *state = duel;
    return RUE_OK;
}

const struct rue_strategy_ops rue_strategy_duel = {
    .name = "duel",
    .help = "predicts every cell from a few probes, measures what decides",
    .open = duel_open,
    .close = duel_close,
    RUE_SEARCHER_OPS,
};
