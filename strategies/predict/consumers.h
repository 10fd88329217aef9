/* What consumes batches, apart by what their time depends on: copying a batch to a GPU is part of it, and
 * quicker from page-locked memory. So each model is two consumers where pin_memory varies, else one. */
#ifndef RUE_CONSUMERS_H
#define RUE_CONSUMERS_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

struct rue_consumers {
    size_t count; /* of all models; those of model m are at m * of_model and after */
    size_t of_model;
    bool pinned; /* the first of each model: its batches lie in page-locked memory */
};

struct rue_consumers rue_consumers_of(size_t models, const struct rue_config *configs, size_t config_count);

/* Whether batches of the configuration lie in page-locked memory; where nobody has told it, they do. */
bool rue_consumers_pins(const struct rue_config *config);

/* That of a model, with batches of the configuration. */
size_t rue_consumers_find(const struct rue_consumers *consumers, size_t model,
                          const struct rue_config *config);

/* The model's other one; `consumer` itself where it has none. */
size_t rue_consumers_other(const struct rue_consumers *consumers, size_t consumer);

#endif
