/* The full grid in random order: a randomised block design. Each repeat is a block, so repeats lie apart in
 * time, and drift of the machine shows as scatter. The order of configurations within a block is random, so
 * drift favours none. All scenarios of a configuration follow each other, so an early stop leaves complete
 * configurations. */
#include <assert.h>
#include <stdlib.h>

#include "random.h"
#include "strategy.h"

struct grid {
    struct rue_strategy_setup setup;
    size_t next, trial_count; /* position, nested: scenario in configuration in block */
    size_t *configs;          /* [config_count] order in the block */
    size_t *scenarios;        /* [scenario_count] order in the configuration */
    bool *failed;             /* [config_count * scenario_count] the cell has a trial that was not ok */
};

/* Each order has its own seed: stream 0 of a block for its configurations, stream 1 + c for the scenarios of
 * configuration c. So an order does not depend on skipped trials. */
static uint64_t stream_seed(const struct grid *grid, size_t block, size_t stream)
{
    return rue_mix64(rue_mix64(rue_mix64(grid->setup.seed) ^ (uint64_t)block) ^ (uint64_t)stream);
}

static void grid_close(void *state)
{
    struct grid *grid = state;
    if (!grid) return;
    free(grid->failed);
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
    bool overflows = __builtin_mul_overflow(setup->grid.scenario_count, setup->grid.config_count, &cells) ||
                     __builtin_mul_overflow(cells, (size_t)setup->aim.repeats, &grid->trial_count);
    grid->configs = calloc(setup->grid.config_count, sizeof *grid->configs);
    grid->scenarios = calloc(setup->grid.scenario_count, sizeof *grid->scenarios);
    grid->failed = overflows ? NULL : calloc(cells, sizeof *grid->failed);
    if (!grid->configs || !grid->scenarios || !grid->failed) {
        grid_close(grid);
        return rue_fail_memory(error, "the grid", cells);
    }
    *state = grid;
    return RUE_OK;
}

static bool grid_ask(void *state, size_t node, struct rue_question *out)
{
    (void)node;
    struct grid *grid = state;
    size_t scenarios = grid->setup.grid.scenario_count, configs = grid->setup.grid.config_count;
    while (grid->next < grid->trial_count) {
        size_t block = grid->next / scenarios / configs, index = grid->next / scenarios % configs;
        size_t scenario = grid->next % scenarios;
        if (index == 0 && scenario == 0)
            rue_random_order(grid->configs, configs, stream_seed(grid, block, 0));
        size_t config = grid->configs[index];
        if (scenario == 0) rue_random_order(grid->scenarios, scenarios, stream_seed(grid, block, 1 + config));
        grid->next++;
        if (grid->failed[config * scenarios + grid->scenarios[scenario]]) continue;
        *out = (struct rue_question){.measure = RUE_JOINT,
                                     .scenario = grid->scenarios[scenario],
                                     .config = config,
                                     .repeat = (int)block};
        return true;
    }
    return false;
}

static void grid_observe(void *state, const struct rue_question *question,
                         const struct rue_trial_result *result)
{
    struct grid *grid = state;
    size_t scenarios = grid->setup.grid.scenario_count;
    assert(question->scenario < scenarios && question->config < grid->setup.grid.config_count);
    if (result->outcome != RUE_TRIAL_OK)
        grid->failed[question->config * scenarios + question->scenario] = true;
}

const struct rue_strategy_ops rue_strategy_grid = {
    .name = "grid",
    .help = "every configuration on every scenario, in random order",
    .open = grid_open,
    .ask = grid_ask,
    .observe = grid_observe,
    .close = grid_close,
};
