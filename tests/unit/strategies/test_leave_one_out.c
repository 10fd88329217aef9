#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "random.h"
#include "selection.h"

enum { MODELS = 6, CONFIGS = 7, MACHINES = 200 };

static const char *const names[] = {"f", "e", "d", "c", "b", "a"};

struct machine {
    struct rue_cost_matrix *matrix;
    struct rue_selection *selection;
};

/* A matrix of `count` models, 0 where a cell was not measured; all of it or all but model `without`. */
static struct machine make_machine(const double *table, size_t count, size_t without,
                                   const struct rue_selection_rules *rules)
{
    struct machine machine;
    struct rue_config configs[CONFIGS];
    const char *kept[MODELS];
    double weights[MODELS];
    struct rue_selection_rules own = *rules;
    size_t models = 0;
    for (size_t c = 0; c < CONFIGS; c++) {
        configs[c] = rue_config_default();
        configs[c].value[RUE_BATCH_SIZE] = (int)c + 1;
    }
    for (size_t m = 0; m < count; m++) {
        if (m == without) continue;
        if (rules->weights) weights[models] = rules->weights[m];
        kept[models++] = names[m];
    }
    if (rules->weights) own.weights = weights;
    cr_assert_eq(rue_cost_matrix_open(configs, CONFIGS, kept, models, &machine.matrix, NULL), RUE_OK);
    for (size_t m = 0, row = 0; m < count; m++) {
        if (m == without) continue;
        for (size_t c = 0; c < CONFIGS; c++)
            if (table[m * CONFIGS + c] > 0)
                cr_assert_eq(rue_cost_matrix_add(machine.matrix, row, c, table[m * CONFIGS + c], false, NULL),
                             RUE_OK);
        row++;
    }
    cr_assert_eq(rue_selection_open(machine.matrix, &own, &machine.selection, NULL), RUE_OK);
    return machine;
}

static void machine_close(struct machine *machine)
{
    rue_selection_close(machine->selection);
    rue_cost_matrix_close(machine->matrix);
}

static struct rue_leave_one_out *open_leave_one_out(const struct machine *machine)
{
    struct rue_leave_one_out *left;
    cr_assert_eq(rue_leave_one_out_open(machine->matrix, machine->selection, &left, NULL), RUE_OK);
    return left;
}

/* What the rules recommend of a matrix that never had the model. */
Test(leave_one_out, equals_the_selection_without_the_model)
{
    uint64_t seed = 5;
    for (int i = 0; i < MACHINES; i++) {
        double table[MODELS * CONFIGS], weights[MODELS], sum = 0, total = 0, worst = 0;
        const struct rue_selection_rules rules = {3, (enum rue_objective)rue_random_below(&seed, 2),
                                                  rue_random_below(&seed, 2) ? weights : NULL};
        size_t count = 3 + rue_random_below(&seed, MODELS - 2);
        for (size_t m = 0; m < count; m++) weights[m] = 0.2 + rue_random_unit(&seed);
        for (size_t k = 0; k < count * CONFIGS; k++)
            table[k] = rue_random_below(&seed, 20) ? 100 + (double)rue_random_below(&seed, 60) : 0;
        struct machine all = make_machine(table, count, RUE_NONE, &rules);
        struct rue_leave_one_out *left = open_leave_one_out(&all);
        for (size_t m = 0; m < count; m++) {
            struct machine rest = make_machine(table, count, m, &rules);
            size_t config = rest.selection->recommended;
            double regret =
                config == RUE_NONE ? NAN : rue_selection_regret(all.selection, all.matrix, m, config);
            if (left) cr_assert_eq(left->rows[m].config, config, "machine %d, model %zu", i, m);
            if (left && !isnan(regret)) cr_assert_float_eq(left->rows[m].regret_ratio, regret, 1e-12);
            cr_assert(!left || isnan(regret) == isnan(left->rows[m].regret_ratio));
            machine_close(&rest);
            if (isnan(regret)) continue;
            sum += (rules.weights ? weights[m] : 1) * regret;
            total += rules.weights ? weights[m] : 1;
            worst = fmax(worst, regret);
        }
        cr_assert_eq(left != NULL, total > 0);
        if (left) {
            cr_assert_float_eq(left->mean_regret_ratio, sum / total, 1e-12);
            cr_assert_float_eq(left->max_regret_ratio, worst, 1e-12);
            cr_assert_float_eq(left->rows[left->worst_model].regret_ratio, worst, 1e-12);
        }
        rue_leave_one_out_close(left);
        machine_close(&all);
    }
}

Test(leave_one_out, two_models_are_too_few)
{
    double table[MODELS * CONFIGS];
    const struct rue_selection_rules rules = {.top_n = 1};
    for (size_t k = 0; k < MODELS * CONFIGS; k++) table[k] = 100 + (double)k;
    struct machine machine = make_machine(table, 2, RUE_NONE, &rules);
    cr_assert_null(open_leave_one_out(&machine));
    machine_close(&machine);
}

Test(leave_one_out, ties_go_to_the_first_model)
{
    static const double table[3 * CONFIGS] = {[0] = 10, [CONFIGS] = 10, [2 * CONFIGS] = 10};
    const struct rue_selection_rules rules = {.top_n = 1};
    struct machine machine = make_machine(table, 3, RUE_NONE, &rules);
    struct rue_leave_one_out *left = open_leave_one_out(&machine);
    cr_assert_eq(left->known, 3);
    cr_assert_eq(left->worst_model, 0);
    cr_assert_eq(left->max_regret_ratio, 0);
    rue_leave_one_out_close(left);
    machine_close(&machine);
}
