#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "config_set.h"
#include "random.h"

enum { SCENARIOS_MAX = 64, CONFIGS_MAX = 256, TASKS = 600 };

struct task {
    size_t scenarios, configs;
    double regrets[SCENARIOS_MAX * CONFIGS_MAX];
    double weights[SCENARIOS_MAX];
    bool weighted;
    double epsilon;
};

static struct rue_config_set *solve(const struct task *task)
{
    struct rue_config_set *set;
    rue_error error = {0};
    rue_status status =
        rue_config_set_open(task->regrets, task->scenarios, task->configs,
                            task->weighted ? task->weights : NULL, task->epsilon, &set, &error);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    return set;
}

/* Mean regret of a set of columns, by its bits; INFINITY where it leaves a scenario out that another column
 * serves. */
static double mean_regret(const struct task *task, uint32_t columns)
{
    double sum = 0, weights = 0;
    for (size_t s = 0; s < task->scenarios; s++) {
        double mine = INFINITY, any = INFINITY, weight = task->weighted ? task->weights[s] : 1;
        for (size_t c = 0; c < task->configs; c++) {
            double regret = task->regrets[s * task->configs + c];
            if (!(regret <= task->epsilon)) continue;
            any = fmin(any, regret);
            if (columns >> c & 1) mine = fmin(mine, regret);
        }
        if (any == INFINITY) continue;
        sum += weight * mine;
        weights += weight;
    }
    return weights > 0 ? sum / weights : 0;
}

struct best {
    size_t size;
    double mean;
};

static struct best brute_force(const struct task *task)
{
    struct best best = {SIZE_MAX, INFINITY};
    for (uint32_t columns = 0; columns < UINT32_C(1) << task->configs; columns++) {
        size_t size = (size_t)__builtin_popcount(columns);
        if (size > best.size) continue;
        double mean = mean_regret(task, columns);
        if (mean == INFINITY || (size == best.size && mean >= best.mean)) continue;
        best = (struct best){size, mean};
    }
    return best;
}

/* A machine at random: regrets from nothing to twice epsilon, ties and gaps among them. */
static void draw(struct task *task, uint64_t *seed, size_t scenarios, size_t configs)
{
    task->scenarios = scenarios;
    task->configs = configs;
    task->epsilon = 0.01 + 0.1 * rue_random_unit(seed);
    task->weighted = rue_random_below(seed, 2);
    double reach = 1 + 3 * rue_random_unit(seed);
    for (size_t s = 0; s < scenarios; s++) {
        task->weights[s] = 0.1 + 3 * rue_random_unit(seed);
        for (size_t c = 0; c < configs; c++) {
            double regret = reach * task->epsilon * rue_random_unit(seed);
            if (rue_random_below(seed, 4) == 0)
                regret = task->epsilon * (double)rue_random_below(seed, 3) / 2;
            if (rue_random_below(seed, 12) == 0) regret = NAN;
            task->regrets[s * configs + c] = regret;
        }
    }
}

static void check_consistent(const struct task *task, const struct rue_config_set *set)
{
    double worst = NAN;
    for (size_t k = 1; k < set->config_count; k++) cr_assert_lt(set->configs[k - 1], set->configs[k]);
    for (size_t s = 0; s < task->scenarios; s++) {
        if (set->chosen[s] == SIZE_MAX) {
            for (size_t c = 0; c < task->configs; c++)
                cr_assert_not(task->regrets[s * task->configs + c] <= task->epsilon);
            continue;
        }
        double own = task->regrets[s * task->configs + set->chosen[s]];
        cr_assert_leq(own, task->epsilon);
        for (size_t k = 0; k < set->config_count; k++)
            cr_assert_not(task->regrets[s * task->configs + set->configs[k]] < own);
        worst = fmax(worst, own);
    }
    cr_assert((isnan(worst) && isnan(set->max_regret_ratio)) || worst == set->max_regret_ratio);
}

Test(config_set, is_the_smallest_and_best_set_by_brute_force)
{
    uint64_t seed = 7;
    size_t larger = 0;
    struct task *task = malloc(sizeof *task);
    for (int i = 0; i < TASKS; i++) {
        draw(task, &seed, 1 + rue_random_below(&seed, 11), 1 + rue_random_below(&seed, 11));
        struct rue_config_set *set = solve(task);
        struct best best = brute_force(task);
        cr_assert(set->exact);
        cr_assert_eq(set->config_count, best.size, "task %d: %zu, not %zu", i, set->config_count, best.size);
        if (best.size)
            cr_assert_float_eq(set->mean_regret_ratio, best.mean, 1e-12, "task %d: %.15g, not %.15g", i,
                               set->mean_regret_ratio, best.mean);
        check_consistent(task, set);
        larger += best.size > 2;
        rue_config_set_close(set);
    }
    cr_assert_gt(larger, (size_t)TASKS / 10, "some need more than two");
    free(task);
}

Test(config_set, a_long_search_serves_all_scenarios_and_is_marked_as_not_exact)
{
    uint64_t seed = 11;
    size_t quick = 0, exact = 0;
    struct task *task = malloc(sizeof *task);
    for (int i = 0; i < 30; i++) {
        draw(task, &seed, 21 + rue_random_below(&seed, 40), 1 + rue_random_below(&seed, 250));
        struct rue_config_set *set = solve(task);
        check_consistent(task, set);
        quick += !set->exact;
        exact += set->exact;
        rue_config_set_close(set);
    }
    cr_assert(quick > 5 && exact > 5, "%zu quick, %zu exact", quick, exact);
    free(task);
}

Test(config_set, works_with_many_columns)
{
    struct task *task = calloc(1, sizeof *task);
    *task = (struct task){.scenarios = 14, .configs = 14, .epsilon = 0.05};
    for (size_t i = 0; i < 14 * 14; i++) task->regrets[i] = i / 14 == i % 14 ? 0 : 0.2;
    struct rue_config_set *set = solve(task);
    cr_assert(set->exact);
    cr_assert_eq(set->config_count, 14);
    for (size_t s = 0; s < 14; s++) cr_assert_eq(set->chosen[s], s);
    rue_config_set_close(set);
    free(task);
}

Test(config_set, one_configuration_serves_any_number_of_scenarios)
{
    struct task *task = calloc(1, sizeof *task);
    *task = (struct task){.scenarios = SCENARIOS_MAX, .configs = 3, .epsilon = 0.05};
    for (size_t s = 0; s < SCENARIOS_MAX; s++) {
        task->regrets[s * 3] = 0.05;
        task->regrets[s * 3 + 1] = s % 2 ? 0.04 : 0.02;
        task->regrets[s * 3 + 2] = s ? 0 : 0.06;
    }
    struct rue_config_set *set = solve(task);
    cr_assert(set->exact);
    cr_assert_eq(set->config_count, 1);
    cr_assert_eq(set->configs[0], 1, "of two that serve all, the better one");
    cr_assert_float_eq(set->mean_regret_ratio, 0.03, 1e-12);
    cr_assert_float_eq(set->max_regret_ratio, 0.04, 1e-12);
    rue_config_set_close(set);
    free(task);
}

Test(config_set, no_scenarios_need_no_configuration)
{
    static const struct task empty = {.configs = 3, .epsilon = 0.05},
                             unserved = {.scenarios = 2,
                                         .configs = 1,
                                         .regrets = {NAN, 0.2},
                                         .epsilon = 0.05},
                             bare = {.scenarios = 1, .epsilon = 0.05};
    const struct task *tasks[] = {&empty, &unserved, &bare};
    for (size_t i = 0; i < 3; i++) {
        struct rue_config_set *set = solve(tasks[i]);
        cr_assert_eq(set->config_count, 0);
        cr_assert(set->exact && isnan(set->mean_regret_ratio) && isnan(set->max_regret_ratio));
        for (size_t s = 0; s < tasks[i]->scenarios; s++) cr_assert_eq(set->chosen[s], SIZE_MAX);
        rue_config_set_close(set);
    }
}
