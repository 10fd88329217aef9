/* A model consumes batches: a const table of operations and the state of the instance. The trial loop calls
 * `prepare`, then `submit` with a batch and `wait` with its ticket. The batch must stay valid in between.
 * `wait` is called in the order of `submit`. */
#ifndef RUE_MODEL_H
#define RUE_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "loader.h"

enum { RUE_MODEL_IN_FLIGHT_MAX = 8 };

/* Device time for all batches that were waited for. The two may overlap. */
struct rue_model_times {
    uint64_t h2d_ns;    /* copies from the host */
    uint64_t device_ns; /* computing */
};

/* The batches of a trial. */
struct rue_model_input {
    size_t images;        /* images of a batch */
    size_t last_images;   /* images of the last batch; 0: all batches are full */
    enum rue_dtype dtype; /* RUE_FLOAT32 normalised; RUE_UINT8 8-bit levels, which the model normalises */
    uint64_t batch_bytes; /* memory of batches that are not allocated yet */
    uint64_t item_values; /* of one image; 0: RUE_TENSOR_ITEMS */
};

struct rue_model_ops {
    const char *name;
    /* Batches that may be submitted before the first `wait`, up to RUE_MODEL_IN_FLIGHT_MAX; 0 means 1. */
    size_t in_flight;
    bool fixed_sizes; /* batches have the sizes that `prepare` was given, and no other */
    /* (optional) Prepares for such batches, before the time of the trial begins. RUE_INFEASIBLE: they do not
     * fit into the memory of the device. */
    rue_status (*prepare)(void *state, const struct rue_model_input *input, rue_error *error);
    /* Begins to compute a batch and returns at once. Sets `*ticket`. */
    rue_status (*submit)(void *state, const struct rue_batch *batch, uint64_t *ticket, rue_error *error);
    /* Waits until the batch of `ticket` is computed. */
    rue_status (*wait)(void *state, uint64_t ticket, rue_error *error);
    /* (optional) Allocates batches with pin_memory true, in page-locked memory. Default: any memory. */
    const struct rue_slab_allocator *(*slabs)(void *state);
    /* (optional) The sum of all delays of `wait` so far, in ns. */
    uint64_t (*overshoot_ns)(const void *state);
    /* (optional) Times by the clock of the device. */
    struct rue_model_times (*times)(const void *state);
    /* (optional) A remark on the times; "": none. */
    const char *(*caveat)(const void *state);
    void (*close)(void *state);
};

struct rue_model {
    const struct rue_model_ops *ops;
    void *state; /* owned by the model */
};

/* A model that takes no time, for the measure `load`. */
struct rue_model rue_model_none(void);

/* For models that compute. RUE_USAGE: the items are not images of 3 x 224 x 224. */
rue_status rue_model_check_input(const struct rue_model_input *input, rue_error *error) RUE_MUST_CHECK;

/* Batches that may be submitted before the first `wait`. */
size_t rue_model_in_flight(const struct rue_model *model);

void rue_model_close(struct rue_model *model);

#endif
