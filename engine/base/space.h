/* The space: the product grid of the values that each knob may take. */
#ifndef RUE_SPACE_H
#define RUE_SPACE_H

#include <stddef.h>

#include "config.h"

enum { RUE_SPACE_VALUES_MAX = 64 };

struct rue_space {
    int count[RUE_KNOB_COUNT];                        /* 1..RUE_SPACE_VALUES_MAX */
    int values[RUE_KNOB_COUNT][RUE_SPACE_VALUES_MAX]; /* ascending, distinct */
};

/* Every knob at its fallback value alone. */
struct rue_space rue_space_default(void);

/* Whether the knob may take this value. */
bool rue_space_has(const struct rue_space *space, enum rue_knob knob, int value);

/* Adds `value` in its place; false when it is there already or no room is left. */
bool rue_space_add(struct rue_space *space, enum rue_knob knob, int value);

/* Whether the configuration is one of the space. */
bool rue_space_holds(const struct rue_space *space, const struct rue_config *config);

/* The number of configurations. */
size_t rue_space_size(const struct rue_space *space);

/* Configuration `index` in grid order: batch_size varies slowest, then num_workers, then the others. */
struct rue_config rue_space_at(const struct rue_space *space, size_t index);

#endif
