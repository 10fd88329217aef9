/* Which items each batch of a job has. The caller locks. */
#ifndef RUE_BATCH_PLAN_H
#define RUE_BATCH_PLAN_H

#include "batch_sizer.h"
#include "loader.h"

struct rue_batch_plan {
    uint64_t images;           /* of the job */
    uint64_t planned, batches; /* images and batches so far */
    const struct rue_memory_probe *memory;
    struct rue_batch_facts facts;
    struct rue_batch_sizer sizer;
};

/* The memory probe of the options must live as long as the plan. */
struct rue_batch_plan rue_batch_plan_make(const struct rue_loader_options *options);

/* The images of a job of `images`: without those of a last batch that is dropped. */
uint64_t rue_batch_plan_images(const struct rue_loader_options *options, uint64_t images);

/* At most this many batches. */
uint64_t rue_batch_plan_batches(const struct rue_loader_options *options, uint64_t images);

static inline bool rue_batch_plan_is_complete(const struct rue_batch_plan *plan)
{
    return plan->planned == plan->images;
}

/* Sets index, first and count of the next batch; the plan is not complete. */
void rue_batch_plan_next(struct rue_batch_plan *plan, struct rue_batch *out);

/* The batch is delivered now. */
void rue_batch_plan_observe(struct rue_batch_plan *plan, const struct rue_batch *batch);

#endif
