#include "batch_plan.h"

#include "clock.h"
#include "machine.h"

static const uint64_t facts_ns = 10000000; /* memory is read at most once in 10 ms */

static uint64_t read_free_memory(void *context)
{
    (void)context;
    return rue_machine_available_bytes();
}

static const struct rue_memory_probe *machine_memory(void)
{
    static struct rue_memory_probe probe = {.free_bytes = read_free_memory};
    return &probe;
}

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

/* Shards, or else classes, take turns. */
static uint64_t count_parts(const struct rue_source *source)
{
    size_t shards = rue_source_shards(source);
    return shards > 1 ? shards : rue_source_class_count(source);
}

struct rue_batch_plan rue_batch_plan_make(const struct rue_loader_options *options,
                                          const struct rue_source *source)
{
    struct rue_batch_plan plan = {
        .images = rue_batch_plan_images(options, options->images),
        .batch_size = (size_t)options->batch_size,
        .memory = options->memory ? options->memory : machine_memory(),
        .sizer = rue_batch_sizer_make(options->batch_strategy, (size_t)options->batch_size)};
    if (options->batch_strategy == RUE_BATCHES_ROUND_ROBIN) {
        plan.epoch = divide_up(rue_sampler_share(&options->sampler), plan.batch_size);
        plan.parts = count_parts(source);
    }
    if (plan.sizer.ops->reads_memory)
        plan.facts.total_bytes =
            options->memory ? options->memory->total_bytes : rue_machine_read().memory_bytes;
    return plan;
}

/* Batch `turn` of `batches` when parts of them take turns. The first parts are one batch longer. */
static uint64_t take_turns(uint64_t turn, uint64_t batches, uint64_t parts)
{
    uint64_t each = batches / parts, longer = batches % parts;
    uint64_t part = turn < each * parts ? turn % parts : turn - each * parts;
    uint64_t round = turn < each * parts ? turn / parts : each;
    return part * each + (part < longer ? part : longer) + round;
}

static uint64_t choose_first(const struct rue_batch_plan *plan)
{
    if (plan->parts < 2) return plan->planned;
    uint64_t begin = plan->batches / plan->epoch * plan->epoch;
    uint64_t left = divide_up(plan->images, plan->batch_size) - begin;
    uint64_t batches = left < plan->epoch ? left : plan->epoch;
    return (begin + take_turns(plan->batches - begin, batches, plan->parts)) * plan->batch_size;
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
    out->first = choose_first(plan);
    uint64_t left = plan->images - out->first;
    out->count = left < size ? (size_t)left : size;
    plan->planned += out->count;
    plan->batches++;
}

void rue_batch_plan_observe(struct rue_batch_plan *plan, const struct rue_batch *batch)
{
    uint64_t now_ns = plan->sizer.ops->observe ? rue_clock_now_ns() : 0;
    rue_batch_sizer_observe(&plan->sizer, batch->count, now_ns);
}
