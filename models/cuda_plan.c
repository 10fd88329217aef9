#include "cuda_plan.h"

#include <stdbool.h>
#include <stdlib.h>

#include "transform.h"
#include "variant.h"

/* CHUNK_ROWS: rows of one product of a convolution; enough to fill the tiles of a kernel. */
enum { CHUNK_ROWS = 2048, ROUND = 8, ALIGN = 128 };

/* The state while a plan is made. */
struct planner {
    struct rue_cuda_plan *plan;
    uint64_t images;
    bool share_weights;
};

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

static uint64_t max_elements(uint64_t value, uint64_t other)
{
    return value > other ? value : other;
}

static bool is_depthwise(const struct rue_layer *layer)
{
    return layer->kind == RUE_CONVOLUTION && layer->groups > 1 && layer->n == 1;
}

/* A product of images * m rows. If the rows of a convolution share activations, it is several products. Each
 * product begins at its own activations, and also reads some of the next one. */
static struct rue_cuda_step product_step(const struct rue_layer *layer, uint64_t images)
{
    uint64_t rows = images * layer->m, inner = round_up(layer->k, ROUND);
    bool overlaps = (uint64_t)layer->m * layer->k > layer->read_elements;
    uint64_t count = overlaps ? max_elements(rows / CHUNK_ROWS, 1) : 1;
    struct rue_cuda_step step = {.count = count,
                                 .rows = (rows + count - 1) / count,
                                 .columns = round_up(layer->n, ROUND),
                                 .inner = inner,
                                 .b_count = 1};
    uint64_t inputs = images * layer->read_elements / count / ROUND * ROUND, full = step.rows * inner;
    step.a_stride = inputs < full ? max_elements(inputs, ROUND) : full;
    return step;
}

/* Attention, or groups with their own weights. */
static struct rue_cuda_step grouped_step(const struct rue_layer *layer, uint64_t images)
{
    bool attention = layer->kind == RUE_ATTENTION;
    struct rue_cuda_step step = {.b_is_activations = attention,
                                 .count = attention ? images * layer->groups : layer->groups,
                                 .rows = attention ? layer->m : images * layer->m,
                                 .columns = round_up(layer->n, ROUND),
                                 .inner = round_up(layer->k, ROUND)};
    step.b_count = (uint32_t)step.count;
    step.a_stride = step.rows * step.inner;
    step.b_stride = step.columns * step.inner;
    if (attention) step.b_offset = round_up(step.count * step.a_stride, ALIGN);
    return step;
}

static struct rue_cuda_step depthwise_step(const struct rue_layer *layer, uint64_t images)
{
    return (struct rue_cuda_step){.kind = RUE_CUDA_DEPTHWISE,
                                  .count = images * layer->groups,
                                  .rows = layer->m,
                                  .columns = 1,
                                  .inner = layer->k,
                                  .b_count = layer->groups,
                                  .b_stride = layer->k,
                                  .a_stride = layer->read_elements / layer->groups};
}

static struct rue_cuda_step layer_step(const struct rue_layer *layer, uint64_t images)
{
    bool grouped = layer->kind == RUE_ATTENTION || layer->groups > 1;
    struct rue_cuda_step step = is_depthwise(layer) ? depthwise_step(layer, images)
                                : grouped           ? grouped_step(layer, images)
                                                    : product_step(layer, images);
    step.tf32 = layer->kind == RUE_CONVOLUTION;
    step.c_stride = step.rows * step.columns;
    return step;
}

/* Enlarges both activation buffers to the size that the step needs. */
static void reserve_activations(struct rue_cuda_plan *plan, const struct rue_cuda_step *step)
{
    uint64_t from = (step->count - 1) * step->a_stride;
    from += step->kind == RUE_CUDA_DEPTHWISE ? step->a_stride + step->inner : step->rows * step->inner;
    if (step->b_is_activations) from = step->b_offset + step->count * step->b_stride;
    plan->from_elements = max_elements(plan->from_elements, from);
    plan->to_elements = max_elements(plan->to_elements, step->count * step->c_stride);
}

static void add_layer(struct planner *planner, const struct rue_layer *layer, uint32_t repeat)
{
    struct rue_cuda_plan *plan = planner->plan;
    struct rue_cuda_step step = layer_step(layer, planner->images);
    uint64_t size =
        round_up(step.b_count * (step.b_stride ? step.b_stride : step.columns * step.inner), ALIGN);
    if (!step.b_is_activations) {
        bool shared = planner->share_weights && repeat > 0;
        if (!shared) plan->weight_elements += size;
        step.b_offset = plan->weight_elements - size;
    }
    reserve_activations(plan, &step);
    plan->steps[plan->step_count++] = step;
}

/* Distributes the operations that are not products evenly after the products. */
static void add_moves(struct planner *planner, const struct rue_architecture *architecture, uint64_t product,
                      uint64_t products)
{
    struct rue_cuda_plan *plan = planner->plan;
    uint64_t moves = architecture->moves;
    uint64_t end = moves * (product + 1) / products;
    for (uint64_t i = moves * product / products; i < end; i++) {
        uint64_t elements = round_up(planner->images * architecture->moved_elements / moves / 2, ROUND);
        plan->from_elements = max_elements(plan->from_elements, elements);
        plan->to_elements = max_elements(plan->to_elements, elements);
        plan->steps[plan->step_count++] =
            (struct rue_cuda_step){.kind = RUE_CUDA_MOVE, .count = 1, .rows = elements, .columns = 1};
    }
}

rue_status rue_cuda_plan_open(const struct rue_architecture *architecture, enum rue_precision precision,
                              uint32_t images, bool share_weights, struct rue_cuda_plan *out,
                              rue_error *error)
{
    struct planner planner = {out, images, share_weights};
    uint64_t products = 0, product = 0;
    for (size_t i = 0; i < architecture->layer_count; i++) products += architecture->layers[i].repeats;
    *out = (struct rue_cuda_plan){.precision = precision, .images = images};
    out->steps = calloc(products + architecture->moves, sizeof *out->steps);
    if (!out->steps)
        return rue_fail_memory(error, "a plan of kernels",
                               (products + architecture->moves) * sizeof *out->steps);
    out->input_elements = (uint64_t)images * RUE_TENSOR_ITEMS;
    out->input = (struct rue_cuda_input){.dtype = RUE_FLOAT32,
                                         .channel_elements = RUE_TENSOR_ITEMS / RUE_CHANNELS,
                                         .mean = RUE_MEAN,
                                         .std = RUE_STD};
    out->from_elements = out->input_elements;
    for (size_t i = 0; i < architecture->layer_count; i++)
        for (uint32_t r = 0; r < architecture->layers[i].repeats; r++, product++) {
            add_layer(&planner, &architecture->layers[i], r);
            add_moves(&planner, architecture, product, products);
        }
    /* Activations that are needed beside the running layer, such as residuals. */
    uint64_t peak = images * architecture->peak_elements, have = out->from_elements + out->to_elements;
    if (peak > have) out->to_elements += peak - have;
    return RUE_OK;
}

void rue_cuda_plan_close(struct rue_cuda_plan *plan)
{
    if (!plan) return;
    free(plan->steps);
    plan->steps = NULL;
}

uint64_t rue_cuda_plan_weight_bytes(const struct rue_cuda_plan *plan)
{
    return plan->weight_elements * rue_precision_bytes(plan->precision);
}

uint64_t rue_cuda_plan_activation_bytes(const struct rue_cuda_plan *plan)
{
    return (plan->from_elements + plan->to_elements) * rue_precision_bytes(plan->precision);
}

uint64_t rue_cuda_plan_input_bytes(const struct rue_cuda_plan *plan)
{
    return RUE_CUDA_IN_FLIGHT * plan->input_elements * rue_dtype_bytes[plan->input.dtype];
}
