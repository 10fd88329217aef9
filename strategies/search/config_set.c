#include "config_set.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "objective.h"
#include "sort.h"

static const double work_max = 1e8; /* regrets visited; beyond it, the search is greedy */

/* Searches the sets of `size` columns. */
struct search {
    const double *regrets, *weights;
    size_t scenario_count, config_count;
    double epsilon_ratio;
    size_t *covers; /* [scenario_count] members that cover it; one more if no column does */
    size_t size;
    size_t *members; /* [scenario_count] at most; each covers a scenario that those before it do not */
    size_t *best;    /* [size] */
    double best_sum; /* sum of regrets; INFINITY: none found */
    double work;
};

static double regret_at(const struct search *search, size_t scenario, size_t config)
{
    return search->regrets[scenario * search->config_count + config];
}

static bool config_covers(const struct search *search, size_t scenario, size_t config)
{
    return regret_at(search, scenario, config) <= search->epsilon_ratio; /* false for NaN */
}

/* The best member for the scenario; among all columns if `members` is NULL. */
static size_t best_member(const struct search *search, size_t scenario, const size_t *members, size_t size)
{
    size_t best = SIZE_MAX;
    for (size_t k = 0; k < size; k++) {
        size_t c = members ? members[k] : k;
        if (config_covers(search, scenario, c) &&
            (best == SIZE_MAX || regret_at(search, scenario, c) < regret_at(search, scenario, best)))
            best = c;
    }
    return best;
}

static void keep_if_better(struct search *search)
{
    double sum = 0;
    for (size_t s = 0; s < search->scenario_count; s++) {
        size_t config = best_member(search, s, search->members, search->size);
        if (config != SIZE_MAX)
            sum += rue_objective_weight(search->weights, s) * regret_at(search, s, config);
    }
    if (sum >= search->best_sum) return;
    search->best_sum = sum;
    memcpy(search->best, search->members, search->size * sizeof *search->best);
}

static void extend_set(struct search *search, size_t position)
{
    size_t uncovered = 0;
    while (uncovered < search->scenario_count && search->covers[uncovered]) uncovered++;
    if (uncovered == search->scenario_count) return keep_if_better(search);
    if (position == search->size) return;
    search->work += (double)search->config_count;
    for (size_t c = 0; c < search->config_count && search->work < work_max; c++) {
        if (!config_covers(search, uncovered, c)) continue;
        search->work += (double)(search->scenario_count * (position + 1));
        search->members[position] = c;
        for (size_t s = 0; s < search->scenario_count; s++) search->covers[s] += config_covers(search, s, c);
        extend_set(search, position + 1);
        for (size_t s = 0; s < search->scenario_count; s++) search->covers[s] -= config_covers(search, s, c);
    }
}

/* Writes the smallest set to `best` and `size`. */
static void find_smallest_set(struct search *search)
{
    search->best_sum = INFINITY;
    while (search->size <= search->scenario_count && search->work < work_max) {
        extend_set(search, 0);
        if (search->best_sum < INFINITY) return;
        search->size++;
    }
    search->size = 0;
    for (size_t s = 0; s < search->scenario_count; s++)
        if (!search->covers[s] && best_member(search, s, search->best, search->size) == SIZE_MAX)
            search->best[search->size++] = best_member(search, s, NULL, search->config_count);
}

/* Assigns each scenario to its best member. */
static void assign_scenarios(const struct search *search, struct rue_config_set *set)
{
    double sum = 0, weights = 0;
    set->mean_regret_ratio = set->max_regret_ratio = NAN;
    for (size_t s = 0; s < set->scenario_count; s++) {
        size_t config = best_member(search, s, search->best, search->size);
        set->chosen[s] = config;
        if (config == SIZE_MAX) continue;
        sum += rue_objective_weight(search->weights, s) * regret_at(search, s, config);
        weights += rue_objective_weight(search->weights, s);
        set->max_regret_ratio = fmax(set->max_regret_ratio, regret_at(search, s, config)); /* ignores NaN */
    }
    if (weights > 0) set->mean_regret_ratio = sum / weights;
}

void rue_config_set_close(struct rue_config_set *set)
{
    if (!set) return;
    free(set->configs);
    free(set->chosen);
    free(set);
}

rue_status rue_config_set_open(const double *regrets, size_t scenario_count, size_t config_count,
                               const double *weights, double epsilon_ratio, struct rue_config_set **out,
                               rue_error *error)
{
    struct rue_config_set *set = calloc(1, sizeof *set);
    struct search search = {.regrets = regrets,
                            .weights = weights,
                            .scenario_count = scenario_count,
                            .config_count = config_count,
                            .epsilon_ratio = epsilon_ratio,
                            .covers = calloc(scenario_count + 1, sizeof *search.covers),
                            .members = calloc(scenario_count + 1, sizeof *search.members),
                            .best = calloc(scenario_count + 1, sizeof *search.best)};
    size_t *chosen = calloc(scenario_count + 1, sizeof *chosen);
    bool allocated = set && chosen && search.covers && search.members && search.best;
    if (allocated) {
        for (size_t s = 0; s < scenario_count; s++)
            search.covers[s] = best_member(&search, s, NULL, config_count) == SIZE_MAX;
        find_smallest_set(&search);
        rue_sort_integers(search.best, search.size);
        *set = (struct rue_config_set){.epsilon_ratio = epsilon_ratio,
                                       .exact = search.work < work_max,
                                       .config_count = search.size,
                                       .configs = search.best,
                                       .scenario_count = scenario_count,
                                       .chosen = chosen};
        assign_scenarios(&search, set);
    } else {
        free(set);
        free(chosen);
        free(search.best);
    }
    *out = allocated ? set : NULL;
    free(search.covers);
    free(search.members);
    return allocated ? RUE_OK : rue_fail_memory(error, "a set of configurations", config_count);
}
