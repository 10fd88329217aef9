#include "runners.h"

#include <stdlib.h>

#include "runner_members.h"
#include "runner_team.h"

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
    if (farm) runners->nodes = calloc(total, sizeof *runners->nodes);
    if (farm && !runners->nodes) return rue_fail_memory(error, "runners", total * sizeof *runners->nodes);
    status = add_runners(runners, farm ? total : 1, error);
    if (status != RUE_OK) return status;
    *(farm ? &deployment->nodes : &deployment->ranks) = runners->group->launch ? total : 0;
    deployment->gpus = runners->group->gpus.count;
    runners->at[0] = (struct rue_runner){.ops = &rue_runner_team, .state = runners->group};
    for (size_t i = 0; farm && i < total; i++) {
        runners->nodes[i] = rue_members_node(runners->group, i);
        runners->at[i] = (struct rue_runner){.ops = &rue_runner_node,
                                             .state = &runners->nodes[i],
                                             .concurrent = true,
                                             .rank = rue_launch_rank(runners->group->launch, i)};
    }
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

rue_status rue_runners_open(const struct rue_runner_address *address, struct rue_deployment *deployment,
                            struct rue_runners **out, rue_error *error)
{
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
    free(runners->nodes);
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
            status = rue_member_merge_opened(runners->nodes[i].members, &opened, out, error);
    }
    return status;
}
