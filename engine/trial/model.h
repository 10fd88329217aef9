/* A model consumes batches: a const table of operations with per-instance state behind it. The trial loop
 * calls `prepare`, then `submit` with a batch and `wait` with the ticket; between the two the batch must stay
 * on loan. Tickets are waited for in the order of their submission. */
#ifndef RUE_MODEL_H
#define RUE_MODEL_H

#include <stdint.h>

#include "error.h"
#include "loader.h"

enum { RUE_MODEL_IN_FLIGHT_MAX = 8 };

/* What the device spent so far on batches that were waited for; the two may overlap. */
struct rue_model_times {
    uint64_t h2d_ns;    /* on copies from the host */
    uint64_t device_ns; /* on computing */
};

/* What a model will be given. */
struct rue_model_input {
    size_t images;        /* of a batch */
    size_t last_images;   /* of the one at the end; 0: all are full */
    enum rue_dtype dtype; /* RUE_FLOAT32 normalised; RUE_UINT8 levels, which the model normalises */
    uint64_t batch_bytes; /* of batches that are still to be made */
};

struct rue_model_ops {
    const char *name;
    /* Batches that may be submitted before the first of them is waited for, up to RUE_MODEL_IN_FLIGHT_MAX; 0
     * is 1. */
    size_t in_flight;
    /* Makes ready for such batches, outside of any trial's time, beside those that are still to be made.
     * RUE_INFEASIBLE where they do not fit into the memory of what computes. (optional) */
    rue_status (*prepare)(void *state, const struct rue_model_input *input, rue_error *error);
    /* Begins the work on a batch of `count` images and returns at once; `*ticket` names it. */
    rue_status (*submit)(void *state, const struct rue_batch *batch, uint64_t *ticket, rue_error *error);
    /* Returns when that work is done. */
    rue_status (*wait)(void *state, uint64_t ticket, rue_error *error);
    /* Where batches lie for this model where pin_memory is true: in page-locked memory. (optional: anywhere)
     */
    const struct rue_slab_allocator *(*slabs)(void *state);
    /* How late `wait` has come back so far, summed over all waits, in ns. (optional) */
    uint64_t (*overshoot_ns)(const void *state);
    /* By the device's own clock. (optional) */
    struct rue_model_times (*times)(const void *state);
    /* What has to be said of its times, "": nothing. (optional) */
    const char *(*caveat)(const void *state);
    void (*close)(void *state);
};

struct rue_model {
    const struct rue_model_ops *ops;
    void *state; /* owned */
};

/* A consumer that takes no time: the measure `load`. */
struct rue_model rue_model_none(void);

/* How many batches may be submitted before the first is waited for. */
size_t rue_model_in_flight(const struct rue_model *model);

void rue_model_close(struct rue_model *model);

#endif
