#include "model_sleep.h"

#include <inttypes.h>
#include <stdlib.h>

#include "clock.h"

struct sleeper {
    struct rue_profile profile;
    uint64_t end_ns; /* when the device finishes the last submitted batch */
    uint64_t overshoot_ns;
};

static rue_status fail_large_batch(const struct rue_profile *profile, size_t images, rue_error *error)
{
    return rue_fail(error, RUE_INFEASIBLE,
                    "a batch of %zu images does not fit into the memory of %s, which holds at most %" PRIu64
                    " of %s; use smaller batches",
                    images, profile->device[0] ? profile->device : "its device", profile->largest_batch,
                    profile->name);
}

/* The ticket is the time at which the batch is finished. */
static rue_status submit_sleep(void *state, const struct rue_batch *batch, uint64_t *ticket, rue_error *error)
{
    struct sleeper *sleeper = state;
    const struct rue_profile *profile = &sleeper->profile;
    if (profile->largest_batch && batch->count > profile->largest_batch)
        return fail_large_batch(profile, batch->count, error);
    uint64_t now = rue_clock_now_ns();
    *ticket = sleeper->end_ns =
        (sleeper->end_ns > now ? sleeper->end_ns : now) + rue_profile_batch_ns(profile, batch->count);
    return RUE_OK;
}

static rue_status wait_until(void *state, uint64_t ticket, rue_error *error)
{
    (void)error;
    struct sleeper *sleeper = state;
    if (rue_clock_now_ns() >= ticket) return RUE_OK;
    rue_clock_wait_until(ticket);
    sleeper->overshoot_ns += rue_clock_now_ns() - ticket;
    return RUE_OK;
}

static uint64_t overshoot_ns(const void *state)
{
    return ((const struct sleeper *)state)->overshoot_ns;
}

static const struct rue_model_ops sleep_ops = {
    .name = "sleep", .submit = submit_sleep, .wait = wait_until, .overshoot_ns = overshoot_ns, .close = free};

rue_status rue_model_sleep_open(const struct rue_profile *profile, struct rue_model *out, rue_error *error)
{
    struct sleeper *sleeper = calloc(1, sizeof *sleeper);
    if (!sleeper) return rue_fail_memory(error, "a sleeping model", sizeof *sleeper);
    sleeper->profile = *profile;
    *out = (struct rue_model){.ops = &sleep_ops, .state = sleeper};
    return RUE_OK;
}
