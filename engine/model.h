/* A model consumes batches: a const table of operations with per-instance state behind it. The trial loop
 * calls `submit` with a batch and `wait` with the ticket; between the two the batch must stay on loan. */
#ifndef RUE_MODEL_H
#define RUE_MODEL_H

#include <stdint.h>

#include "error.h"
#include "loader.h"

struct rue_model_ops {
    const char *name;
    /* Makes ready for batches of up to `images`, outside of any trial's time, beside `batch_bytes` of batches
     * that are still to be filled. RUE_INFEASIBLE when they do not fit into memory. (optional) */
    rue_status (*prepare)(void *state, size_t images, uint64_t batch_bytes, rue_error *error);
    /* Begins the work on a batch of `count` images and returns at once; `*ticket` names it. */
    rue_status (*submit)(void *state, const struct rue_batch *batch, uint64_t *ticket, rue_error *error);
    /* Returns when that work is done. */
    rue_status (*wait)(void *state, uint64_t ticket, rue_error *error);
    /* How late `wait` has come back so far, summed over all waits, in ns. (optional) */
    uint64_t (*overshoot_ns)(const void *state);
    void (*close)(void *state);
};

struct rue_model {
    const struct rue_model_ops *ops;
    void *state; /* owned */
};

/* A consumer that takes no time: the measure `load`. */
struct rue_model rue_model_none(void);

void rue_model_close(struct rue_model *model);

#endif
