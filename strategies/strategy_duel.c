/* Predicts every cell from a few probes, then measures what decides: the configuration that is believed to be
 * the best, one that may be better, or both back to back, on the model and as long as tells most about their
 * difference for its cost. Ends when, with the confidence asked for, nothing is better by more than epsilon,
 * or with the budget; by then what leads has been measured on every model. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "forecast.h"
#include "probes.h"
#include "random.h"

enum { LENGTHS = 4, SLOW_REPEATS = 4, COMPUTE_SIZES = 2, QUEUE_MAX = 64 };

static const double slow_ratio = 1.06; /* a probe that something disturbed */
/* Lengths of trials: a share of the job, but some rounds of all workers at least, and some batches. */
static const struct length {
    double share, rounds, batches;
} lengths[LENGTHS] = {{0.05, 1, 2}, {0.15, 2, 4}, {0.4, 2, 4}, {1, 1, 1}};
static const double whole_share = 0.7;  /* above it, the whole job */
static const double sizes_share = 0.25; /* of what is left of the budget, for batch sizes beyond the first */
static const double spread_factor = 1.25; /* beliefs are bolder than they should be */
static const double few_joints = 12;      /* trials that double the variance of beliefs */
static const double verify_margin = 1.3;  /* of what the last trials may cost more than expected */
static const double refit_growth = 1.3;   /* of the joint trials, from one refit to the next */
static const double size_regret_ratio =
    0.02; /* a candidate's batch size is computed on when it is as good as that */

enum phase { LOAD, COMPUTE, DUEL, ENDED };

struct duel {
    struct rue_strategy_setup setup;
    struct rue_forecast *forecast;
    enum phase phase;
    struct rue_ask *queue; /* [queue_count] still to be asked, from queue_at on */
    size_t queue_at, queue_count, queue_capacity;
    size_t load_count; /* probes, without repeats */
    size_t *asked;     /* [cells] joint questions of each cell so far */
    bool *computed;    /* [cells] the batch size of the config was computed on, or will be */
    size_t joints, refit_at;
    size_t model; /* of the last trial that had one; RUE_FORECAST_NO_MODEL */
    double spent_s;
    double overhead_s, switch_s; /* means, of trials beside their own time */
    double overhead_count, switch_count;
    uint64_t seed;
    bool broken; /* without memory: nothing more is asked */
    /* The leader, of all draws. */
    double *drawn;           /* [draws][candidates] mean regrets, as they are believed now */
    double *regrets, *means; /* [configs] of candidates */
    double *excess;          /* [draws] */
    size_t leader;           /* position among the candidates */
    double bound_ratio;
};

static void push(struct duel *duel, struct rue_ask ask)
{
    if (duel->queue_count == duel->queue_capacity) {
        size_t capacity = duel->queue_capacity ? 2 * duel->queue_capacity : QUEUE_MAX;
        struct rue_ask *grown = reallocarray(duel->queue, capacity, sizeof *grown);
        if (!grown) {
            duel->broken = true;
            return;
        }
        duel->queue = grown;
        duel->queue_capacity = capacity;
    }
    duel->queue[duel->queue_count++] = ask;
}

/* ---- probes ---- */

static void push_load_probes(struct duel *duel)
{
    struct rue_ask probes[RUE_PROBES_LOAD_MAX];
    duel->load_count = rue_probes_load(&duel->setup, probes);
    for (size_t i = 0; i < duel->load_count; i++) {
        if (duel->setup.measures[RUE_LOAD]) {
            push(duel, probes[i]);
            continue;
        }
        probes[i].measure = RUE_JOINT; /* on every model in turn, and the first on all of them */
        for (size_t m = 0; m < duel->setup.scenario_count; m++) {
            if (i > 1 && (i + m) % 3 != 0) continue;
            probes[i].scenario = m;
            push(duel, probes[i]);
        }
    }
}

/* Marks a model's batch size as computed on; false when it was already. */
static bool mark_computed(struct duel *duel, size_t scenario, size_t config)
{
    const struct rue_config *configs = duel->setup.configs;
    bool *row = duel->computed + scenario * duel->setup.config_count;
    if (row[config]) return false;
    for (size_t c = 0; c < duel->setup.config_count; c++)
        row[c] |= configs[c].value[RUE_BATCH_SIZE] == configs[config].value[RUE_BATCH_SIZE];
    return true;
}

static void push_compute_probes(struct duel *duel)
{
    size_t sizes[COMPUTE_SIZES], count = rue_probes_compute_sizes(&duel->setup, sizes);
    for (size_t m = 0; duel->setup.measures[RUE_COMPUTE] && m < duel->setup.scenario_count; m++)
        for (size_t i = 0; i < count; i++)
            if (mark_computed(duel, m, sizes[i])) push(duel, rue_probes_compute(m, sizes[i]));
}

static void repeat_slow_probes(struct duel *duel)
{
    size_t repeats = 0;
    for (size_t i = 0; i < duel->load_count && repeats < SLOW_REPEATS; i++) {
        struct rue_ask again = duel->queue[i];
        if (!(rue_forecast_slow_ratio(duel->forecast, again.config) > slow_ratio)) continue;
        again.repeat = 1;
        push(duel, again);
        repeats++;
    }
}

/* ---- what leads ---- */

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* By how much another candidate may be better than the one at `position`, with the confidence asked for. */
static double bound_of(struct duel *duel, size_t position)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(duel->forecast, &candidates), draws = RUE_FORECAST_DRAWS;
    for (size_t d = 0; d < draws; d++) {
        const double *regrets = duel->drawn + d * count;
        double least = INFINITY;
        for (size_t c = 0; c < count; c++) least = fmin(least, regrets[c]);
        duel->excess[d] = regrets[position] - least;
    }
    qsort(duel->excess, draws, sizeof *duel->excess, compare_doubles);
    size_t at = (size_t)(duel->setup.confidence * (double)draws);
    /* Few trials tell little of how far predictions are off. */
    double few = sqrt(1 + few_joints / fmax(1, (double)duel->joints));
    return spread_factor * few * duel->excess[at < draws ? at : draws - 1];
}

/* The least expected mean regret, and how much better another may be. */
static void rank(struct duel *duel)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(duel->forecast, &candidates), draws = RUE_FORECAST_DRAWS;
    memset(duel->means, 0, count * sizeof *duel->means);
    for (size_t d = 0; d < draws; d++) {
        double *regrets = duel->drawn + d * count;
        rue_forecast_regrets(duel->forecast, d, regrets);
        for (size_t c = 0; c < count; c++) duel->means[c] += regrets[c] / (double)draws;
    }
    duel->leader = 0;
    for (size_t c = 1; c < count; c++)
        if (duel->means[c] < duel->means[duel->leader]) duel->leader = c;
    duel->bound_ratio = bound_of(duel, duel->leader);
}

/* The best of the others in one draw. */
static size_t draw_challenger(struct duel *duel, size_t count)
{
    size_t challenger = duel->leader;
    size_t draw = (size_t)rue_random_below(&duel->seed, RUE_FORECAST_DRAWS);
    const double *regrets = duel->drawn + draw * count;
    for (size_t c = 0; c < count; c++)
        if (c != duel->leader && (challenger == duel->leader || regrets[c] < regrets[challenger]))
            challenger = c;
    return challenger;
}

/* ---- trials ---- */

/* A trial's images, in whole batches; the whole job where that is little more. */
static uint64_t trial_images(const struct duel *duel, size_t config, const struct length *length)
{
    const int *value = duel->setup.configs[config].value;
    double batch = value[RUE_BATCH_SIZE], workers = value[RUE_NUM_WORKERS] > 0 ? value[RUE_NUM_WORKERS] : 1;
    double job = (double)duel->setup.job_images;
    double least = fmax(length->share * job, batch * fmax(length->rounds * workers, length->batches));
    return least > whole_share * job ? duel->setup.job_images : (uint64_t)(ceil(least / batch) * batch);
}

static double cost_s(const struct duel *duel, size_t model, size_t config, uint64_t images)
{
    return rue_forecast_trial_s(duel->forecast, model, config, images) + duel->overhead_s;
}

static double change_s(const struct duel *duel, size_t model)
{
    return model == duel->model ? 0 : duel->switch_s;
}

static void push_joint(struct duel *duel, size_t model, size_t config, uint64_t images)
{
    size_t cell = model * duel->setup.config_count + config;
    push(duel, (struct rue_ask){.measure = RUE_JOINT,
                                .scenario = model,
                                .config = config,
                                .images = images,
                                .expected_s = rue_forecast_trial_s(duel->forecast, model, config, images),
                                .repeat = (int)duel->asked[cell]++});
}

/* A set of one or two trials, and what it brings. */
struct option {
    struct rue_forecast_trial trials[2];
    size_t count;
    double rate; /* variance of the difference lessened, a second */
};

static double option_rate(struct duel *duel, const struct option *option)
{
    const size_t *candidates;
    rue_forecast_candidates(duel->forecast, &candidates);
    double cost = change_s(duel, option->trials[0].model);
    for (size_t i = 0; i < option->count; i++)
        cost += cost_s(duel, option->trials[i].model, candidates[option->trials[i].position],
                       option->trials[i].images);
    return rue_forecast_gain(duel->forecast, option->trials, option->count) / cost;
}

/* The leader, the challenger, or both back to back; on the model, and as long, as tells most of their
 * difference for its cost. */
static struct option best_option(struct duel *duel, const size_t *candidates, size_t one, size_t other)
{
    struct option best = {.rate = -INFINITY};
    rue_forecast_compare(duel->forecast, one, other);
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        for (size_t s = 0; s < LENGTHS; s++)
            for (int who = 1; who <= 3; who++) {
                struct option option = {.count = 0};
                for (int i = 0; i < 2; i++) {
                    size_t position = i ? other : one;
                    if (!(who >> i & 1)) continue;
                    option.trials[option.count++] = (struct rue_forecast_trial){
                        m, position, trial_images(duel, candidates[position], &lengths[s])};
                }
                option.rate = option_rate(duel, &option);
                if (option.rate > best.rate) best = option;
            }
    return best;
}

static void push_trials(struct duel *duel)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(duel->forecast, &candidates);
    size_t other = draw_challenger(duel, count);
    if (other == duel->leader) { /* the only one */
        push_joint(duel, 0, candidates[other], trial_images(duel, candidates[other], &lengths[LENGTHS - 1]));
        return;
    }
    struct option option = best_option(duel, candidates, duel->leader, other);
    bool turned = rue_random_below(&duel->seed, 2);
    for (size_t i = 0; i < option.count; i++) {
        const struct rue_forecast_trial *trial = &option.trials[turned ? option.count - 1 - i : i];
        push_joint(duel, trial->model, candidates[trial->position], trial->images);
    }
}

static bool is_verified_on(const struct duel *duel, size_t model, size_t config)
{
    return rue_forecast_cell(duel->forecast, model, config).joint_trials > 0;
}

/* Seconds that the leader's trials on models that have not seen it are expected to take. */
static double verify_s(const struct duel *duel, size_t config)
{
    double sum = 0;
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        if (!is_verified_on(duel, m, config))
            sum += cost_s(duel, m, config, trial_images(duel, config, &lengths[0])) + duel->switch_s;
    return sum;
}

static void push_verification(struct duel *duel, size_t config)
{
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        if (!is_verified_on(duel, m, config))
            push_joint(duel, m, config, trial_images(duel, config, &lengths[0]));
}

/* Seconds of a compute probe: a batch to warm up, those that count, and the change of model. */
static double compute_s(const struct duel *duel, size_t model, size_t config)
{
    uint64_t batch = (uint64_t)duel->setup.configs[config].value[RUE_BATCH_SIZE];
    double with = rue_forecast_trial_s(duel->forecast, model, config, 2 * batch),
           without = rue_forecast_trial_s(duel->forecast, RUE_FORECAST_NO_MODEL, config, 2 * batch);
    return fmax(0, with - without) + duel->overhead_s + duel->switch_s;
}

/* Batch sizes of configurations that may be the best are computed on, too, as far as that is cheap. */
static void push_more_sizes(struct duel *duel)
{
    const size_t *candidates;
    size_t count = rue_forecast_candidates(duel->forecast, &candidates);
    double left_s = sizes_share * (duel->setup.budget_s - duel->spent_s);
    for (size_t m = 0; duel->setup.measures[RUE_COMPUTE] && m < duel->setup.scenario_count; m++)
        for (size_t c = 0; c < count; c++) {
            if (duel->means[c] > duel->means[duel->leader] + size_regret_ratio) continue;
            double cost = compute_s(duel, m, candidates[c]);
            if (cost > left_s || !mark_computed(duel, m, candidates[c])) continue;
            left_s -= cost;
            push(duel, rue_probes_compute(m, candidates[c]));
        }
}

/* ---- phases ---- */

static void update(struct duel *duel)
{
    if (rue_forecast_update(duel->forecast, NULL) != RUE_OK) duel->broken = true;
    if (duel->broken) return;
    duel->refit_at = (size_t)ceil((double)(duel->joints < 12 ? 12 : duel->joints) * refit_growth);
    rank(duel);
}

static void decide(struct duel *duel)
{
    const size_t *candidates;
    if (duel->joints >= duel->refit_at)
        update(duel);
    else
        rank(duel);
    if (duel->broken) return;
    rue_forecast_candidates(duel->forecast, &candidates);
    size_t leader = candidates[duel->leader];
    double left_s = duel->setup.budget_s - duel->spent_s;
    bool sure =
        duel->bound_ratio <= duel->setup.epsilon_ratio && duel->joints >= 2 * duel->setup.scenario_count;
    if (sure || left_s < verify_margin * verify_s(duel, leader) + duel->overhead_s) {
        push_verification(duel, leader);
        duel->phase = ENDED;
        return;
    }
    push_trials(duel);
}

/* Fills the queue once it is empty, or ends. */
static void go_on(struct duel *duel)
{
    switch (duel->phase) {
    case LOAD:
        update(duel);
        if (duel->setup.measures[RUE_LOAD]) repeat_slow_probes(duel);
        push_compute_probes(duel);
        duel->phase = COMPUTE;
        break;
    case COMPUTE:
        update(duel);
        duel->phase = DUEL;
        if (!duel->broken) push_more_sizes(duel);
        break;
    case DUEL:
        decide(duel);
        break;
    case ENDED:
        break;
    }
}

static bool duel_ask(void *state, struct rue_ask *out)
{
    struct duel *duel = state;
    while (duel->queue_at == duel->queue_count && duel->phase != ENDED && !duel->broken) go_on(duel);
    if (duel->broken || duel->queue_at == duel->queue_count) return false;
    *out = duel->queue[duel->queue_at++];
    return true;
}

static void mean_in(double *mean, double *count, double value)
{
    *mean += (value - *mean) / ++*count;
}

/* Learns what a trial costs beside its own time, and what a change of model costs. */
static void note_cost(struct duel *duel, const struct rue_ask *ask, const struct rue_trial_result *result)
{
    if (result->cost_ns <= 0) return; /* nothing, or not known */
    bool computes = ask->measure == RUE_COMPUTE;
    int64_t own_ns = computes ? result->compute_ns : result->end_to_end_ns;
    double cost = (double)result->cost_ns / 1e9;
    duel->spent_s += cost;
    if (ask->stored) duel->setup.budget_s += cost;
    if (result->outcome != RUE_TRIAL_OK || own_ns == RUE_ABSENT) return;
    if (computes && result->batches > 0) own_ns += own_ns / result->batches; /* to warm up */
    double beside = fmax(0, cost - (double)own_ns / 1e9);
    bool changes = ask->measure != RUE_LOAD && ask->scenario != duel->model;
    if (changes)
        mean_in(&duel->switch_s, &duel->switch_count, fmax(0, beside - duel->overhead_s));
    else
        mean_in(&duel->overhead_s, &duel->overhead_count, beside);
    if (ask->measure != RUE_LOAD) duel->model = ask->scenario;
}

static void duel_tell(void *state, const struct rue_ask *ask, const struct rue_trial_result *result)
{
    struct duel *duel = state;
    note_cost(duel, ask, result);
    if (result->outcome != RUE_TRIAL_OK) {
        if (ask->measure == RUE_JOINT) {
            rue_forecast_exclude(duel->forecast, ask->config);
            duel->refit_at = 0;
        }
        return;
    }
    duel->joints += ask->measure == RUE_JOINT;
    if (rue_forecast_add(duel->forecast, ask, result, duel->spent_s, NULL) != RUE_OK) duel->broken = true;
}

static bool duel_estimate(void *state, size_t scenario, size_t config, struct rue_estimate *out)
{
    const struct duel *duel = state;
    if (duel->phase == LOAD || duel->phase == COMPUTE) return false;
    struct rue_forecast_cell cell = rue_forecast_cell(duel->forecast, scenario, config);
    *out = (struct rue_estimate){cell.time_s, cell.sd, cell.joint_trials, cell.full};
    return true;
}

static bool is_verified(const struct duel *duel, size_t config)
{
    for (size_t m = 0; m < duel->setup.scenario_count; m++)
        if (!is_verified_on(duel, m, config)) return false;
    return true;
}

/* The position of the candidate with the least mean regret, as it is believed, of those measured on every
 * model; of all of them where none is. */
static size_t choose(struct duel *duel, const size_t *candidates, size_t count, bool *verified)
{
    size_t best = duel->leader;
    *verified = false;
    memset(duel->regrets, 0, count * sizeof *duel->regrets);
    for (size_t m = 0; m < duel->setup.scenario_count; m++) {
        double least = INFINITY;
        for (size_t c = 0; c < duel->setup.config_count; c++)
            least = fmin(least, rue_forecast_cell(duel->forecast, m, c).time_s);
        for (size_t c = 0; c < count; c++)
            duel->regrets[c] += rue_forecast_cell(duel->forecast, m, candidates[c]).time_s / least - 1;
    }
    for (size_t c = 0; c < count; c++) {
        if (!is_verified(duel, candidates[c]) || (*verified && duel->regrets[c] >= duel->regrets[best]))
            continue;
        best = c;
        *verified = true;
    }
    return best;
}

static bool duel_claim(void *state, struct rue_claim *out)
{
    struct duel *duel = state;
    if (duel->phase == LOAD || duel->phase == COMPUTE || duel->broken) return false;
    const size_t *candidates;
    size_t count = rue_forecast_candidates(duel->forecast, &candidates);
    rank(duel);
    size_t best = choose(duel, candidates, count, &out->verified);
    out->config = candidates[best];
    out->bound_ratio = bound_of(duel, best);
    return true;
}

static void duel_close(void *state)
{
    struct duel *duel = state;
    if (!duel) return;
    rue_forecast_close(duel->forecast);
    free(duel->queue);
    free(duel->asked);
    free(duel->computed);
    free(duel->drawn);
    free(duel->regrets);
    free(duel->means);
    free(duel->excess);
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
    duel->model = RUE_FORECAST_NO_MODEL;
    duel->seed = rue_mix64(setup->seed);
    duel->bound_ratio = INFINITY;
    size_t cells = setup->scenario_count * setup->config_count;
    duel->asked = calloc(cells, sizeof *duel->asked);
    duel->computed = calloc(cells, sizeof *duel->computed);
    duel->drawn = calloc(RUE_FORECAST_DRAWS * setup->config_count, sizeof *duel->drawn);
    duel->regrets = calloc(setup->config_count, sizeof *duel->regrets);
    duel->means = calloc(setup->config_count, sizeof *duel->means);
    duel->excess = calloc(RUE_FORECAST_DRAWS, sizeof *duel->excess);
    rue_status status = RUE_OK;
    if (!duel->asked || !duel->computed || !duel->drawn || !duel->regrets || !duel->means || !duel->excess)
        status = rue_fail_memory(error, "a duel", cells * sizeof *duel->asked);
    if (status == RUE_OK) status = rue_forecast_open(&duel->setup, &duel->forecast, error);
    if (status == RUE_OK) push_load_probes(duel);
    if (status != RUE_OK) return duel_close(duel), status;
    *state = duel;
    return RUE_OK;
}

const struct rue_strategy_ops rue_strategy_duel = {
    .name = "duel",
    .help = "predicts every cell from a few probes, measures what decides",
    .open = duel_open,
    .ask = duel_ask,
    .tell = duel_tell,
    .estimate = duel_estimate,
    .claim = duel_claim,
    .close = duel_close,
};
