/* Which items each batch of an epoch has. The caller locks. */
#ifndef RUE_BATCH_PLAN_H
#define RUE_BATCH_PLAN_H

#include "batch_sizer.h"
#include "loader.h"

struct rue_batch_plan {
    uint64_t epoch;
    uint64_t position, end; /* of the images that are not planned yet */
    uint64_t batches;       /* so far */
    const struct rue_memory_probe *memory;
    struct rue_batch_facts facts;
    struct rue_batch_sizer sizer;
};

/* The memory probe of the options must live as long as the plan. It has no batches until an epoch begins. */
struct rue_batch_plan rue_batch_plan_make(const struct rue_loader_options *options);

/* Continues with the images of `epoch` from position `first` on, at most images of the options. */
void rue_batch_plan_begin(struct rue_batch_plan *plan, const struct rue_loader_options *options,
                          uint64_t epoch, uint64_t first);

/* How many of `images` are delivered: without those of a last batch that is dropped. */
uint64_t rue_batch_plan_images(const struct rue_loader_options *options, uint64_t images);

/* At most this many batches. */
uint64_t rue_batch_plan_batches(const struct rue_loader_options *options, uint64_t images);

static inline bool rue_batch_plan_is_complete(const struct rue_batch_plan *plan)
{
    return plan->position == plan->end;
}

/* Sets index, epoch, first and count of the next batch; the plan is not complete. */
void rue_batch_plan_next(struct rue_batch_plan *plan, struct rue_batch *out);

/* The batch is delivered now. */
void rue_batch_plan_observe(struct rue_batch_plan *plan, const struct rue_batch *batch);

#endif
