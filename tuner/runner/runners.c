#include "runners.h"

#include <stdlib.h>

#include "runner_members.h"
#include "runner_node.h"
#include "runner_team.h"

/* ---- one loader ---- */

static const struct rue_hello *connection_hello(const void *state)
{
    return rue_connection_hello(state);
}

static rue_status connection_begin_open(void *state, const struct rue_variant *variant,
                                        const struct rue_workload *workload, uint64_t images,
                                        rue_error *error)
{
    return rue_connection_begin_open(state, variant, workload, images, error);
}

static rue_status connection_finish_open(void *state, const struct rue_variant *variant,
                                         const struct rue_workload *workload, struct rue_opened *out,
                                         rue_error *error)
{
    return rue_connection_finish_open(state, variant, workload, out, error);
}

static rue_status connection_trial(void *state, struct rue_trial_request *request, const char *profile,
                                   uint64_t timeout_ns, struct rue_trial_result *result, rue_error *error)
{
    rue_status status = rue_connection_begin(state, request, profile, timeout_ns, error);
    return status == RUE_OK ? rue_connection_finish(state, result, error) : status;
}

static bool connection_was_suspended(const void *state)
{
    return rue_connection_was_suspended(state);
}

static void connection_close(void *state)
{
    rue_connection_close(state);
}

static const struct rue_runner_ops connection_ops = {
    .hello = connection_hello,
    .begin_open = connection_begin_open,
    .finish_open = connection_finish_open,
    .trial = connection_trial,
    .was_suspended = connection_was_suspended,
    .close = connection_close,
};

/* ---- all of them ---- */

static rue_status add_runners(struct rue_runners *runners, size_t count, rue_error *error)
{
    runners->at = calloc(count, sizeof *runners->at);
    if (!runners->at) return rue_fail_memory(error, "runners", count * sizeof *runners->at);
    runners->count = count;
    return RUE_OK;
}

/* A farm: each rank is a runner. A team: all are one. */
static rue_status open_group(struct rue_runners *runners, const struct rue_runner_address *address,
                             struct rue_deployment *deployment, rue_error *error)
{
    rue_status status = rue_members_open(address, deployment, &runners->group, error);
    if (status != RUE_OK) return status;
    size_t total = runners->group->total;
    bool farm = deployment->launcher.farm;
    status = add_runners(runners, farm ? total : 1, error);
    if (status != RUE_OK) return status;
    *(farm ? &deployment->nodes : runners->group->launch ? &deployment->ranks : &deployment->gpus) = total;
    runners->at[0] = (struct rue_runner){.ops = &rue_runner_team, .state = runners->group};
    for (size_t i = 0; farm && i < total; i++)
        runners->at[i] = (struct rue_runner){.ops = &rue_runner_node,
                                             .state = &runners->group->members[i],
                                             .concurrent = true,
                                             .rank = rue_launch_rank(runners->group->launch, i)};
    return RUE_OK;
}

rue_status rue_runners_open_one(const struct rue_runner_ops *ops, void *state, struct rue_runners **out,
                                rue_error *error)
{
    struct rue_runners *runners = calloc(1, sizeof *runners);
    rue_status status =
        runners ? add_runners(runners, 1, error) : rue_fail_memory(error, "a runner", sizeof *runners);
    if (status != RUE_OK) {
        if (ops->close) ops->close(state);
        rue_runners_close(runners);
        return status;
    }
    runners->at[0] = (struct rue_runner){.ops = ops, .state = state};
    runners->hello = ops->hello(state);
    *out = runners;
    return RUE_OK;
}

static rue_status open_connection(const struct rue_runner_address *address, struct rue_runners **out,
                                  rue_error *error)
{
    struct rue_connection *connection = NULL;
    rue_status status = rue_connection_open(address, NULL, -1, &connection, error);
    if (status == RUE_OK) status = rue_connection_greet(connection, error);
    if (status == RUE_OK) return rue_runners_open_one(&connection_ops, connection, out, error);
    rue_connection_close(connection);
    return status;
}

rue_status rue_runners_open(const struct rue_runner_address *address, struct rue_deployment *deployment,
                            struct rue_runners **out, rue_error *error)
{
    if (!rue_deployment_is_several(deployment)) return open_connection(address, out, error);
    struct rue_runners *runners = calloc(1, sizeof *runners);
    if (!runners) return rue_fail_memory(error, "runners", sizeof *runners);
    rue_status status = open_group(runners, address, deployment, error);
    if (status != RUE_OK) return rue_runners_close(runners), status;
    runners->hello = runners->at[0].ops->hello(runners->at[0].state);
    *out = runners;
    return RUE_OK;
}

void rue_runners_close(struct rue_runners *runners)
{
    if (!runners) return;
    for (size_t i = 0; i < runners->count; i++) /* they end in parallel */
        if (runners->at[i].work && runners->at[i].ops->interrupt)
            runners->at[i].ops->interrupt(runners->at[i].state);
    for (size_t i = 0; i < runners->count; i++) rue_runner_close(&runners->at[i]);
    rue_members_close(runners->group);
    free(runners->at);
    free(runners);
}

rue_status rue_runners_open_data(struct rue_runners *runners, const struct rue_variant *variant,
                                 const struct rue_workload *workload, uint64_t images, struct rue_opened *out,
                                 rue_error *error)
{
    rue_status status = RUE_OK;
    *out = (struct rue_opened){.cache = RUE_CACHE_AS_IS};
    for (size_t i = 0; status == RUE_OK && i < runners->count; i++)
        status = runners->at[i].ops->begin_open(runners->at[i].state, variant, workload, images, error);
    for (size_t i = 0; status == RUE_OK && i < runners->count; i++) {
        struct rue_opened opened = {.cache = RUE_CACHE_AS_IS};
        status = runners->at[i].ops->finish_open(runners->at[i].state, variant, workload, &opened, error);
        if (status == RUE_OK && i == 0) *out = opened;
        if (status == RUE_OK && i > 0)
            status = rue_member_merge_opened(runners->at[i].state, &opened, out, error);
    }
    return status;
}
