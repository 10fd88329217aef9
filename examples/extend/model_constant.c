#include "model_constant.h"

#include "clock.h"

enum { BATCH_NS = 2000000 };

/* The ticket is the time at which the batch is finished. */
static rue_status submit(void *state, const struct rue_batch *batch, uint64_t *ticket, rue_error *error)
{
    (void)state, (void)batch, (void)error;
    *ticket = rue_clock_now_ns() + BATCH_NS;
    return RUE_OK;
}

static rue_status wait_until(void *state, uint64_t ticket, rue_error *error)
{
    (void)state, (void)error;
    rue_clock_wait_until(ticket);
    return RUE_OK;
}

static void close_nothing(void *state)
{
    (void)state;
}

struct rue_model rue_model_constant(void)
{
    static const struct rue_model_ops ops = {
        .name = "constant", .submit = submit, .wait = wait_until, .close = close_nothing};
    return (struct rue_model){.ops = &ops};
}
