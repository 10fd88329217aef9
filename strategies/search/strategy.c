#include "strategy.h"

#include <string.h>

/* clang-format off */
const struct rue_strategy_ops *const rue_strategies[] = {
    &rue_strategy_grid,
    &rue_strategy_duel,
    NULL,
};
const char *const rue_strategy_names[] = {
    RUE_STRATEGY_AUTO,
    "grid",
    "duel",
    NULL,
};
/* clang-format on */

const struct rue_strategy_ops *rue_strategy_find(const char *name)
{
    for (size_t i = 0; rue_strategies[i]; i++)
        if (strcmp(rue_strategies[i]->name, name) == 0) return rue_strategies[i];
    return NULL;
}
