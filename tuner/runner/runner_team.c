#include "runner_team.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "clock.h"
#include "rank_watch.h"
#include "residency.h"
#include "runner_members.h"
#include "suspension.h"
#include "trial_merge.h"
#include "units.h"

enum { LAUNCHES_MAX = 3, CLOCK_ROUNDS = 3 };

/* A rank that starts later than this share of its trial makes the trial useless. */
static const double late_most_ratio = 0.02;
static const uint64_t late_least_ns = 50 * RUE_NS_PER_MS;

/* Whether there is one loader, whose answers are those of the runner. */
static bool is_alone(const struct rue_members *group)
{
    return group->total == 1 && !group->divides;
}

/* ---- opening data ---- */

/* How the loader opens the data. Of those that divide a job, the first on each node warms them for all of its
 * ranks. With shards, each must say its share. */
static struct rue_workload opening_workload(const struct rue_members *group,
                                            const struct rue_workload *workload, size_t index)
{
    struct rue_workload own = *workload;
    bool first = rue_member_is_first(group, index);
    if (!group->divides) return own;
    own.rank = (int)index;
    if (first) own.rank = 0, own.world_size = 1;
    if (!first) snprintf(own.cache, sizeof own.cache, RUE_CACHE_AS_IS);
    return own;
}

static rue_status team_begin_open(void *state, const struct rue_variant *variant,
                                  const struct rue_workload *workload, uint64_t images, rue_error *error)
{
    struct rue_members *group = state;
    rue_status status = RUE_OK;
    rue_error why = {0};
    group->count = group->total;
    for (size_t i = 0; status == RUE_OK && i < group->count; i++) {
        struct rue_workload own = opening_workload(group, workload, i);
        uint64_t warmed = !group->divides                 ? images
                          : rue_member_is_first(group, i) ? images * group->count
                                                          : RUE_OPEN_BRIEFLY;
        status = rue_connection_begin_open(group->members[i].connection, variant, &own, warmed, &why);
        if (status != RUE_OK) return rue_member_fail(&group->members[i], status, &why, error);
    }
    return status;
}

/* The largest share of a rank, where shards decide it. */
static rue_status open_shares(struct rue_members *group, const struct rue_variant *variant,
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
        status =
            rue_connection_begin_open(group->members[i].connection, variant, &own, RUE_OPEN_BRIEFLY, &why);
        if (status == RUE_OK)
            status = rue_connection_finish_open(group->members[i].connection, variant, &own, &opened, &why);
        if (status != RUE_OK) return rue_member_fail(&group->members[i], status, &why, error);
        if (opened.share_images > *out) *out = opened.share_images;
    }
    return status;
}

static rue_status team_finish_open(void *state, const struct rue_variant *variant,
                                   const struct rue_workload *workload, struct rue_opened *out,
                                   rue_error *error)
{
    struct rue_members *group = state;
    rue_status status = RUE_OK;
    rue_error why = {0};
    for (size_t i = 0; status == RUE_OK && i < group->count; i++) {
        struct rue_workload own = opening_workload(group, workload, i);
        struct rue_opened opened;
        status = rue_connection_finish_open(group->members[i].connection, variant, &own, &opened, &why);
        if (status != RUE_OK) return rue_member_fail(&group->members[i], status, &why, error);
        if (i == 0)
            *out = opened;
        else if (group->divides)
            status = rue_member_merge_opened(&group->members[i], &opened, out, error);
    }
    if (!group->divides) return status;
    out->share_images = 0;
    if (status == RUE_OK && workload->share == RUE_SHARE_SHARDS)
        status = open_shares(group, variant, workload, &out->share_images, error);
    return status;
}

/* ---- a trial ---- */

/* At least 1, because 0 means no limit. */
static uint64_t memory_share(uint64_t bytes, size_t count)
{
    return bytes && bytes < count ? 1 : bytes / count;
}

/* Sends each loader its share. They prepare in parallel. */
static rue_status begin_all(struct rue_members *group, const struct rue_trial_request *request,
                            const char *profile, uint64_t timeout_ns, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t sharing = rue_members_on_node(group);
    for (size_t i = 0; i < group->total; i++) {
        group->members[i].started = group->members[i].skipped = false;
        group->members[i].result = rue_trial_result_empty();
    }
    for (size_t i = 0; status == RUE_OK && i < group->count; i++) {
        struct rue_member *member = &group->members[i];
        rue_error why = {0};
        member->request = *request;
        member->request.waits = !is_alone(group);
        if (group->divides) {
            member->request.workload.rank = (int)i;
            member->request.limits.memory_bytes = memory_share(request->limits.memory_bytes, sharing);
        }
        status = rue_connection_begin(member->connection, &member->request, profile, timeout_ns, &why);
        member->started = status == RUE_OK;
        if (status != RUE_OK) return rue_member_fail(member, status, &why, error);
    }
    return status;
}

/* Asks all ranks for their clocks. Of several rounds, the one with the shortest round trip counts: its middle
 * is when the clock was read. False: a rank gave no answer. */
static bool read_clocks(struct rue_members *group)
{
    for (int round = 0; round < CLOCK_ROUNDS; round++)
        for (size_t i = 0; i < group->count; i++) {
            struct rue_member *member = &group->members[i];
            uint64_t sent = rue_clock_now_ns(), clock_ns;
            if (!rue_connection_read_clock(member->connection, &clock_ns)) return false;
            uint64_t trip = rue_clock_now_ns() - sent;
            if (round && trip >= member->round_trip_ns) continue;
            member->round_trip_ns = trip;
            member->clock_ns = clock_ns - (sent + trip / 2);
        }
    return true;
}

/* Starts all at the same time, so far ahead that each gets its line before. */
static void start_ranks(struct rue_members *group)
{
    uint64_t longest = 0;
    for (size_t i = 0; i < group->count; i++)
        if (group->members[i].round_trip_ns > longest) longest = group->members[i].round_trip_ns;
    uint64_t at_ns = rue_clock_now_ns() + 2 * RUE_NS_PER_MS + 2 * longest + group->count * 20 * RUE_NS_PER_US;
    for (size_t i = 0; i < group->count; i++)
        rue_connection_start(group->members[i].connection, at_ns + group->members[i].clock_ns);
}

/* If one is not ready, none starts, except runners that ignore "wait" and have started already. */
static void start_all(struct rue_members *group)
{
    size_t ready = 0;
    for (size_t i = 0; i < group->count; i++) {
        struct rue_member *member = &group->members[i];
        member->ready = member->started && rue_connection_is_ready(member->connection);
        ready += member->ready;
    }
    bool all = ready == group->count && (!group->launch || read_clocks(group));
    for (size_t i = 0; i < group->count; i++) {
        struct rue_member *member = &group->members[i];
        member->skipped = member->ready && !all && rue_connection_skip(member->connection);
        if (all && !group->launch) rue_connection_start(member->connection, 0);
    }
    if (all && group->launch) start_ranks(group);
}

static rue_status finish_all(struct rue_members *group, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; i < group->count; i++)
        if (group->members[i].started) rue_connection_await(group->members[i].connection);
    for (size_t i = 0; i < group->count; i++) {
        struct rue_member *member = &group->members[i];
        rue_error why = {0};
        if (!member->started) continue;
        rue_status finish_status = rue_connection_finish(member->connection, &member->result, &why);
        if (status == RUE_OK && finish_status != RUE_OK)
            status = rue_fail(error, finish_status, "%s", why.message);
    }
    return status;
}

/* Waits for a line of each rank: that it is ready, or its answer. */
static void watch_ranks(struct rue_members *group, bool started, uint64_t deadline_ns)
{
    for (size_t i = 0; i < group->total; i++) {
        struct rue_member *member = &group->members[i];
        member->waits =
            i < group->count && member->started && (!started || (member->ready && !member->skipped));
    }
    rue_rank_watch_wait(group, deadline_ns);
}

static bool has_failed(const struct rue_members *group, size_t index)
{
    const struct rue_member *member = &group->members[index];
    return index < group->count && !member->skipped && member->result.outcome != RUE_TRIAL_OK;
}

/* The first loader that failed by itself, or NULL. A launcher may end the other ranks because of one, even if
 * that has answered, or takes no part in the trial. Without an answer, it failed last. */
static const struct rue_member *first_failure(const struct rue_members *group)
{
    const struct rue_member *first = NULL;
    unsigned first_at = 0;
    bool any = false;
    for (size_t i = 0; i < group->total; i++) {
        const struct rue_member *member = &group->members[i];
        bool failed = has_failed(group, i);
        unsigned at = !failed ? member->ended_at : member->answered_at ? member->answered_at : UINT_MAX;
        any |= failed;
        if (!at || (first && at >= first_at)) continue;
        first = member;
        first_at = at;
    }
    return any ? first : NULL;
}

static const char *failure_reason(const struct rue_members *group, const struct rue_member *failed)
{
    bool lost = !has_failed(group, (size_t)(failed - group->members));
    return lost ? "it lost its connection: its process or its node ended" : failed->result.reason;
}

/* The rank that started the latest, if that makes the trial useless. */
static const struct rue_member *find_late(const struct rue_members *group, uint64_t *late_ns)
{
    const struct rue_member *found = NULL;
    *late_ns = late_least_ns;
    for (size_t i = 0; group->launch && i < group->count; i++) {
        const struct rue_member *member = &group->members[i];
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
static struct rue_trial_result fail_trial(struct rue_members *group, const struct rue_member *member,
                                          enum rue_outcome outcome, const char *why)
{
    struct rue_trial_result failed = rue_trial_result_empty();
    char reason[RUE_MEMBER_NAME_BYTES + RUE_REASON_BYTES];
    failed.outcome = outcome;
    failed.config = member->result.config;
    failed.refused = member->result.refused;
    failed.data_fault = member->result.data_fault;
    snprintf(reason, sizeof reason, "on %s: %s", member->name, why);
    rue_error_shorten(reason, failed.reason, sizeof failed.reason);
    for (size_t i = 0; i < group->count; i++) rue_trial_result_close(&group->members[i].result);
    return failed;
}

/* Whether the launcher has to start all ranks again. */
static bool any_lost(const struct rue_members *group)
{
    for (size_t i = 0; group->launch && group->divides && i < group->total; i++)
        if (rue_connection_is_lost(group->members[i].connection)) return true;
    return false;
}

/* The result of a trial of all loaders. Takes over the lists of their results. */
static rue_status combine_results(struct rue_members *group, struct rue_trial_result *out, rue_error *error)
{
    char why[RUE_REASON_BYTES], text[RUE_UNIT_TEXT_BYTES];
    uint64_t late_ns = 0;
    const struct rue_member *failed = first_failure(group),
                            *late = failed ? NULL : find_late(group, &late_ns);
    char *ranks = rue_members_describe(group->members, group->count);
    if (is_alone(group)) {
        *out = group->members[0].result;
    } else if (failed) {
        bool lost = !has_failed(group, (size_t)(failed - group->members));
        *out = fail_trial(group, failed, lost ? RUE_TRIAL_FAILED : failed->result.outcome,
                          failure_reason(group, failed));
        out->retry = any_lost(group);
    } else if (late) {
        snprintf(why, sizeof why,
                 "it started %s later than the others: its machine paused, or its clock jumped",
                 rue_format_duration(late_ns, text, sizeof text));
        *out = fail_trial(group, late, RUE_TRIAL_FAILED, why);
        out->retry = true;
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

/* The sum over the loaders of a node; RUE_ABSENT: not reported. `offset`: of the field. */
static int64_t sum_on_node(const struct rue_members *group, size_t first, size_t offset)
{
    int64_t sum = 0;
    for (size_t i = first; i < group->count; i++) {
        const int64_t *value = (const void *)((const char *)&group->members[i].result + offset);
        if (group->members[i].first != first) continue;
        sum = rue_trial_sum(sum, *value);
    }
    return sum;
}

/* Only the sums over all loaders of a node show whether its data were cold: one may have read what another
 * found in memory. */
static void check_cache(const struct rue_members *group, const struct rue_trial_request *request,
                        struct rue_trial_result *result)
{
    char why[RUE_REASON_BYTES / 2], text[RUE_REASON_BYTES];
    if (!group->divides || result->outcome != RUE_TRIAL_OK || result->cache_missed != RUE_ABSENT) return;
    for (size_t i = 0; i < group->count && result->cache_missed != 1; i++) {
        int64_t read = sum_on_node(group, i, offsetof(struct rue_trial_result, read_bytes)),
                data = sum_on_node(group, i, offsetof(struct rue_trial_result, data_bytes));
        if (!rue_member_is_first(group, i) || read == RUE_ABSENT || data == RUE_ABSENT) continue;
        result->cache_missed = !rue_residency_judge_bytes(&request->workload, (uint64_t)read, (uint64_t)data,
                                                          1, why, sizeof why);
        if (!result->cache_missed) continue;
        const char *node = group->members[i].node;
        snprintf(text, sizeof text, "%s%s%s%s", node ? "on " : "", node ? node : "", node ? ": " : "", why);
        rue_trial_result_add_reason(result, text);
    }
}

/* The launcher starts all ranks again. */
static rue_status relaunch(struct rue_members *group, rue_error *error)
{
    rue_error why = {0};
    rue_status status = RUE_RUNNER;
    for (size_t i = 0; i < group->total; i++) rue_connection_replace_agent(group->members[i].connection, -1);
    rue_launch_close(group->launch);
    group->launch = NULL;
    for (int i = 0; status == RUE_RUNNER && i < LAUNCHES_MAX; i++) {
        rue_error_clear(&why);
        status = rue_launch_open(&group->launcher, &group->address, &group->launch, &why);
    }
    if (status != RUE_OK) return rue_fail(error, status, "%s", why.message);
    if (rue_launch_count(group->launch) != group->total)
        return rue_fail(error, RUE_RUNNER, "the launcher started %zu ranks again, instead of %zu",
                        rue_launch_count(group->launch), group->total);
    for (size_t i = 0; i < group->total; i++) {
        rue_connection_replace_agent(group->members[i].connection, rue_launch_socket(group->launch, i));
        rue_member_name(group, i);
    }
    return RUE_OK;
}

/* A program at a socket that cannot make another trial may have waited in vain for the one that failed first.
 */
static rue_status fail_preparation(const struct rue_members *group, size_t index, rue_status status,
                                   const rue_error *why, rue_error *error)
{
    const struct rue_member *member = &group->members[index];
    bool served = rue_members_are_ranks(group) && !group->launch;
    const struct rue_member *first = served ? first_failure(group) : NULL;
    if (!first || first == member) return rue_member_fail(member, status, why, error);
    return rue_fail(error, status, "on %s: %s; then on %s: %s", first->name, failure_reason(group, first),
                    member->name, why->message);
}

/* Starts the runners that do not run, all at the same time. */
static rue_status prepare_all(struct rue_members *group, rue_error *error)
{
    for (size_t i = 0; i < group->total; i++) rue_connection_wake(group->members[i].connection);
    for (size_t i = 0; i < group->total; i++) {
        rue_error why = {0};
        rue_status status = rue_connection_prepare(group->members[i].connection, &why);
        if (status != RUE_OK) return fail_preparation(group, i, status, &why, error);
    }
    return RUE_OK;
}

/* A rank may be lost while it starts. */
static rue_status prepare(struct rue_members *group, rue_error *error)
{
    rue_error why = {0};
    rue_status status = RUE_RUNNER;
    for (int i = 0; status == RUE_RUNNER && (i == 0 || any_lost(group)) && i < LAUNCHES_MAX; i++) {
        rue_error_clear(&why);
        status = any_lost(group) ? relaunch(group, &why) : RUE_OK;
        if (status == RUE_OK) status = prepare_all(group, &why);
    }
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s", why.message);
}

static rue_status team_trial(void *state, struct rue_trial_request *request, const char *profile,
                             uint64_t timeout_ns, struct rue_trial_result *result, rue_error *error)
{
    struct rue_members *group = state;
    rue_error why = {0};
    rue_status status = prepare(group, error);
    if (status != RUE_OK) return status;
    uint64_t deadline_ns = rue_suspension_awake_ns() + timeout_ns;
    group->count = group->launch && group->divides ? (size_t)request->workload.world_size : group->total;
    rue_rank_watch_open(group);
    status = begin_all(group, request, profile, timeout_ns, &why);
    watch_ranks(group, false, deadline_ns);
    start_all(group);
    watch_ranks(group, true, deadline_ns);
    rue_rank_watch_close(group);
    rue_status finish_status = finish_all(group, &why);
    if (status == RUE_OK) status = finish_status;
    if (status == RUE_OK) status = combine_results(group, result, &why);
    if (status == RUE_OK) return check_cache(group, request, result), RUE_OK;
    for (size_t i = 0; i < group->count; i++) rue_trial_result_close(&group->members[i].result);
    return rue_fail(error, status, "%s", why.message);
}

static bool team_was_suspended(const void *state)
{
    const struct rue_members *group = state;
    bool any = false;
    for (size_t i = 0; i < group->count; i++)
        any |= rue_connection_was_suspended(group->members[i].connection);
    return any;
}

static const struct rue_hello *team_hello(const void *state)
{
    return ((const struct rue_members *)state)->hello;
}

const struct rue_runner_ops rue_runner_team = {
    .hello = team_hello,
    .begin_open = team_begin_open,
    .finish_open = team_finish_open,
    .trial = team_trial,
    .was_suspended = team_was_suspended,
};

/* ---- a node of a farm ---- */

static const struct rue_member *node_member(const void *state)
{
    return ((const struct rue_members *)state)->members;
}

static bool node_has_ended(const void *state)
{
    const struct rue_member *member = node_member(state);
    return !rue_connection_reply(member->connection) || member->result.spent;
}

static rue_status node_restart(void *state, rue_error *error)
{
    return prepare_all(state, error);
}

static bool node_is_lost(const void *state)
{
    return rue_connection_is_lost(node_member(state)->connection);
}

/* The end of its connection ends its thread's work. */
static void node_interrupt(void *state)
{
    shutdown(rue_member_socket(node_member(state)), SHUT_RDWR);
}

const struct rue_runner_ops rue_runner_node = {
    .hello = team_hello,
    .begin_open = team_begin_open,
    .finish_open = team_finish_open,
    .trial = team_trial,
    .has_ended = node_has_ended,
    .restart = node_restart,
    .is_lost = node_is_lost,
    .was_suspended = team_was_suspended,
    .interrupt = node_interrupt,
};
