#include "batch_plan.h"

#include "clock.h"
#include "machine.h"

static const uint64_t facts_ns = 10000000; /* memory is read at most once in 10 ms */

static uint64_t read_free_memory(void *context)
{
    (void)context;
    return rue_machine_available_bytes();
}

static const struct rue_memory_probe machine_memory = {.free_bytes = read_free_memory};

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b > 0);
}

uint64_t rue_batch_plan_images(const struct rue_loader_options *options, uint64_t images)
{
    return options->drop_last ? images - images % (uint64_t)options->batch_size : images;
}

uint64_t rue_batch_plan_batches(const struct rue_loader_options *options, uint64_t images)
{
    size_t least = rue_batch_least(options->batch_strategy, (size_t)options->batch_size);
    return divide_up(rue_batch_plan_images(options, images), least);
}

struct rue_batch_plan rue_batch_plan_make(const struct rue_loader_options *options)
{
    struct rue_batch_plan plan = {
        .memory = options->memory ? options->memory : &machine_memory,
        .sizer = rue_batch_sizer_make(options->batch_strategy, (size_t)options->batch_size)};
    if (plan.sizer.ops->reads_memory)
        plan.facts.total_bytes =
            options->memory ? options->memory->total_bytes : rue_machine_read().memory_bytes;
    return plan;
}

void rue_batch_plan_begin(struct rue_batch_plan *plan, const struct rue_loader_options *options,
                          uint64_t epoch, uint64_t first)
{
    plan->epoch = epoch;
    plan->position = first;
    plan->end = first + rue_batch_plan_images(options, options->images - first);
    plan->batches = 0;
}

static void read_facts(struct rue_batch_plan *plan)
{
    if (!plan->sizer.ops->reads_memory) return;
    uint64_t now_ns = rue_clock_now_ns();
    if (plan->facts.now_ns && now_ns - plan->facts.now_ns < facts_ns) return;
    plan->facts.now_ns = now_ns;
    plan->facts.free_bytes = plan->memory->free_bytes(plan->memory->context);
}

void rue_batch_plan_next(struct rue_batch_plan *plan, struct rue_batch *out)
{
    read_facts(plan);
    size_t size = rue_batch_sizer_next(&plan->sizer, &plan->facts);
    out->index = plan->batches;
    out->epoch = plan->epoch;
    out->first = plan->position;
    uint64_t left = plan->end - plan->position;
    out->count = left < size ? (size_t)left : size;
    plan->position += out->count;
    plan->batches++;
}

void rue_batch_plan_observe(struct rue_batch_plan *plan, const struct rue_batch *batch)
{
    uint64_t now_ns = plan->sizer.ops->observe ? rue_clock_now_ns() : 0;
    rue_batch_sizer_observe(&plan->sizer, batch->count, now_ns);
}
