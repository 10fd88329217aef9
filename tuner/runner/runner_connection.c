#include "runner_connection.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "interrupt.h"
#include "json_document.h"
#include "machine.h"
#include "process.h"
#include "rank.h"
#include "runner_command.h"
#include "runner_identity.h"
#include "runner_process.h"
#include "suspension.h"
#include "trial_reply.h"
#include "units.h"
#include "utf8.h"

enum { OPEN_LINES_MAX = 64, STARTS_MAX = 3 };

static const uint64_t open_timeout_ns = 1800 * RUE_NS_PER_S; /* warming may read hundreds of gigabytes */
static const uint64_t hello_timeout_ns = 120 * RUE_NS_PER_S; /* importing a framework is slow */
static const uint64_t grace_ns = 500 * RUE_NS_PER_MS;
static const uint64_t skip_timeout_ns = 10 * RUE_NS_PER_S, clock_timeout_ns = 10 * RUE_NS_PER_S;
struct open_data {
    char *line;
    json_t *reply;
};

/* Compared before and after a trial, these show whether it was suspended. */
struct stop_counts {
    unsigned runner, tuner;
    uint64_t asleep_ns; /* of the machine */
};

/* The trial in progress. */
struct flight {
    const struct rue_trial_request *request;
    uint64_t timeout_ns, deadline_ns;
    struct stop_counts before;
    rue_status status; /* of the exchange so far; `why` has its message */
    rue_error why;
    json_t *reply; /* NULL: not received yet */
};

struct rue_connection {
    struct rue_runner_process runner;
    bool greeting_pending; /* hello was sent, and the answer has not been read */
    json_t *greeting;      /* the first answer to hello; later ones must be equal */
    uint64_t deadline_ns;  /* of the answer to hello or open */
    uint64_t next_id;
    bool suspended; /* the last trial was suspended */
    size_t open_count;
    struct open_data opens[OPEN_LINES_MAX]; /* to repeat for a new runner */
    uint64_t oom_kills;                     /* of the system, at the start of the trial */
    char failure[RUE_REASON_BYTES];         /* of a runner at a socket: why it has no more trials */
    struct flight flight;
};

/* Keeps the first greeting. A later one must be equal, because the store mixes their trials. */
static rue_status check_greeting(struct rue_connection *connection, json_t *reply, bool *changed,
                                 rue_error *error)
{
    char difference[RUE_IDENTITY_TEXT_BYTES];
    struct rue_hello *hello = calloc(1, sizeof *hello);
    if (!hello) return rue_fail_memory(error, "a greeting", sizeof *hello);
    rue_status status = rue_protocol_decode_hello(reply, hello, error);
    if (status == RUE_OK && !connection->greeting)
        connection->greeting = json_incref(reply);
    else if (status == RUE_OK)
        *changed = rue_runner_identity_differs(connection->greeting, reply, rue_hello_keys, difference);
    free(hello);
    if (!*changed) return status;
    return rue_fail(error, RUE_RUNNER,
                    "the restarted runner answers 'hello' differently: %s; trials of two runners are not "
                    "mixed: run the same command again",
                    difference);
}

/* Whether the runner is a program at a socket, which rue neither starts nor kills. */
static bool is_served(const struct rue_connection *connection)
{
    return connection->runner.fd && !connection->runner.remote;
}

enum { NAME_BYTES = 240 };

static const char *runner_name(const struct rue_connection *connection, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "the runner '%.200s'",
             connection->runner.command ? connection->runner.command : "rue runner");
    return is_served(connection) ? "the program that serves the trials" : name;
}

static rue_status fail_greeting(struct rue_connection *connection, rue_status status, const json_t *reply,
                                const char *why, rue_error *error)
{
    char refusal[RUE_ERROR_MESSAGE_BYTES] = "", name[NAME_BYTES];
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    if (reason) rue_error_shorten(reason, refusal, sizeof refusal);
    bool started = connection->runner.process,
         gone = started && rue_runner_process_is_gone(&connection->runner);
    struct rue_process_end end = {0};
    if (started) end = rue_runner_process_end(&connection->runner, grace_ns);
    if (status == RUE_INTERRUPTED || status == RUE_TERMINATED) return rue_fail(error, status, "interrupted");
    if (refusal[0] && !connection->runner.command) return rue_fail(error, RUE_RUNNER, "%s", refusal);
    if (refusal[0] || !started)
        return rue_fail(error, RUE_RUNNER, "%s cannot work: %s", runner_name(connection, name),
                        started ? refusal : why);
    return rue_fail(
        error, RUE_RUNNER, "%s did not answer 'hello' correctly: it %s%s", runner_name(connection, name),
        gone ? end.text : why,
        connection->runner.lost || is_served(connection) ? ""
        : end.exit_code == 127
            ? ". The shell found no such program: give a path from this folder, or a program in PATH"
            : ". Run it by hand and type {\"op\":\"hello\"} to see its answer");
}

/* Starts the runner, sends hello, and repeats the opens, so that several runners open data in parallel. */
static rue_status begin_greeting(struct rue_connection *connection, rue_error *error)
{
    char *line = rue_protocol_encode_hello();
    if (!line) return rue_fail_memory(error, "a request", 64);
    rue_status status = rue_runner_process_start(&connection->runner, error);
    connection->deadline_ns = rue_suspension_awake_ns() + hello_timeout_ns;
    if (status == RUE_OK)
        status = rue_runner_process_send(&connection->runner, line, connection->deadline_ns, error);
    for (size_t i = 0; status == RUE_OK && i < connection->open_count; i++)
        status = rue_runner_process_send(&connection->runner, connection->opens[i].line,
                                         connection->deadline_ns, error);
    free(line);
    connection->greeting_pending = status == RUE_OK;
    return status;
}

/* Starts the runner, unless that has begun. `*changed`: its greeting differs from the first one. */
static rue_status greet_runner(struct rue_connection *connection, bool *changed, rue_error *error)
{
    rue_error why = {0};
    json_t *reply = NULL;
    rue_status status = connection->greeting_pending ? RUE_OK : begin_greeting(connection, &why);
    connection->greeting_pending = false;
    if (status == RUE_OK)
        status = rue_runner_process_read(&connection->runner, connection->deadline_ns, &reply, &why);
    if (status == RUE_OK) status = check_greeting(connection, reply, changed, &why);
    if (*changed)
        rue_fail(error, status, "%s", why.message);
    else if (status != RUE_OK)
        status = fail_greeting(connection, status, reply, why.message, error);
    json_decref(reply);
    return status;
}

rue_status rue_connection_open(const char *command, const char *gpu, int socket, bool remote,
                               struct rue_connection **out, rue_error *error)
{
    struct rue_connection *connection = calloc(1, sizeof *connection);
    if (!connection) return rue_fail_memory(error, "a runner", sizeof *connection);
    snprintf(connection->failure, sizeof connection->failure, "cannot make another trial");
    connection->runner =
        (struct rue_runner_process){.command = command, .gpu = gpu, .fd = socket, .remote = remote};
    connection->next_id = 1;
    *out = connection;
    return RUE_OK;
}

void rue_connection_wake(struct rue_connection *connection)
{
    const struct rue_runner_process *runner = &connection->runner;
    if (runner->process || runner->lost || (is_served(connection) && connection->greeting)) return;
    if (begin_greeting(connection, NULL) != RUE_OK && runner->process) /* the next call tries again */
        rue_runner_process_end(&connection->runner, 0);
}

rue_status rue_connection_greet(struct rue_connection *connection, rue_error *error)
{
    bool changed = false;
    return greet_runner(connection, &changed, error);
}

bool rue_connection_is_lost(const struct rue_connection *connection)
{
    return rue_runner_process_is_lost(&connection->runner);
}

void rue_connection_replace_agent(struct rue_connection *connection, int agent)
{
    rue_process_close(connection->runner.process, 0);
    connection->runner.process = NULL;
    connection->runner.fd = agent;
    connection->runner.lost = agent < 0;
    connection->greeting_pending = false;
}

void rue_connection_close(struct rue_connection *connection)
{
    if (!connection) return;
    if (connection->runner.remote) /* the end of the connection ends its runner, too */
        rue_process_close(connection->runner.process, 0);
    else if (connection->runner.process)
        rue_runner_process_end(&connection->runner, grace_ns);
    for (size_t i = 0; i < OPEN_LINES_MAX; i++) {
        free(connection->opens[i].line);
        json_decref(connection->opens[i].reply);
    }
    json_decref(connection->flight.reply);
    json_decref(connection->greeting);
    free(connection);
}

const json_t *rue_connection_greeting(const struct rue_connection *connection)
{
    return connection->greeting;
}

static rue_status send_open(struct rue_connection *connection, const char *line, rue_error *error)
{
    connection->deadline_ns = rue_suspension_awake_ns() + open_timeout_ns;
    return rue_runner_process_send(&connection->runner, line, connection->deadline_ns, error);
}

/* `*reply` is a new reference; NULL on failure. */
static rue_status receive_open(struct rue_connection *connection, json_t **reply, struct rue_opened *out,
                               rue_error *error)
{
    rue_error why = {0};
    *reply = NULL;
    rue_status status = rue_runner_process_read(&connection->runner, connection->deadline_ns, reply, &why);
    if (status == RUE_OK) status = rue_protocol_decode_opened(*reply, out, &why);
    if (status == RUE_OK) return RUE_OK;
    json_decref(*reply);
    *reply = NULL;
    if (status == RUE_RUNNER || status == RUE_TIMEOUT) {
        bool gone = rue_runner_process_is_gone(&connection->runner);
        const char *exit_text = rue_runner_process_end(&connection->runner, grace_ns).text;
        return rue_fail(error, status, "the runner did not answer 'open' correctly: it %s",
                        gone ? exit_text : why.message);
    }
    bool says = status == RUE_DATA || status == RUE_USAGE || status == RUE_INFEASIBLE;
    return rue_fail(error, status, "%s%s",
                    says && connection->runner.command ? "the runner cannot open the data: " : "",
                    why.message);
}

/* As it says in hello. */
static const char *runner_version(const struct rue_connection *connection)
{
    return json_string_value(json_object_get(connection->greeting, "runner"));
}

static rue_status check_views(const struct rue_connection *connection, const struct rue_workload *workload,
                              const struct rue_opened *opened, rue_error *error)
{
    uint32_t views = rue_workload_views(workload);
    if (!views || opened->views == views) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "--augment: the runner %s does not report that it makes %" PRIu32
                    " view%s with their sizes; "
                    "choose one of --image-size, or let it answer 'open' with \"views\":%" PRIu32,
                    runner_version(connection), views, views == 1 ? "" : "s", views);
}

/* A runner that ignores "batch_dtype", "transform" or "image_size" would measure something else. */
static rue_status check_batches(const struct rue_connection *connection, const struct rue_variant *variant,
                                const struct rue_workload *workload, const struct rue_opened *opened,
                                rue_error *error)
{
    if (rue_workload_trains(workload) && strcmp(opened->transform, RUE_TRANSFORM_TRAIN) != 0)
        return rue_fail(
            error, RUE_USAGE,
            "--transform train: the runner %s does not report that it augments; leave out the option, "
            "or let the runner answer 'open' with \"transform\":\"train\"",
            runner_version(connection));
    rue_status status = check_views(connection, workload, opened, error);
    if (status != RUE_OK) return status;
    if (!rue_workload_is_usual(workload) && !opened->geometry)
        return rue_fail(error, RUE_USAGE,
                        "--image-size, --resize and the like: the runner %s does not report that it follows "
                        "them; leave them out, or let the runner answer 'open' with \"geometry\":true",
                        runner_version(connection));
    if (opened->batch_dtype == workload->batch_dtype) return RUE_OK;
    const char *requested = rue_dtype_names[workload->batch_dtype];
    const char *stored = opened->dtype[0] ? opened->dtype : variant->dtype;
    if (workload->batch_dtype == RUE_UINT8 && stored[0] && strcmp(stored, rue_dtype_names[RUE_UINT8]) != 0)
        return rue_fail(error, RUE_USAGE,
                        "--batch-dtype uint8: %s holds %s values, which cannot become uint8; prepare "
                        "the images again with --dtype uint8, or leave out --batch-dtype",
                        variant->path, stored);
    return rue_fail(
        error, RUE_USAGE,
        "--batch-dtype %s: the runner %s does not report batches of %s; leave out the option, or let "
        "the runner answer 'open' with \"batch_dtype\":\"%s\"",
        requested, runner_version(connection), requested, requested);
}

rue_status rue_connection_begin_open(struct rue_connection *connection, const struct rue_variant *variant,
                                     const struct rue_workload *workload, uint64_t images, rue_error *error)
{
    struct open_data *open = &connection->opens[connection->open_count];
    if (connection->open_count == OPEN_LINES_MAX)
        return rue_fail(error, RUE_USAGE, "more than %d data sets", OPEN_LINES_MAX);
    if (!rue_utf8_is_valid(variant->path))
        return rue_fail(error, RUE_USAGE,
                        "the path %s is not UTF-8: rename it, or link to it under another name",
                        variant->path);
    free(open->line);
    open->line = rue_protocol_encode_open(variant, workload, images);
    return open->line ? send_open(connection, open->line, error) : rue_fail_memory(error, "a request", 4096);
}

rue_status rue_connection_finish_open(struct rue_connection *connection, const struct rue_variant *variant,
                                      const struct rue_workload *workload, struct rue_opened *out,
                                      rue_error *error)
{
    struct open_data *open = &connection->opens[connection->open_count];
    rue_status status = receive_open(connection, &open->reply, out, error);
    if (status == RUE_OK) status = check_batches(connection, variant, workload, out, error);
    if (status == RUE_OK) return connection->open_count++, RUE_OK;
    json_decref(open->reply);
    open->reply = NULL;
    return status;
}

/* Reads the answer to a repeated open. Trials of different data must not be mixed. */
static rue_status check_reopened(struct rue_connection *connection, const struct open_data *before,
                                 rue_error *error)
{
    char difference[RUE_IDENTITY_TEXT_BYTES];
    struct rue_opened now;
    json_t *reply;
    connection->deadline_ns = rue_suspension_awake_ns() + open_timeout_ns;
    rue_status status = receive_open(connection, &reply, &now, error);
    if (status != RUE_OK) return status;
    bool changed = rue_runner_identity_differs(before->reply, reply, rue_opened_keys, difference);
    json_decref(reply);
    if (!changed) return RUE_OK;
    return rue_fail(
        error, RUE_DATA,
        "the data changed during the study: %s; do not change them, and run the same command again",
        difference);
}

static rue_status restart_runner(struct rue_connection *connection, bool *changed, rue_error *error)
{
    rue_status status = greet_runner(connection, changed, error);
    for (size_t i = 0; status == RUE_OK && i < connection->open_count; i++)
        status = check_reopened(connection, &connection->opens[i], error);
    if (status != RUE_OK && connection->runner.process) rue_runner_process_end(&connection->runner, grace_ns);
    return status;
}

/* It is tried STARTS_MAX times, because one crash must not end the study. */
rue_status rue_connection_prepare(struct rue_connection *connection, rue_error *error)
{
    char name[NAME_BYTES];
    if (connection->runner.process && !connection->greeting_pending) return RUE_OK;
    if (connection->runner.lost) return rue_fail(error, RUE_RUNNER, "the connection to the rank is lost");
    if (is_served(connection))
        return rue_fail(error, RUE_RUNNER, "%s %s, so no more trials are possible",
                        runner_name(connection, name), connection->failure);
    rue_error why = {0};
    rue_status status = RUE_RUNNER;
    bool changed = false;
    for (int i = 0; status == RUE_RUNNER && !changed && !connection->runner.lost && i < STARTS_MAX; i++) {
        rue_error_clear(&why);
        status = restart_runner(connection, &changed, &why);
    }
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s", why.message);
}

static rue_status fail_id(const json_t *reply_id, uint64_t id, rue_error *error)
{
    char found[64];
    rue_json_describe(reply_id, found, sizeof found);
    return rue_fail(error, RUE_RUNNER, "sent a wrong field: trial.id is not %" PRIu64 ": %s %s", id,
                    reply_id ? "got" : "it is", found);
}

/* Waits for the reply to request `id`. `"id":null` is a reply to it, too. Replies to earlier requests are
 * skipped. */
static rue_status await_reply(struct rue_connection *connection, uint64_t id, uint64_t deadline_ns,
                              json_t **reply, rue_error *error)
{
    for (;;) {
        rue_status status = rue_runner_process_read(&connection->runner, deadline_ns, reply, error);
        if (status != RUE_OK) return status;
        const json_t *reply_id = json_object_get(*reply, "id");
        if (json_is_null(reply_id) ||
            (json_is_integer(reply_id) && (uint64_t)json_integer_value(reply_id) == id))
            return RUE_OK;
        bool earlier = json_is_integer(reply_id) && json_integer_value(reply_id) >= 0 &&
                       (uint64_t)json_integer_value(reply_id) < id;
        rue_status failed = earlier ? RUE_OK : fail_id(reply_id, id, error);
        json_decref(*reply);
        *reply = NULL;
        if (failed != RUE_OK) return failed;
        if (rue_suspension_awake_ns() >= deadline_ns) /* however many earlier replies are left */
            return rue_fail(error, RUE_TIMEOUT, "gave no answer in time");
    }
}

/* The result of a trial without a valid answer. Ends the runner. */
static void fill_failure(struct rue_connection *connection, rue_status status, const char *why,
                         uint64_t timeout_ns, struct rue_trial_result *result)
{
    char text[RUE_UNIT_TEXT_BYTES], stop[32] = "";
    bool died = status == RUE_RUNNER && rue_runner_process_is_gone(&connection->runner);
    if (rue_process_stop_signal(connection->runner.process))
        snprintf(stop, sizeof stop, ", stopped by SIG%s,",
                 rue_process_stop_signal(connection->runner.process));
    const struct rue_process_end end = rue_runner_process_end(&connection->runner, died ? grace_ns : 0);
    bool killed = end.killed && rue_machine_oom_kills() > connection->oom_kills;
    bool out_of_memory = died && (connection->runner.remote ? connection->runner.end.out_of_memory : killed);
    result->outcome = status == RUE_TIMEOUT ? RUE_TRIAL_TIMEOUT
                      : out_of_memory       ? RUE_TRIAL_INFEASIBLE
                                            : RUE_TRIAL_FAILED;
    if (status == RUE_TIMEOUT)
        snprintf(connection->failure, sizeof connection->failure, "gave no answer within %s%s",
                 rue_format_duration(timeout_ns, text, sizeof text),
                 is_served(connection) ? "" : " and was killed");
    else
        snprintf(connection->failure, sizeof connection->failure, "%.400s%s%s", died ? end.text : why,
                 died ? " during the trial" : "", out_of_memory ? ": the system was out of memory" : "");
    snprintf(result->reason, sizeof result->reason, "the runner%s %.*s", stop, RUE_REASON_BYTES - 48,
             connection->failure);
}

static struct stop_counts count_stops(struct rue_connection *connection)
{
    return (struct stop_counts){rue_process_suspensions(connection->runner.process), rue_suspension_count(),
                                rue_clock_suspended_ns()};
}

/* A runner that gave no answer and is still stopped hangs; its trial was not suspended. */
static bool trial_was_suspended(struct rue_connection *connection, const struct stop_counts *before,
                                bool answered)
{
    struct stop_counts after = count_stops(connection);
    if (!answered && rue_process_stop_signal(connection->runner.process)) return false;
    return after.runner != before->runner || after.tuner != before->tuner ||
           after.asleep_ns > before->asleep_ns + RUE_NS_PER_MS;
}

static void send_request(struct rue_connection *connection, const char *line)
{
    struct flight *flight = &connection->flight;
    if (flight->status == RUE_OK)
        flight->status =
            rue_runner_process_send(&connection->runner, line, flight->deadline_ns, &flight->why);
}

static void receive_reply(struct rue_connection *connection)
{
    struct flight *flight = &connection->flight;
    flight->status =
        await_reply(connection, flight->request->id, flight->deadline_ns, &flight->reply, &flight->why);
}

rue_status rue_connection_begin(struct rue_connection *connection, struct rue_trial_request *request,
                                const char *profile, uint64_t timeout_ns, rue_error *error)
{
    connection->suspended = false;
    rue_status status = rue_connection_prepare(connection, error);
    if (status != RUE_OK) return status;
    request->id = connection->next_id++;
    char *line = rue_protocol_encode_trial(request, profile);
    if (!line) return rue_fail_memory(error, "a request", 4096);
    connection->oom_kills = rue_machine_oom_kills();
    json_decref(connection->flight.reply);
    connection->flight = (struct flight){.request = request,
                                         .timeout_ns = timeout_ns,
                                         .deadline_ns = rue_suspension_awake_ns() + timeout_ns,
                                         .before = count_stops(connection)};
    send_request(connection, line);
    free(line);
    return RUE_OK;
}

bool rue_connection_is_ready(struct rue_connection *connection)
{
    struct flight *flight = &connection->flight;
    if (flight->status == RUE_OK) receive_reply(connection);
    const char *word = json_string_value(json_object_get(flight->reply, "status"));
    if (!word || strcmp(word, RUE_PROTOCOL_READY) != 0) return false;
    json_decref(flight->reply);
    flight->reply = NULL;
    return true;
}

bool rue_connection_read_clock(struct rue_connection *connection, uint64_t *clock_ns)
{
    struct flight *flight = &connection->flight;
    json_t *reply = NULL;
    send_request(connection, RUE_RANK_CLOCK);
    uint64_t timeout_ns = flight->timeout_ns < clock_timeout_ns ? flight->timeout_ns : clock_timeout_ns;
    if (flight->status == RUE_OK)
        flight->status = rue_runner_process_read(&connection->runner, rue_suspension_awake_ns() + timeout_ns,
                                                 &reply, &flight->why);
    if (flight->status == RUE_TIMEOUT) flight->timeout_ns = timeout_ns;
    const json_t *clock = json_object_get(reply, "clock_ns");
    bool found = json_is_integer(clock) && json_integer_value(clock) >= 0;
    *clock_ns = found ? (uint64_t)json_integer_value(clock) : 0;
    if (flight->status == RUE_OK && !found)
        flight->status = rue_fail(&flight->why, RUE_RUNNER, "sent something else than its clock");
    json_decref(reply);
    return found;
}

void rue_connection_start(struct rue_connection *connection, uint64_t at_ns)
{
    char line[64] = RUE_PROTOCOL_START;
    if (at_ns) snprintf(line, sizeof line, "{\"op\":\"start\",\"at_ns\":%" PRIu64 "}", at_ns);
    send_request(connection, line);
}

bool rue_connection_skip(struct rue_connection *connection)
{
    if (connection->flight.status != RUE_OK) return false;
    connection->flight.timeout_ns = skip_timeout_ns;
    connection->flight.deadline_ns = rue_suspension_awake_ns() + skip_timeout_ns;
    send_request(connection, RUE_PROTOCOL_SKIP);
    return true;
}

void rue_connection_await(struct rue_connection *connection)
{
    struct flight *flight = &connection->flight;
    if (flight->status == RUE_OK && !flight->reply) receive_reply(connection);
    if (flight->status != RUE_OK) rue_runner_process_request_end(&connection->runner);
}

rue_status rue_connection_finish(struct rue_connection *connection, struct rue_trial_result *result,
                                 rue_error *error)
{
    struct flight *flight = &connection->flight;
    *result = rue_trial_result_empty();
    result->config = flight->request->config;
    rue_connection_await(connection);
    rue_status status = flight->status;
    if (status == RUE_OK || status == RUE_TIMEOUT)
        connection->suspended = trial_was_suspended(connection, &flight->before, status == RUE_OK);
    if (status == RUE_OK) rue_trial_reply_decode(flight->reply, flight->request, result);
    if (result->spent) rue_runner_process_end(&connection->runner, grace_ns);
    if (status == RUE_OK) return RUE_OK;
    if (status == RUE_INTERRUPTED || status == RUE_TERMINATED) {
        rue_runner_process_end(&connection->runner, grace_ns);
        return rue_fail(error, status, "interrupted");
    }
    fill_failure(connection, status, flight->why.message, flight->timeout_ns, result);
    return RUE_OK;
}

struct rue_process *rue_connection_process(const struct rue_connection *connection)
{
    return connection->runner.process;
}

const json_t *rue_connection_reply(const struct rue_connection *connection)
{
    return connection->flight.reply;
}

bool rue_connection_was_suspended(const struct rue_connection *connection)
{
    return connection->suspended;
}
