#include "deployment.h"

#include <inttypes.h>
#include <stdio.h>

#define ROW(name, member)                                            \
    {                                                                \
        name, RUE_FIELD_NUMBER, RUE_FIELD_AT(rue_deployment, member) \
    }
const struct rue_field rue_deployment_fields[] = {ROW("GPUs", gpus), ROW("ranks", ranks), {0}};
#undef ROW

uint64_t rue_deployment_loaders(const struct rue_deployment *deployment)
{
    uint64_t loaders = deployment->gpus ? deployment->gpus : deployment->ranks;
    return loaders ? loaders : 1;
}

uint64_t rue_deployment_most_ranks(const struct rue_deployment *deployment)
{
    const struct rue_rank_numbers *numbers = &deployment->numbers;
    return numbers->count ? (uint64_t)numbers->at[numbers->count - 1] : deployment->ranks;
}

struct rue_deployment rue_deployment_stored(const struct rue_workload *workload, bool launched)
{
    uint64_t loaders = rue_workload_loaders(workload);
    if (launched) return (struct rue_deployment){.ranks = loaders};
    return (struct rue_deployment){.gpus = loaders > 1 ? loaders : 0};
}

struct rue_deployment rue_deployment_for(const struct rue_deployment *deployment,
                                         const struct rue_workload *workload)
{
    uint64_t loaders = (uint64_t)workload->world_size;
    return (struct rue_deployment){.gpus = deployment->gpus ? loaders : 0,
                                   .ranks = deployment->ranks ? loaders : 0};
}

void rue_deployment_apply(const struct rue_deployment *deployment, struct rue_workload *workload)
{
    if (deployment->world_size) {
        workload->rank = deployment->rank;
        workload->world_size = deployment->world_size;
        workload->remote_ranks = deployment->world_size > 1;
    }
    if (!workload->remote_ranks && (deployment->gpus || deployment->ranks))
        workload->world_size = (int)rue_deployment_loaders(deployment);
}

bool rue_deployment_equal(const struct rue_deployment *a, const struct rue_deployment *b)
{
    for (const struct rue_field *field = rue_deployment_fields; field->name; field++)
        if (rue_field_number(field, a) != rue_field_number(field, b)) return false;
    return true;
}

const char *rue_deployment_say(const struct rue_deployment *deployment, const struct rue_workload *workload,
                               const char *space, char out[RUE_DEPLOYMENT_TEXT_BYTES])
{
    uint64_t loaders = deployment->gpus ? deployment->gpus : deployment->ranks + deployment->nodes;
    const char *noun = deployment->gpus ? "GPU" : "rank", *which = "each";
    if (deployment->nodes > 1) noun = "node", which = "one";
    out[0] = 0;
    if (workload && workload->remote_ranks)
        snprintf(out, RUE_DEPLOYMENT_TEXT_BYTES, " of rank %d of %d", workload->rank, workload->world_size);
    else if (loaders && !deployment->numbers.count)
        snprintf(out, RUE_DEPLOYMENT_TEXT_BYTES, " on %s of %" PRIu64 "%s%s%s", which, loaders, space, noun,
                 loaders == 1 ? "" : "s");
    return out;
}
