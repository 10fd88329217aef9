/* A module in place of rue_cuda.so: it computes by sleeping, and refuses what a GPU would not bear. The
 * environment says what it is like: FAKE_CUDA_BYTES of memory, FAKE_CUDA_DEVICE=none, FAKE_CUDA_SLOWER,
 * FAKE_CUDA_VERSION, FAKE_CUDA_LOST=N: batch N is lost, FAKE_CUDA_PINS=N: so many slabs can be pinned,
 * FAKE_CUDA_PAGEABLE_NS: the copy of an image that is not pinned holds the GPU up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cuda_module.h"

enum { SIZES_MAX = 4, PINNED_MAX = 1024, COPY_NS = 1000, IMAGE_NS = 20000, BATCH_NS = 100000 };

struct rue_cuda_run {
    size_t size_count;
    uint32_t sizes[SIZES_MAX];
    uint64_t from_elements, to_elements;
    size_t input_bytes; /* of an element */
    uint64_t submitted, landed;
    uint64_t end_ns; /* of all that was submitted */
    uint64_t ends_ns[RUE_CUDA_IN_FLIGHT];
    struct rue_cuda_times times;
};

static const void *pinned[PINNED_MAX];

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int tell(char *message, int status, const char *text)
{
    snprintf(message, RUE_CUDA_MESSAGE_BYTES, "%s", text);
    return status;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *number = getenv(name);
    return number ? strtoull(number, NULL, 10) : otherwise;
}

static uint64_t memory_bytes(void)
{
    return number_of("FAKE_CUDA_BYTES", UINT64_MAX);
}

static int get_device(struct rue_cuda_device *out, char *message)
{
    const char *device = getenv("FAKE_CUDA_DEVICE"), *slower = getenv("FAKE_CUDA_SLOWER");
    if (device && strcmp(device, "none") == 0)
        return tell(message, RUE_CUDA_NO_DEVICE, "the NVIDIA driver finds no GPU");
    *out = (struct rue_cuda_device){
        .name = "a GPU of the tests", .bytes = memory_bytes(), .free_bytes = memory_bytes()};
    snprintf(out->slower, sizeof out->slower, "%s", slower ? slower : "");
    return RUE_CUDA_OK;
}

static size_t input_bytes(const struct rue_cuda_plan *plan)
{
    return plan->input.dtype ? 1 : 4;
}

static int add(struct rue_cuda_run *run, const struct rue_cuda_plan *plan, char *message)
{
    if (plan->from_elements > run->from_elements || plan->to_elements > run->to_elements)
        return tell(message, RUE_CUDA_FAILED, "a smaller batch needs more room");
    if (input_bytes(plan) != run->input_bytes)
        return tell(message, RUE_CUDA_FAILED, "a smaller batch is of another type");
    run->sizes[run->size_count++] = plan->images;
    return RUE_CUDA_OK;
}

static int open_run(const struct rue_cuda_plan *plan, struct rue_cuda_run **out, char *message)
{
    size_t element = plan->precision ? 2 : 4;
    uint64_t needed = (plan->weight_elements + plan->from_elements + plan->to_elements) * element +
                      2 * plan->input_elements * input_bytes(plan);
    if (needed > memory_bytes()) return tell(message, RUE_CUDA_NO_MEMORY, "out of the GPU's memory");
    *out = calloc(1, sizeof **out);
    (*out)->from_elements = plan->from_elements;
    (*out)->to_elements = plan->to_elements;
    (*out)->input_bytes = input_bytes(plan);
    return add(*out, plan, message);
}

static int is_pinned(const void *memory)
{
    for (size_t i = 0; i < PINNED_MAX; i++)
        if (pinned[i] == memory) return 1;
    return 0;
}

/* Copies take longer from memory that is not pinned, and a fourth as long of levels. */
static int submit(struct rue_cuda_run *run, const void *images, uint32_t count, uint64_t *ticket,
                  char *message)
{
    size_t size = 0;
    const char *lost = getenv("FAKE_CUDA_LOST");
    while (size < run->size_count && run->sizes[size] != count) size++;
    if (size == run->size_count) return tell(message, RUE_CUDA_FAILED, "an unknown size");
    if (run->submitted - run->landed == RUE_CUDA_IN_FLIGHT)
        return tell(message, RUE_CUDA_FAILED, "too many batches in flight");
    if (lost && strtoull(lost, NULL, 10) == run->submitted)
        return tell(message, RUE_CUDA_FAILED, "the GPU fell off the bus");
    uint64_t image_ns = IMAGE_NS + (is_pinned(images) ? 0 : number_of("FAKE_CUDA_PAGEABLE_NS", 0));
    uint64_t now = now_ns(), begin = run->end_ns > now ? run->end_ns : now;
    run->end_ns = begin + BATCH_NS + count * image_ns;
    run->ends_ns[run->submitted % RUE_CUDA_IN_FLIGHT] = run->end_ns;
    run->times.copy_ns += (is_pinned(images) ? COPY_NS : 10 * COPY_NS) * run->input_bytes / 4;
    run->times.compute_ns += run->end_ns - begin;
    *ticket = run->submitted++;
    return RUE_CUDA_OK;
}

static int wait_for(struct rue_cuda_run *run, uint64_t ticket, char *message)
{
    if (ticket != run->landed) return tell(message, RUE_CUDA_FAILED, "waited for out of order");
    uint64_t end = run->ends_ns[ticket % RUE_CUDA_IN_FLIGHT];
    struct timespec until = {(time_t)(end / 1000000000), (long)(end % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    run->landed++;
    run->times.batches++;
    return RUE_CUDA_OK;
}

static void get_times(const struct rue_cuda_run *run, struct rue_cuda_times *out)
{
    *out = run->times;
}

static void close_run(struct rue_cuda_run *run)
{
    free(run);
}

static int pin(void *memory, size_t bytes, char *message)
{
    if (bytes % 4096) return tell(message, RUE_CUDA_FAILED, "no whole pages");
    for (size_t i = 0, count = number_of("FAKE_CUDA_PINS", PINNED_MAX); i < count; i++)
        if (!pinned[i]) return pinned[i] = memory, RUE_CUDA_OK;
    return tell(message, RUE_CUDA_NO_MEMORY, "no more memory can be pinned");
}

static void unpin(void *memory)
{
    for (size_t i = 0; i < PINNED_MAX; i++)
        if (pinned[i] == memory) pinned[i] = NULL;
}

__attribute__((visibility("default"))) const struct rue_cuda_module *rue_cuda_module(void)
{
    static struct rue_cuda_module module = {.version = RUE_CUDA_MODULE_VERSION,
                                            .device = get_device,
                                            .open = open_run,
                                            .add = add,
                                            .submit = submit,
                                            .wait = wait_for,
                                            .times = get_times,
                                            .close = close_run,
                                            .pin = pin,
                                            .unpin = unpin};
    const char *version = getenv("FAKE_CUDA_VERSION");
    if (version) module.version = (uint32_t)strtoul(version, NULL, 10);
    return &module;
}
