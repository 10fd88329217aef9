/* Every configuration in random order, `repeats` times, a block a repeat, so that repeats lie apart in time
 * and drift of the machine shows as spread; within a block a random order of configurations, so that drift
 * favours none; within a configuration all scenarios, so that a run that is stopped early leaves complete
 * configurations. */
#include <assert.h>
#include <stdlib.h>

#include "random.h"
#include "strategy.h"

struct grid {
    struct rue_strategy_setup setup;
    size_t next, end;  /* trials: of the scenarios of a configuration, of all configurations, of all blocks */
    size_t *configs;   /* [config_count] the block's order */
    size_t *scenarios; /* [scenario_count] the order within the current configuration */
    bool *given_up;    /* [config_count * scenario_count] a trial of the cell was not ok */
};

/* Every order gets a seed of its own: stream 0 of a block is its configurations, stream 1 + c the scenarios
 * of configuration c. An order thus never depends on what was skipped before it. */
static uint64_t seed_of(const struct grid *grid, size_t block, size_t stream)
{
    return rue_mix64(rue_mix64(rue_mix64(grid->setup.seed) ^ (uint64_t)block) ^ (uint64_t)stream);
}

static void grid_close(void *state)
{
    struct grid *grid = state;
    if (!grid) return;
    free(grid->given_up);
    free(grid->scenarios);
    free(grid->configs);
    free(grid);
}

static rue_status grid_open(const struct rue_strategy_setup *setup, void **state, rue_error *error)
{
    size_t cells;
    *state = NULL;
    if (setup->grid.scenario_count == 0 || setup->grid.config_count == 0 || setup->aim.repeats < 1)
        return rue_fail(error, RUE_USAGE, "nothing to try: %zu scenarios, %zu configurations, %d repeats",
                        setup->grid.scenario_count, setup->grid.config_count, setup->aim.repeats);
    struct grid *grid = calloc(1, sizeof *grid);
    if (!grid) return rue_fail_memory(error, "the grid", sizeof *grid);
    grid->setup = *setup;
    bool huge = __builtin_mul_overflow(setup->grid.scenario_count, setup->grid.config_count, &cells) ||
                __builtin_mul_overflow(cells, (size_t)setup->aim.repeats, &grid->end);
    grid->configs = calloc(setup->grid.config_count, sizeof *grid->configs);
    grid->scenarios = calloc(setup->grid.scenario_count, sizeof *grid->scenarios);
    grid->given_up = huge ? NULL : calloc(cells, sizeof *grid->given_up);
    if (!grid->configs || !grid->scenarios || !grid->given_up) {
        grid_close(grid);
        return rue_fail_memory(error, "the grid", cells);
    }
    *state = grid;
    return RUE_OK;
}

static bool grid_ask(void *state, struct rue_question *out)
{
    struct grid *grid = state;
    size_t scenarios = grid->setup.grid.scenario_count, configs = grid->setup.grid.config_count;
    while (grid->next < grid->end) {
        size_t block = grid->next / scenarios / configs, at = grid->next / scenarios % configs;
        size_t row = grid->next % scenarios;
        if (at == 0 && row == 0) rue_random_order(grid->configs, configs, seed_of(grid, block, 0));
        size_t config = grid->configs[at];
        if (row == 0) rue_random_order(grid->scenarios, scenarios, seed_of(grid, block, 1 + config));
        grid->next++;
        if (grid->given_up[config * scenarios + grid->scenarios[row]]) continue;
        *out = (struct rue_question){
            .measure = RUE_JOINT, .scenario = grid->scenarios[row], .config = config, .repeat = (int)block};
        return true;
    }
    return false;
}

static void grid_observe(void *state, const struct rue_question *ask, const struct rue_trial_result *result)
{
    struct grid *grid = state;
    size_t scenarios = grid->setup.grid.scenario_count;
    assert(ask->scenario < scenarios && ask->config < grid->setup.grid.config_count);
    if (result->outcome != RUE_TRIAL_OK) grid->given_up[ask->config * scenarios + ask->scenario] = true;
}

const struct rue_strategy_ops rue_strategy_grid = {
    .name = "grid",
    .help = "every configuration on every scenario, in random order",
    .open = grid_open,
    .ask = grid_ask,
    .observe = grid_observe,
    .close = grid_close,
};
