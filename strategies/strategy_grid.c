/* The whole grid, `repeats` times: a block a repeat, so that repeats lie apart in time and drift of the
 * machine shows as spread; within a block a random order of configurations, so that drift favours none;
 * within a configuration all scenarios, so that a run that is stopped early leaves complete configurations.
 */
#include <assert.h>
#include <stdlib.h>

#include "random.h"
#include "strategy.h"

struct grid {
    size_t scenario_count, config_count;
    int repeats;
    uint64_t seed;
    int block;          /* the repeat that is being asked */
    size_t config_at;   /* position in `configs` */
    size_t scenario_at; /* position in `scenarios`: the next to ask */
    size_t *configs;    /* [config_count] the block's order */
    size_t *scenarios;  /* [scenario_count] the order within the current configuration */
    bool *given_up;     /* [config_count * scenario_count] a trial of the cell was not ok */
};

/* Every order gets a seed of its own: stream 0 of a block is its configurations, stream 1 + c the scenarios
 * of configuration c. An order thus never depends on what was skipped before it. */
static uint64_t seed_of(const struct grid *grid, size_t stream)
{
    return rue_mix64(rue_mix64(rue_mix64(grid->seed) ^ (uint64_t)grid->block) ^ (uint64_t)stream);
}

static void start_config(struct grid *grid)
{
    grid->scenario_at = 0;
    rue_random_order(grid->scenarios, grid->scenario_count,
                     seed_of(grid, 1 + grid->configs[grid->config_at]));
}

static void start_block(struct grid *grid)
{
    grid->config_at = 0;
    rue_random_order(grid->configs, grid->config_count, seed_of(grid, 0));
    start_config(grid);
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
    if (setup->scenario_count == 0 || setup->config_count == 0 || setup->repeats < 1)
        return rue_fail(error, RUE_USAGE, "nothing to try: %zu scenarios, %zu configurations, %d repeats",
                        setup->scenario_count, setup->config_count, setup->repeats);
    struct grid *grid = calloc(1, sizeof *grid);
    if (!grid) return rue_fail_memory(error, "the grid", sizeof *grid);
    grid->scenario_count = setup->scenario_count;
    grid->config_count = setup->config_count;
    grid->repeats = setup->repeats;
    grid->seed = setup->seed;
    if (__builtin_mul_overflow(setup->scenario_count, setup->config_count, &cells)) cells = SIZE_MAX;
    grid->configs = calloc(setup->config_count, sizeof *grid->configs);
    grid->scenarios = calloc(setup->scenario_count, sizeof *grid->scenarios);
    grid->given_up = calloc(cells, sizeof *grid->given_up);
    if (!grid->configs || !grid->scenarios || !grid->given_up) {
        grid_close(grid);
        return rue_fail_memory(error, "the grid", cells);
    }
    start_block(grid);
    *state = grid;
    return RUE_OK;
}

/* Steps to the next configuration, or to the next block; false behind the last. */
static bool next_config(struct grid *grid)
{
    if (grid->config_at + 1 < grid->config_count) {
        grid->config_at++;
        start_config(grid);
        return true;
    }
    if (grid->block + 1 >= grid->repeats) return false;
    grid->block++;
    start_block(grid);
    return true;
}

static bool grid_ask(void *state, struct rue_ask *out)
{
    struct grid *grid = state;
    do {
        size_t config = grid->configs[grid->config_at];
        while (grid->scenario_at < grid->scenario_count) {
            size_t scenario = grid->scenarios[grid->scenario_at++];
            if (grid->given_up[config * grid->scenario_count + scenario]) continue;
            *out = (struct rue_ask){
                .measure = RUE_JOINT, .scenario = scenario, .config = config, .repeat = grid->block};
            return true;
        }
    } while (next_config(grid));
    return false;
}

static void grid_tell(void *state, const struct rue_ask *ask, const struct rue_trial_result *result)
{
    struct grid *grid = state;
    assert(ask->scenario < grid->scenario_count && ask->config < grid->config_count);
    if (result->outcome != RUE_TRIAL_OK)
        grid->given_up[ask->config * grid->scenario_count + ask->scenario] = true;
}

const struct rue_strategy_ops rue_strategy_grid = {
    .name = "grid",
    .help = "every configuration on every scenario, in random order",
    .open = grid_open,
    .ask = grid_ask,
    .tell = grid_tell,
    .close = grid_close,
};
