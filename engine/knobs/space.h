/* The space: the product grid of the values of each knob of a list. */
#ifndef RUE_SPACE_H
#define RUE_SPACE_H

#include "config.h"

enum { RUE_SPACE_VALUES_MAX = 64 };

struct rue_space {
    const struct rue_knobs *knobs;
    int count[RUE_KNOBS_MAX];                        /* [knobs->count] 1..RUE_SPACE_VALUES_MAX */
    int values[RUE_KNOBS_MAX][RUE_SPACE_VALUES_MAX]; /* ascending, distinct */
};

/* The space with one configuration: every knob at its default. */
struct rue_space rue_space_default(const struct rue_knobs *knobs);

/* Whether `value` is one of the knob's values. */
bool rue_space_has_value(const struct rue_space *space, size_t knob, int value);

/* The knob's value that is nearest to `target`. */
int rue_space_nearest(const struct rue_space *space, size_t knob, int target);

/* Inserts `value` in ascending order. False: the knob has it already, or the list is full. */
bool rue_space_add(struct rue_space *space, size_t knob, int value);

/* Whether the space contains the configuration, which has the same list of knobs. */
bool rue_space_contains(const struct rue_space *space, const struct rue_config *config);

/* The number of configurations. */
size_t rue_space_size(const struct rue_space *space);

/* Configuration `index` in grid order: batch_size varies slowest, then num_workers, then the others. */
struct rue_config rue_space_at(const struct rue_space *space, size_t index);

/* Whether the configuration is a duplicate of another one of the space: without workers, knobs that need
 * workers have no effect, and only their first value counts. */
bool rue_space_is_duplicate(const struct rue_space *space, const struct rue_config *config);

#endif
