#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "interval.h"
#include "random.h"

enum { MODELS = 8, CONFIGS = 12, MACHINES = 120 };

static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};

static double draw_normal(uint64_t *seed)
{
    return sqrt(-2 * log(1 - rue_random_unit(seed))) * cos(2 * M_PI * rue_random_unit(seed));
}

/* A machine: what a configuration costs all models, what it costs one, and repeats that scatter. */
struct machine {
    double truth[MODELS][CONFIGS];
    struct rue_cost_matrix *matrix;
    struct rue_selection *selection;
};

static void machine_open(struct machine *machine, int repeats, double noise, enum rue_objective objective,
                         uint64_t *seed)
{
    struct rue_config configs[CONFIGS];
    const struct rue_selection_rules rules = {3, objective, NULL};
    for (size_t c = 0; c < CONFIGS; c++) {
        double all = 0.08 * rue_random_unit(seed);
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = (int)c + 1;
        for (size_t m = 0; m < MODELS; m++)
            machine->truth[m][c] = exp(20 + (double)m / 4 + all + 0.03 * draw_normal(seed));
    }
    cr_assert_eq(rue_cost_matrix_open(configs, CONFIGS, names, MODELS, &machine->matrix, NULL), RUE_OK);
    for (size_t i = 0; i < MODELS * CONFIGS; i++)
        for (int r = 0; r < repeats; r++) {
            double time_ns = machine->truth[i / CONFIGS][i % CONFIGS] * exp(noise * draw_normal(seed));
            cr_assert_eq(rue_cost_matrix_add(machine->matrix, i / CONFIGS, i % CONFIGS, time_ns, false, NULL),
                         RUE_OK);
        }
    cr_assert_eq(rue_selection_open(machine->matrix, &rules, &machine->selection, NULL), RUE_OK);
}

static void machine_close(struct machine *machine)
{
    rue_selection_close(machine->selection);
    rue_cost_matrix_close(machine->matrix);
}

/* By how much the recommended one is truly worse than the best of all, by the objective. */
static double find_excess(const struct machine *machine)
{
    struct rue_regret_summary joined[CONFIGS] = {0};
    enum rue_objective objective = machine->selection->objective;
    double least = INFINITY;
    for (size_t m = 0; m < MODELS; m++) {
        double best = INFINITY;
        for (size_t c = 0; c < CONFIGS; c++) best = fmin(best, machine->truth[m][c]);
        for (size_t c = 0; c < CONFIGS; c++)
            rue_regret_summary_add(&joined[c], m, 1, machine->truth[m][c] / best - 1);
    }
    for (size_t c = 0; c < CONFIGS; c++) least = fmin(least, rue_regret_summary_value(&joined[c], objective));
    return rue_regret_summary_value(&joined[machine->selection->recommended], objective) - least;
}

static void find_truth(const struct machine *machine, double *mean, double *worst)
{
    *mean = *worst = 0;
    for (size_t m = 0; m < MODELS; m++) {
        double best = INFINITY;
        for (size_t c = 0; c < CONFIGS; c++) best = fmin(best, machine->truth[m][c]);
        double regret = machine->truth[m][machine->selection->recommended] / best - 1;
        *mean += regret / MODELS;
        *worst = fmax(*worst, regret);
    }
}

static struct rue_regret_interval compute_interval(const struct machine *machine)
{
    struct rue_regret_interval interval;
    cr_assert_eq(rue_regret_interval_find(machine->matrix, machine->selection, 0.95, &interval, NULL),
                 RUE_OK);
    return interval;
}

/* 120 machines each: a share of 0.95 of them has a standard error of 0.02. */
Test(regret_interval, covers_the_true_regret_and_the_bound)
{
    static const struct {
        int repeats;
        double noise;
        enum rue_objective objective;
    } cases[] = {{2, 0.02, RUE_OBJECTIVE_MEAN},
                 {3, 0.02, RUE_OBJECTIVE_WORST},
                 {5, 0.01, RUE_OBJECTIVE_MEAN},
                 {3, 0.05, RUE_OBJECTIVE_MEAN}};
    uint64_t seed = 17;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int mean_held = 0, worst_held = 0, bound_held = 0;
        double width = 0, bound = 0;
        for (int n = 0; n < MACHINES; n++) {
            struct machine machine;
            double mean, worst;
            machine_open(&machine, cases[i].repeats, cases[i].noise, cases[i].objective, &seed);
            struct rue_regret_interval interval = compute_interval(&machine);
            find_truth(&machine, &mean, &worst);
            cr_assert_eq(interval.confidence, 0.95);
            const struct rue_ranking_row *row = &machine.selection->rows[machine.selection->recommended];
            cr_assert(interval.mean_low <= row->mean_regret_ratio &&
                      row->mean_regret_ratio <= interval.mean_high);
            cr_assert(interval.worst_low <= row->max_regret_ratio &&
                      row->max_regret_ratio <= interval.worst_high);
            mean_held += interval.mean_low <= mean && mean <= interval.mean_high;
            worst_held += interval.worst_low <= worst && worst <= interval.worst_high;
            width += (interval.mean_high - interval.mean_low) / MACHINES;
            bound_held += find_excess(&machine) <= interval.bound_ratio;
            bound += interval.bound_ratio / MACHINES;
            machine_close(&machine);
        }
        cr_assert_geq(mean_held, 92 * MACHINES / 100, "case %zu: %d", i, mean_held);
        cr_assert_geq(worst_held, 92 * MACHINES / 100, "case %zu: %d", i, worst_held);
        cr_assert_geq(bound_held, 92 * MACHINES / 100, "case %zu: the bound held %d times", i, bound_held);
        cr_assert_lt(bound, 2 * cases[i].noise, "case %zu: a bound of %.4f", i, bound);
        cr_assert_lt(width, 2.5 * cases[i].noise, "case %zu: as wide as that it says nothing", i);
    }
}

Test(regret_interval, one_repeat_gives_no_interval)
{
    uint64_t seed = 3;
    struct machine machine;
    machine_open(&machine, 1, 0.02, RUE_OBJECTIVE_MEAN, &seed);
    cr_assert_eq(compute_interval(&machine).confidence, 0);
    machine_close(&machine);
}

Test(regret_interval, equal_repeats_give_a_zero_interval)
{
    uint64_t seed = 5;
    struct machine machine;
    machine_open(&machine, 3, 0, RUE_OBJECTIVE_MEAN, &seed);
    struct rue_regret_interval interval = compute_interval(&machine);
    const struct rue_ranking_row *row = &machine.selection->rows[machine.selection->recommended];
    cr_assert_float_eq(interval.mean_low, row->mean_regret_ratio, 1e-9);
    cr_assert_float_eq(interval.mean_high, row->mean_regret_ratio, 1e-9);
    cr_assert_float_eq(interval.worst_high, row->max_regret_ratio, 1e-9);
    cr_assert_float_eq(interval.bound_ratio, 0, 1e-9);
    machine_close(&machine);
}

Test(regret_interval, the_same_repeats_give_the_same)
{
    uint64_t seed = 9;
    struct machine machine;
    machine_open(&machine, 2, 0.03, RUE_OBJECTIVE_WORST, &seed);
    struct rue_regret_interval one = compute_interval(&machine), other = compute_interval(&machine);
    cr_assert(one.mean_low == other.mean_low && one.mean_high == other.mean_high);
    cr_assert(one.worst_low == other.worst_low && one.worst_high == other.worst_high);
    machine_close(&machine);
}
