#include "config_set.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double work_max = 1e8; /* regrets that are looked at, beyond which the quick set stands */

/* Looks through the sets of `size` columns. */
struct search {
    const double *regrets, *weights;
    size_t scenario_count, config_count;
    double epsilon_ratio;
    bool *possible; /* [scenario_count] some column is within epsilon */
    size_t *served; /* [scenario_count] members that serve it */
    size_t size;
    size_t *members; /* [scenario_count] at most: each serves one that no other does */
    size_t *best;    /* [size] */
    double best_sum; /* of its regrets; INFINITY: none was found */
    double work;
};

static double regret_at(const struct search *search, size_t scenario, size_t config)
{
    return search->regrets[scenario * search->config_count + config];
}

static bool serves(const struct search *search, size_t scenario, size_t config)
{
    return regret_at(search, scenario, config) <= search->epsilon_ratio; /* not where it is NaN */
}

static double weight_of(const struct search *search, size_t scenario)
{
    return search->weights ? search->weights[scenario] : 1;
}

static bool is_left(const struct search *search, size_t scenario)
{
    return search->possible[scenario] && search->served[scenario] == 0;
}

static void add(struct search *search, size_t at, size_t config)
{
    search->members[at] = config;
    for (size_t s = 0; s < search->scenario_count; s++) search->served[s] += serves(search, s, config);
}

static void remove_last(struct search *search, size_t at)
{
    for (size_t s = 0; s < search->scenario_count; s++)
        search->served[s] -= serves(search, s, search->members[at]);
}

/* The member that is best for the scenario. */
static size_t server_of(const struct search *search, size_t scenario, const size_t *members, size_t size)
{
    size_t best = SIZE_MAX;
    for (size_t k = 0; k < size; k++)
        if (serves(search, scenario, members[k]) &&
            (best == SIZE_MAX || regret_at(search, scenario, members[k]) < regret_at(search, scenario, best)))
            best = members[k];
    return best;
}

static void keep_better(struct search *search)
{
    double sum = 0;
    for (size_t s = 0; s < search->scenario_count; s++)
        if (search->possible[s])
            sum += weight_of(search, s) *
                   regret_at(search, s, server_of(search, s, search->members, search->size));
    if (sum >= search->best_sum) return;
    search->best_sum = sum;
    memcpy(search->best, search->members, search->size * sizeof *search->best);
}

static void complete(struct search *search, size_t at)
{
    size_t left = 0;
    while (left < search->scenario_count && !is_left(search, left)) left++;
    if (left == search->scenario_count) return keep_better(search);
    if (at == search->size) return;
    search->work += (double)search->config_count;
    for (size_t c = 0; c < search->config_count && search->work < work_max; c++) {
        if (!serves(search, left, c)) continue;
        search->work += (double)(search->scenario_count * (at + 1));
        add(search, at, c);
        complete(search, at + 1);
        remove_last(search, at);
    }
}

/* The column that serves most of what is left, at the least regret; SIZE_MAX where nothing is. */
static size_t next_column(const struct search *search)
{
    size_t best = SIZE_MAX, most = 0;
    double best_sum = INFINITY;
    for (size_t c = 0; c < search->config_count; c++) {
        size_t count = 0;
        double sum = 0;
        for (size_t s = 0; s < search->scenario_count; s++) {
            if (!is_left(search, s) || !serves(search, s, c)) continue;
            count++;
            sum += weight_of(search, s) * regret_at(search, s, c);
        }
        if (count < most || count == 0 || (count == most && sum >= best_sum)) continue;
        best = c;
        best_sum = sum;
        most = count;
    }
    return best;
}

/* Leaves the set in `best` and `size`; whether it is exact. */
static bool find(struct search *search)
{
    size_t quick = 0;
    for (size_t c; (c = next_column(search)) != SIZE_MAX;) add(search, quick++, c);
    memcpy(search->best, search->members, quick * sizeof *search->best);
    memset(search->served, 0, search->scenario_count * sizeof *search->served);
    search->best_sum = INFINITY;
    for (search->size = 0; search->size <= quick && search->best_sum == INFINITY; search->size++)
        complete(search, 0);
    search->size = search->best_sum == INFINITY ? quick : search->size - 1;
    return search->work < work_max;
}

/* Each scenario goes to the best of the set. */
static void assign(const struct search *search, struct rue_config_set *set)
{
    double sum = 0, weights = 0;
    set->mean_regret_ratio = set->max_regret_ratio = NAN;
    for (size_t s = 0; s < set->scenario_count; s++) {
        size_t config = server_of(search, s, search->best, search->size);
        set->chosen[s] = config;
        if (config == SIZE_MAX) continue;
        sum += weight_of(search, s) * regret_at(search, s, config);
        weights += weight_of(search, s);
        set->max_regret_ratio = fmax(set->max_regret_ratio, regret_at(search, s, config)); /* NaN gives way */
    }
    if (weights > 0) set->mean_regret_ratio = sum / weights;
}

static int compare(const void *a, const void *b)
{
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
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
                            .possible = calloc(scenario_count + 1, sizeof *search.possible),
                            .served = calloc(scenario_count + 1, sizeof *search.served),
                            .members = calloc(scenario_count + 1, sizeof *search.members),
                            .best = calloc(scenario_count + 1, sizeof *search.best)};
    size_t *chosen = calloc(scenario_count + 1, sizeof *chosen);
    bool enough = set && chosen && search.possible && search.served && search.members && search.best;
    *out = NULL;
    if (enough) {
        for (size_t i = 0; i < scenario_count * config_count; i++)
            search.possible[i / config_count] |= serves(&search, i / config_count, i % config_count);
        *set = (struct rue_config_set){
            .epsilon_ratio = epsilon_ratio, .scenario_count = scenario_count, .chosen = chosen};
        set->exact = find(&search);
        qsort(search.best, search.size, sizeof *search.best, compare);
        assign(&search, set);
        set->config_count = search.size;
        set->configs = search.best;
        *out = set;
    } else {
        free(set);
        free(chosen);
        free(search.best);
    }
    free(search.possible);
    free(search.served);
    free(search.members);
    return enough ? RUE_OK : rue_fail_memory(error, "a set of configurations", config_count);
}
