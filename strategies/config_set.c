#include "config_set.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const double work_max = 2147483648.0; /* sums of regrets, beyond which a quicker way is taken */

/* What is to be served: the scenarios that some column is within epsilon for. */
struct task {
    const double *regrets;
    const double *weights;
    size_t config_count;
    double epsilon_ratio;
    size_t *scenarios; /* [count] */
    size_t count;
};

/* The least of every set of scenarios, by its bits. */
struct tables {
    double *sum;     /* of the regrets with one column; scratch */
    double *alone;   /* the least of such sums; INFINITY where no column serves all of the set */
    uint32_t *by;    /* that column */
    double *least;   /* of any set of columns: its size times a penalty, plus the sum */
    uint32_t *first; /* the part that the first of these columns serves */
};

static double regret_at(const struct task *task, size_t i, size_t config)
{
    return task->regrets[task->scenarios[i] * task->config_count + config];
}

static bool serves(const struct task *task, size_t i, size_t config)
{
    return regret_at(task, i, config) <= task->epsilon_ratio; /* not where it is NaN */
}

static double weight_of(const struct task *task, size_t i)
{
    return task->weights ? task->weights[task->scenarios[i]] : 1;
}

static uint32_t served_by(const struct task *task, size_t config)
{
    uint32_t mask = 0;
    for (size_t i = 0; i < task->count; i++) mask |= (uint32_t)serves(task, i, config) << i;
    return mask;
}

/* ---- exactly ---- */

static void tables_close(struct tables *tables)
{
    free(tables->sum);
    free(tables->alone);
    free(tables->by);
    free(tables->least);
    free(tables->first);
}

static rue_status tables_open(size_t scenarios, struct tables *out, rue_error *error)
{
    size_t count = (size_t)1 << scenarios;
    *out = (struct tables){.sum = malloc(count * sizeof *out->sum),
                           .alone = malloc(count * sizeof *out->alone),
                           .by = malloc(count * sizeof *out->by),
                           .least = malloc(count * sizeof *out->least),
                           .first = malloc(count * sizeof *out->first)};
    if (out->sum && out->alone && out->by && out->least && out->first) return RUE_OK;
    tables_close(out);
    return rue_fail_memory(error, "sets of configurations", count * sizeof *out->sum);
}

/* What the column adds to the least of each set that it serves all of. */
static void try_column(const struct task *task, size_t config, struct tables *tables)
{
    uint32_t served = served_by(task, config), set = 0;
    tables->sum[0] = 0;
    while ((set = (set - served) & served)) {
        size_t lowest = (size_t)__builtin_ctz(set);
        tables->sum[set] =
            tables->sum[set & (set - 1)] + weight_of(task, lowest) * regret_at(task, lowest, config);
        if (tables->sum[set] >= tables->alone[set]) continue;
        tables->alone[set] = tables->sum[set];
        tables->by[set] = (uint32_t)config;
    }
}

/* The column that serves the lowest of the set serves a part of it: the best such part, of all. */
static void split(struct tables *tables, uint32_t set, double penalty)
{
    uint32_t lowest = set & -set, rest = set ^ lowest, others = rest;
    tables->least[set] = INFINITY;
    for (;; others = (others - 1) & rest) {
        double sum = penalty + tables->alone[lowest | others] + tables->least[rest ^ others];
        if (sum < tables->least[set]) {
            tables->least[set] = sum;
            tables->first[set] = lowest | others;
        }
        if (others == 0) return;
    }
}

static rue_status choose_exactly(const struct task *task, bool *chosen, rue_error *error)
{
    uint32_t all = (uint32_t)(((uint64_t)1 << task->count) - 1);
    struct tables tables;
    rue_status status = tables_open(task->count, &tables, error);
    if (status != RUE_OK) return status;
    double penalty = 1;
    for (size_t i = 0; i < task->count; i++) penalty += weight_of(task, i) * task->epsilon_ratio;
    for (size_t set = 0; set <= all; set++) tables.alone[set] = INFINITY;
    for (size_t c = 0; c < task->config_count; c++) try_column(task, c, &tables);
    /* What is left behind the first column never holds the lowest scenario. */
    tables.least[0] = 0;
    for (uint32_t set = 2; set < all; set += 2) split(&tables, set, penalty);
    split(&tables, all, penalty);
    for (uint32_t set = all; set; set ^= tables.first[set]) chosen[tables.by[tables.first[set]]] = true;
    tables_close(&tables);
    return RUE_OK;
}

/* Sums that choose_exactly would make. */
static double exact_work(const struct task *task)
{
    double work = pow(3, (double)task->count) / 6;
    for (size_t c = 0; c < task->config_count; c++) work += pow(2, __builtin_popcount(served_by(task, c)));
    return work;
}

/* ---- quickly ---- */

/* How many of the scenarios that are `left` the column serves, and at which sum of regrets. */
static size_t count_served(const struct task *task, const bool *left, size_t config, double *sum)
{
    size_t count = 0;
    *sum = 0;
    for (size_t i = 0; i < task->count; i++) {
        if (!left[i] || !serves(task, i, config)) continue;
        count++;
        *sum += weight_of(task, i) * regret_at(task, i, config);
    }
    return count;
}

/* The column that serves most of what is left, at the least regret. */
static size_t next_column(const struct task *task, const bool *left, size_t *served)
{
    size_t best = 0;
    double best_sum = INFINITY;
    *served = 0;
    for (size_t c = 0; c < task->config_count; c++) {
        double sum;
        size_t count = count_served(task, left, c, &sum);
        if (count < *served || (count == *served && sum >= best_sum)) continue;
        best = c;
        best_sum = sum;
        *served = count;
    }
    return best;
}

static rue_status choose_quickly(const struct task *task, bool *chosen, rue_error *error)
{
    bool *left = malloc((task->count + 1) * sizeof *left);
    if (!left) return rue_fail_memory(error, "a set of configurations", task->count);
    memset(left, true, task->count * sizeof *left);
    for (size_t to_serve = task->count, served; to_serve > 0; to_serve -= served) {
        size_t config = next_column(task, left, &served);
        chosen[config] = true;
        for (size_t i = 0; i < task->count; i++) left[i] &= !serves(task, i, config);
    }
    free(left);
    return RUE_OK;
}

/* ---- the set ---- */

static rue_status choose(const struct task *task, bool *chosen, bool *exact, rue_error *error)
{
    double sum;
    bool *left = malloc((task->count + 1) * sizeof *left);
    if (!left) return rue_fail_memory(error, "a set of configurations", task->count);
    memset(left, true, task->count * sizeof *left);
    size_t served, config = task->count ? next_column(task, left, &served) : 0;
    bool alone = task->count && count_served(task, left, config, &sum) == task->count;
    free(left);
    *exact = true;
    if (alone) chosen[config] = true;
    if (alone || task->count == 0) return RUE_OK;
    *exact = task->count <= RUE_CONFIG_SET_EXACT && exact_work(task) <= work_max;
    return *exact ? choose_exactly(task, chosen, error) : choose_quickly(task, chosen, error);
}

/* Each scenario goes to the best of the chosen columns. */
static void assign(const struct task *task, const bool *chosen, struct rue_config_set *set)
{
    double sum = 0, weights = 0;
    set->mean_regret_ratio = set->max_regret_ratio = NAN;
    for (size_t c = 0; c < task->config_count; c++)
        if (chosen[c]) set->configs[set->config_count++] = c;
    for (size_t s = 0; s < set->scenario_count; s++) set->chosen[s] = SIZE_MAX;
    for (size_t i = 0; i < task->count; i++) {
        double least = INFINITY;
        for (size_t k = 0; k < set->config_count; k++) {
            double regret = regret_at(task, i, set->configs[k]);
            if (!(regret < least)) continue;
            least = regret;
            set->chosen[task->scenarios[i]] = set->configs[k];
        }
        sum += weight_of(task, i) * least;
        weights += weight_of(task, i);
        set->max_regret_ratio = fmax(set->max_regret_ratio, least); /* NaN gives way */
    }
    if (weights > 0) set->mean_regret_ratio = sum / weights;
}

static void find_task(struct task *task, size_t scenario_count)
{
    for (size_t s = 0; s < scenario_count; s++) {
        task->scenarios[task->count] = s;
        for (size_t c = 0; c < task->config_count; c++)
            if (serves(task, task->count, c)) {
                task->count++;
                break;
            }
    }
}

static struct rue_config_set *allocate(size_t scenario_count, size_t config_count)
{
    struct rue_config_set *set = calloc(1, sizeof *set);
    if (!set) return NULL;
    set->scenario_count = scenario_count;
    set->configs = calloc(config_count + 1, sizeof *set->configs);
    set->chosen = calloc(scenario_count + 1, sizeof *set->chosen);
    if (set->configs && set->chosen) return set;
    rue_config_set_close(set);
    return NULL;
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
    rue_status status = RUE_OK;
    struct task task = {.regrets = regrets,
                        .weights = weights,
                        .config_count = config_count,
                        .epsilon_ratio = epsilon_ratio,
                        .scenarios = calloc(scenario_count + 1, sizeof *task.scenarios)};
    bool *chosen = calloc(config_count + 1, sizeof *chosen);
    struct rue_config_set *set = allocate(scenario_count, config_count);
    *out = NULL;
    if (!task.scenarios || !chosen || !set) {
        status = rue_fail_memory(error, "a set of configurations", config_count);
        goto out;
    }
    find_task(&task, scenario_count);
    set->epsilon_ratio = epsilon_ratio;
    status = choose(&task, chosen, &set->exact, error);
    if (status != RUE_OK) goto out;
    assign(&task, chosen, set);
    *out = set;
    set = NULL;
out:
    rue_config_set_close(set);
    free(chosen);
    free(task.scenarios);
    return status;
}
