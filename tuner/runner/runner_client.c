#include "runner_client.h"

#include <stdlib.h>

#include "interrupt.h"
#include "runner_connection.h"
#include "runner_farm.h"

/* One of the three answers. */
struct rue_runner {
    bool farm; /* the members of `group` make trials each by itself */
    struct rue_connection *one;
    struct rue_runner_group *group;
    const struct rue_local_runner *local;
    const void *state;      /* the argument of `local` */
    struct rue_hello hello; /* of `local` */
};

rue_status rue_runner_open(const struct rue_runner_address *address, const struct rue_gpu_list *gpus,
                           struct rue_runner **out, rue_error *error)
{
    struct rue_runner *runner = calloc(1, sizeof *runner);
    if (!runner) return rue_fail_memory(error, "a runner", sizeof *runner);
    bool several = gpus || address->launch;
    runner->farm = address->farm;
    rue_status status = several ? rue_runner_group_open(address, gpus, &runner->group, error)
                                : rue_connection_open(address, NULL, -1, &runner->one, error);
    if (status == RUE_OK && !several) status = rue_connection_greet(runner->one, error);
    if (status != RUE_OK) return rue_runner_close(runner), status;
    *out = runner;
    return RUE_OK;
}

rue_status rue_runner_open_local(const struct rue_local_runner *local, const void *state,
                                 struct rue_runner **out, rue_error *error)
{
    struct rue_runner *runner = calloc(1, sizeof *runner);
    if (!runner) return rue_fail_memory(error, "a runner", sizeof *runner);
    runner->local = local;
    runner->state = state;
    local->hello(state, &runner->hello);
    *out = runner;
    return RUE_OK;
}

void rue_runner_close(struct rue_runner *runner)
{
    if (!runner) return;
    if (runner->farm && runner->group) rue_runner_farm_close(runner->group);
    rue_connection_close(runner->one);
    rue_runner_group_close(runner->group);
    free(runner);
}

const struct rue_hello *rue_runner_hello(const struct rue_runner *runner)
{
    return runner->group ? rue_runner_group_hello(runner->group)
           : runner->one ? rue_connection_hello(runner->one)
                         : &runner->hello;
}

struct rue_runner_group *rue_runner_farm(const struct rue_runner *runner)
{
    return runner->farm ? runner->group : NULL;
}

size_t rue_runner_count(const struct rue_runner *runner)
{
    return runner->group ? rue_runner_group_count(runner->group) : 1;
}

rue_status rue_runner_open_data(struct rue_runner *runner, const struct rue_variant *variant,
                                const struct rue_workload *workload, uint64_t images, struct rue_opened *out,
                                rue_error *error)
{
    *out = (struct rue_opened){.cache = RUE_CACHE_AS_IS};
    if (runner->local) return runner->local->open(runner->state, variant, out), RUE_OK;
    if (runner->group)
        return rue_runner_group_open_data(runner->group, variant, workload, images, out, error);
    rue_status status = rue_connection_begin_open(runner->one, variant, workload, images, error);
    return status == RUE_OK ? rue_connection_finish_open(runner->one, variant, workload, out, error) : status;
}

rue_status rue_runner_trial(struct rue_runner *runner, struct rue_trial_request *request, const char *profile,
                            uint64_t timeout_ns, struct rue_trial_result *result, rue_error *error)
{
    *result = rue_trial_result_empty();
    result->config = request->config;
    if (rue_interrupt_status() != RUE_OK) return rue_fail(error, rue_interrupt_status(), "interrupted");
    if (runner->local) return runner->local->trial(runner->state, request, result), RUE_OK;
    if (runner->farm) { /* any node; the first one, so that such trials are comparable */
        rue_status status = rue_runner_farm_begin(runner->group, 0, request, profile, timeout_ns, error);
        return status == RUE_OK ? rue_runner_farm_finish(runner->group, 0, result, error) : status;
    }
    if (runner->group)
        return rue_runner_group_trial(runner->group, request, profile, timeout_ns, result, error);
    rue_status status = rue_connection_begin(runner->one, request, profile, timeout_ns, error);
    return status == RUE_OK ? rue_connection_finish(runner->one, result, error) : status;
}

bool rue_runner_was_suspended(const struct rue_runner *runner)
{
    if (runner->farm) return rue_runner_farm_was_suspended(runner->group, 0);
    if (runner->group) return rue_runner_group_was_suspended(runner->group);
    return runner->one && rue_connection_was_suspended(runner->one);
}
