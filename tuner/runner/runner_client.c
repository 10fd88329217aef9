#include "runner_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interrupt.h"
#include "residency.h"
#include "runner_identity.h"

/* One of several loaders that make a trial together. */
struct member {
    struct rue_connection *connection;
    struct rue_trial_request request;
    struct rue_trial_result result;
    bool started, skipped;
};

struct rue_runner {
    struct rue_gpu_list gpus; /* empty: one loader that sees all GPUs */
    size_t count;             /* number of loaders: 1, or one per GPU; 0: `local` answers */
    const struct rue_local_runner *local;
    const void *state;      /* the argument of `local` */
    struct rue_hello hello; /* of all loaders together */
    struct member members[RUE_GPU_MAX];
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
static rue_status check_members(const struct rue_runner *runner, rue_error *error)
{
    static const char *const keys[] = {"runner", "loader", "clock", "measures", "models", NULL};
    char difference[RUE_IDENTITY_TEXT_BYTES];
    const json_t *first = rue_connection_greeting(runner->members[0].connection);
    for (size_t i = 1; i < runner->count; i++)
        if (rue_runner_identity_differs(first, rue_connection_greeting(runner->members[i].connection), keys,
                                        difference))
            return rue_fail(
                error, RUE_RUNNER,
                "the runner on GPU %s answers 'hello' differently from the runner on GPU %s: %s; give a "
                "command that starts the same runner on each GPU",
                runner->gpus.names[i], runner->gpus.names[0], difference);
    return RUE_OK;
}

/* The first loader's greeting, with an equal share of the CPUs. */
static rue_status merge_greetings(struct rue_runner *runner, rue_error *error)
{
    rue_status status = check_members(runner, error);
    if (status != RUE_OK) return status;
    json_t *greeting = json_deep_copy(rue_connection_greeting(runner->members[0].connection));
    json_t *machine = json_object_get(greeting, "machine");
    json_int_t cpus = json_integer_value(json_object_get(machine, "usable_cpus"));
    json_int_t share = cpus / (json_int_t)runner->count;
    if (cpus > 0) json_object_set_new(machine, "usable_cpus", json_integer(share > 0 ? share : 1));
    if (machine) json_object_set_new(machine, "loaders", json_integer((json_int_t)runner->count));
    if (json_object_get(machine, "visible_gpus"))
        json_object_set_new(machine, "visible_gpus", visible_gpus(&runner->gpus));
    status = greeting ? rue_protocol_decode_hello(greeting, &runner->hello, error)
                      : rue_fail_memory(error, "a greeting", 256);
    json_decref(greeting);
    return status;
}

rue_status rue_runner_open(const struct rue_runner_address *address, const struct rue_gpu_list *gpus,
                           struct rue_runner **out, rue_error *error)
{
    rue_status status = RUE_OK;
    struct rue_runner *runner = calloc(1, sizeof *runner);
    if (!runner) return rue_fail_memory(error, "a runner", sizeof *runner);
    if (gpus) runner->gpus = *gpus;
    runner->count = gpus ? gpus->count : 1;
    for (size_t i = 0; status == RUE_OK && i < runner->count; i++)
        status = rue_connection_open(address, gpus ? runner->gpus.names[i] : NULL,
                                     &runner->members[i].connection, error);
    if (status == RUE_OK && gpus) status = merge_greetings(runner, error);
    if (status != RUE_OK) return rue_runner_close(runner), status;
    if (!gpus) runner->hello = *rue_connection_hello(runner->members[0].connection);
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
    for (size_t i = 0; runner && i < runner->count; i++) rue_connection_close(runner->members[i].connection);
    free(runner);
}

const struct rue_hello *rue_runner_hello(const struct rue_runner *runner)
{
    return &runner->hello;
}

/* Only the first loader warms the data, for all of them. Shards are opened for each, to know its share. */
rue_status rue_runner_open_data(struct rue_runner *runner, const struct rue_variant *variant,
                                const struct rue_workload *workload, uint64_t images, struct rue_opened *out,
                                rue_error *error)
{
    struct rue_workload all = *workload, as_is = *workload;
    struct rue_opened opened;
    bool shards = runner->gpus.count && workload->share == RUE_SHARE_SHARDS;
    if (runner->gpus.count) all.world_size = 1;
    snprintf(as_is.cache, sizeof as_is.cache, RUE_CACHE_AS_IS);
    *out = (struct rue_opened){.cache = RUE_CACHE_AS_IS};
    if (runner->local) return runner->local->open(runner->state, variant, out), RUE_OK;
    rue_status status = rue_connection_open_data(runner->members[0].connection, variant, &all,
                                                 images * runner->count, out, error);
    if (runner->gpus.count) out->share_images = 0;
    for (size_t i = shards ? 0 : 1; status == RUE_OK && i < runner->count; i++) {
        as_is.rank = (int)i;
        status = rue_connection_open_data(runner->members[i].connection, variant, &as_is, 1, &opened, error);
        if (shards && status == RUE_OK && opened.share_images > out->share_images)
            out->share_images = opened.share_images;
    }
    return status;
}

/* ---- trials of several ---- */

/* X(field): integers to sum. */
#define SUMS(X) X(anon_peak_bytes) X(read_bytes) X(bad_images) X(data_bytes)
/* X(field): integers to maximise. */
#define PEAKS(X) X(file_peak_bytes) X(warmup_ns) X(cost_ns) X(cache_missed) X(refused)

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t sum_reported(int64_t a, int64_t b)
{
    return a == RUE_ABSENT || b == RUE_ABSENT ? RUE_ABSENT : a + b;
}

struct rue_trial_result rue_runner_merge(struct rue_trial_result *results, size_t count)
{
    size_t slowest = 0;
    for (size_t i = 1; i < count; i++)
        if (results[i].end_to_end_ns > results[slowest].end_to_end_ns) slowest = i;
    struct rue_trial_result merged = results[slowest];
    for (size_t i = 0; i < count; i++) {
        if (i == slowest) continue;
        const struct rue_trial_result *other = &results[i];
#define X(field) merged.field = sum_reported(merged.field, other->field);
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

/* At least 1, because 0 means no limit. */
static uint64_t memory_share(uint64_t bytes, size_t count)
{
    return bytes && bytes < count ? 1 : bytes / count;
}

/* Sends each loader its share. They prepare in parallel. */
static rue_status begin_all(struct rue_runner *runner, const struct rue_trial_request *request,
                            const char *profile, uint64_t timeout_ns, rue_error *error)
{
    rue_status status = RUE_OK;
    size_t count = runner->count;
    for (size_t i = 0; i < count; i++) {
        runner->members[i].started = false;
        runner->members[i].result = rue_trial_result_empty();
    }
    for (size_t i = 0; status == RUE_OK && i < count; i++) {
        struct member *member = &runner->members[i];
        member->request = *request;
        member->request.workload.rank = (int)i;
        member->request.limits.memory_bytes = memory_share(request->limits.memory_bytes, count);
        member->request.waits = true;
        status = rue_connection_begin(member->connection, &member->request, profile, timeout_ns, error);
        member->started = status == RUE_OK;
    }
    return status;
}

/* If one is not ready, none starts, except runners that ignore "wait" and have started already. */
static void start_all(struct rue_runner *runner)
{
    size_t count = runner->count, ready = 0;
    bool is_ready[RUE_GPU_MAX] = {0};
    for (size_t i = 0; i < count; i++) {
        is_ready[i] = runner->members[i].started && rue_connection_is_ready(runner->members[i].connection);
        ready += is_ready[i];
    }
    for (size_t i = 0; i < count; i++) {
        runner->members[i].skipped = is_ready[i] && ready < count;
        if (is_ready[i]) rue_connection_start(runner->members[i].connection, ready == count);
    }
}

static rue_status finish_all(struct rue_runner *runner, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; i < runner->count; i++) {
        struct member *member = &runner->members[i];
        rue_error why = {0};
        if (!member->started) continue;
        rue_status finish_status = rue_connection_finish(member->connection, &member->result, &why);
        if (status == RUE_OK && finish_status != RUE_OK)
            status = rue_fail(error, finish_status, "%s", why.message);
    }
    return status;
}

/* The first loader that failed by itself, or NULL. */
static const struct member *first_failure(const struct rue_runner *runner, size_t *index)
{
    for (size_t i = 0; i < runner->count; i++) {
        const struct member *member = &runner->members[i];
        *index = i;
        if (!member->skipped && member->result.outcome != RUE_TRIAL_OK) return member;
    }
    return NULL;
}

/* The result of a trial of all loaders. Takes over the lists of their results. */
static struct rue_trial_result combine_results(struct rue_runner *runner)
{
    struct rue_trial_result results[RUE_GPU_MAX], merged;
    size_t at;
    const struct member *failed = first_failure(runner, &at);
    if (failed) {
        merged = rue_trial_result_empty();
        merged.outcome = failed->result.outcome;
        merged.config = failed->result.config;
        merged.refused = failed->result.refused;
        char reason[RUE_GPU_NAME_BYTES + RUE_REASON_BYTES];
        snprintf(reason, sizeof reason, "on GPU %s: %s", runner->gpus.names[at], failed->result.reason);
        rue_error_shorten(reason, merged.reason, sizeof merged.reason);
        for (size_t i = 0; i < runner->count; i++) rue_trial_result_close(&runner->members[i].result);
        return merged;
    }
    for (size_t i = 0; i < runner->count; i++) results[i] = runner->members[i].result;
    return rue_runner_merge(results, runner->count);
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

/* If one cannot be restarted, the others have not started. */
static rue_status run_together(struct rue_runner *runner, const struct rue_trial_request *request,
                               const char *profile, uint64_t timeout_ns, struct rue_trial_result *result,
                               rue_error *error)
{
    rue_error why = {0};
    rue_status status = begin_all(runner, request, profile, timeout_ns, &why);
    start_all(runner);
    rue_status finish_status = finish_all(runner, &why);
    if (status == RUE_OK) status = finish_status;
    if (status == RUE_OK) {
        *result = combine_results(runner);
        check_cache(request, result);
        return RUE_OK;
    }
    for (size_t i = 0; i < runner->count; i++) rue_trial_result_close(&runner->members[i].result);
    return rue_fail(error, status, "%s", why.message);
}

/* ---- trials ---- */

rue_status rue_runner_trial(struct rue_runner *runner, struct rue_trial_request *request, const char *profile,
                            uint64_t timeout_ns, struct rue_trial_result *result, rue_error *error)
{
    struct rue_connection *first = runner->members[0].connection;
    *result = rue_trial_result_empty();
    result->config = request->config;
    if (rue_interrupt_status() != RUE_OK) return rue_fail(error, rue_interrupt_status(), "interrupted");
    if (runner->local) return runner->local->trial(runner->state, request, result), RUE_OK;
    if (runner->gpus.count) return run_together(runner, request, profile, timeout_ns, result, error);
    rue_status status = rue_connection_begin(first, request, profile, timeout_ns, error);
    return status == RUE_OK ? rue_connection_finish(first, result, error) : status;
}

bool rue_runner_was_suspended(const struct rue_runner *runner)
{
    bool any = false;
    for (size_t i = 0; i < runner->count; i++)
        any |= rue_connection_was_suspended(runner->members[i].connection);
    return any;
}
