#include "model_host.h"

#include <stdlib.h>
#include <string.h>

#include "architecture.h"
#include "host_loops.h"
#include "machine.h"
#include "thread_team.h"
#include "transform.h"
#include "units.h"

/* Size of a strip of rows that are copied, then multiplied: large enough for OpenBLAS. */
enum { STRIP_ELEMENTS = 1 << 20, STRIP_ROWS_LEAST = 768 };

struct host {
    const struct rue_architecture *architecture;
    char name[RUE_MODEL_NAME_BYTES];
    struct rue_matrix_product product;
    struct rue_thread_team *team;
    size_t cores;
    enum rue_dtype dtype;                        /* dtype of the batches */
    size_t images_max;                           /* images that fit into the arrays */
    size_t input_room, output_room;              /* elements per image */
    size_t margin_room, weight_room, strip_room; /* after the last image's input; of all weights; per core */
    float *inputs, *outputs, *weights, *strips;
    struct rue_transform *transform; /* normalises levels */
};

/* One step of a batch: a layer, or other operations. */
struct piece {
    const struct host *host;
    const struct rue_layer *layer;
    const struct rue_batch *batch;
    size_t images, elements;
};

static size_t max_size(size_t a, size_t b)
{
    return a > b ? a : b;
}

static bool is_depthwise(const struct rue_layer *layer)
{
    return layer->kind == RUE_CONVOLUTION && layer->groups > 1 && layer->n == 1;
}

static size_t strip_rows(const struct rue_layer *layer)
{
    return max_size(STRIP_ELEMENTS / layer->k, STRIP_ROWS_LEAST);
}

/* Whether windows overlap, so that the rows have more elements than there are activations. */
static bool has_strips(const struct rue_layer *layer)
{
    return layer->kind == RUE_CONVOLUTION && (uint64_t)layer->m * layer->k > layer->read_elements;
}

/* Distance of two windows of a depthwise convolution, in positions of the input. */
static size_t layer_step(const struct rue_layer *layer)
{
    return max_size(layer->read_elements / ((size_t)layer->m * layer->groups), 1);
}

static size_t product_inputs(const struct rue_layer *layer)
{
    return (size_t)layer->k * (layer->m + layer->n);
}

static void measure_rooms(struct host *host)
{
    host->input_room = RUE_TENSOR_ITEMS;
    for (size_t i = 0; i < host->architecture->layer_count; i++) {
        const struct rue_layer *layer = &host->architecture->layers[i];
        size_t reads = layer->read_elements, groups = layer->groups;
        if (layer->kind == RUE_ATTENTION)
            reads = max_size(reads, groups * product_inputs(layer));
        else if (is_depthwise(layer))
            reads = max_size(reads, groups * layer->m * layer_step(layer));
        else if (!has_strips(layer))
            reads = max_size(reads, (size_t)layer->m * layer->k);
        host->input_room = max_size(host->input_room, reads);
        host->output_room = max_size(host->output_room, groups * layer->m * layer->n);
        host->weight_room = max_size(host->weight_room, groups * layer->n * layer->k);
        if (is_depthwise(layer))
            host->margin_room = max_size(host->margin_room, groups * (layer->k + layer_step(layer)));
        else if (has_strips(layer))
            host->strip_room = max_size(host->strip_room, strip_rows(layer) * layer->k);
    }
}

struct range {
    size_t begin, end;
};

static struct range member_share(size_t count, size_t member, size_t members)
{
    return (struct range){count / members * member + count % members * member / members,
                          count / members * (member + 1) + count % members * (member + 1) / members};
}

static void normalize_images(void *context, size_t member, size_t members)
{
    const struct piece *piece = context;
    const uint8_t *images = piece->batch->images;
    static const uint32_t shape[] = {RUE_CHANNELS, RUE_IMAGE_SIZE, RUE_IMAGE_SIZE};
    struct range range = member_share(piece->batch->count, member, members);
    for (size_t i = range.begin; i < range.end; i++)
        rue_transform_convert(piece->host->transform, shape, RUE_UINT8, images + i * RUE_TENSOR_ITEMS,
                              piece->host->inputs + i * RUE_TENSOR_ITEMS);
}

static void copy_images(void *context, size_t member, size_t members)
{
    const struct piece *piece = context;
    const float *images = piece->batch->images;
    struct range range = member_share(piece->batch->count * RUE_TENSOR_ITEMS, member, members);
    memcpy(piece->host->inputs + range.begin, images + range.begin,
           (range.end - range.begin) * sizeof *images);
}

static void convolve_depthwise(void *context, size_t member, size_t members)
{
    const struct piece *piece = context;
    const struct rue_layer *layer = piece->layer;
    struct range range = member_share(piece->images * layer->m, member, members);
    size_t step = layer_step(layer), channels = layer->groups;
    struct rue_depthwise share = {range.end - range.begin,
                                  step,
                                  layer->k,
                                  channels,
                                  piece->host->inputs + range.begin * step * channels,
                                  piece->host->weights,
                                  piece->host->outputs + range.begin * channels};
    rue_host_convolve_depthwise(&share);
}

static void compute_attention(void *context, size_t member, size_t members)
{
    const struct piece *piece = context;
    const struct host *host = piece->host;
    const struct rue_layer *layer = piece->layer;
    struct range range = member_share(piece->images * layer->groups, member, members);
    for (size_t i = range.begin; i < range.end; i++) {
        const float *a = host->inputs + i * product_inputs(layer), *b = a + (size_t)layer->m * layer->k;
        struct rue_matrices product = {layer->m, layer->n, layer->k,
                                       a,        b,        host->outputs + i * layer->m * layer->n};
        host->product.multiply(&host->product, &product);
    }
}

/* Multiplies all rows of a group at once, or strip by strip if windows overlap. */
static void multiply_rows(void *context, size_t member, size_t members)
{
    const struct piece *piece = context;
    const struct host *host = piece->host;
    const struct rue_layer *layer = piece->layer;
    struct range range = member_share(piece->images * layer->m, member, members);
    bool strips = has_strips(layer);
    float *strip = strips ? host->strips + member * host->strip_room : NULL;
    size_t most = strips ? strip_rows(layer) : range.end - range.begin;
    for (size_t rows, row = range.begin; row < range.end; row += rows) {
        rows = range.end - row < most ? range.end - row : most;
        size_t read = row * layer->read_elements / layer->m,
               end = (row + rows) * layer->read_elements / layer->m;
        if (strips) memcpy(strip, host->inputs + read, (end - read) * sizeof *strip);
        struct rue_matrices product = {.m = rows,
                                       .n = layer->n,
                                       .k = layer->k,
                                       .a = strips ? strip : host->inputs + row * layer->k,
                                       .b = host->weights,
                                       .c = host->outputs + row * layer->n};
        host->product.multiply(&host->product, &product);
    }
}

static void rectify_share(void *context, size_t member, size_t members)
{
    const struct piece *piece = context;
    struct range range = member_share(piece->elements, member, members);
    rue_host_rectify(piece->host->inputs + range.begin, piece->host->outputs + range.begin,
                     range.end - range.begin);
}

static void fill_share(void *context, size_t member, size_t members)
{
    const struct piece *piece = context;
    const struct host *host = piece->host;
    const struct {
        float *at;
        size_t count;
    } arrays[] = {{host->inputs, piece->images * host->input_room + host->margin_room},
                  {host->outputs, piece->images * host->output_room},
                  {host->weights, host->weight_room},
                  {host->strips, host->cores * host->strip_room}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        struct range range = member_share(arrays[i].count, member, members);
        for (size_t j = range.begin; j < range.end; j++)
            arrays[i].at[j] = (float)(j * 2654435761U >> 16 & 1023) / 512 - 1;
    }
}

/* The other operations, as passes that read and write each element. */
static void move_activations(const struct host *host, size_t images)
{
    const struct rue_architecture *model = host->architecture;
    size_t left = images * model->moved_elements / 2;
    size_t room = images * (host->input_room < host->output_room ? host->input_room : host->output_room);
    size_t usual = left / max_size(model->moves, 1) + 1;
    struct piece piece = {.host = host};
    for (; left; left -= piece.elements) {
        piece.elements = usual < room ? usual : room;
        if (piece.elements > left) piece.elements = left;
        rue_thread_team_run(host->team, rectify_share, &piece);
    }
}

static void compute_layer(const struct host *host, const struct rue_layer *layer, size_t images)
{
    struct piece piece = {.host = host, .layer = layer, .images = images};
    rue_thread_work *work = multiply_rows;
    size_t times = layer->repeats;
    if (layer->kind == RUE_ATTENTION)
        work = compute_attention;
    else if (is_depthwise(layer))
        work = convolve_depthwise;
    else
        times *= layer->groups;
    for (size_t i = 0; i < times; i++) rue_thread_team_run(host->team, work, &piece);
}

static void free_arrays(struct host *host)
{
    free(host->inputs);
    free(host->outputs);
    free(host->weights);
    free(host->strips);
    host->inputs = host->outputs = host->weights = host->strips = NULL;
    host->images_max = 0;
}

static float *allocate_floats(size_t elements)
{
    return aligned_alloc(4096, (elements * sizeof(float) + 4096) / 4096 * 4096);
}

static rue_status fail_memory(const struct host *host, size_t images, size_t bytes, size_t available,
                              rue_error *error)
{
    char needed[RUE_UNIT_TEXT_BYTES], left[RUE_UNIT_TEXT_BYTES];
    return rue_fail(error, RUE_INFEASIBLE,
                    "a batch of %zu images of %s needs %s of memory for its activations, but only %s are "
                    "free; use smaller batches",
                    images, host->name, rue_format_bytes(bytes, needed, sizeof needed),
                    rue_format_bytes(available, left, sizeof left));
}

/* Fills the arrays, so that their pages are allocated. A smaller last batch fits as well. */
static rue_status reserve_arrays(struct host *host, size_t images, uint64_t batch_bytes, rue_error *error)
{
    if (images <= host->images_max) return RUE_OK;
    free_arrays(host);
    size_t inputs = images * host->input_room + host->margin_room, outputs = images * host->output_room,
           strips = host->cores * host->strip_room;
    size_t bytes = (inputs + outputs + strips + host->weight_room) * sizeof(float);
    uint64_t available = rue_machine_available_bytes();
    bool fits = available == 0 || bytes + batch_bytes <= available;
    if (fits) {
        host->inputs = allocate_floats(inputs);
        host->outputs = allocate_floats(outputs);
        host->strips = allocate_floats(strips);
        host->weights = allocate_floats(host->weight_room);
    }
    if (!host->inputs || !host->outputs || !host->strips || !host->weights) {
        free_arrays(host);
        return fail_memory(host, images, bytes, available > batch_bytes ? available - batch_bytes : 0, error);
    }
    struct piece piece = {.host = host, .images = images};
    rue_thread_team_run(host->team, fill_share, &piece);
    host->images_max = images;
    return RUE_OK;
}

static rue_status prepare_host(void *state, const struct rue_model_input *input, rue_error *error)
{
    rue_status status = rue_model_check_input(input, error);
    if (status != RUE_OK) return status;
    struct host *host = state;
    host->dtype = input->dtype;
    return reserve_arrays(host, input->images, input->batch_bytes, error);
}

static rue_status compute_batch(void *state, const struct rue_batch *batch, uint64_t *ticket,
                                rue_error *error)
{
    struct host *host = state;
    const struct rue_architecture *model = host->architecture;
    rue_status status = reserve_arrays(host, batch->count, 0, error);
    if (status != RUE_OK) return status;
    struct piece images = {.host = host, .batch = batch};
    rue_thread_team_run(host->team, host->dtype == RUE_UINT8 ? normalize_images : copy_images, &images);
    for (size_t i = 0; i < model->layer_count; i++) compute_layer(host, &model->layers[i], batch->count);
    move_activations(host, batch->count);
    *ticket = 0;
    return RUE_OK;
}

/* submit has computed the batch already. */
static rue_status wait_for_host(void *state, uint64_t ticket, rue_error *error)
{
    (void)state, (void)ticket, (void)error;
    return RUE_OK;
}

static void close_host(void *state)
{
    struct host *host = state;
    rue_thread_team_close(host->team);
    rue_transform_close(host->transform);
    free_arrays(host);
    free(host);
}

rue_status rue_model_host_open(const struct rue_profile *profile, const struct rue_matrix_product *product,
                               struct rue_model *out, rue_error *error)
{
    static const struct rue_model_ops ops = {.name = "host",
                                             .prepare = prepare_host,
                                             .submit = compute_batch,
                                             .wait = wait_for_host,
                                             .close = close_host};
    struct host *host = calloc(1, sizeof *host);
    if (!host) return rue_fail_memory(error, "a model on the CPUs", sizeof *host);
    host->architecture = profile->architecture;
    host->product = *product;
    host->cores = (size_t)profile->cores;
    memcpy(host->name, profile->name, sizeof host->name);
    measure_rooms(host);
    const struct rue_transform_options options = {.geometry = rue_geometry_default()};
    rue_status status = rue_transform_open(&options, &host->transform, error);
    if (status == RUE_OK) status = rue_thread_team_open(host->cores, &host->team, error);
    if (status != RUE_OK) return close_host(host), status;
    *out = (struct rue_model){.ops = &ops, .state = host};
    return RUE_OK;
}
