#include "runner_members.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_document.h"
#include "note.h"
#include "runner_identity.h"

/* The GPUs that all loaders together see. */
static json_t *visible_gpus(const struct rue_gpu_list *gpus)
{
    char text[RUE_GPU_MAX * (RUE_GPU_NAME_BYTES + 1)] = "";
    size_t used = 0;
    for (size_t i = 0; i < gpus->count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "", gpus->names[i]);
    return json_string(text);
}

/* All loaders must be the same, because their trials count as those of one runner. */
static rue_status check_members(const struct rue_members *group, rue_error *error)
{
    static const char *const keys[] = {"runner", "loader", "clock", "measures", "models", NULL};
    char difference[RUE_IDENTITY_TEXT_BYTES];
    const json_t *first = rue_connection_greeting(group->members[0].connection);
    for (size_t i = 1; i < group->count; i++)
        if (rue_runner_identity_differs(first, rue_connection_greeting(group->members[i].connection), keys,
                                        difference))
            return rue_fail(error, RUE_RUNNER,
                            "the runner on %s answers 'hello' differently from the runner on %s: %s; the "
                            "same runner is needed everywhere",
                            group->members[i].name, group->members[0].name, difference);
    return RUE_OK;
}

/* The first of the loaders on the same node; of loaders on this machine, number 0. */
static size_t find_first(const struct rue_members *group, size_t index)
{
    const char *node = group->members[index].node;
    for (size_t i = 0; i < index; i++)
        if (!node || strcmp(group->members[i].node, node) == 0) return i;
    return index;
}

void rue_member_name(struct rue_members *group, size_t index)
{
    struct rue_member *member = &group->members[index];
    if (group->launch) {
        const struct rue_rank *rank = rue_launch_rank(group->launch, index);
        member->node = rank->node;
        snprintf(member->name, sizeof member->name, "rank %d (%s)", rank->rank, rank->node);
    } else if (group->gpus.count) {
        snprintf(member->name, sizeof member->name, "GPU %s", group->gpus.names[index]);
    } else if (group->total > 1) {
        snprintf(member->name, sizeof member->name, "rank %zu", index);
    }
    member->first = find_first(group, index);
}

static size_t count_on_node(const struct rue_members *group, size_t first)
{
    size_t count = 0;
    for (size_t i = first; i < group->count; i++) count += group->members[i].first == first;
    return count;
}

size_t rue_members_on_node(const struct rue_members *group)
{
    size_t most = 1;
    for (size_t i = 0; i < group->count; i++) {
        size_t count = rue_member_is_first(group, i) ? count_on_node(group, i) : 0;
        if (count > most) most = count;
    }
    return most;
}

static size_t count_nodes(const struct rue_members *group)
{
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) count += rue_member_is_first(group, i);
    return count;
}

/* The CPUs of a loader where they are fewest; 0: not reported. */
static json_int_t share_of_cpus(const struct rue_members *group)
{
    json_int_t least = 0;
    for (size_t i = 0; i < group->count; i++) {
        if (!rue_member_is_first(group, i)) continue;
        const json_t *machine =
            json_object_get(rue_connection_greeting(group->members[i].connection), "machine");
        json_int_t cpus = json_integer_value(json_object_get(machine, "usable_cpus"));
        json_int_t share = cpus / (json_int_t)count_on_node(group, i);
        if (cpus > 0 && share == 0) share = 1;
        if (share > 0 && (least == 0 || share < least)) least = share;
    }
    return least;
}

/* Sets an equal share of the CPUs. */
static void divide_machine(const struct rue_members *group, json_t *machine)
{
    json_int_t share = share_of_cpus(group);
    if (share) json_object_set_new(machine, "usable_cpus", json_integer(share));
    bool together = !group->launcher.farm;
    if (machine && together) json_object_set_new(machine, "loaders", json_integer((json_int_t)group->count));
    if (machine && group->launch && together)
        json_object_set_new(machine, "nodes", json_integer((json_int_t)count_nodes(group)));
    if (group->gpus.count && json_object_get(machine, "visible_gpus"))
        json_object_set_new(machine, "visible_gpus", visible_gpus(&group->gpus));
}

/* The greeting of all is that of the first loader. */
static rue_status merge_greetings(struct rue_members *group, rue_error *error)
{
    rue_status status = check_members(group, error);
    if (status != RUE_OK) return status;
    json_t *greeting = json_deep_copy(rue_connection_greeting(group->members[0].connection));
    if (group->divides) divide_machine(group, json_object_get(greeting, "machine"));
    group->hello = calloc(1, sizeof *group->hello);
    status = greeting && group->hello ? rue_protocol_decode_hello(greeting, group->hello, error)
                                      : rue_fail_memory(error, "a greeting", sizeof *group->hello);
    json_decref(greeting);
    return status;
}

int rue_member_socket(const struct rue_member *member)
{
    return rue_launch_socket(member->all->launch, (size_t)(member - member->all->members));
}

rue_status rue_member_fail(const struct rue_member *member, rue_status status, const rue_error *why,
                           rue_error *error)
{
    bool interrupted = status == RUE_INTERRUPTED || status == RUE_TERMINATED;
    if (!rue_members_are_ranks(member->all) || interrupted)
        return rue_fail(error, status, "%s", why->message);
    return rue_fail(error, status, "on %s: %s", member->name, why->message);
}

static rue_status open_member(struct rue_members *group, size_t i, rue_error *error)
{
    struct rue_member *member = &group->members[i];
    const char *gpu = group->gpus.count ? group->gpus.names[i] : NULL;
    int socket = group->launch                     ? rue_launch_socket(group->launch, i)
                 : i < group->address.socket_count ? group->address.sockets[i]
                                                   : 0;
    member->all = group;
    rue_member_name(group, i);
    rue_status status =
        rue_connection_open(group->address.command, gpu, socket, group->launch, &member->connection, error);
    if (status == RUE_OK) rue_connection_wake(member->connection);
    return status;
}

static rue_status open_members(struct rue_members *group, rue_error *error)
{
    group->members = calloc(group->count, sizeof *group->members);
    if (!group->members) return rue_fail_memory(error, "runners", group->count * sizeof *group->members);
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < group->count; i++) status = open_member(group, i, error);
    for (size_t i = 0; status == RUE_OK && i < group->count; i++) {
        rue_error why = {0};
        status = rue_connection_greet(group->members[i].connection, &why);
        if (status != RUE_OK) return rue_member_fail(&group->members[i], status, &why, error);
    }
    if (status == RUE_OK && group->launcher.farm && rue_members_on_node(group) > 1)
        status = rue_fail(error, RUE_USAGE,
                          "--farm: a node has %zu ranks, which would slow each other down; start one rank "
                          "per node, such as 'srun -N4 --ntasks-per-node=1'",
                          rue_members_on_node(group));
    return status == RUE_OK ? merge_greetings(group, error) : status;
}

/* Starts the ranks, or names the GPUs. */
static rue_status find_loaders(struct rue_members *group, const struct rue_deployment *deployment,
                               rue_error *error)
{
    rue_status status = RUE_OK;
    group->divides = rue_deployment_is_several(deployment);
    if (deployment->launcher.words)
        status = rue_launch_open(&group->launcher, &group->address, &group->launch, error);
    else if (deployment->gpu_list)
        status = rue_gpu_list_parse(deployment->gpu_list, "--gpus", &group->gpus, error);
    size_t named =
        group->launch ? rue_launch_count(group->launch) : group->gpus.count + group->address.socket_count;
    group->total = group->count = named ? named : 1;
    return status;
}

rue_status rue_members_open(const struct rue_runner_address *address, const struct rue_deployment *deployment,
                            struct rue_members **out, rue_error *error)
{
    struct rue_members *group = calloc(1, sizeof *group);
    if (!group) return rue_fail_memory(error, "runners", sizeof *group);
    group->address = *address;
    group->launcher = deployment->launcher;
    rue_status status = find_loaders(group, deployment, error);
    if (status == RUE_OK) status = open_members(group, error);
    if (status != RUE_OK) return rue_members_close(group), status;
    *out = group;
    return RUE_OK;
}

void rue_members_close(struct rue_members *group)
{
    if (!group) return;
    for (size_t i = 0; group->members && i < group->total; i++)
        rue_connection_close(group->members[i].connection);
    rue_launch_close(group->launch);
    free(group->members);
    free(group->hello);
    free(group);
}

struct rue_members rue_members_node(const struct rue_members *group, size_t index)
{
    struct rue_members node = *group;
    node.members = &group->members[index];
    node.total = node.count = 1;
    node.divides = false;
    return node;
}

/* All nodes must have the same data. */
rue_status rue_member_merge_opened(const struct rue_member *member, const struct rue_opened *opened,
                                   struct rue_opened *all, rue_error *error)
{
    const struct rue_members *group = member->all;
    if (opened->images != all->images || strcmp(opened->digest, all->digest) != 0)
        return rue_fail(
            error, RUE_DATA,
            "on %s: the data differ from those on %s: %" PRIu64 " images (digest %s) instead of %" PRIu64
            " (digest %s); give all nodes the same data",
            member->name, group->members[0].name, opened->images, opened->digest, all->images, all->digest);
    if (!rue_member_is_first(group, (size_t)(member - group->members))) return RUE_OK;
    if (strcmp(opened->note, all->note) != 0)
        rue_note_add(all->note, sizeof all->note, "on %s: %s", member->name, opened->note);
    if (strcmp(opened->cache, all->cache) == 0) return RUE_OK;
    memcpy(all->cache, RUE_CACHE_AS_IS, sizeof RUE_CACHE_AS_IS); /* one that cannot warm decides for all */
    if (!all->cache_reason[0]) memcpy(all->cache_reason, opened->cache_reason, sizeof all->cache_reason);
    return RUE_OK;
}

/* Adds what a rank answered, if it is a valid number. */
static void put_figure(json_t *rank, const json_t *reply, const char *key)
{
    const json_t *value = json_object_get(reply, key);
    if (json_is_number(value) && rue_trial_field_is_valid(json_number_value(value)))
        json_object_set(rank, key, (json_t *)value);
}

char *rue_members_describe(const struct rue_member *members, size_t count)
{
    static const char *const added[] = {"start_late_ns", "stolen_ratio",
                                        "throttled_ratio"}; /* by the agent */
    json_t *ranks = members->all->launch ? json_array() : NULL;
    for (size_t i = 0; ranks && i < count; i++) {
        const struct rue_member *member = &members[i];
        const json_t *reply = rue_connection_reply(member->connection);
        json_t *rank =
            json_pack("{s:i, s:s}", "rank", (int)(member - member->all->members), "node", member->node);
        for (size_t f = 0; f < rue_trial_field_count; f++) put_figure(rank, reply, rue_trial_fields[f].name);
        for (size_t f = 0; f < sizeof added / sizeof *added; f++) put_figure(rank, reply, added[f]);
        if (member->result.outcome != RUE_TRIAL_OK)
            json_object_set_new(rank, "status", json_string(rue_outcome_names[member->result.outcome]));
        json_array_append_new(ranks, rank);
    }
    char *text = ranks ? rue_json_dump(ranks, JSON_COMPACT) : NULL;
    json_decref(ranks);
    return text;
}
