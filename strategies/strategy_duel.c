/* Predicts every cell from a few probes, then measures what decides: the configuration that is believed to be
 * the best, one that may be better, or both back to back, on the model and as long as tells most about their
 * difference for its cost. Ends when, with the confidence asked for, nothing is better by more than epsilon,
 * or with the budget; by then what leads has been measured on every model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "random.h"
#include "searcher.h"

/* TELLING: cells that are looked at closely. */
enum {
    LENGTHS = 3,
    VERIFIED_MAX = 3,
    TELLING = 12,
    FIRST_LOOK = 5,
    SURE_LOOKS = 2,
    AUDITS_LEAST = 3,
    AUDIT_TRIES = 24
};

static const struct rue_trial_length lengths[LENGTHS] = {{0.1, 2, 4}, {0.3, 2, 4}, {1, 1, 1}};
static const double sizes_share = 0.15;       /* of what is left of the budget, for further batch sizes */
static const double size_regret_ratio = 0.02; /* more than the leader's: its batch size is computed on, too */
static const double rival_ratio = 0.01;       /* more than the leader's: it is verified, too */
static const double look_growth = 1.4;        /* of the joint trials, from one look to the next */
static const double audit_share = 0.1;        /* of the joint trials */
static const double audit_cost_share = 0.01;  /* of the budget: no audit costs more */
static const double least_gain = 1e-10;       /* of the variance of a mean regret: less is nothing */

struct duel {
    struct rue_searcher search; /* the first member */
    size_t look_at;             /* joint trials */
    size_t sure;                /* looks in a row that found it good enough */
    size_t audits;
    bool *visited; /* [scenarios] of a verification */
    uint64_t seed;
};

/* ---- trials ---- */

/* A trial that may be made, and what it brings. */
struct option {
    size_t model, config;
    uint64_t images;
    double rate; /* variance of the difference lessened, a second; -INFINITY where it costs too much */
};

static double cost_s(const struct rue_searcher *search, size_t model, size_t config, uint64_t images)
{
    return rue_searcher_trial_s(search, model, config, images) +
           rue_searcher_overhead_s(search, RUE_JOINT, config) +
           rue_trial_costs_switch_s(&search->costs, model);
}

/* The length that tells most for its cost. */
static struct option best_length(const struct rue_searcher *search, size_t model, size_t config,
                                 double most_s)
{
    struct option best = {.rate = -INFINITY};
    for (size_t i = search->setup.whole_jobs ? LENGTHS - 1 : 0; i < LENGTHS; i++) {
        struct option option = {model, config, rue_searcher_images(search, config, &lengths[i]), 0};
        double gain = rue_forecast_gain(search->forecast, model, config, option.images),
               cost = cost_s(search, model, config, option.images);
        option.rate = cost > most_s || gain < least_gain ? -INFINITY : gain / cost;
        if (option.rate > best.rate) best = option;
    }
    return best;
}

/* The cells whose jobs go most closely with the difference that is to be decided, for what they cost. */
static size_t list_telling(const struct rue_searcher *search, size_t cells[TELLING])
{
    const struct rue_strategy_setup *setup = &search->setup;
    double rates[TELLING];
    size_t count = 0;
    for (size_t i = 0; i < setup->scenario_count * setup->config_count; i++) {
        size_t model = i / setup->config_count, config = i % setup->config_count;
        if (rue_forecast_is_excluded(search->forecast, config)) continue;
        double with = rue_forecast_covariance(search->forecast, model, config);
        double rate =
            with * with / cost_s(search, model, config, rue_searcher_images(search, config, &lengths[0]));
        size_t at = count < TELLING ? count++ : TELLING;
        for (; at > 0 && rates[at - 1] < rate; at--)
            if (at < TELLING) cells[at] = cells[at - 1], rates[at] = rates[at - 1];
        if (at < TELLING) cells[at] = i, rates[at] = rate;
    }
    return count;
}

/* The trial that decides next between the one that leads and one that may be better: any cell, as long as
 * tells most for its cost. False where there is none. */
static bool push_trial(struct duel *duel, double most_s)
{
    struct rue_searcher *search = &duel->search;
    size_t leader = rue_standing_leader(search->standing), cells[TELLING],
           other = rue_standing_challenger(search->standing, rue_random_next(&duel->seed));
    struct option best = {.rate = -INFINITY};
    if (other == leader) return false;
    search->status = rue_forecast_compare(search->forecast, leader, other,
                                          rue_standing_weights(search->standing, other), &search->error);
    size_t count = search->status == RUE_OK ? list_telling(search, cells) : 0;
    for (size_t i = 0; i < count; i++) {
        struct option option = best_length(search, cells[i] / search->setup.config_count,
                                           cells[i] % search->setup.config_count, most_s);
        if (option.rate > best.rate) best = option;
    }
    if (isinf(best.rate)) return false;
    rue_searcher_push_joint(search, best.model, best.config, best.images);
    return true;
}

/* What seems to be disturbed is tried again, once: where that says the same, the belief was off. */
static bool push_again(struct rue_searcher *search, double most_s)
{
    const struct rue_ask_queue *history = &search->joint_history;
    if (history->count == 0 || !rue_forecast_is_last_disturbed(search->forecast)) return false;
    struct rue_ask last = history->at[history->count - 1];
    if (rue_ask_queue_count_alike(history, &last) > 1 ||
        rue_forecast_is_excluded(search->forecast, last.config) ||
        cost_s(search, last.scenario, last.config, last.images) > most_s)
        return false;
    rue_searcher_push_joint(search, last.scenario, last.config, last.images);
    return true;
}

static bool is_tried(const struct rue_searcher *search, size_t config)
{
    return rue_searcher_unseen_count(search, config) < search->setup.scenario_count;
}

/* Now and then a trial of any cell, the whole job where that is cheap: predictions are tested where nobody
 * would look, and best where nothing was tried yet. */
static bool push_audit(struct duel *duel, double most_s)
{
    struct rue_searcher *search = &duel->search;
    double joints = (double)search->joints;
    if ((double)duel->audits >= fmax(fmin(AUDITS_LEAST, joints / 4), audit_share * joints)) return false;
    duel->audits++;
    most_s = fmin(most_s, audit_cost_share * search->setup.budget_s);
    for (int try = 0; try < AUDIT_TRIES; try++) {
        size_t model = (size_t)rue_random_below(&duel->seed, search->setup.scenario_count),
               config = (size_t)rue_random_below(&duel->seed, search->setup.config_count);
        uint64_t images = search->setup.job_images;
        bool known = try < AUDIT_TRIES / 2 && is_tried(search, config);
        if (known || rue_forecast_is_excluded(search->forecast, config)) continue;
        if (cost_s(search, model, config, images) > most_s)
            images = rue_searcher_images(search, config, &lengths[0]);
        if (cost_s(search, model, config, images) > most_s) continue;
        rue_searcher_push_joint(search, model, config, images);
        return true;
    }
    return false;
}

/* ---- verification ---- */

/* The best configuration that is not among the first `count` of `chosen`, or SIZE_MAX. */
static size_t next_best(const struct rue_searcher *search, const size_t *chosen, size_t count)
{
    size_t best = SIZE_MAX;
    for (size_t c = 0; c < search->setup.config_count; c++) {
        bool taken = rue_forecast_is_out(search->forecast, c);
        for (size_t i = 0; i < count; i++) taken |= chosen[i] == c;
        if (!taken && (best == SIZE_MAX || rue_standing_regret(search->standing, c) <
                                               rue_standing_regret(search->standing, best)))
            best = c;
    }
    return best;
}

/* The leader on every model that has not seen it; in the same visits, as far as there is room, those that
 * may come to lead by what is seen of it. */
static void push_verification(struct duel *duel)
{
    struct rue_searcher *search = &duel->search;
    size_t chosen[VERIFIED_MAX], count = 0, trials = 0, models = search->setup.scenario_count;
    double most = rue_standing_regret(search->standing, rue_standing_leader(search->standing)) + rival_ratio;
    double rest_s = rue_searcher_left_s(search);
    memset(duel->visited, 0, models * sizeof *duel->visited);
    while (count < VERIFIED_MAX) {
        size_t config = next_best(search, chosen, count);
        if (config == SIZE_MAX) break;
        double cost = rue_searcher_verify_s(search, config, duel->visited);
        trials += rue_searcher_unseen_count(search, config);
        bool room = cost <= rest_s && !rue_searcher_lacks_trials(search, trials);
        if (count > 0 && (!room || rue_standing_regret(search->standing, config) > most)) break;
        rest_s -= cost;
        chosen[count++] = config;
        for (size_t m = 0; m < models; m++) duel->visited[m] |= rue_searcher_is_unseen(search, m, config);
    }
    for (size_t m = 0; m < models; m++)
        for (size_t i = 0; i < count; i++) rue_searcher_push_verification(search, m, chosen[i]);
}

/* Whole jobs of the leader and of its best rivals on every model, one after the other on each: before that
 * nothing is sure. False where there is no room for them; true, and nothing is pushed, where all were made.
 */
static bool push_confirmation(struct duel *duel, double most_s)
{
    struct rue_searcher *search = &duel->search;
    size_t chosen[VERIFIED_MAX], count = 0, trials = 0, models = search->setup.scenario_count;
    double cost = 0;
    for (; count < VERIFIED_MAX; count++) {
        chosen[count] = next_best(search, chosen, count);
        if (chosen[count] == SIZE_MAX) break;
    }
    for (size_t i = 0; i < models * count; i++) {
        if (rue_forecast_cell(search->forecast, i / count, chosen[i % count]).full) continue;
        cost += cost_s(search, i / count, chosen[i % count], search->setup.job_images);
        trials++;
    }
    if (cost > most_s || rue_searcher_lacks_trials(search, trials)) return false;
    for (size_t i = 0; i < models * count; i++)
        if (!rue_forecast_cell(search->forecast, i / count, chosen[i % count]).full)
            rue_searcher_push_joint(search, i / count, chosen[i % count], search->setup.job_images);
    return true;
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
    double most =
        rue_standing_regret(search->standing, rue_standing_leader(search->standing)) + size_regret_ratio;
    double rest_s = sizes_share * rue_searcher_left_s(search);
    for (size_t m = 0; m < search->setup.scenario_count; m++)
        for (size_t c = 0; c < search->setup.config_count && search->status == RUE_OK; c++) {
            bool pushed;
            if (rue_standing_regret(search->standing, c) > most) continue;
            if (rue_probing_is_computed(search->probing, m, c)) continue;
            double cost = compute_s(search, m, c);
            if (cost > rest_s) continue;
            rest_s -= cost;
            search->status =
                rue_probing_push_size(search->probing, m, c, &pushed, &search->queue, &search->error);
        }
}

/* What an earlier study recommended is measured at once where it may be as good here. */
static void push_earlier_choice(struct rue_searcher *search)
{
    if (!search->setup.prior || search->setup.prior->config >= search->setup.config_count) return;
    size_t config = search->setup.prior->config;
    double leading = rue_standing_regret(search->standing, rue_standing_leader(search->standing));
    if (rue_standing_regret(search->standing, config) > leading + size_regret_ratio ||
        rue_searcher_verify_s(search, config, NULL) > rue_searcher_left_s(search) / 2)
        return;
    for (size_t m = 0; m < search->setup.scenario_count; m++)
        rue_searcher_push_verification(search, m, config);
}

/* ---- the plan ---- */

static void duel_probed(struct rue_searcher *search)
{
    struct duel *duel = (struct duel *)search;
    duel->look_at = FIRST_LOOK;
    push_more_sizes(search);
    push_earlier_choice(search);
}

/* Looks at all that was learned, now and then: each look is one more chance to be sure by mistake. */
static void look(struct duel *duel)
{
    struct rue_searcher *search = &duel->search;
    rue_searcher_update(search);
    if (search->status != RUE_OK || search->joints < duel->look_at) return;
    bool missed = (double)search->joints >= look_growth * (double)duel->look_at; /* a study goes on */
    duel->look_at = (size_t)ceil(fmax((double)search->joints + 2, look_growth * (double)search->joints));
    rue_searcher_claim_anew(search, RUE_STANDING_LOOK);
    bool sure = search->claim.verified && search->claim.bound_ratio <= search->setup.epsilon_ratio;
    duel->sure = sure ? duel->sure + 1 + missed : 0;
}

static void duel_decide(struct rue_searcher *search)
{
    struct duel *duel = (struct duel *)search;
    bool due = search->joints >= duel->look_at;
    if (search->stale || due)
        look(duel);
    else
        search->status = rue_standing_update(search->standing, &search->error);
    if (search->status != RUE_OK) return;
    size_t leader = rue_standing_leader(search->standing);
    double rest_s = rue_searcher_left_s(search) - rue_searcher_verify_s(search, leader, NULL);
    size_t unseen = rue_searcher_unseen_count(search, leader);
    bool last =
        rest_s < 0 || rue_forecast_is_full(search->forecast) || rue_searcher_lacks_trials(search, unseen + 1);
    bool room = rest_s >= 0 && !rue_searcher_lacks_trials(search, unseen);
    bool sure = duel->sure >= SURE_LOOKS && search->joints >= 2 * search->setup.scenario_count;
    if (sure && push_confirmation(duel, rest_s)) return;
    /* What is believed to be the best is measured on every model: else nothing can be claimed of it. */
    if (due && room && unseen > 0 && search->joints >= search->setup.scenario_count) {
        push_verification(duel);
        return;
    }
    if (!last && (push_again(search, rest_s) || push_audit(duel, rest_s) || push_trial(duel, rest_s))) return;
    if (search->status == RUE_OK && (room || !rue_standing_is_any_verified(search->standing)))
        push_verification(duel);
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
