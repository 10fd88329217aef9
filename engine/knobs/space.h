/* The space: the product grid of the values that each knob of a list may take. */
#ifndef RUE_SPACE_H
#define RUE_SPACE_H

#include "config.h"

enum { RUE_SPACE_VALUES_MAX = 64 };

struct rue_space {
    const struct rue_knobs *knobs;
    int count[RUE_KNOBS_MAX];                        /* [knobs->count] 1..RUE_SPACE_VALUES_MAX */
    int values[RUE_KNOBS_MAX][RUE_SPACE_VALUES_MAX]; /* ascending, distinct */
};

/* Every knob of the list at its default alone. */
struct rue_space rue_space_default(const struct rue_knobs *knobs);

/* Whether the knob may take this value. */
bool rue_space_has_value(const struct rue_space *space, size_t knob, int value);

/* Its value that is nearest to `wanted`. */
int rue_space_nearest(const struct rue_space *space, size_t knob, int wanted);

/* Adds `value` in its place; false when it is there already or no room is left. */
bool rue_space_add(struct rue_space *space, size_t knob, int value);

/* Whether the configuration, of the same list, is one of the space. */
bool rue_space_contains(const struct rue_space *space, const struct rue_config *config);

/* The number of configurations. */
size_t rue_space_size(const struct rue_space *space);

/* Configuration `index` in grid order: batch_size varies slowest, then num_workers, then the others. */
struct rue_config rue_space_at(const struct rue_space *space, size_t index);

/* Whether a configuration of the space repeats another one: without workers the first values of knobs that
 * need workers stand for all. */
bool rue_space_is_duplicate(const struct rue_space *space, const struct rue_config *config);

#endif
