#include "objective.h"

#include <stddef.h>

const char *const rue_objective_names[] = {
    [RUE_OBJECTIVE_MEAN] = "mean", [RUE_OBJECTIVE_WORST] = "worst", NULL};
