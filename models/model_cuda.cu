/* rue_cuda.so: runs the work of a batch as real kernels (cuda_module.h). The CUDA runtime is linked in. */
#include <string.h>

#include "cuda_kernels.cuh"
#include "cuda_library.cuh"

namespace
{

enum { GRAPHS_MAX = 4, SLOTS = RUE_CUDA_IN_FLIGHT };

/* Some kernels put `count` into one side of their grid, which limits it; larger counts need several calls. */
#ifndef COUNT_MAX /* tests use less */
#    define COUNT_MAX 32768
#endif
constexpr uint64_t count_max = COUNT_MAX;
/* cuBLASLt needs addresses that are multiples of 256; strides are multiples of 8 elements. */
static_assert(count_max % 16 == 0, "addresses of later calls");

/* ---- steps ---- */

#ifdef HAVE_CUBLASLT
template <typename T> struct Type;
template <> struct Type<float> {
    static constexpr cudaDataType_t cuda_type = CUDA_R_32F;
};
template <> struct Type<__half> {
    static constexpr cudaDataType_t cuda_type = CUDA_R_16F;
};
template <> struct Type<__nv_bfloat16> {
    static constexpr cudaDataType_t cuda_type = CUDA_R_16BF;
};
#endif

/* Computes all products of a step, up to the limit of one call. */
template <typename T>
int multiply_chunk(const rue_cuda_step *step, const T *a, const T *b, T *c, void *workspace, bool own_kernel,
                   cudaStream_t stream, char *message)
{
#ifdef HAVE_CUBLASLT
    if (!own_kernel && has_library())
        return multiply_lt(step, Type<T>::cuda_type, a, b, c, workspace, stream, message);
#endif
    (void)own_kernel, (void)workspace;
    uint64_t tiles = (step->rows + TILE - 1) / TILE * ((step->columns + TILE - 1) / TILE) * step->count;
    if (tiles > INT32_MAX)
        return set_message(message, RUE_CUDA_FAILED, "a product has more tiles than a grid can hold");
    TRY_LAUNCH(multiply_tiles<T>, tiles, stream, *step, a, b, c);
    return RUE_CUDA_OK;
}

/* Computes the products of a step in several calls. With weights, each product has its own B, or all share
 * one. */
template <typename T>
int multiply(const rue_cuda_step *step, const T *a, const T *b, T *c, void *workspace, bool own_kernel,
             cudaStream_t stream, char *message)
{
    for (uint64_t done = 0; done < step->count; done += count_max) {
        rue_cuda_step chunk = *step;
        uint64_t remaining = step->count - done;
        chunk.count = remaining < count_max ? remaining : count_max;
        TRY_OURS(multiply_chunk(&chunk, a + done * step->a_stride, b + done % step->b_count * step->b_stride,
                                c + done * step->c_stride, workspace, own_kernel, stream, message));
    }
    return RUE_CUDA_OK;
}

template <typename T>
int run_step(const rue_cuda_step *step, T *from, T *to, const T *weights, void *workspace, bool own_kernel,
             cudaStream_t stream, char *message)
{
    uint64_t elements = step->rows * step->columns;
    const T *b = (step->b_is_activations ? (const T *)from : weights) + step->b_offset;
    switch (step->kind) {
    case RUE_CUDA_PRODUCT:
        return multiply(step, (const T *)from, b, to, workspace, own_kernel, stream, message);
    case RUE_CUDA_DEPTHWISE:
        TRY_LAUNCH(depthwise<T>, blocks_for(elements * step->count), stream, *step, from, b, to);
        break;
    default:
        TRY_LAUNCH(move<T>, blocks_for(elements / 8), stream, to, from, elements);
    }
    return RUE_CUDA_OK;
}

/* ---- a model with its buffers ---- */

struct Graph {
    uint32_t images;
    uint64_t input_elements;
    cudaGraphExec_t exec;
};

/* A batch in flight. */
struct Slot {
    void *input;
    cudaEvent_t copy_begin, copied, begin, done;
};

} // namespace

struct rue_cuda_run {
    uint32_t precision;
    rue_cuda_input input;
    void *weights, *from, *to, *workspace;
    cudaStream_t copy, compute;
    Slot slots[SLOTS];
    size_t graph_count;
    Graph graphs[GRAPHS_MAX];
    uint64_t submitted;
    rue_cuda_times times;
};

namespace
{

size_t element_bytes(uint32_t precision)
{
    return precision == 0 ? 4 : 2;
}

size_t input_bytes(const rue_cuda_input *input)
{
    return input->dtype == 0 ? sizeof(float) : 1;
}

/* Calls `function<T>(...)` for the run's precision. */
#define OF_PRECISION(precision, function, ...)          \
    ((precision) == 0   ? function<float>(__VA_ARGS__)  \
     : (precision) == 1 ? function<__half>(__VA_ARGS__) \
                        : function<__nv_bfloat16>(__VA_ARGS__))

template <typename T> int fill_all(rue_cuda_run *run, const rue_cuda_plan *plan, char *message)
{
    TRY_LAUNCH(fill<T>, blocks_for(plan->weight_elements), run->compute, (T *)run->weights,
               plan->weight_elements, 1u, 0.05f);
    TRY_LAUNCH(fill<T>, blocks_for(plan->from_elements), run->compute, (T *)run->from, plan->from_elements,
               2u, 1.0f);
    TRY_LAUNCH(fill<T>, blocks_for(plan->to_elements), run->compute, (T *)run->to, plan->to_elements, 3u,
               1.0f);
    return RUE_CUDA_OK;
}

template <typename T> int run_steps(rue_cuda_run *run, const rue_cuda_plan *plan, char *message)
{
    for (uint64_t i = 0; i < plan->step_count; i++)
        TRY_OURS(run_step<T>(&plan->steps[i], (T *)run->from, (T *)run->to, (const T *)run->weights,
                             run->workspace, false, run->compute, message));
    return RUE_CUDA_OK;
}

template <typename T>
int load_images(const rue_cuda_input *input, const void *images, T *out, uint64_t count, cudaStream_t stream,
                char *message)
{
    if (input->dtype == 0)
        TRY_LAUNCH(convert<T>, blocks_for(count), stream, (const float *)images, out, count);
    else
        TRY_LAUNCH(normalize<T>, blocks_for(count / 16), stream, (const uint8_t *)images, out, count, *input);
    return RUE_CUDA_OK;
}

template <typename T> int load_slot(rue_cuda_run *run, const Slot *slot, uint64_t count, char *message)
{
    return load_images<T>(&run->input, slot->input, (T *)run->from, count, run->compute, message);
}

int allocate_run(rue_cuda_run *run, const rue_cuda_plan *plan, char *message)
{
    size_t element = element_bytes(plan->precision);
    size_t batch_bytes = plan->input_elements * input_bytes(&plan->input);
    TRY(cudaMalloc(&run->weights, plan->weight_elements * element + 16));
    TRY(cudaMalloc(&run->from, plan->from_elements * element + 16));
    TRY(cudaMalloc(&run->to, plan->to_elements * element + 16));
    TRY(cudaMalloc(&run->workspace, workspace_bytes));
    TRY(cudaStreamCreateWithFlags(&run->copy, cudaStreamNonBlocking));
    TRY(cudaStreamCreateWithFlags(&run->compute, cudaStreamNonBlocking));
    for (Slot &slot : run->slots) {
        TRY(cudaMalloc(&slot.input, batch_bytes));
        TRY(cudaMemsetAsync(slot.input, 0, batch_bytes, run->compute));
        TRY(cudaEventCreate(&slot.copy_begin));
        TRY(cudaEventCreate(&slot.copied));
        TRY(cudaEventCreate(&slot.begin));
        TRY(cudaEventCreate(&slot.done));
    }
    return RUE_CUDA_OK;
}

/* The first run loads a kernel, which is impossible during a capture; the first launch uploads a graph. */
int warm_up(rue_cuda_run *run, const rue_cuda_plan *plan, char *message)
{
    TRY_OURS(OF_PRECISION(run->precision, load_slot, run, run->slots, plan->input_elements, message));
    TRY_OURS(OF_PRECISION(run->precision, run_steps, run, plan, message));
    TRY(cudaStreamSynchronize(run->compute));
    return RUE_CUDA_OK;
}

int capture_graph(rue_cuda_run *run, const rue_cuda_plan *plan, char *message)
{
    cudaGraph_t graph = nullptr;
    Graph *created = &run->graphs[run->graph_count];
    TRY(cudaStreamBeginCapture(run->compute, cudaStreamCaptureModeThreadLocal));
    replay_algorithms();
    int status = OF_PRECISION(run->precision, run_steps, run, plan, message);
    cudaError_t ended = cudaStreamEndCapture(run->compute, &graph);
    if (status != RUE_CUDA_OK) {
        if (graph) cudaGraphDestroy(graph);
        return status;
    }
    if (ended != cudaSuccess) return fail_cuda(message, ended, "cudaStreamEndCapture");
    cudaError_t instantiated = cudaGraphInstantiateWithFlags(&created->exec, graph, 0);
    cudaGraphDestroy(graph);
    if (instantiated != cudaSuccess) return fail_cuda(message, instantiated, "cudaGraphInstantiateWithFlags");
    created->images = plan->images;
    created->input_elements = plan->input_elements;
    run->graph_count++;
    TRY(cudaGraphLaunch(created->exec, run->compute));
    TRY(cudaStreamSynchronize(run->compute));
    return RUE_CUDA_OK;
}

/* ---- the interface of the module ---- */

int select_device(cudaDeviceProp *out, char *message)
{
    cudaFuncAttributes attributes;
    int count = 0;
    TRY(cudaGetDeviceCount(&count));
    if (count == 0) return fail_no_device(message);
    TRY(cudaSetDevice(0));
    TRY(cudaGetDeviceProperties(out, 0));
    TRY(cudaFuncGetAttributes(&attributes, fill<float>));
    return RUE_CUDA_OK;
}

int get_device(rue_cuda_device *out, char *message)
{
    cudaDeviceProp properties;
    size_t free_bytes = 0, bytes = 0;
    TRY_OURS(select_device(&properties, message));
    TRY(cudaMemGetInfo(&free_bytes, &bytes));
    has_library();
    snprintf(out->name, sizeof out->name, "%.127s", properties.name);
    snprintf(out->slow_reason, sizeof out->slow_reason, "%s", library.slow_reason);
    out->free_bytes = free_bytes;
    out->bytes = bytes;
    return RUE_CUDA_OK;
}

int add_plan(rue_cuda_run *run, const rue_cuda_plan *plan, char *message)
{
    if (run->graph_count == GRAPHS_MAX) return set_message(message, RUE_CUDA_FAILED, "too many batch sizes");
    record_algorithms();
    int status = warm_up(run, plan, message);
    if (status == RUE_CUDA_OK) status = capture_graph(run, plan, message);
    free_algorithms();
    return status;
}

void close_run(rue_cuda_run *run)
{
    if (!run) return;
    cudaDeviceSynchronize();
    for (size_t i = 0; i < run->graph_count; i++) cudaGraphExecDestroy(run->graphs[i].exec);
    for (Slot &slot : run->slots) {
        for (cudaEvent_t event : {slot.copy_begin, slot.copied, slot.begin, slot.done})
            if (event) cudaEventDestroy(event);
        cudaFree(slot.input);
    }
    if (run->compute) cudaStreamDestroy(run->compute);
    if (run->copy) cudaStreamDestroy(run->copy);
    for (void *memory : {run->workspace, run->to, run->from, run->weights}) cudaFree(memory);
    cudaGetLastError();
    free(run);
}

int open_run(const rue_cuda_plan *plan, rue_cuda_run **out, char *message)
{
    rue_cuda_run *run = (rue_cuda_run *)calloc(1, sizeof *run);
    if (!run) return set_message(message, RUE_CUDA_FAILED, "out of memory");
    run->precision = plan->precision;
    run->input = plan->input;
    int status = allocate_run(run, plan, message);
    if (status == RUE_CUDA_OK) status = OF_PRECISION(run->precision, fill_all, run, plan, message);
    if (status == RUE_CUDA_OK) status = add_plan(run, plan, message);
    if (status != RUE_CUDA_OK) return close_run(run), status;
    *out = run;
    return RUE_CUDA_OK;
}

int enqueue_images(rue_cuda_run *run, const Graph *graph, Slot *slot, const void *images, char *message)
{
    TRY(cudaStreamWaitEvent(run->copy, slot->done, 0));
    TRY(cudaEventRecord(slot->copy_begin, run->copy));
    TRY(cudaMemcpyAsync(slot->input, images, graph->input_elements * input_bytes(&run->input),
                        cudaMemcpyHostToDevice, run->copy));
    TRY(cudaEventRecord(slot->copied, run->copy));
    TRY(cudaStreamWaitEvent(run->compute, slot->copied, 0));
    TRY(cudaEventRecord(slot->begin, run->compute));
    TRY_OURS(OF_PRECISION(run->precision, load_slot, run, slot, graph->input_elements, message));
    TRY(cudaGraphLaunch(graph->exec, run->compute));
    TRY(cudaEventRecord(slot->done, run->compute));
    return RUE_CUDA_OK;
}

int submit_input(rue_cuda_run *run, const void *images, uint32_t count, uint64_t *ticket, char *message)
{
    Slot *slot = &run->slots[run->submitted % SLOTS];
    const Graph *graph = run->graphs;
    while (graph < run->graphs + run->graph_count && graph->images != count) graph++;
    if (graph == run->graphs + run->graph_count)
        return set_message(message, RUE_CUDA_FAILED, "the batch size was not prepared");
    int status = enqueue_images(run, graph, slot, images, message);
    /* The caller will not wait for this batch, so reading its images must end now. */
    if (status != RUE_CUDA_OK) return cudaStreamSynchronize(run->copy), status;
    *ticket = run->submitted++;
    return RUE_CUDA_OK;
}

int wait_for_input(rue_cuda_run *run, uint64_t ticket, char *message)
{
    Slot *slot = &run->slots[ticket % SLOTS];
    float copy_ms = 0, compute_ms = 0;
    TRY(cudaEventSynchronize(slot->done));
    TRY(cudaEventElapsedTime(&copy_ms, slot->copy_begin, slot->copied));
    TRY(cudaEventElapsedTime(&compute_ms, slot->begin, slot->done));
    run->times.batches++;
    run->times.copy_ns += (uint64_t)(copy_ms * 1e6);
    run->times.compute_ns += (uint64_t)(compute_ms * 1e6);
    return RUE_CUDA_OK;
}

void get_times(const rue_cuda_run *run, rue_cuda_times *out)
{
    *out = run->times;
}

int pin_memory(void *memory, size_t bytes, char *message)
{
    cudaError_t pinned = cudaHostRegister(memory, bytes, cudaHostRegisterDefault);
    if (pinned == cudaSuccess) return RUE_CUDA_OK;
    int status = fail_cuda(message, pinned, "cudaHostRegister");
    return status == RUE_CUDA_NO_MEMORY ? set_message(message, status, "cannot page-lock more host memory")
                                        : status;
}

void unpin_memory(void *memory)
{
    cudaHostUnregister(memory);
    cudaGetLastError();
}

} // namespace

extern "C" __attribute__((visibility("default"))) const struct rue_cuda_module *rue_cuda_module(void)
{
    static const struct rue_cuda_module module = {
        RUE_CUDA_MODULE_VERSION, get_device, open_run,  add_plan,   submit_input,
        wait_for_input,          get_times,  close_run, pin_memory, unpin_memory};
    return &module;
}
