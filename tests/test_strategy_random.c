#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "strategy.h"

enum { MODELS = 3, CONFIGS = 20 };

static struct rue_strategy_setup setup_of(uint64_t seed)
{
    static struct rue_config configs[CONFIGS];
    return (struct rue_strategy_setup){.scenario_count = MODELS,
                                       .config_count = CONFIGS,
                                       .configs = configs,
                                       .job_images = 100,
                                       .repeats = 1,
                                       .seed = seed,
                                       .budget_s = INFINITY};
}

struct asked {
    size_t count, config[MODELS * CONFIGS], scenario[MODELS * CONFIGS];
};

/* Every trial takes a second; those of `infeasible` do not run. */
static struct asked run(const struct rue_strategy_setup *setup, size_t infeasible, bool stored)
{
    const struct rue_strategy_ops *random = rue_strategy_find("random");
    struct asked asked = {0};
    struct rue_ask ask;
    void *state;
    cr_assert_eq(random->open(setup, &state, NULL), RUE_OK);
    for (; random->ask(state, &ask); asked.count++) {
        cr_assert_lt(asked.count, MODELS * CONFIGS);
        cr_assert(ask.measure == RUE_JOINT && ask.images == 0);
        struct rue_trial_result result = rue_trial_result_empty();
        result.outcome = ask.config == infeasible ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_OK;
        result.cost_ns = 1000000000;
        ask.stored = stored;
        random->tell(state, &ask, &result);
        asked.config[asked.count] = ask.config;
        asked.scenario[asked.count] = ask.scenario;
    }
    cr_assert_not(random->ask(state, &ask), "the end is the end");
    random->close(state);
    return asked;
}

Test(strategy_random, every_cell_once_and_configurations_whole)
{
    struct rue_strategy_setup setup = setup_of(1);
    struct asked asked = run(&setup, CONFIGS, false);
    bool seen[CONFIGS][MODELS] = {0};
    cr_assert_eq(asked.count, MODELS * CONFIGS);
    for (size_t i = 0; i < asked.count; i++) {
        cr_assert_eq(asked.config[i], asked.config[i - i % MODELS]);
        cr_assert_not(seen[asked.config[i]][asked.scenario[i]], "none comes twice");
        seen[asked.config[i]][asked.scenario[i]] = true;
    }
}

Test(strategy_random, seeds_give_orders_of_their_own)
{
    struct rue_strategy_setup one = setup_of(1), other = setup_of(2);
    struct asked a = run(&one, CONFIGS, false), again = run(&one, CONFIGS, false),
                 b = run(&other, CONFIGS, false);
    cr_assert_eq(memcmp(a.config, again.config, sizeof a.config), 0);
    cr_assert_neq(memcmp(a.config, b.config, sizeof a.config), 0);
}

Test(strategy_random, no_configuration_begins_that_does_not_fit)
{
    struct rue_strategy_setup setup = setup_of(1);
    setup.budget_s = 10.5;
    cr_assert_eq(run(&setup, CONFIGS, false).count, 9);
    setup.budget_s = 9;
    cr_assert_eq(run(&setup, CONFIGS, false).count, 9);
    setup.budget_s = 0.1;
    cr_assert_eq(run(&setup, CONFIGS, false).count, MODELS, "the first one is tried");
    setup.budget_s = INFINITY;
    setup.budget_trials = 11;
    cr_assert_eq(run(&setup, CONFIGS, false).count, 9);
}

Test(strategy_random, what_is_stored_costs_nothing)
{
    struct rue_strategy_setup setup = setup_of(1);
    setup.budget_s = 10;
    cr_assert_eq(run(&setup, CONFIGS, true).count, MODELS * CONFIGS);
}

Test(strategy_random, the_rest_of_a_configuration_that_fails_is_spared)
{
    struct rue_strategy_setup setup = setup_of(1);
    struct asked asked = run(&setup, 7, false);
    cr_assert_eq(asked.count, MODELS * (CONFIGS - 1) + 1, "its first trial, whichever model comes first");
}
