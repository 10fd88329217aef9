#include "runner_group.h"

#include <stdlib.h>
#include <string.h>

#include "json_document.h"
#include "protocol.h"
#include "residency.h"
#include "runner_client.h"
#include "runner_identity.h"
#include "runner_lines.h"
#include "units.h"
#include "workload_json.h"

/* Whoever asks has patience of his own, and ends all of this when it is over. */
static const uint64_t patience_ns = UINT64_C(365) * 86400 * RUE_NS_PER_S;

/* One of the group. */
struct member {
    struct rue_runner *runner;
    struct rue_trial_request request;
    struct rue_trial_result result;
    bool begun, skipped;
};

struct group {
    const struct rue_gpu_list *gpus;
    const char *command;                /* NULL: our own */
    struct member members[RUE_GPU_MAX]; /* [gpus->count] */
};

/* Starts all of them, where they are not yet. */
static rue_status open_members(struct group *group, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < group->gpus->count; i++) {
        const struct rue_runner_command command = {.shell = group->command, .gpu = group->gpus->names[i]};
        if (!group->members[i].runner) status = rue_runner_open(&command, &group->members[i].runner, error);
    }
    return status;
}

/* ---- hello and open ---- */

/* What one of them sees is one GPU: all of them see these. */
static json_t *visible_gpus(const struct rue_gpu_list *gpus)
{
    char text[RUE_GPU_MAX * (RUE_GPU_NAME_BYTES + 1)] = "";
    size_t used = 0;
    for (size_t i = 0; i < gpus->count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i ? "," : "", gpus->names[i]);
    return json_string(text);
}

/* Their trials count as those of one runner. */
static rue_status check_alike(const struct group *group, rue_error *error)
{
    static const char *const alike[] = {"runner", "loader", "clock", "measures", "models", NULL};
    char difference[RUE_IDENTITY_TEXT_BYTES];
    const json_t *first = rue_runner_greeting(group->members[0].runner);
    for (size_t i = 1; i < group->gpus->count; i++)
        if (rue_runner_identity_differs(first, rue_runner_greeting(group->members[i].runner), alike,
                                        difference))
            return rue_fail(
                error, RUE_RUNNER,
                "the runner on GPU %s is another one than that on GPU %s: %s; give a command that "
                "starts the same runner on each GPU",
                group->gpus->names[i], group->gpus->names[0], difference);
    return RUE_OK;
}

/* As one of them says it; of the processors each has its share. */
static json_t *answer_hello(void *state, rue_error *error)
{
    struct group *group = state;
    rue_status status = open_members(group, error);
    if (status == RUE_OK) status = check_alike(group, error);
    if (status != RUE_OK) return NULL;
    json_t *greeting = json_deep_copy(rue_runner_greeting(group->members[0].runner));
    json_t *machine = json_object_get(greeting, "machine");
    json_int_t cpus = json_integer_value(json_object_get(machine, "usable_cpus"));
    json_int_t share = cpus / (json_int_t)group->gpus->count;
    if (cpus > 0) json_object_set_new(machine, "usable_cpus", json_integer(share > 0 ? share : 1));
    if (machine) json_object_set_new(machine, "loaders", json_integer((json_int_t)group->gpus->count));
    if (json_object_get(machine, "visible_gpus"))
        json_object_set_new(machine, "visible_gpus", visible_gpus(group->gpus));
    if (!greeting) rue_fail_memory(error, "a greeting", 256);
    return greeting;
}

/* The first one reads what all of them will read, where that is wanted. */
static rue_status open_first(struct group *group, const struct rue_variant *variant,
                             const struct rue_workload *workload, uint64_t images, struct rue_opened *out,
                             rue_error *error)
{
    struct rue_workload all = *workload;
    all.world_size = 1;
    return rue_runner_open_data(group->members[0].runner, variant, &all, images * group->gpus->count, out,
                                error);
}

static rue_status open_rest(struct group *group, const struct rue_variant *variant,
                            const struct rue_workload *workload, rue_error *error)
{
    struct rue_workload as_is = *workload;
    struct rue_opened opened;
    snprintf(as_is.cache, sizeof as_is.cache, RUE_CACHE_AS_IS);
    for (size_t i = 1; i < group->gpus->count; i++) {
        as_is.rank = (int)i;
        rue_status status =
            rue_runner_open_data(group->members[i].runner, variant, &as_is, 1, &opened, error);
        if (status != RUE_OK) return status;
    }
    return RUE_OK;
}

static rue_status check_world(const struct group *group, const struct rue_workload *workload,
                              rue_error *error)
{
    if ((size_t)workload->world_size == group->gpus->count && workload->rank == 0) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "workload: for %zu GPUs, rank is 0 and world_size is %zu: each loads its share",
                    group->gpus->count, group->gpus->count);
}

static rue_status answer_open(void *state, const struct rue_open_request *request, struct rue_opened *out,
                              rue_error *error)
{
    struct group *group = state;
    rue_status status = check_world(group, &request->workload, error);
    if (status == RUE_OK) status = open_members(group, error);
    if (status == RUE_OK)
        status = open_first(group, &request->variant, &request->workload, request->images, out, error);
    return status == RUE_OK ? open_rest(group, &request->variant, &request->workload, error) : status;
}

/* ---- trials ---- */

/* X(field): integers that add up. */
#define SUMS(X) X(anon_peak_bytes) X(read_bytes) X(bad_images) X(data_bytes)
/* X(field): integers of which the largest counts. */
#define PEAKS(X) X(file_peak_bytes) X(warmup_ns) X(cost_ns) X(cache_missed) X(refused)

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Nobody knows the sum of what one of them does not say. */
static int64_t sum(int64_t a, int64_t b)
{
    return a == RUE_ABSENT || b == RUE_ABSENT ? RUE_ABSENT : a + b;
}

struct rue_trial_result rue_runner_group_merge(struct rue_trial_result *results, size_t count)
{
    size_t slowest = 0;
    for (size_t i = 1; i < count; i++)
        if (results[i].end_to_end_ns > results[slowest].end_to_end_ns) slowest = i;
    struct rue_trial_result merged = results[slowest];
    for (size_t i = 0; i < count; i++) {
        if (i == slowest) continue;
        const struct rue_trial_result *other = &results[i];
#define X(field) merged.field = sum(merged.field, other->field);
        SUMS(X)
#undef X
#define X(field) merged.field = larger(merged.field, other->field);
        PEAKS(X)
#undef X
        merged.cpu_ratio += other->cpu_ratio;
        if (!strstr(merged.reason, other->reason)) rue_trial_result_add_reason(&merged, other->reason);
        rue_trial_result_close(&results[i]);
    }
    return merged;
}

/* 0 would be no limit. */
static uint64_t share_of_memory(uint64_t bytes, size_t count)
{
    return bytes && bytes < count ? 1 : bytes / count;
}

/* Asks each for its share; they get ready side by side. */
static rue_status begin_all(struct group *group, const struct rue_trial_request *request, const char *profile,
                            rue_error *error)
{
    rue_status status = RUE_OK;
    size_t count = group->gpus->count;
    for (size_t i = 0; i < count; i++) group->members[i].begun = false;
    for (size_t i = 0; status == RUE_OK && i < count; i++) {
        struct member *member = &group->members[i];
        member->request = *request;
        member->request.workload.rank = (int)i;
        member->request.limits.memory_bytes = share_of_memory(request->limits.memory_bytes, count);
        member->request.waits = true;
        status = rue_runner_begin(member->runner, &member->request, profile, patience_ns, error);
        member->begun = status == RUE_OK;
    }
    return status;
}

/* Where one cannot, none does. One that knows of no common start has begun already. */
static void start_all(struct group *group)
{
    size_t count = group->gpus->count, ready = 0;
    bool is_ready[RUE_GPU_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        is_ready[i] = group->members[i].begun && rue_runner_is_ready(group->members[i].runner);
        ready += is_ready[i];
    }
    for (size_t i = 0; i < count; i++) {
        group->members[i].skipped = is_ready[i] && ready < count;
        if (is_ready[i]) rue_runner_start(group->members[i].runner, ready == count);
    }
}

static rue_status finish_all(struct group *group, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; i < group->gpus->count; i++) {
        struct member *member = &group->members[i];
        rue_error why = {0};
        if (!member->begun) continue;
        rue_status finished = rue_runner_finish(member->runner, &member->result, &why);
        if (status == RUE_OK && finished != RUE_OK) status = rue_fail(error, finished, "%s", why.message);
    }
    return status;
}

/* The first that failed by itself, or NULL. */
static const struct member *first_failure(const struct group *group, size_t *index)
{
    for (size_t i = 0; i < group->gpus->count; i++) {
        const struct member *member = &group->members[i];
        *index = i;
        if (!member->skipped && member->result.outcome != RUE_TRIAL_OK) return member;
    }
    return NULL;
}

/* What became of a trial that all of them made; takes over what is owned of their results. */
static struct rue_trial_result conclude(struct group *group)
{
    struct rue_trial_result results[RUE_GPU_MAX], merged;
    size_t at;
    const struct member *failed = first_failure(group, &at);
    if (failed) {
        merged = rue_trial_result_empty();
        merged.outcome = failed->result.outcome;
        merged.config = failed->result.config;
        merged.refused = failed->result.refused;
        char reason[RUE_GPU_NAME_BYTES + RUE_REASON_BYTES];
        snprintf(reason, sizeof reason, "on GPU %s: %s", group->gpus->names[at], failed->result.reason);
        rue_error_shorten(reason, merged.reason, sizeof merged.reason);
        for (size_t i = 0; i < group->gpus->count; i++) rue_trial_result_close(&group->members[i].result);
        return merged;
    }
    for (size_t i = 0; i < group->gpus->count; i++) results[i] = group->members[i].result;
    return rue_runner_group_merge(results, group->gpus->count);
}

/* Where one has read what another found in memory, none of them can tell whether it was cold. */
static void judge_data(const struct rue_trial_request *request, struct rue_trial_result *result)
{
    char why[RUE_REASON_BYTES / 2];
    bool told = result->read_bytes != RUE_ABSENT && result->data_bytes != RUE_ABSENT;
    if (result->outcome != RUE_TRIAL_OK || result->cache_missed != RUE_ABSENT || !told) return;
    result->cache_missed = !rue_residency_judge_bytes(&request->workload, (uint64_t)result->read_bytes,
                                                      (uint64_t)result->data_bytes, 1, why, sizeof why);
    if (result->cache_missed) rue_trial_result_add_reason(result, why);
}

/* One that cannot be started again, or came back as another one, or with other data, cannot be asked again:
 * whoever asked starts a new group, and sees what that says of itself. */
static struct rue_trial_result give_up(const struct rue_trial_request *request, const rue_error *why)
{
    struct rue_trial_result result = rue_trial_result_empty();
    result.config = request->config;
    result.spent = true;
    rue_error_shorten(why->message, result.reason, sizeof result.reason);
    return result;
}

static struct rue_trial_result run_trial(struct group *group, const struct rue_trial_request *request,
                                         const json_t *object)
{
    rue_error why = {0};
    const json_t *told = json_object_get(object, "profile");
    char *profile = rue_json_dump(told, JSON_COMPACT);
    rue_status status = begin_all(group, request, profile, &why);
    free(profile);
    start_all(group);
    rue_status finished = finish_all(group, &why);
    if (status != RUE_OK || finished != RUE_OK) return give_up(request, &why);
    struct rue_trial_result result = conclude(group);
    judge_data(request, &result);
    return result;
}

static rue_status answer_trial(void *state, json_t *object, const struct rue_trial_request *request,
                               struct rue_trial_result *out, rue_error *error)
{
    struct group *group = state;
    rue_status status = check_world(group, &request->workload, error);
    if (status == RUE_OK) status = open_members(group, error);
    if (status == RUE_OK) *out = run_trial(group, request, object);
    return status;
}

/* ---- the group ---- */

rue_status rue_runner_group_serve(const struct rue_gpu_list *gpus, const char *command, FILE *in, FILE *out,
                                  rue_error *error)
{
    static const struct rue_answerer answerer = {answer_hello, answer_open, answer_trial};
    struct group *group = calloc(1, sizeof *group);
    if (!group) return rue_fail_memory(error, "a group of runners", sizeof *group);
    group->gpus = gpus;
    group->command = command;
    rue_status status = rue_runner_lines_serve(&answerer, group, in, out, error);
    for (size_t i = 0; i < gpus->count; i++) rue_runner_close(group->members[i].runner);
    free(group);
    return status;
}
