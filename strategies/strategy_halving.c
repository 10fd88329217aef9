/* Successive halving (Jamieson, Talwalkar 2016), with configurations for arms and models for instances: a
 * rung is a race of all that is left over some models, the third that does best comes into the next one, and
 * the last few run on every model. Every rung has the same share of the budget, so fewer configurations see
 * more models, and longer trials. Arms are compared where all of them were measured, by their regret relative
 * to the best there: the mean, or the worst. */
#include <math.h>
#include <stdlib.h>

#include "job_time.h"
#include "random.h"
#include "strategy.h"
#include "trial_costs.h"
#include "trial_length.h"

enum { ETA = 3, LENGTHS = 4, FINALISTS = 2 };

/* The longest first. */
static const struct rue_trial_length lengths[LENGTHS] = {{1, 1, 1}, {0.4, 2, 4}, {0.15, 2, 4}, {0.05, 1, 2}};
static const struct rue_trial_length *const shortest = &lengths[LENGTHS - 1];
static const double margin = 0.95; /* of the budget, as estimates err */

struct cell {
    double time_s;   /* of the job, from the longest trial; NaN before one */
    uint64_t images; /* of that trial */
};

struct arm {
    size_t config;
    struct rue_joined_regrets regrets; /* on the instances that all arms have run */
    double score;                      /* what these are judged by; 0 before there is one */
    bool failed;
};

struct halving {
    struct rue_strategy_setup setup;
    struct rue_trial_costs costs;
    double expected_s; /* of the trials so far: with the costs, by how much estimates err */
    struct arm *arms;  /* [arm_count], the best first */
    size_t arm_count;
    size_t *instances;                     /* [scenario_count] in random order */
    struct cell *cells;                    /* [scenario_count][config_count] */
    size_t rungs, rung;                    /* how many, and the one that runs */
    const struct rue_trial_length *length; /* of the trials of this rung */
    size_t first, count; /* instances of this rung: positions from `first` on, round and round */
    size_t at;           /* trials of this rung that were looked at: instance by instance, arm by arm */
};

static struct cell *cell_of(const struct halving *halving, size_t scenario, size_t config)
{
    return &halving->cells[scenario * halving->setup.config_count + config];
}

/* ---- what a rung costs ---- */

/* Trials where trials are limited, else seconds as they were expected; 0 where nothing is known. */
static double cost_of(const struct halving *halving, size_t scenario, size_t config,
                      const struct rue_trial_length *length)
{
    const struct rue_strategy_setup *setup = &halving->setup;
    uint64_t images = rue_trial_length_images(length, setup, config);
    if (cell_of(halving, scenario, config)->images >= images) return 0;
    if (setup->budget_trials > 0) return 1;
    if (!setup->expected_s) return 0;
    return setup->expected_s[scenario * setup->config_count + config] * (double)images /
           (double)setup->job_images;
}

static double left(const struct halving *halving)
{
    const struct rue_strategy_setup *setup = &halving->setup;
    if (setup->budget_trials > 0)
        return halving->costs.made < setup->budget_trials
                   ? (double)(setup->budget_trials - halving->costs.made)
                   : 0;
    double error =
        halving->expected_s > 0 ? rue_trial_costs_clock_s(&halving->costs) / halving->expected_s : 1;
    return margin * fmax(0, setup->budget_s - halving->costs.spent_s) / fmax(error, 1e-3);
}

static double rung_cost(const struct halving *halving, size_t arms, size_t instances,
                        const struct rue_trial_length *length)
{
    double sum = 0;
    for (size_t i = 0; i < instances; i++) {
        size_t scenario = halving->instances[(halving->first + i) % halving->setup.scenario_count];
        for (size_t a = 0; a < arms; a++) sum += cost_of(halving, scenario, halving->arms[a].config, length);
    }
    return sum;
}

/* ---- rungs ---- */

/* The most arms that the room is enough for with the fewest models and the shortest trials; one at least. */
static size_t most_arms(const struct halving *halving, size_t least, double room)
{
    size_t fit = 1, beyond = halving->arm_count + 1;
    while (beyond - fit > 1) {
        size_t middle = fit + (beyond - fit) / 2;
        *(rung_cost(halving, middle, least, shortest) <= room ? &fit : &beyond) = middle;
    }
    return fit;
}

/* Whole jobs on as many models as the rung's part of the budget has room for; where it has none for one,
 * shorter trials; where even the shortest do not fit, fewer arms. */
static void start_rung(struct halving *halving)
{
    size_t scenarios = halving->setup.scenario_count;
    bool last = halving->rung + 1 == halving->rungs;
    double room = left(halving);
    /* What the last rung needs at least, where trials are counted and shorter ones spare none. */
    if (!last && halving->setup.budget_trials > 0) room = fmax(0, room - (double)scenarios);
    room /= (double)(halving->rungs - halving->rung);
    size_t least = last ? scenarios : 1;
    halving->arm_count = most_arms(halving, least, room);
    halving->at = 0;
    for (size_t i = 0; i < LENGTHS; i++)
        for (halving->count = scenarios; halving->count >= least; halving->count--) {
            halving->length = &lengths[i];
            if (rung_cost(halving, halving->arm_count, halving->count, halving->length) <= room) return;
        }
    halving->count = least;
}

static int compare_arms(const void *left_arm, const void *right_arm)
{
    const struct arm *a = left_arm, *b = right_arm;
    if (a->score != b->score) return a->score < b->score ? -1 : 1;
    return (a->config > b->config) - (a->config < b->config);
}

/* Where there is not the room for all of them, those whose trials cost least: a round of many workers with
 * large batches may be the whole job. */
static void order_by_cost(struct halving *halving)
{
    for (size_t a = 0; a < halving->arm_count; a++) {
        struct arm *arm = &halving->arms[a];
        for (size_t m = 0; m < halving->setup.scenario_count; m++)
            arm->score += cost_of(halving, m, arm->config, shortest);
    }
    qsort(halving->arms, halving->arm_count, sizeof *halving->arms, compare_arms);
}

/* Adds what this instance says, if every arm has run it. */
static void add_regrets(struct halving *halving, size_t scenario)
{
    double best = INFINITY;
    for (size_t a = 0; a < halving->arm_count; a++) {
        double time_s = cell_of(halving, scenario, halving->arms[a].config)->time_s;
        if (isnan(time_s)) return;
        best = fmin(best, time_s);
    }
    double weight = halving->setup.weights ? halving->setup.weights[scenario] : 1;
    for (size_t a = 0; a < halving->arm_count; a++) {
        double time_s = cell_of(halving, scenario, halving->arms[a].config)->time_s;
        rue_joined_regrets_add(&halving->arms[a].regrets, scenario, weight, time_s / best - 1);
    }
}

/* Ranks the arms that run. */
static void rank_arms(struct halving *halving)
{
    size_t running = 0;
    for (size_t a = 0; a < halving->arm_count; a++)
        if (!halving->arms[a].failed) halving->arms[running++] = halving->arms[a];
    halving->arm_count = running;
    for (size_t a = 0; a < running; a++) halving->arms[a].regrets = (struct rue_joined_regrets){0};
    for (size_t m = 0; m < halving->setup.scenario_count; m++) add_regrets(halving, m);
    for (size_t a = 0; a < running; a++) {
        const struct rue_joined_regrets *regrets = &halving->arms[a].regrets;
        bool known = regrets->weights > 0;
        halving->arms[a].score = known ? rue_joined_regrets_value(regrets, halving->setup.objective) : 0;
    }
    qsort(halving->arms, running, sizeof *halving->arms, compare_arms);
}

/* False when the last rung has run, or nothing runs. */
static bool next_rung(struct halving *halving)
{
    rank_arms(halving);
    if (halving->arm_count == 0 || ++halving->rung == halving->rungs) return false;
    size_t keep = (halving->arm_count + ETA - 1) / ETA;
    if (keep < FINALISTS) keep = FINALISTS;
    if (keep < halving->arm_count) halving->arm_count = keep;
    halving->first += halving->count; /* other models than before */
    start_rung(halving);
    return true;
}

/* ---- the strategy ---- */

static void halving_close(void *state)
{
    struct halving *halving = state;
    if (!halving) return;
    free(halving->arms);
    free(halving->instances);
    free(halving->cells);
    free(halving);
}

static void set_up(struct halving *halving, const struct rue_strategy_setup *setup, size_t *order)
{
    uint64_t seed = rue_mix64(setup->seed);
    rue_random_order(halving->instances, setup->scenario_count, seed);
    rue_random_order(order, setup->config_count, rue_mix64(seed));
    halving->arm_count = setup->config_count;
    for (size_t c = 0; c < setup->config_count; c++) halving->arms[c] = (struct arm){.config = order[c]};
    for (size_t i = 0; i < setup->config_count * setup->scenario_count; i++)
        halving->cells[i] = (struct cell){.time_s = NAN};
    for (size_t arms = halving->arm_count; arms > FINALISTS; arms = (arms + ETA - 1) / ETA) halving->rungs++;
    halving->rungs++;
    if (setup->expected_s && setup->budget_trials == 0) order_by_cost(halving);
    start_rung(halving);
}

static rue_status halving_open(const struct rue_strategy_setup *setup, void **state, rue_error *error)
{
    size_t cells = setup->scenario_count * setup->config_count;
    *state = NULL;
    if (cells == 0)
        return rue_fail(error, RUE_USAGE, "nothing to try: %zu scenarios, %zu configurations",
                        setup->scenario_count, setup->config_count);
    struct halving *halving = calloc(1, sizeof *halving);
    if (!halving) return rue_fail_memory(error, "a halving", sizeof *halving);
    halving->setup = *setup;
    halving->arms = calloc(setup->config_count, sizeof *halving->arms);
    halving->instances = calloc(setup->scenario_count, sizeof *halving->instances);
    halving->cells = calloc(cells, sizeof *halving->cells);
    size_t *order = calloc(setup->config_count, sizeof *order);
    if (!halving->arms || !halving->instances || !halving->cells || !order) {
        halving_close(halving);
        free(order);
        return rue_fail_memory(error, "a halving", cells * sizeof *halving->cells);
    }
    set_up(halving, setup, order);
    free(order);
    *state = halving;
    return RUE_OK;
}

static bool halving_ask(void *state, struct rue_ask *out)
{
    struct halving *halving = state;
    while (halving->rung < halving->rungs && halving->arm_count > 0) {
        for (; halving->at < halving->count * halving->arm_count; halving->at++) {
            const struct arm *arm = &halving->arms[halving->at % halving->arm_count];
            size_t position = halving->first + halving->at / halving->arm_count;
            size_t scenario = halving->instances[position % halving->setup.scenario_count];
            uint64_t images = rue_trial_length_images(halving->length, &halving->setup, arm->config);
            if (arm->failed || cell_of(halving, scenario, arm->config)->images >= images) continue;
            *out = (struct rue_ask){
                .measure = RUE_JOINT, .scenario = scenario, .config = arm->config, .images = images};
            halving->at++;
            return true;
        }
        if (!next_rung(halving)) break;
    }
    halving->rung = halving->rungs;
    return false;
}

static void fail_arm(struct halving *halving, size_t config)
{
    for (size_t a = 0; a < halving->arm_count; a++)
        halving->arms[a].failed |= halving->arms[a].config == config;
}

static void halving_tell(void *state, const struct rue_ask *ask, const struct rue_trial_result *result)
{
    struct halving *halving = state;
    const struct rue_strategy_setup *setup = &halving->setup;
    if (setup->expected_s)
        halving->expected_s += setup->expected_s[ask->scenario * setup->config_count + ask->config] *
                               (double)ask->images / (double)setup->job_images;
    rue_trial_costs_note(&halving->costs, ask, &setup->configs[ask->config], result);
    bool predicted;
    double time_ns = NAN;
    if (result->outcome == RUE_TRIAL_OK)
        time_ns = rue_job_time_ns(result, setup->job_images, setup->drop_last, &predicted);
    if (!(isfinite(time_ns) && time_ns > 0)) {
        fail_arm(halving, ask->config);
        return;
    }
    *cell_of(halving, ask->scenario, ask->config) = (struct cell){time_ns / 1e9, ask->images};
}

const struct rue_strategy_ops rue_strategy_halving = {
    .name = "halving",
    .help = "ever fewer configurations on ever more models",
    .searches = true,
    .open = halving_open,
    .ask = halving_ask,
    .tell = halving_tell,
    .close = halving_close,
};
