/* Configurations in random order, each of them on every scenario with the whole job, as long as another one
 * fits the budget: what any cleverer search has to beat. */
#include <stdlib.h>

#include "random.h"
#include "strategy.h"
#include "trial_costs.h"

struct random {
    struct rue_strategy_setup setup;
    struct rue_trial_costs costs;
    size_t *order; /* [config_count] */
    size_t at;     /* position in it */
    size_t scenario;
    size_t complete; /* configurations that were asked for */
};

static void random_close(void *state)
{
    struct random *random = state;
    if (!random) return;
    free(random->order);
    free(random);
}

static rue_status random_open(const struct rue_strategy_setup *setup, void **state, rue_error *error)
{
    *state = NULL;
    if (setup->scenario_count == 0 || setup->config_count == 0)
        return rue_fail(error, RUE_USAGE, "nothing to try: %zu scenarios, %zu configurations",
                        setup->scenario_count, setup->config_count);
    struct random *random = calloc(1, sizeof *random);
    if (!random) return rue_fail_memory(error, "a random search", sizeof *random);
    random->setup = *setup;
    random->order = calloc(setup->config_count, sizeof *random->order);
    if (!random->order) {
        random_close(random);
        return rue_fail_memory(error, "a random search", setup->config_count);
    }
    rue_random_order(random->order, setup->config_count, rue_mix64(setup->seed));
    *state = random;
    return RUE_OK;
}

/* Whether another whole configuration fits, if it costs what those before it did. */
static bool has_room(const struct random *random)
{
    const struct rue_strategy_setup *setup = &random->setup;
    if (random->complete == 0) return true;
    double mean_s = rue_trial_costs_clock_s(&random->costs) / (double)random->complete;
    if (random->costs.spent_s + mean_s > setup->budget_s) return false;
    return setup->budget_trials == 0 || random->costs.made + setup->scenario_count <= setup->budget_trials;
}

static bool random_ask(void *state, struct rue_ask *out)
{
    struct random *random = state;
    if (random->scenario == random->setup.scenario_count) {
        random->scenario = 0;
        random->at++;
        random->complete++;
    }
    if (random->at == random->setup.config_count || (random->scenario == 0 && !has_room(random))) {
        random->at = random->setup.config_count;
        return false;
    }
    *out = (struct rue_ask){
        .measure = RUE_JOINT, .scenario = random->scenario++, .config = random->order[random->at]};
    return true;
}

static void random_tell(void *state, const struct rue_ask *ask, const struct rue_trial_result *result)
{
    struct random *random = state;
    rue_trial_costs_note(&random->costs, ask, &random->setup.configs[ask->config], result);
    /* What does not run on every model is not recommended: the rest of it would be wasted. */
    if (result->outcome != RUE_TRIAL_OK) random->scenario = random->setup.scenario_count;
}

const struct rue_strategy_ops rue_strategy_random = {
    .name = "random",
    .help = "whole configurations at random, as many as fit the budget",
    .searches = true,
    .open = random_open,
    .ask = random_ask,
    .tell = random_tell,
    .close = random_close,
};
