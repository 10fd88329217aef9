/* A child process in its own group, which reads and writes lines over pipes; or a program at the other end of
 * a socket. */
#ifndef RUE_PROCESS_H
#define RUE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"

struct rue_process;

/* How a child ended. */
struct rue_process_end {
    const char *text; /* continues "the runner": "was killed by SIGSEGV", "ended with exit code 3", "ended";
                         valid until another child ends */
    int exit_code;    /* -1: killed by a signal, or unknown */
    bool killed;      /* by SIGKILL, also if its shell says so */
};

/* Starts argv[0] (searched in PATH). Its standard input and output are pipes; standard error is shared. If
 * this process dies, the child and all its descendants are killed (keeper.h). RUE_RUNNER: it cannot be
 * started. */
rue_status rue_process_open(const char *const argv[], struct rue_process **out,
                            rue_error *error) RUE_MUST_CHECK;

/* Adopts the program at the other end of a connected stream socket, which is borrowed. The program counts as
 * ended when the connection ends. Its suspensions are unknown. RUE_MEMORY. */
rue_status rue_process_adopt(int socket_fd, struct rue_process **out, rue_error *error) RUE_MUST_CHECK;

/* The socket for rue_suspension_follow. -1: not a child; rue_suspension_follow ignores it. */
int rue_process_keeper_socket(const struct rue_process *process);

/* The number of times that the child was stopped. Its descendants are not watched. */
unsigned rue_process_suspensions(struct rue_process *process);

/* The signal that had stopped the child at the last rue_process_suspensions, such as "TTIN"; NULL: it ran. */
const char *rue_process_stop_signal(const struct rue_process *process);

/* Whether a call below returned RUE_RUNNER because the child ended. */
bool rue_process_is_gone(const struct rue_process *process);

/* Whether the child has ended by now. Does not notice the end of a program at a socket. */
bool rue_process_has_ended(struct rue_process *process);

/* The descriptor of its output, for poll(2). rue_process_read_line with a past deadline does not wait. */
int rue_process_output(const struct rue_process *process);

/* Writes `line` and a newline, until `deadline_ns` as below. RUE_TIMEOUT: the child does not read, and may
 * get a part of the line; RUE_RUNNER: it ended; RUE_INTERRUPTED, RUE_TERMINATED. Messages continue "the
 * runner". */
rue_status rue_process_write_line(struct rue_process *process, const char *line, uint64_t deadline_ns,
                                  rue_error *error) RUE_MUST_CHECK;

/* The next line without its newline, valid until the next call. Waits until `deadline_ns` (of
 * rue_suspension_awake_ns; UINT64_MAX: no limit). RUE_TIMEOUT; RUE_RUNNER: the child ended, closed its
 * output, or sent more than `longest` bytes in a line; RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_process_read_line(struct rue_process *process, uint64_t deadline_ns, size_t longest,
                                 const char **line, rue_error *error) RUE_MUST_CHECK;

/* Reads what has arrived of the next line. True: rue_process_read_line would not wait. */
bool rue_process_collect(struct rue_process *process, size_t longest);

/* The next line if it has arrived, [*bytes], which is not read by this; else NULL. Borrowed until the next
 * call. */
const char *rue_process_peek_line(struct rue_process *process, size_t *bytes);

/* Ends the child: closes its input, waits `grace_ns`, sends SIGTERM to its group, waits `grace_ns`, sends
 * SIGKILL. Each wait is at most 300 ms after a signal to this process. Kills all its descendants in any group
 * or session, too. A program that is not a child continues. */
struct rue_process_end rue_process_close(struct rue_process *process, uint64_t grace_ns);

#endif
