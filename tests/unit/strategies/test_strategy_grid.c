#include <criterion/criterion.h>
#include <string.h>

#include "strategy.h"

enum { CELLS_MAX = 4096 };

struct asked {
    size_t count;
    struct rue_question asks[CELLS_MAX];
};

static struct rue_strategy_setup make_setup(size_t scenarios, size_t configs, int repeats, uint64_t seed)
{
    static struct rue_config grid[CELLS_MAX];
    struct rue_strategy_setup setup =
        rue_strategy_setup_default((struct rue_setup_grid){scenarios, configs, grid}, 1);
    setup.aim.repeats = repeats;
    setup.seed = seed;
    return setup;
}

/* Asks until the strategy has no more; every trial of `bad` (when not NULL) ends with `outcome`. */
static void run(struct rue_strategy_setup setup, const struct rue_question *bad, enum rue_outcome outcome,
                struct asked *asked)
{
    const struct rue_strategy_ops *grid = rue_strategy_find("grid");
    struct rue_question ask;
    void *state;
    cr_assert_eq(grid->open(&setup, &state, NULL), RUE_OK);
    for (asked->count = 0; grid->ask(state, 0, &ask); asked->count++) {
        cr_assert_lt(asked->count, CELLS_MAX, "it must come to an end");
        struct rue_trial_result result = rue_trial_result_empty();
        bool is_bad =
            bad && ask.scenario == bad->scenario && ask.config == bad->config && ask.repeat >= bad->repeat;
        result.outcome = is_bad ? outcome : RUE_TRIAL_OK;
        grid->observe(state, &ask, &result);
        asked->asks[asked->count] = ask;
    }
    cr_assert_not(grid->ask(state, 0, &ask), "the end is the end");
    grid->close(state);
}

static bool same_ask(const struct rue_question *a, const struct rue_question *b)
{
    return a->measure == b->measure && a->scenario == b->scenario && a->config == b->config &&
           a->repeat == b->repeat;
}

static bool same_order(const struct asked *a, const struct asked *b)
{
    if (a->count != b->count) return false;
    for (size_t i = 0; i < a->count; i++)
        if (!same_ask(&a->asks[i], &b->asks[i])) return false;
    return true;
}

Test(strategy_grid, asks_every_cell_once_per_repeat)
{
    static const size_t shapes[][3] = {{1, 1, 1}, {1, 7, 2}, {5, 1, 3}, {12, 45, 3}, {2, 2, 1}};
    static struct asked asked;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        static int seen[CELLS_MAX];
        size_t scenarios = shapes[i][0], configs = shapes[i][1], repeats = shapes[i][2];
        run(make_setup(scenarios, configs, (int)repeats, 1), NULL, RUE_TRIAL_OK, &asked);
        cr_assert_eq(asked.count, scenarios * configs * repeats);
        memset(seen, 0, sizeof seen);
        for (size_t a = 0; a < asked.count; a++) {
            const struct rue_question *ask = &asked.asks[a];
            cr_assert(ask->measure == RUE_JOINT && ask->scenario < scenarios && ask->config < configs);
            cr_assert_eq(ask->repeat, seen[ask->config * scenarios + ask->scenario]++);
        }
        for (size_t c = 0; c < scenarios * configs; c++) cr_assert_eq(seen[c], (int)repeats);
    }
}

Test(strategy_grid, a_seed_gives_one_order)
{
    static struct asked a, b, other;
    run(make_setup(4, 9, 2, 7), NULL, RUE_TRIAL_OK, &a);
    run(make_setup(4, 9, 2, 7), NULL, RUE_TRIAL_OK, &b);
    run(make_setup(4, 9, 2, 8), NULL, RUE_TRIAL_OK, &other);
    cr_assert(same_order(&a, &b));
    cr_assert_not(same_order(&a, &other));
}

Test(strategy_grid, a_block_is_complete_before_the_next)
{
    static struct asked asked;
    run(make_setup(4, 9, 3, 7), NULL, RUE_TRIAL_OK, &asked);
    for (size_t i = 0; i < asked.count; i++) cr_assert_eq(asked.asks[i].repeat, (int)(i / 36));
}

Test(strategy_grid, a_configuration_is_complete_before_the_next)
{
    static struct asked asked;
    run(make_setup(4, 9, 3, 7), NULL, RUE_TRIAL_OK, &asked);
    for (size_t i = 0; i < asked.count; i++) cr_assert_eq(asked.asks[i].config, asked.asks[i - i % 4].config);
}

Test(strategy_grid, orders_differ_between_blocks_and_between_configurations)
{
    static struct asked asked;
    size_t scenarios = 6, configs = 20, differing = 0;
    run(make_setup(scenarios, configs, 2, 3), NULL, RUE_TRIAL_OK, &asked);
    const struct rue_question *first = asked.asks, *second = asked.asks + scenarios * configs;
    bool same_configs = true;
    for (size_t c = 0; c < configs; c++)
        same_configs &= first[c * scenarios].config == second[c * scenarios].config;
    cr_assert_not(same_configs);
    for (size_t c = 1; c < configs; c++)
        for (size_t s = 0; s < scenarios; s++)
            if (first[c * scenarios + s].scenario != first[s].scenario) {
                differing++;
                break;
            }
    cr_assert_gt(differing, configs / 2, "only %zu configurations have an order of their own", differing);
}

/* Each position must see each item about equally often: a shuffle that is not uniform favours some. */
Test(strategy_grid, every_order_is_about_equally_likely)
{
    static struct asked asked;
    int seen[6] = {0};
    for (uint64_t seed = 0; seed < 1200; seed++) {
        run(make_setup(1, 3, 1, seed), NULL, RUE_TRIAL_OK, &asked);
        size_t a = asked.asks[0].config, b = asked.asks[1].config;
        seen[2 * a + (b > 3 - a - b)]++;
    }
    /* 200 expected, sd 13 */
    for (int i = 0; i < 6; i++)
        cr_assert(seen[i] > 140 && seen[i] < 260, "order %d came %d times", i, seen[i]);
}

Test(strategy_grid, a_failed_cell_is_not_asked_twice)
{
    static struct asked all, asked;
    static const enum rue_outcome outcomes[] = {RUE_TRIAL_INFEASIBLE, RUE_TRIAL_FAILED, RUE_TRIAL_TIMEOUT};
    run(make_setup(3, 5, 4, 11), NULL, RUE_TRIAL_OK, &all);
    for (size_t o = 0; o < 3; o++) {
        struct rue_question bad = {.scenario = 1, .config = 2, .repeat = 1};
        size_t at = 0;
        run(make_setup(3, 5, 4, 11), &bad, outcomes[o], &asked);
        cr_assert_eq(asked.count, all.count - 2, "repeats 2 and 3 of one cell");
        for (size_t i = 0; i < all.count; i++) {
            const struct rue_question *ask = &all.asks[i];
            if (ask->scenario == bad.scenario && ask->config == bad.config && ask->repeat > bad.repeat)
                continue;
            cr_assert(same_ask(ask, &asked.asks[at++]),
                      "the others are asked in the order they would have had");
        }
    }
}

Test(strategy_grid, ends_when_every_cell_failed)
{
    const struct rue_strategy_ops *grid = &rue_strategy_grid;
    struct rue_strategy_setup setup = make_setup(2, 3, 1000, 1);
    struct rue_trial_result result = rue_trial_result_empty();
    struct rue_question ask;
    void *state;
    int count = 0;
    cr_assert_eq(grid->open(&setup, &state, NULL), RUE_OK);
    for (; grid->ask(state, 0, &ask); count++) grid->observe(state, &ask, &result);
    cr_assert_eq(count, 6);
    grid->close(state);
}

Test(strategy_grid, a_setup_without_a_trial_is_refused)
{
    static const size_t shapes[][3] = {{0, 1, 1}, {1, 0, 1}, {1, 1, 0}};
    for (size_t i = 0; i < 3; i++) {
        struct rue_strategy_setup setup = make_setup(shapes[i][0], shapes[i][1], (int)shapes[i][2], 1);
        rue_error error = {0};
        void *state;
        cr_assert_eq(rue_strategy_grid.open(&setup, &state, &error), RUE_USAGE);
        cr_assert_null(state);
        cr_assert(strstr(error.message, "nothing to try"), "%s", error.message);
    }
    rue_strategy_grid.close(NULL);
}

Test(strategy_grid, is_the_default_and_is_found_by_name)
{
    cr_assert_eq(rue_strategies[0], &rue_strategy_grid);
    cr_assert_eq(rue_strategy_find("grid"), &rue_strategy_grid);
    cr_assert_null(rue_strategy_find("no such strategy"));
    cr_assert_null(rue_strategy_find(""));
    for (size_t i = 0; rue_strategies[i]; i++) cr_assert(rue_strategies[i]->help && rue_strategies[i]->close);
}
