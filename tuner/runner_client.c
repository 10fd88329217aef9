#include "runner_client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "interrupt.h"
#include "machine.h"
#include "process.h"
#include "units.h"

enum { OPEN_LINES_MAX = 64 };

static const uint64_t open_patience_ns =
    1800 * RUE_NS_PER_S; /* it may read hundreds of gigabytes to warm them */
static const uint64_t hello_patience_ns = 120 * RUE_NS_PER_S; /* importing a framework takes its time */
static const uint64_t grace_ns = 500 * RUE_NS_PER_MS;

struct open_data {
    char *line; /* the request */
    uint64_t images;
    char digest[32];
};

struct rue_runner {
    char command[4096]; /* "" : our own */
    uint64_t max_pixels;
    struct rue_process *process; /* NULL while there is none */
    struct rue_hello hello;
    uint64_t next_id;
    unsigned restarts;
    size_t open_count;
    struct open_data opens[OPEN_LINES_MAX]; /* so far, for a new runner */
    uint64_t oom_kills;                     /* of the system, when the trial in flight began */
};

/* Whether the command is one program with arguments: then the shell is told to make way for it, so that it is
 * the runner itself that dies with this process and whose end is seen. */
static bool is_simple(const char *command)
{
    size_t word = strcspn(command, " \t");
    bool assigns = memchr(command, '=', word) != NULL;
    return !command[strcspn(command, ";&|<>()`\n")] && !assigns && strncmp(command, "exec", word) != 0;
}

static rue_status start_process(struct rue_runner *runner, rue_error *error)
{
    char pixels[32];
    snprintf(pixels, sizeof pixels, "%" PRIu64, runner->max_pixels);
    char command[sizeof runner->command + 8];
    snprintf(command, sizeof command, "%s%s", is_simple(runner->command) ? "exec " : "", runner->command);
    const char *const own[] = {"/proc/self/exe", "runner", "--max-pixels", pixels, NULL};
    const char *const foreign[] = {"/bin/sh", "-c", command, NULL};
    rue_status status = rue_process_open(runner->command[0] ? foreign : own, &runner->process, error);
    if (status == RUE_OK) rue_interrupt_guard(rue_process_group(runner->process));
    return status;
}

static void end_process(struct rue_runner *runner)
{
    rue_process_close(runner->process, grace_ns);
    runner->process = NULL;
    rue_interrupt_guard(0);
}

/* One question, one answer: the line parsed; a new reference. */
static rue_status exchange(struct rue_runner *runner, const char *line, uint64_t deadline_ns, json_t **reply,
                           rue_error *error)
{
    const char *answer;
    rue_status status = rue_process_write_line(runner->process, line, error);
    if (status == RUE_OK)
        status = rue_process_read_line(runner->process, deadline_ns, RUE_PROTOCOL_LINE_MAX, &answer, error);
    return status == RUE_OK ? rue_protocol_parse(answer, reply, error) : status;
}

static rue_status greet(struct rue_runner *runner, rue_error *error)
{
    rue_error why = {0};
    json_t *reply = NULL;
    char *line = rue_protocol_encode_hello();
    if (!line) return rue_fail_memory(error, "a request", 64);
    rue_status status = start_process(runner, &why);
    if (status == RUE_OK)
        status = exchange(runner, line, rue_clock_now_ns() + hello_patience_ns, &reply, &why);
    if (status == RUE_OK) status = rue_protocol_decode_hello(reply, &runner->hello, &why);
    json_decref(reply);
    free(line);
    if (status == RUE_OK) return RUE_OK;
    const char *end = runner->process ? rue_process_close(runner->process, grace_ns) : "did not start";
    runner->process = NULL;
    if (status == RUE_INTERRUPTED || status == RUE_TERMINATED) return rue_fail(error, status, "interrupted");
    return rue_fail(error, RUE_RUNNER,
                    "the runner '%.200s' gave no greeting: %s; it %s. Run it by hand, type "
                    "{\"op\":\"hello\"} and see what it says",
                    runner->command[0] ? runner->command : "rue runner", why.message, end);
}

rue_status rue_runner_open(const char *command, uint64_t max_pixels, struct rue_runner **out,
                           rue_error *error)
{
    struct rue_runner *runner = calloc(1, sizeof *runner);
    if (!runner) return rue_fail_memory(error, "a runner", sizeof *runner);
    if (command && strlen(command) >= sizeof runner->command)
        return free(runner), rue_fail(error, RUE_USAGE,
                                      "the runner's command is longer than %zu bytes: put it into a script",
                                      sizeof runner->command);
    snprintf(runner->command, sizeof runner->command, "%s", command ? command : "");
    runner->max_pixels = max_pixels;
    runner->next_id = 1;
    rue_status status = greet(runner, error);
    if (status != RUE_OK) return rue_runner_close(runner), status;
    *out = runner;
    return RUE_OK;
}

void rue_runner_close(struct rue_runner *runner)
{
    if (!runner) return;
    if (runner->process) end_process(runner);
    for (size_t i = 0; i < runner->open_count; i++) free(runner->opens[i].line);
    free(runner);
}

const struct rue_hello *rue_runner_hello(const struct rue_runner *runner)
{
    return &runner->hello;
}

unsigned rue_runner_restarts(const struct rue_runner *runner)
{
    return runner->restarts;
}

static rue_status open_with(struct rue_runner *runner, const char *line, struct rue_opened *out,
                            rue_error *error)
{
    json_t *reply = NULL;
    rue_error why = {0};
    rue_status status = exchange(runner, line, rue_clock_now_ns() + open_patience_ns, &reply, &why);
    if (status == RUE_OK) status = rue_protocol_decode_opened(reply, out, &why);
    json_decref(reply);
    if (status == RUE_OK) return RUE_OK;
    if (status == RUE_RUNNER)
        return rue_fail(error, status, "the runner, asked to open the data, %s", why.message);
    if (status == RUE_DATA && runner->command[0])
        return rue_fail(error, status, "the runner cannot open the data: %s", why.message);
    return rue_fail(error, status, "%s", why.message);
}

rue_status rue_runner_open_data(struct rue_runner *runner, const struct rue_variant *variant,
                                const struct rue_workload *workload, uint64_t images, struct rue_opened *out,
                                rue_error *error)
{
    if (runner->open_count == OPEN_LINES_MAX)
        return rue_fail(error, RUE_USAGE, "more than %d data sets", OPEN_LINES_MAX);
    char *line = rue_protocol_encode_open(variant, workload, images);
    if (!line)
        return rue_fail(error, RUE_USAGE,
                        "the path %s is no UTF-8: rename it, or link to it under another name",
                        variant->path);
    rue_status status = open_with(runner, line, out, error);
    if (status != RUE_OK) return free(line), status;
    struct open_data *open = &runner->opens[runner->open_count++];
    *open = (struct open_data){.line = line, .images = out->images};
    snprintf(open->digest, sizeof open->digest, "%s", out->digest);
    return RUE_OK;
}

/* What was measured on other data must not be mixed with what comes. */
static rue_status open_again(struct rue_runner *runner, const struct open_data *before, rue_error *error)
{
    struct rue_opened now;
    rue_status status = open_with(runner, before->line, &now, error);
    if (status != RUE_OK) return status;
    if (now.images == before->images && strcmp(now.digest, before->digest) == 0) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "the data changed while they were measured: %" PRIu64 " images became %" PRIu64
                    ", or files were replaced; leave the data alone and run the same command again",
                    before->images, now.images);
}

/* A new runner that has opened what the old one had. */
static rue_status ensure_process(struct rue_runner *runner, rue_error *error)
{
    if (runner->process) return RUE_OK;
    runner->restarts++;
    rue_status status = greet(runner, error);
    for (size_t i = 0; status == RUE_OK && i < runner->open_count; i++)
        status = open_again(runner, &runner->opens[i], error);
    return status;
}

/* The reply to request `id`. A reply to an earlier request (one answered twice) is passed over; `"id":null`
 * answers the request in flight. */
static rue_status await_reply(struct rue_runner *runner, uint64_t id, uint64_t deadline_ns, json_t **reply,
                              rue_error *error)
{
    for (;;) {
        const char *line;
        rue_status status =
            rue_process_read_line(runner->process, deadline_ns, RUE_PROTOCOL_LINE_MAX, &line, error);
        if (status == RUE_OK) status = rue_protocol_parse(line, reply, error);
        if (status != RUE_OK) return status;
        const json_t *said = json_object_get(*reply, "id");
        if (json_is_null(said) || (json_is_integer(said) && (uint64_t)json_integer_value(said) == id))
            return RUE_OK;
        bool earlier =
            json_is_integer(said) && json_integer_value(said) >= 0 && (uint64_t)json_integer_value(said) < id;
        json_decref(*reply);
        *reply = NULL;
        if (!earlier) return rue_fail(error, RUE_RUNNER, "answered another question than the one asked");
    }
}

/* What became of a trial whose runner did not answer it: the runner is gone or useless, and the row says why.
 */
static void blame(struct rue_runner *runner, rue_status status, const char *why, uint64_t patience_ns,
                  struct rue_trial_result *result)
{
    char text[RUE_UNIT_TEXT_BYTES];
    bool died = status == RUE_RUNNER && strcmp(why, "ended") == 0;
    const char *end = rue_process_close(runner->process, died ? grace_ns : 0);
    runner->process = NULL;
    bool starved = died && strstr(end, "SIGKILL") && rue_machine_oom_kills() > runner->oom_kills;
    result->outcome = status == RUE_TIMEOUT ? RUE_TRIAL_TIMEOUT
                      : starved             ? RUE_TRIAL_INFEASIBLE
                                            : RUE_TRIAL_FAILED;
    if (status == RUE_TIMEOUT)
        snprintf(result->reason, sizeof result->reason, "the runner gave no answer within %s and was stopped",
                 rue_format_duration(patience_ns, text, sizeof text));
    else
        snprintf(result->reason, sizeof result->reason, "the runner %.400s during the trial%s",
                 died ? end : why, starved ? ": the system had no more memory for it" : "");
}

rue_status rue_runner_trial(struct rue_runner *runner, struct rue_trial_request *request, const char *profile,
                            uint64_t patience_ns, struct rue_trial_result *result, rue_error *error)
{
    *result = rue_trial_result_empty();
    result->config = request->config;
    rue_status status = ensure_process(runner, error);
    if (status != RUE_OK) return status;
    request->id = runner->next_id++;
    char *line = rue_protocol_encode_trial(request, profile);
    if (!line) return rue_fail_memory(error, "a request", 4096);
    rue_error why = {0};
    json_t *reply = NULL;
    uint64_t now = rue_clock_now_ns();
    runner->oom_kills = rue_machine_oom_kills();
    status = rue_process_write_line(runner->process, line, &why);
    if (status == RUE_RUNNER) { /* it ended before it was asked: that is how the read below finds it */
        rue_error_clear(&why);
        status = RUE_OK;
    }
    if (status == RUE_OK) status = await_reply(runner, request->id, now + patience_ns, &reply, &why);
    free(line);
    if (status == RUE_OK) {
        rue_protocol_decode_result(reply, request, result);
        json_decref(reply);
        return RUE_OK;
    }
    json_decref(reply);
    if (status == RUE_INTERRUPTED || status == RUE_TERMINATED) {
        end_process(runner);
        return rue_fail(error, status, "interrupted");
    }
    blame(runner, status, why.message, patience_ns, result);
    return RUE_OK;
}
