#include "rank_agent.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "gpu_list.h"
#include "interference.h"
#include "json_document.h"
#include "machine.h"
#include "process.h"
#include "protocol.h"
#include "rank.h"
#include "runner_command.h"
#include "suspension.h"
#include "tcp.h"
#include "units.h"

static const uint64_t welcome_timeout_ns = 30 * RUE_NS_PER_S, write_timeout_ns = 10 * RUE_NS_PER_S;
static const uint64_t end_grace_ns = 300 * RUE_NS_PER_MS;

/* A start further away is an error of a clock. */
static const uint64_t start_most_ns = 10 * RUE_NS_PER_S;

struct agent {
    struct rue_rank rank;
    const char *command;          /* NULL: rue's own runner */
    char gpu[RUE_GPU_NAME_BYTES]; /* that the runner sees; "": all */
    int socket;
    struct rue_process *tuner;
    struct rue_process *runner; /* NULL: none runs; "hello" starts one */
    bool measures;              /* a trial is in progress */
    uint64_t late_ns;           /* of its start */
    struct rue_interference_reading before;
    uint64_t oom_kills; /* of the system, at the start of the trial */
};

/* ---- to the tuner ---- */

/* Without a deadline: if the tuner, its machine or the network ends, so does the connection (tcp.c). */
static rue_status send_line(struct agent *agent, const char *line, rue_error *error)
{
    return rue_process_write_line(agent->tuner, line, UINT64_MAX, error);
}

static rue_status send_json(struct agent *agent, json_t *object, rue_error *error)
{
    char *line = rue_json_dump(object, JSON_COMPACT);
    json_decref(object);
    rue_status status = line ? send_line(agent, line, error) : rue_fail_memory(error, "an answer", 256);
    free(line);
    return status;
}

/* Ends the runner if it still runs, and reports how it ended. */
static rue_status end_runner(struct agent *agent, uint64_t grace_ns, rue_error *error)
{
    if (!agent->runner) return RUE_OK;
    const struct rue_process_end ended = rue_runner_command_end(agent->runner, grace_ns);
    struct rue_rank_end end = {.exit_code = ended.exit_code,
                               .out_of_memory = ended.killed && rue_machine_oom_kills() > agent->oom_kills};
    snprintf(end.text, sizeof end.text, "%s", ended.text);
    agent->runner = NULL;
    agent->measures = false;
    return send_json(agent, rue_rank_encode_end(&end), error);
}

/* ---- requests of the tuner ---- */

/* Each rank gets one of the visible GPUs, by its number within the node. A launcher has already chosen the
 * only visible one. */
static void choose_gpu(struct agent *agent)
{
    char models[RUE_GPU_MAX][RUE_GPU_NAME_BYTES];
    unsigned count = 0;
    if (getenv("CUDA_VISIBLE_DEVICES"))
        while (count < RUE_GPU_MAX && rue_gpu_list_visible(count, agent->gpu)) count++;
    else
        count = (unsigned)rue_gpu_driver_models(RUE_GPU_DRIVER_FOLDER, models, RUE_GPU_MAX);
    agent->gpu[0] = 0;
    if (count > 1) rue_gpu_list_visible((unsigned)agent->rank.local_rank % count, agent->gpu);
}

static rue_status start_runner(struct agent *agent, rue_error *error)
{
    rue_error why = {0};
    struct rue_rank_end end = {0};
    char text[sizeof why.message + 32];
    rue_status status =
        rue_runner_command_start(agent->command, agent->gpu[0] ? agent->gpu : NULL, &agent->runner, &why);
    agent->oom_kills = rue_machine_oom_kills();
    if (status == RUE_OK) return RUE_OK;
    snprintf(text, sizeof text, "cannot be started: %s", why.message);
    rue_error_shorten(text, end.text, sizeof end.text);
    return send_json(agent, rue_rank_encode_end(&end), error);
}

/* Sleeps until the common start, on this machine's clock. */
static void wait_for_start(struct agent *agent, const json_t *request)
{
    const json_t *at = json_object_get(request, "at_ns");
    uint64_t now = rue_clock_now_ns(), at_ns = json_is_integer(at) ? (uint64_t)json_integer_value(at) : now;
    if (at_ns > now && at_ns < now + start_most_ns) rue_clock_wait_until(at_ns);
    now = rue_clock_now_ns();
    agent->late_ns = now > at_ns ? now - at_ns : at_ns - now;
    agent->before = rue_interference_read("");
}

/* Its end is reported when its output is read. One that does not read is ended. */
static rue_status forward(struct agent *agent, const char *line, rue_error *error)
{
    rue_status status =
        rue_process_write_line(agent->runner, line, rue_suspension_awake_ns() + write_timeout_ns, NULL);
    return status == RUE_TIMEOUT ? end_runner(agent, 0, error) : RUE_OK;
}

/* Without a runner, only "hello" is answered: its end has been reported. */
static rue_status handle_request(struct agent *agent, const char *line, rue_error *error)
{
    json_t *request = json_loads(line, 0, NULL);
    const char *op = json_string_value(json_object_get(request, "op"));
    rue_status status = RUE_OK;
    if (!op) op = "";
    if (strcmp(op, "clock") == 0) {
        status = send_json(agent, json_pack("{s:I}", "clock_ns", (json_int_t)rue_clock_now_ns()), error);
    } else if (strcmp(op, "end") == 0) {
        status = end_runner(agent, 0, error);
    } else {
        if (strcmp(op, "hello") == 0 && !agent->runner) status = start_runner(agent, error);
        if (strcmp(op, "trial") == 0) {
            agent->measures = true;
            agent->late_ns = 0;
            agent->before = rue_interference_read("");
            agent->oom_kills = rue_machine_oom_kills();
        }
        bool starts = strcmp(op, "start") == 0;
        if (starts) wait_for_start(agent, request);
        if (status == RUE_OK && agent->runner)
            status = forward(agent, starts ? RUE_PROTOCOL_START : line, error);
    }
    json_decref(request);
    return status;
}

/* ---- answers of the runner ---- */

static void put_ratio(json_t *object, const char *key, double ratio)
{
    if (isfinite(ratio) && ratio >= 0) json_object_set_new(object, key, json_real(ratio));
}

/* What this machine knows about a trial. */
static void add_facts(const struct agent *agent, json_t *reply)
{
    double rates[RUE_INTERFERENCES];
    struct rue_interference_reading now = rue_interference_read("");
    rue_interference_rates(&agent->before, &now, rates);
    json_object_set_new(reply, "start_late_ns", json_integer((json_int_t)agent->late_ns));
    put_ratio(reply, "stolen_ratio", rates[RUE_STOLEN]);
    put_ratio(reply, "throttled_ratio", rates[RUE_THROTTLED]);
}

static rue_status handle_reply(struct agent *agent, const char *line, rue_error *error)
{
    json_t *reply = agent->measures ? json_loads(line, 0, NULL) : NULL;
    const char *status = json_string_value(json_object_get(reply, "status"));
    if (!status || strcmp(status, RUE_PROTOCOL_READY) == 0)
        return json_decref(reply), send_line(agent, line, error);
    agent->measures = false;
    add_facts(agent, reply);
    return send_json(agent, reply, error);
}

/* ---- the connection ---- */

/* "HOST:PORT/TOKEN" */
static rue_status join(struct agent *agent, rue_error *error)
{
    const char *variable = getenv(RUE_RANK_VARIABLE), *answer;
    if (!variable) variable = getenv(RUE_RANK_VARIABLE_MPI);
    const char *slash = variable ? strrchr(variable, '/') : NULL;
    char name[RUE_TCP_NAME_BYTES];
    if (!slash || (size_t)(slash - variable) >= sizeof name)
        return rue_fail(error, RUE_USAGE,
                        "--connect: the variable " RUE_RANK_VARIABLE
                        " %s; rue tune sets it for --launch, and the "
                        "launcher must pass it to all ranks",
                        variable ? "is not HOST:PORT/TOKEN" : "is not set");
    snprintf(name, sizeof name, "%.*s", (int)(slash - variable), variable);
    rue_status status = rue_tcp_connect(name, &agent->socket, error);
    if (status == RUE_OK) status = rue_process_adopt(agent->socket, &agent->tuner, error);
    char *line = status == RUE_OK ? rue_rank_encode_join(&agent->rank, slash + 1) : NULL;
    if (status == RUE_OK)
        status = line ? send_line(agent, line, error) : rue_fail_memory(error, "a line", 256);
    free(line);
    if (status != RUE_OK) return status;
    unsetenv(RUE_RANK_VARIABLE); /* the runner does not need them */
    unsetenv(RUE_RANK_VARIABLE_MPI);
    rue_error why = {0};
    status = rue_process_read_line(agent->tuner, rue_suspension_awake_ns() + welcome_timeout_ns,
                                   RUE_JOIN_BYTES, &answer, &why);
    json_t *welcome = status == RUE_OK ? json_loads(answer, 0, NULL) : NULL;
    const char *word = json_string_value(json_object_get(welcome, "status")),
               *reason = json_string_value(json_object_get(welcome, "reason"));
    bool accepted = word && strcmp(word, "ok") == 0;
    if (!accepted)
        status = rue_fail(error, RUE_RUNNER, "the tuner at %s refuses rank %d: %.200s", name,
                          agent->rank.rank, reason ? reason : "it ended the connection");
    json_decref(welcome);
    return status;
}

/* Waits for a line of either side. */
static void wait_for_lines(const struct agent *agent)
{
    struct pollfd wait[3] = {
        {.fd = agent->socket, .events = POLLIN | POLLRDHUP},
        {.fd = agent->runner ? rue_process_output(agent->runner) : -1, .events = POLLIN},
        {.fd = agent->runner ? rue_process_keeper_socket(agent->runner) : -1, .events = POLLIN}};
    poll(wait, 3, -1);
}

static rue_status pass_requests(struct agent *agent, rue_error *error)
{
    const char *line;
    rue_status status;
    rue_error why = {0};
    while ((status = rue_process_read_line(agent->tuner, 1, RUE_PROTOCOL_LINE_MAX, &line, &why)) == RUE_OK) {
        status = handle_request(agent, line, error);
        if (status != RUE_OK) return status;
    }
    if (status == RUE_TIMEOUT) return RUE_OK;
    return rue_fail(error, status, "%s%s", status == RUE_RUNNER ? "the tuner " : "", why.message);
}

/* Passes one line at most, because a runner may never stop. `*passed`: there may be more. */
static rue_status pass_answer(struct agent *agent, bool *passed, rue_error *error)
{
    const char *line;
    rue_error why = {0};
    *passed = false;
    if (!agent->runner) return RUE_OK;
    rue_status status = rue_process_read_line(agent->runner, 1, RUE_PROTOCOL_LINE_MAX, &line, &why);
    *passed = status == RUE_OK;
    if (*passed) return handle_reply(agent, line, error);
    if (status == RUE_TIMEOUT) return RUE_OK;
    if (status == RUE_RUNNER) return end_runner(agent, end_grace_ns, error);
    return rue_fail(error, status, "the runner %s", why.message);
}

rue_status rue_rank_agent_serve(const char *command, rue_error *error)
{
    struct agent agent = {.command = command, .socket = -1};
    rue_error why = {0};
    rue_status status = rue_rank_read(&agent.rank, error);
    choose_gpu(&agent);
    signal(SIGPIPE, SIG_IGN); /* others end this process; the runner and its children are killed, then */
    rue_status join_status = join(&agent, error); /* the tuner ends the start because of a wrong number */
    if (status == RUE_OK) status = join_status;
    bool joined = status == RUE_OK, passed = false;
    while (status == RUE_OK) {
        status = pass_requests(&agent, &why);
        if (status == RUE_OK) status = pass_answer(&agent, &passed, &why);
        if (status == RUE_OK && !passed) wait_for_lines(&agent);
    }
    if (agent.runner) rue_runner_command_end(agent.runner, end_grace_ns);
    bool ended = joined && rue_process_is_gone(agent.tuner);
    rue_process_close(agent.tuner, 0);
    if (agent.socket >= 0) close(agent.socket);
    if (ended && status == RUE_RUNNER) return RUE_OK; /* the tuner ended the study */
    return joined ? rue_fail(error, status, "%s", why.message) : status;
}
