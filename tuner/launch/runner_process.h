/* The process of a runner, and lines to and from it: a child, a program at a socket, or a child of the agent
 * of a rank (rank_agent.h). Messages continue "the runner". */
#ifndef RUE_RUNNER_PROCESS_H
#define RUE_RUNNER_PROCESS_H

#include "process.h"
#include "rank.h"

struct rue_runner_process {
    const char *command;         /* NULL: rue's own runner; borrowed */
    const char *gpu;             /* the only GPU that it sees; NULL: it sees all; borrowed */
    int fd;                      /* socket of the program or agent; 0: none; borrowed */
    bool remote;                 /* of an agent */
    bool lost;                   /* the connection to its agent has ended */
    struct rue_rank_end end;     /* as the agent reports it; "": not reported */
    uint64_t end_deadline_ns;    /* of that report; 0: not requested */
    struct rue_process *process; /* NULL: not started */
};

/* Starts the command, or adopts the program at the socket. "hello" starts a remote runner. */
rue_status rue_runner_process_start(struct rue_runner_process *runner, rue_error *error) RUE_MUST_CHECK;

/* As rue_process_write_line, but succeeds if the runner has ended: reading its answer reports why. */
rue_status rue_runner_process_send(const struct rue_runner_process *runner, const char *line,
                                   uint64_t deadline_ns, rue_error *error) RUE_MUST_CHECK;

/* Reads a line and parses it, a new reference; as rue_process_read_line. */
rue_status rue_runner_process_read(struct rue_runner_process *runner, uint64_t deadline_ns, json_t **reply,
                                   rue_error *error) RUE_MUST_CHECK;

/* Whether a call above returned RUE_RUNNER because it ended. */
bool rue_runner_process_is_gone(const struct rue_runner_process *runner);

/* Whether the connection to its agent has ended, as of now. */
bool rue_runner_process_is_lost(const struct rue_runner_process *runner);

/* Begins to end a remote runner; several end in parallel. */
void rue_runner_process_request_end(struct rue_runner_process *runner);

/* Ends it; as rue_process_close. Sets `lost` if the agent does not report the end within 3 s. */
struct rue_process_end rue_runner_process_end(struct rue_runner_process *runner, uint64_t grace_ns);

#endif
