#include "space.h"

#include <stdlib.h>

#include <string.h>

struct rue_space rue_space_default(const struct rue_knobs *knobs)
{
    struct rue_space space = {.knobs = knobs};
    for (size_t k = 0; k < knobs->count; k++) {
        space.count[k] = 1;
        space.values[k][0] = knobs->at[k]->fallback;
    }
    return space;
}

bool rue_space_has_value(const struct rue_space *space, size_t knob, int value)
{
    for (int i = 0; i < space->count[knob]; i++)
        if (space->values[knob][i] == value) return true;
    return false;
}

int rue_space_nearest(const struct rue_space *space, size_t knob, int target)
{
    int best = space->values[knob][0];
    for (int i = 1; i < space->count[knob]; i++)
        if (abs(space->values[knob][i] - target) < abs(best - target)) best = space->values[knob][i];
    return best;
}

bool rue_space_add(struct rue_space *space, size_t knob, int value)
{
    int *values = space->values[knob], n = space->count[knob], at = 0;
    while (at < n && values[at] < value) at++;
    if (n == RUE_SPACE_VALUES_MAX || (at < n && values[at] == value)) return false;
    memmove(values + at + 1, values + at, (size_t)(n - at) * sizeof *values);
    values[at] = value;
    space->count[knob] = n + 1;
    return true;
}

bool rue_space_contains(const struct rue_space *space, const struct rue_config *config)
{
    for (size_t k = 0; k < space->knobs->count; k++)
        if (!rue_space_has_value(space, k, config->value[k])) return false;
    return true;
}

size_t rue_space_size(const struct rue_space *space)
{
    size_t size = 1;
    for (size_t k = 0; k < space->knobs->count; k++) size *= (size_t)space->count[k];
    return size;
}

struct rue_config rue_space_at(const struct rue_space *space, size_t index)
{
    struct rue_config config = {.knobs = space->knobs};
    for (size_t k = space->knobs->count; k-- > 0;) {
        size_t n = (size_t)space->count[k];
        config.value[k] = space->values[k][index % n];
        index /= n;
    }
    return config;
}

bool rue_space_is_duplicate(const struct rue_space *space, const struct rue_config *config)
{
    if (config->value[RUE_NUM_WORKERS] > 0) return false;
    for (size_t k = 0; k < space->knobs->count; k++)
        if (space->knobs->at[k]->needs_workers && config->value[k] != space->values[k][0]) return true;
    return false;
}
