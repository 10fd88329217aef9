/* Tries the whole grid in order, each configuration on all scenarios, `repeats` times. */
#include <stdlib.h>

#include "strategy.h"

struct inorder {
    struct rue_strategy_setup setup;
    size_t next, trials;
};

static rue_status inorder_open(const struct rue_strategy_setup *setup, void **state, rue_error *error)
{
    struct inorder *order = calloc(1, sizeof *order);
    if (!order) return rue_fail_memory(error, "a strategy", sizeof *order);
    order->setup = *setup;
    order->trials = setup->grid.config_count * setup->grid.scenario_count * (size_t)setup->aim.repeats;
    if (order->trials == 0) {
        free(order);
        return rue_fail(error, RUE_USAGE, "nothing to try: give a model and a configuration");
    }
    *state = order;
    return RUE_OK;
}

static bool inorder_ask(void *state, size_t node, struct rue_question *out)
{
    (void)node;
    struct inorder *order = state;
    if (order->next == order->trials) return false;
    size_t cell = order->next++, scenarios = order->setup.grid.scenario_count;
    size_t configs = order->setup.grid.config_count;
    *out = (struct rue_question){.measure = RUE_JOINT,
                                 .scenario = cell % scenarios,
                                 .config = cell / scenarios % configs,
                                 .repeat = (int)(cell / scenarios / configs)};
    return true;
}

const struct rue_strategy_ops rue_strategy_inorder = {
    .name = "inorder",
    .help = "all configurations on all scenarios, in the order of the grid",
    .open = inorder_open,
    .ask = inorder_ask,
    .close = free,
};
