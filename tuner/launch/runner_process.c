#include "runner_process.h"

#include <signal.h>
#include <string.h>

#include "interrupt.h"
#include "protocol.h"
#include "runner_command.h"
#include "suspension.h"
#include "tcp.h"
#include "units.h"

/* How long a report of the end may take, and to read one that has arrived. */
static const uint64_t remote_end_ns = 3 * RUE_NS_PER_S, arrived_ns = 100 * RUE_NS_PER_MS;

rue_status rue_runner_process_start(struct rue_runner_process *runner, rue_error *error)
{
    runner->end.text[0] = 0;
    runner->end_deadline_ns = 0;
    if (runner->fd) return rue_process_adopt(runner->fd, &runner->process, error);
    return rue_runner_command_start(runner->command, runner->gpu, &runner->process, error);
}

rue_status rue_runner_process_send(const struct rue_runner_process *runner, const char *line,
                                   uint64_t deadline_ns, rue_error *error)
{
    rue_error why = {0};
    rue_status status = rue_process_write_line(runner->process, line, deadline_ns, &why);
    return status == RUE_OK || status == RUE_RUNNER ? RUE_OK : rue_fail(error, status, "%s", why.message);
}

rue_status rue_runner_process_read(struct rue_runner_process *runner, uint64_t deadline_ns, json_t **reply,
                                   rue_error *error)
{
    const char *line;
    rue_status status =
        rue_process_read_line(runner->process, deadline_ns, RUE_PROTOCOL_LINE_MAX, &line, error);
    if (status == RUE_OK && rue_protocol_is_interrupt(line, strlen(line))) {
        if (rue_interrupt_status() == RUE_OK) raise(SIGINT); /* a second one would end this at once */
        return rue_fail(error, RUE_INTERRUPTED, "interrupted");
    }
    if (status == RUE_OK) status = rue_protocol_parse(line, reply, error);
    if (status != RUE_OK || !runner->remote || !rue_rank_decode_end(*reply, &runner->end)) return status;
    json_decref(*reply);
    *reply = NULL;
    return rue_fail(error, RUE_RUNNER, "ended");
}

bool rue_runner_process_is_gone(const struct rue_runner_process *runner)
{
    return runner->end.text[0] || rue_process_is_gone(runner->process);
}

bool rue_runner_process_is_lost(const struct rue_runner_process *runner)
{
    return runner->lost || (runner->remote && rue_tcp_has_ended(runner->fd));
}

void rue_runner_process_request_end(struct rue_runner_process *runner)
{
    if (!runner->remote || runner->end_deadline_ns || rue_runner_process_is_gone(runner)) return;
    runner->end_deadline_ns = rue_suspension_awake_ns() + remote_end_ns;
    (void)!rue_process_write_line(runner->process, RUE_RANK_END, runner->end_deadline_ns, NULL);
}

/* Answers that come before the report are not needed. */
static void end_remote(struct rue_runner_process *runner)
{
    rue_runner_process_request_end(runner);
    uint64_t least_ns = rue_suspension_awake_ns() + arrived_ns,
             deadline_ns = runner->end_deadline_ns > least_ns ? runner->end_deadline_ns : least_ns;
    while (!rue_runner_process_is_gone(runner) && rue_suspension_awake_ns() < deadline_ns) {
        json_t *reply = NULL;
        rue_status status = rue_runner_process_read(runner, deadline_ns, &reply, NULL);
        json_decref(reply);
        if (status == RUE_INTERRUPTED || status == RUE_TERMINATED) break;
    }
    runner->lost = !runner->end.text[0];
}

struct rue_process_end rue_runner_process_end(struct rue_runner_process *runner, uint64_t grace_ns)
{
    if (runner->remote) end_remote(runner);
    const struct rue_process_end end = rue_runner_command_end(runner->process, grace_ns);
    runner->process = NULL;
    if (!runner->remote) return end;
    const char *lost = "lost its connection: its process or its node ended";
    return (struct rue_process_end){.text = runner->lost ? lost : runner->end.text,
                                    .exit_code = runner->lost ? -1 : runner->end.exit_code};
}
