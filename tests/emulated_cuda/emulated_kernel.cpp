/* Kernels: all threads of a block, one after the other. One that comes to a barrier stays on its stack, and
 * the next begins on another. */
#undef _FORTIFY_SOURCE /* longjmp goes from stack to stack here */
#include <limits.h>
#include <setjmp.h>
#include <ucontext.h>

#if defined(__has_feature)
#    if __has_feature(address_sanitizer)
#        define __SANITIZE_ADDRESS__
#    endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#    include <sanitizer/common_interface_defs.h>
#else
static void __sanitizer_start_switch_fiber(void **, const void *, size_t) {}
static void __sanitizer_finish_switch_fiber(void *, const void **, size_t *) {}
#endif

#include "emulator.hpp"

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace
{

constexpr size_t stack_bytes = 64 << 10;

struct Fiber {
    std::unique_ptr<char[]> stack{new char[stack_bytes]};
    jmp_buf here;
    void *fake_stack = nullptr;
    bool begun = false;
    unsigned thread = 0; /* which it runs */
};

/* The block that runs. */
struct Block {
    const std::function<void()> *work;
    unsigned threads, next, finished;
    bool backwards;
};

std::vector<std::unique_ptr<Fiber>> fibers;
std::vector<Fiber *> idle, parked;
Fiber *current;
Block block;
jmp_buf scheduler;
void *scheduler_fake_stack;
const void *scheduler_stack;
size_t scheduler_stack_bytes;

void to_scheduler()
{
    Fiber *self = current;
    __sanitizer_start_switch_fiber(&self->fake_stack, scheduler_stack, scheduler_stack_bytes);
    if (_setjmp(self->here) == 0) _longjmp(scheduler, 1);
    __sanitizer_finish_switch_fiber(self->fake_stack, &scheduler_stack, &scheduler_stack_bytes);
}

void set_thread(unsigned thread)
{
    current->thread = thread;
    threadIdx = dim3(thread);
}

/* Takes threads that did not begin yet; one that parks it comes back here at its end. */
void run_threads()
{
    __sanitizer_finish_switch_fiber(nullptr, &scheduler_stack, &scheduler_stack_bytes);
    for (;;) {
        while (block.next < block.threads) {
            unsigned number = block.next++;
            set_thread(block.backwards ? block.threads - 1 - number : number);
            (*block.work)();
            block.finished++;
        }
        idle.push_back(current);
        to_scheduler();
    }
}

void switch_to(Fiber *fiber)
{
    current = fiber;
    threadIdx = dim3(fiber->thread);
    __sanitizer_start_switch_fiber(&scheduler_fake_stack, fiber->stack.get(), stack_bytes);
    if (_setjmp(scheduler) == 0) {
        if (fiber->begun) _longjmp(fiber->here, 1);
        ucontext_t context;
        getcontext(&context);
        context.uc_stack.ss_sp = fiber->stack.get();
        context.uc_stack.ss_size = stack_bytes;
        context.uc_link = nullptr;
        makecontext(&context, run_threads, 0);
        fiber->begun = true;
        setcontext(&context);
    }
    __sanitizer_finish_switch_fiber(scheduler_fake_stack, nullptr, nullptr);
}

Fiber *find_idle()
{
    if (idle.empty()) {
        fibers.push_back(std::make_unique<Fiber>());
        idle.push_back(fibers.back().get());
    }
    Fiber *fiber = idle.back();
    idle.pop_back();
    return fiber;
}

void run_block()
{
    while (block.next < block.threads) switch_to(find_idle());
    while (!parked.empty()) {
        if (block.finished) violation("some threads of a block left while others wait at a barrier");
        std::vector<Fiber *> waiting;
        waiting.swap(parked);
        bool backwards = draw(2);
        for (size_t i = 0; i < waiting.size(); i++)
            switch_to(waiting[backwards ? waiting.size() - 1 - i : i]);
    }
}

} // namespace

void __syncthreads()
{
    parked.push_back(current);
    to_scheduler();
}

void run_grid(const std::function<void()> &thread, dim3 grid, dim3 threads)
{
    bool backwards = draw(2);
    gridDim = grid, blockDim = threads;
    for (unsigned i = 0; i < grid.x; i++) {
        blockIdx = dim3(backwards ? grid.x - 1 - i : i);
        block = {&thread, threads.x, 0, 0, draw(2) != 0};
        run_block();
    }
}

cudaError_t emulated_launch(std::function<void()> thread, dim3 grid, dim3 threads, size_t,
                            cudaStream_t stream)
{
    if (cudaError_t entered = enter("cudaLaunchKernel", PLAIN)) return entered;
    bool flat = grid.y == 1 && grid.z == 1 && threads.y == 1 && threads.z == 1; /* as all of ours are */
    if (!flat || grid.x < 1 || grid.x > INT_MAX || threads.x < 1 || threads.x > 1024)
        return give(cudaErrorInvalidConfiguration);
    enqueue(
        stream,
        [=] {
            if (!device().skip) run_grid(thread, grid, threads);
        },
        EMULATED_CUDA_KERNEL_NS);
    return cudaSuccess;
}
