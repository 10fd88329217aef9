#include "runner_group.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json_document.h"
#include "launch.h"
#include "rank_watch.h"
#include "residency.h"
#include "runner_connection.h"
#include "runner_identity.h"
#include "suspension.h"
#include "trial_merge.h"
#include "units.h"

enum { MEMBER_NAME_BYTES = RUE_GPU_NAME_BYTES + 16, LAUNCHES_MAX = 3, CLOCK_ROUNDS = 3 };

/* A rank that starts later than this share of its trial makes the trial useless. */
static const double late_most_ratio = 0.02;
static const uint64_t late_least_ns = 50 * RUE_NS_PER_MS;

/* One of several loaders that make a trial together. */
struct member {
    struct rue_connection *connection;
    char name[MEMBER_NAME_BYTES]; /* "GPU 0", "rank 3 (node7)" */
    const char *node;             /* of a rank; NULL: this machine */
    struct rue_trial_request request;
    struct rue_trial_result result;
    bool started, ready, skipped;
    uint64_t clock_ns, round_trip_ns; /* how far its clock is ahead, modulo 2^64; within which time */
};

struct rue_runner_group {
    struct rue_runner_address address;
    struct rue_gpu_list gpus;        /* of the loaders; empty: `launch` has the loaders */
    struct rue_launch *launch;       /* NULL: this process starts the loaders */
    struct rue_hello hello;          /* of all loaders together */
    size_t total, count;             /* loaders; the first of them, which make the trial */
    struct member *members;          /* [total] */
    const struct member *first_lost; /* in the last trial; NULL: none */
};

/* ---- hello and open ---- */

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
static rue_status check_members(const struct rue_runner_group *group, rue_error *error)
{
    static const char *const keys[] = {"runner", "loader", "clock", "measures", "models", NULL};
    char difference[RUE_IDENTITY_TEXT_BYTES];
    const json_t *first = rue_connection_greeting(group->members[0].connection);
    for (size_t i = 1; i < group->count; i++)
        if (rue_runner_identity_differs(first, rue_connection_greeting(group->members[i].connection), keys,
                                        difference))
            return rue_fail(error, RUE_RUNNER,
                            "the runner on %s answers 'hello' differently from the runner on %s: %s; give a "
                            "command that starts the same runner everywhere",
                            group->members[i].name, group->members[0].name, difference);
    return RUE_OK;
}

/* The first of the loaders on the same node; of loaders on this machine, number 0. */
static size_t first_on_node(const struct rue_runner_group *group, size_t index)
{
    const char *node = group->members[index].node;
    for (size_t i = 0; i < index; i++)
        if (!node || strcmp(group->members[i].node, node) == 0) return i;
    return index;
}

static size_t count_on_node(const struct rue_runner_group *group, size_t index)
{
    size_t count = 0, first = first_on_node(group, index);
    for (size_t i = 0; i < group->count; i++) count += first_on_node(group, i) == first;
    return count;
}

/* The loaders on the node that has the most. */
static size_t most_on_node(const struct rue_runner_group *group)
{
    size_t most = 1;
    for (size_t i = 0; i < group->count; i++) {
        size_t count = first_on_node(group, i) == i ? count_on_node(group, i) : 0;
        if (count > most) most = count;
    }
    return most;
}

static size_t count_nodes(const struct rue_runner_group *group)
{
    size_t count = 0;
    for (size_t i = 0; i < group->count; i++) count += first_on_node(group, i) == i;
    return count;
}

/* The CPUs of a loader where they are fewest; 0: not reported. */
static json_int_t share_of_cpus(const struct rue_runner_group *group)
{
    json_int_t least = 0;
    for (size_t i = 0; i < group->count; i++) {
        if (first_on_node(group, i) != i) continue;
        const json_t *machine =
            json_object_get(rue_connection_greeting(group->members[i].connection), "machine");
        json_int_t cpus = json_integer_value(json_object_get(machine, "usable_cpus"));
        json_int_t share = cpus / (json_int_t)count_on_node(group, i);
        if (cpus > 0 && share == 0) share = 1;
        if (share > 0 && (least == 0 || share < least)) least = share;
    }
    return least;
}

/* The first loader's greeting, with an equal share of the CPUs. */
static rue_status merge_greetings(struct rue_runner_group *group, rue_error *error)
{
    rue_status status = check_members(group, error);
    if (status != RUE_OK) return status;
    json_t *greeting = json_deep_copy(rue_connection_greeting(group->members[0].connection));
    json_t *machine = json_object_get(greeting, "machine");
    json_int_t share = share_of_cpus(group);
    if (share) json_object_set_new(machine, "usable_cpus", json_integer(share));
    if (machine) json_object_set_new(machine, "loaders", json_integer((json_int_t)group->count));
    if (machine && group->launch)
        json_object_set_new(machine, "nodes", json_integer((json_int_t)count_nodes(group)));
    if (group->gpus.count && json_object_get(machine, "visible_gpus"))
        json_object_set_new(machine, "visible_gpus", visible_gpus(&group->gpus));
    status = greeting ? rue_protocol_decode_hello(greeting, &group->hello, error)
                      : rue_fail_memory(error, "a greeting", 256);
    json_decref(greeting);
    return status;
}

/* Continues a failure with the loader concerned. */
static rue_status fail_member(const struct rue_runner_group *group, const struct member *member,
                              rue_status status, const rue_error *why, rue_error *error)
{
    bool interrupted = status == RUE_INTERRUPTED || status == RUE_TERMINATED;
    if (!group->launch || interrupted) return rue_fail(error, status, "%s", why->message);
    return rue_fail(error, status, "on %s: %s", member->name, why->message);
}

static rue_status open_member(struct rue_runner_group *group, size_t i, rue_error *error)
{
    struct member *member = &group->members[i];
    const char *gpu = group->gpus.count ? group->gpus.names[i] : NULL;
    int agent = -1;
    if (gpu) snprintf(member->name, sizeof member->name, "GPU %s", gpu);
    if (group->launch) {
        const struct rue_rank *rank = rue_launch_rank(group->launch, i);
        agent = rue_launch_socket(group->launch, i);
        member->node = rank->node;
        snprintf(member->name, sizeof member->name, "rank %d (%s)", rank->rank, rank->node);
    }
    rue_status status = rue_connection_open(&group->address, gpu, agent, &member->connection, error);
    if (status == RUE_OK) rue_connection_wake(member->connection);
    return status;
}

static rue_status open_members(struct rue_runner_group *group, rue_error *error)
{
    group->members = calloc(group->count, sizeof *group->members);
    if (!group->members) return rue_fail_memory(error, "runners", group->count * sizeof *group->members);
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < group->count; i++) status = open_member(group, i, error);
    for (size_t i = 0; status == RUE_OK && i < group->count; i++) {
        rue_error why = {0};
        status = rue_connection_greet(group->members[i].connection, &why);
        if (status != RUE_OK) return fail_member(group, &group->members[i], status, &why, error);
    }
    return status == RUE_OK ? merge_greetings(group, error) : status;
}

rue_status rue_runner_group_open(const struct rue_runner_address *address, const struct rue_gpu_list *gpus,
                                 struct rue_runner_group **out, rue_error *error)
{
    struct rue_runner_group *group = calloc(1, sizeof *group);
    if (!group) return rue_fail_memory(error, "runners", sizeof *group);
    group->address = *address;
    if (gpus) group->gpus = *gpus;
    rue_status status = gpus ? RUE_OK : rue_launch_open(address, &group->launch, error);
    if (status == RUE_OK) group->total = gpus ? gpus->count : rue_launch_count(group->launch);
    group->count = group->total;
    if (status == RUE_OK) status = open_members(group, error);
    if (status != RUE_OK) return rue_runner_group_close(group), status;
    *out = group;
    return RUE_OK;
}

void rue_runner_group_close(struct rue_runner_group *group)
{
    if (!group) return;
    for (size_t i = 0; group->members && i < group->total; i++)
        rue_connection_close(group->members[i].connection);
    rue_launch_close(group->launch);
    free(group->members);
    free(group);
}

const struct rue_hello *rue_runner_group_hello(const struct rue_runner_group *group)
{
    return &group->hello;
}

size_t rue_runner_group_count(const struct rue_runner_group *group)
{
    return group->total;
}

/* How the loader opens the data: the first on each node warms them for all of its ranks. With shards, each
 * must say its share. */
static struct rue_workload opening_workload(const struct rue_runner_group *group,
                                            const struct rue_workload *workload, size_t index)
{
    struct rue_workload own = *workload;
    bool first = first_on_node(group, index) == index;
    own.rank = (int)index;
    if (first) own.rank = 0, own.world_size = 1;
    if (!first) snprintf(own.cache, sizeof own.cache, RUE_CACHE_AS_IS);
    return own;
}

/* All nodes must have the same data. */
static rue_status check_data(const struct rue_runner_group *group, size_t index,
                             const struct rue_opened *first, const struct rue_opened *opened,
                             rue_error *error)
{
    const struct member *members = group->members;
    if (opened->images == first->images && strcmp(opened->digest, first->digest) == 0) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "on %s: the data differ from those on %s: %" PRIu64
                    " images (digest %s) instead of %" PRIu64 " (digest %s); give all nodes the same data",
                    members[index].name, members[0].name, opened->images, opened->digest, first->images,
                    first->digest);
}

static rue_status open_everywhere(struct rue_runner_group *group, const struct rue_variant *variant,
                                  const struct rue_workload *workload, uint64_t images,
                                  struct rue_opened *out, rue_error *error)
{
    rue_status status = RUE_OK;
    rue_error why = {0};
    for (size_t i = 0; i < group->count; i++) {
        struct rue_workload own = opening_workload(group, workload, i);
        uint64_t warmed = first_on_node(group, i) == i ? images * group->count : 1;
        status = rue_connection_begin_open(group->members[i].connection, variant, &own, warmed, &why);
        if (status != RUE_OK) return fail_member(group, &group->members[i], status, &why, error);
    }
    for (size_t i = 0; status == RUE_OK && i < group->count; i++) {
        struct rue_workload own = opening_workload(group, workload, i);
        struct rue_opened opened;
        status = rue_connection_finish_open(group->members[i].connection, variant, &own, &opened, &why);
        if (status != RUE_OK) return fail_member(group, &group->members[i], status, &why, error);
        if (i == 0) *out = opened;
        /* A node that cannot warm the data decides for all. */
        if (first_on_node(group, i) == i && strcmp(opened.cache, out->cache) != 0) {
            memcpy(out->cache, RUE_CACHE_AS_IS, sizeof RUE_CACHE_AS_IS);
            if (!out->cache_reason[0])
                memcpy(out->cache_reason, opened.cache_reason, sizeof out->cache_reason);
        }
        status = check_data(group, i, out, &opened, error);
    }
    return status;
}

/* The largest share of a rank, where shards decide it. */
static rue_status open_shares(struct rue_runner_group *group, const struct rue_variant *variant,
                              const struct rue_workload *workload, uint64_t *out, rue_error *error)
{
    rue_status status = RUE_OK;
    struct rue_workload own = *workload;
    snprintf(own.cache, sizeof own.cache, RUE_CACHE_AS_IS);
    *out = 0;
    for (size_t i = 0; status == RUE_OK && i < group->count; i++) {
        struct rue_opened opened;
        rue_error why = {0};
        own.rank = (int)i;
        status = rue_connection_begin_open(group->members[i].connection, variant, &own, 1, &why);
        if (status == RUE_OK)
            status = rue_connection_finish_open(group->members[i].connection, variant, &own, &opened, &why);
        if (status != RUE_OK) return fail_member(group, &group->members[i], status, &why, error);
        if (opened.share_images > *out) *out = opened.share_images;
    }
    return status;
}

rue_status rue_runner_group_open_data(struct rue_runner_group *group, const struct rue_variant *variant,
                                      const struct rue_workload *workload, uint64_t images,
                                      struct rue_opened *out, rue_error *error)
{
    group->count = group->total;
    rue_status status = open_everywhere(group, variant, workload, images, out, error);
    out->share_images = 0;
    if (status == RUE_OK && workload->share == RUE_SHARE_SHARDS)
        status = open_shares(group, variant, workload, &out->share_images, error);
    return status;
}

/* ---- trials ---- */

/* At least 1, because 0 means no limit. */
static uint64_t memory_share(uint64_t bytes, size_t count)
{
    return bytes && bytes < count ? 1 : bytes / count;
}

/* Sends each loader its share. They prepare in parallel. */
static rue_status begin_all(struct rue_runner_group *group, const struct rue_trial_request *request,
                            const char *profile, uint64_t timeout_ns, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t sharing = most_on_node(group);
    for (size_t i = 0; i < group->count; i++) {
        group->members[i].started = false;
        group->members[i].result = rue_trial_result_empty();
        rue_connection_wake(group->members[i].connection);
    }
    for (size_t i = 0; status == RUE_OK && i < group->count; i++) {
        struct member *member = &group->members[i];
        rue_error why = {0};
        member->request = *request;
        member->request.workload.rank = (int)i;
        member->request.limits.memory_bytes = memory_share(request->limits.memory_bytes, sharing);
        member->request.waits = true;
        status = rue_connection_begin(member->connection, &member->request, profile, timeout_ns, &why);
        member->started = status == RUE_OK;
        if (status != RUE_OK) return fail_member(group, member, status, &why, error);
    }
    return status;
}

/* Asks all ranks for their clocks. Of several rounds, the one with the shortest round trip counts: its middle
 * is when the clock was read. */
static void read_clocks(struct rue_runner_group *group)
{
    for (int round = 0; round < CLOCK_ROUNDS; round++)
        for (size_t i = 0; i < group->count; i++) {
            struct member *member = &group->members[i];
            uint64_t sent = rue_clock_now_ns(), clock_ns;
            rue_connection_ask_clock(member->connection);
            if (!rue_connection_read_clock(member->connection, &clock_ns)) continue;
            uint64_t trip = rue_clock_now_ns() - sent;
            if (round && trip >= member->round_trip_ns) continue;
            member->round_trip_ns = trip;
            member->clock_ns = clock_ns - (sent + trip / 2);
        }
}

/* Starts all at the same time, so far ahead that each gets its line before. */
static void start_ranks(struct rue_runner_group *group)
{
    read_clocks(group);
    uint64_t longest = 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->members[i].round_trip_ns > longest) longest = group->members[i].round_trip_ns;
    uint64_t at_ns = rue_clock_now_ns() + 2 * RUE_NS_PER_MS + 2 * longest + group->count * 20 * RUE_NS_PER_US;
    for (size_t i = 0; i < group->count; i++)
        rue_connection_start(group->members[i].connection, at_ns + group->members[i].clock_ns);
}

/* If one is not ready, none starts, except runners that ignore "wait" and have started already. */
static void start_all(struct rue_runner_group *group)
{
    size_t ready = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct member *member = &group->members[i];
        member->ready = member->started && rue_connection_is_ready(member->connection);
        ready += member->ready;
    }
    bool all = ready == group->count;
    for (size_t i = 0; i < group->count; i++) {
        struct member *member = &group->members[i];
        member->skipped = member->ready && !all;
        if (member->skipped) rue_connection_skip(member->connection);
        if (all && !group->launch) rue_connection_start(member->connection, 0);
    }
    if (all && group->launch) start_ranks(group);
}

static rue_status finish_all(struct rue_runner_group *group, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; i < group->count; i++) {
        struct member *member = &group->members[i];
        rue_error why = {0};
        if (!member->started) continue;
        rue_status finish_status = rue_connection_finish(member->connection, &member->result, &why);
        if (status == RUE_OK && finish_status != RUE_OK)
            status = rue_fail(error, finish_status, "%s", why.message);
    }
    return status;
}

/* Waits for a line of each rank: that it is ready, or its answer. Notes which connection is lost first. */
static void watch_ranks(struct rue_runner_group *group, bool started, uint64_t deadline_ns)
{
    int *sockets = group->launch ? calloc(group->count, sizeof *sockets) : NULL;
    for (size_t i = 0; sockets && i < group->count; i++) {
        const struct member *member = &group->members[i];
        bool waits = started ? member->ready && !member->skipped : member->started;
        sockets[i] = waits ? rue_launch_socket(group->launch, i) : -1;
    }
    int lost = sockets ? rue_rank_watch(sockets, group->count, deadline_ns) : -1;
    if (lost >= 0 && !group->first_lost) group->first_lost = &group->members[lost];
    free(sockets);
}

/* The first loader that failed by itself, or NULL. A launcher may end the other ranks when one is lost. */
static const struct member *first_failure(const struct rue_runner_group *group)
{
    if (group->first_lost && group->first_lost->result.outcome != RUE_TRIAL_OK) return group->first_lost;
    for (size_t i = 0; i < group->count; i++) {
        const struct member *member = &group->members[i];
        if (!member->skipped && member->result.outcome != RUE_TRIAL_OK) return member;
    }
    return NULL;
}

/* Members that say what a rank measured; the others are the same for all, or too long. */
static bool is_figure(const char *key, const json_t *value)
{
    return json_is_number(value) && strcmp(key, "id") != 0;
}

/* The answers of all ranks as a JSON array, for the store. NULL: not launched, or out of memory. */
static char *describe_ranks(const struct rue_runner_group *group)
{
    json_t *ranks = group->launch ? json_array() : NULL;
    for (size_t i = 0; ranks && i < group->count; i++) {
        const struct member *member = &group->members[i];
        json_t *rank = json_pack("{s:i, s:s}", "rank", (int)i, "node", member->node), *value;
        const char *key;
        json_object_foreach((json_t *)rue_connection_reply(member->connection), key, value)
        {
            if (is_figure(key, value)) json_object_set(rank, key, value);
        }
        if (member->result.outcome != RUE_TRIAL_OK)
            json_object_set_new(rank, "status", json_string(rue_outcome_names[member->result.outcome]));
        json_array_append_new(ranks, rank);
    }
    char *text = ranks ? rue_json_dump(ranks, JSON_COMPACT) : NULL;
    json_decref(ranks);
    return text;
}

/* The rank that started the latest, if that makes the trial useless. */
static const struct member *find_late(const struct rue_runner_group *group, uint64_t *late_ns)
{
    const struct member *found = NULL;
    *late_ns = late_least_ns;
    for (size_t i = 0; group->launch && i < group->count; i++) {
        const struct member *member = &group->members[i];
        json_int_t late =
            json_integer_value(json_object_get(rue_connection_reply(member->connection), "start_late_ns"));
        if (late < (json_int_t)*late_ns ||
            (double)late < late_most_ratio * (double)member->result.end_to_end_ns)
            continue;
        *late_ns = (uint64_t)late;
        found = member;
    }
    return found;
}

/* A trial that failed on `member`. Frees the lists of all results. */
static struct rue_trial_result fail_trial(struct rue_runner_group *group, const struct member *member,
                                          enum rue_outcome outcome, const char *why)
{
    struct rue_trial_result failed = rue_trial_result_empty();
    char reason[MEMBER_NAME_BYTES + RUE_REASON_BYTES];
    failed.outcome = outcome;
    failed.config = member->result.config;
    failed.refused = member->result.refused;
    snprintf(reason, sizeof reason, "on %s: %s", member->name, why);
    rue_error_shorten(reason, failed.reason, sizeof failed.reason);
    for (size_t i = 0; i < group->count; i++) rue_trial_result_close(&group->members[i].result);
    return failed;
}

/* The result of a trial of all loaders. Takes over the lists of their results. */
static rue_status combine_results(struct rue_runner_group *group, struct rue_trial_result *out,
                                  rue_error *error)
{
    char why[RUE_REASON_BYTES], text[RUE_UNIT_TEXT_BYTES];
    uint64_t late_ns = 0;
    const struct member *failed = first_failure(group), *late = failed ? NULL : find_late(group, &late_ns);
    char *ranks = describe_ranks(group);
    if (failed) {
        snprintf(why, sizeof why, "%s", failed->result.reason);
        *out = fail_trial(group, failed, failed->result.outcome, why);
    } else if (late) {
        snprintf(why, sizeof why,
                 "it started %s later than the others: its machine paused, or its clock jumped",
                 rue_format_duration(late_ns, text, sizeof text));
        *out = fail_trial(group, late, RUE_TRIAL_FAILED, why);
    } else {
        struct rue_trial_result *results = calloc(group->count, sizeof *results);
        if (!results) return free(ranks), rue_fail_memory(error, "results", group->count * sizeof *results);
        for (size_t i = 0; i < group->count; i++) results[i] = group->members[i].result;
        *out = rue_trial_merge(results, group->count);
        free(results);
    }
    out->ranks = ranks;
    return RUE_OK;
}

/* Only the sums over all loaders show whether the data were cold: one may have read what another found in
 * memory. */
static void check_cache(const struct rue_trial_request *request, struct rue_trial_result *result)
{
    char why[RUE_REASON_BYTES / 2];
    bool reported = result->read_bytes != RUE_ABSENT && result->data_bytes != RUE_ABSENT;
    if (result->outcome != RUE_TRIAL_OK || result->cache_missed != RUE_ABSENT || !reported) return;
    result->cache_missed = !rue_residency_judge_bytes(&request->workload, (uint64_t)result->read_bytes,
                                                      (uint64_t)result->data_bytes, 1, why, sizeof why);
    if (result->cache_missed) rue_trial_result_add_reason(result, why);
}

/* If the connection to a rank is lost, the launcher starts all ranks again. */
static rue_status relaunch(struct rue_runner_group *group, rue_error *error)
{
    bool lost = false;
    for (size_t i = 0; group->launch && i < group->total; i++)
        lost |= rue_connection_is_lost(group->members[i].connection);
    if (!lost) return RUE_OK;
    struct rue_launch *launch = NULL;
    rue_error why = {0};
    rue_status status = RUE_RUNNER;
    for (size_t i = 0; i < group->total; i++) rue_connection_replace_agent(group->members[i].connection, -1);
    rue_launch_close(group->launch);
    group->launch = NULL;
    for (int i = 0; status == RUE_RUNNER && i < LAUNCHES_MAX; i++) {
        rue_error_clear(&why);
        status = rue_launch_open(&group->address, &launch, &why);
    }
    if (status != RUE_OK) return rue_fail(error, status, "%s", why.message);
    group->launch = launch;
    if (rue_launch_count(launch) != group->total)
        return rue_fail(error, RUE_RUNNER, "the launcher started %zu ranks again, instead of %zu",
                        rue_launch_count(launch), group->total);
    for (size_t i = 0; i < group->total; i++) {
        struct member *member = &group->members[i];
        const struct rue_rank *rank = rue_launch_rank(launch, i);
        rue_connection_replace_agent(member->connection, rue_launch_socket(launch, i));
        member->node = rank->node;
        snprintf(member->name, sizeof member->name, "rank %d (%s)", rank->rank, rank->node);
    }
    return RUE_OK;
}

/* If one cannot be restarted, the others have not started. */
rue_status rue_runner_group_trial(struct rue_runner_group *group, const struct rue_trial_request *request,
                                  const char *profile, uint64_t timeout_ns, struct rue_trial_result *result,
                                  rue_error *error)
{
    rue_error why = {0};
    rue_status status = relaunch(group, error);
    if (status != RUE_OK) return status;
    uint64_t deadline_ns = rue_suspension_awake_ns() + timeout_ns;
    group->count = group->launch ? (size_t)request->workload.world_size : group->total;
    group->first_lost = NULL;
    status = begin_all(group, request, profile, timeout_ns, &why);
    watch_ranks(group, false, deadline_ns);
    start_all(group);
    watch_ranks(group, true, deadline_ns);
    rue_status finish_status = finish_all(group, &why);
    if (status == RUE_OK) status = finish_status;
    if (status == RUE_OK) status = combine_results(group, result, &why);
    if (status == RUE_OK) return check_cache(request, result), RUE_OK;
    for (size_t i = 0; i < group->count; i++) rue_trial_result_close(&group->members[i].result);
    return rue_fail(error, status, "%s", why.message);
}

bool rue_runner_group_was_suspended(const struct rue_runner_group *group)
{
    bool any = false;
    for (size_t i = 0; i < group->count; i++)
        any |= rue_connection_was_suspended(group->members[i].connection);
    return any;
}
