/* Streams, events and graphs: what is done when. */
#include <algorithm>

#include "emulator.hpp"

/* ---- operations ---- */

OperationPointer enqueue(cudaStream_t given, std::function<void()> work, uint64_t cost_ns,
                         OperationPointer after)
{
    emulated_stream *stream = given ? given : &device().null_stream;
    if (stream->capturing) {
        stream->capturing->nodes.push_back({std::move(work), cost_ns});
        return nullptr;
    }
    auto operation = std::make_shared<Operation>();
    operation->work = std::move(work);
    operation->cost_ns = cost_ns;
    auto wait_for = [&](const OperationPointer &other) {
        if (other) operation->after.push_back(other);
    };
    wait_for(stream->last);
    wait_for(after);
    if (!given)
        for (emulated_stream *other : device().streams) wait_for(other->blocking ? other->last : nullptr);
    else if (stream->blocking)
        wait_for(device().null_stream.last);
    stream->last = operation;
    device().pending.push_back(operation);
    return operation;
}

/* First what it waits for, in any order. */
static void perform(const OperationPointer &operation)
{
    if (operation->done) return;
    while (!operation->after.empty()) {
        size_t next = draw(operation->after.size());
        OperationPointer other = operation->after[next];
        perform(other);
        operation->end_ns = std::max(operation->end_ns, other->end_ns);
        operation->after.erase(operation->after.begin() + (ptrdiff_t)next);
    }
    if (operation->work) operation->work();
    operation->work = nullptr;
    operation->end_ns += operation->cost_ns;
    operation->done = true;
}

void finish(const OperationPointer &operation)
{
    if (operation->done) return;
    perform(operation);
    auto &pending = device().pending;
    pending.erase(std::remove_if(pending.begin(), pending.end(),
                                 [](const OperationPointer &other) { return other->done; }),
                  pending.end());
}

void finish_all()
{
    while (!device().pending.empty())
        finish(OperationPointer(device().pending[draw(device().pending.size())]));
}

void lose_work()
{
    for (const OperationPointer &operation : device().pending) operation->work = nullptr;
    finish_all();
}

/* ---- streams ---- */

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
    ENTER(PLAIN);
    *out = new emulated_stream;
    (*out)->blocking = !(flags & cudaStreamNonBlocking);
    device().streams.push_back(*out);
    return cudaSuccess;
}

/* What is in it goes on. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    cudaError_t entered = enter(__func__, PLAIN);
    auto &streams = device().streams;
    auto found = std::find(streams.begin(), streams.end(), stream);
    if (found == streams.end()) violation("cudaStreamDestroy of what is no stream");
    streams.erase(found);
    if (stream->capturing) delete stream->capturing, device().graphs--;
    delete stream;
    return entered;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    cudaError_t entered = enter(__func__, FORBIDDEN_IN_CAPTURE);
    const OperationPointer last = stream ? stream->last : device().null_stream.last;
    if (last) finish(last);
    return entered;
}

/* Of an event that was never recorded: nothing. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned)
{
    ENTER(PLAIN);
    if (!event) return give(cudaErrorInvalidResourceHandle);
    if (stream && stream->capturing)
        violation("an event is waited for in a stream that captures: not emulated");
    if (event->recorded) enqueue(stream, nullptr, 0, event->recorded);
    return cudaSuccess;
}

/* ---- events ---- */

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
    ENTER(PLAIN);
    *out = new emulated_event;
    device().events++;
    return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    cudaError_t entered = enter(__func__, PLAIN);
    delete event;
    device().events--;
    return entered;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    ENTER(PLAIN);
    if (!event) return give(cudaErrorInvalidResourceHandle);
    if (stream && stream->capturing)
        violation("an event is recorded in a stream that captures: not emulated");
    event->recorded = enqueue(stream, nullptr, 0);
    return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    cudaError_t entered = enter(__func__, FORBIDDEN_IN_CAPTURE);
    if (!event) return give(cudaErrorInvalidResourceHandle);
    if (event->recorded) finish(event->recorded);
    return entered;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
    ENTER(PLAIN);
    if (!begin || !end || !begin->recorded || !end->recorded) return give(cudaErrorInvalidResourceHandle);
    if (!begin->recorded->done || !end->recorded->done) return give(cudaErrorNotReady);
    *ms = (float)((double)(int64_t)(end->recorded->end_ns - begin->recorded->end_ns) / 1e6);
    return cudaSuccess;
}

/* ---- graphs ---- */

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode)
{
    ENTER(PLAIN);
    if (!stream || stream->capturing) return give(cudaErrorStreamCaptureUnsupported);
    if (mode != cudaStreamCaptureModeThreadLocal)
        violation("a capture that other threads can disturb: the loader has some");
    stream->capturing = new emulated_graph;
    stream->invalidated = false;
    device().graphs++;
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *out)
{
    cudaError_t entered = enter(__func__, PLAIN);
    *out = nullptr;
    if (!stream || !stream->capturing) return give(cudaErrorStreamCaptureUnmatched);
    emulated_graph *graph = std::exchange(stream->capturing, nullptr);
    if (entered == cudaSuccess && !stream->invalidated) return *out = graph, cudaSuccess;
    delete graph;
    device().graphs--;
    return give(entered ? entered : cudaErrorStreamCaptureInvalidated);
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    cudaError_t entered = enter(__func__, PLAIN);
    delete graph;
    device().graphs--;
    return entered;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t *out, cudaGraph_t graph, unsigned long long)
{
    ENTER(PLAIN);
    *out = new emulated_graph_exec{std::make_shared<std::vector<Node>>(graph->nodes)};
    device().graphs++;
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    ENTER(PLAIN);
    if (!exec) return give(cudaErrorInvalidValue);
    if (stream && stream->capturing) violation("a graph is launched in a stream that captures: not emulated");
    uint64_t cost_ns = 0;
    for (const Node &node : *exec->nodes) cost_ns += node.cost_ns;
    auto nodes = exec->nodes;
    enqueue(
        stream,
        [nodes] {
            for (const Node &node : *nodes) node.work();
            if (device().graph_done) device().graph_done();
        },
        cost_ns);
    return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    cudaError_t entered = enter(__func__, PLAIN);
    delete exec;
    device().graphs--;
    return entered;
}
