/* A child process in a group of its own, talked to in lines over pipes. */
#ifndef RUE_PROCESS_H
#define RUE_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"

struct rue_process;

/* Starts argv[0] (searched in PATH) with standard input and output as pipes and standard error shared. The
 * child and all that it starts are killed when this process dies (see keeper.h). RUE_RUNNER when it cannot be
 * started. */
rue_status rue_process_open(const char *const argv[], struct rue_process **out,
                            rue_error *error) RUE_MUST_CHECK;

/* What rue_suspension_follow is to follow. */
int rue_process_keeper_socket(const struct rue_process *process);

/* How often the child has been stopped so far, by whomever; only the child itself is watched, not what it
 * started. */
unsigned rue_process_suspensions(struct rue_process *process);

/* The signal that the child is stopped by, "TTIN"; NULL while it runs. As of the last call of the function
 * above. */
const char *rue_process_stop_signal(const struct rue_process *process);

/* Whether the child's end is what a call below answered with RUE_RUNNER. */
bool rue_process_is_gone(const struct rue_process *process);

/* Writes `line` and a newline; waits until `deadline_ns` as below while the child does not read. RUE_TIMEOUT,
 * after which a part of the line may have been written; RUE_RUNNER when the child ended; the signals'
 * statuses. */
rue_status rue_process_write_line(struct rue_process *process, const char *line, uint64_t deadline_ns,
                                  rue_error *error) RUE_MUST_CHECK;

/* The next line, without its newline, valid until the next call. Waits until `deadline_ns` (of
 * rue_suspension_awake_ns; UINT64_MAX: for ever), but takes what is there by then. RUE_TIMEOUT; RUE_RUNNER
 * when the child ended, closed its output, or the line is longer than `longest`; RUE_INTERRUPTED or
 * RUE_TERMINATED when a signal came first. */
rue_status rue_process_read_line(struct rue_process *process, uint64_t deadline_ns, size_t longest,
                                 const char **line, rue_error *error) RUE_MUST_CHECK;

/* Ends the child: closes its input and waits `grace_ns` for it to go by itself, then SIGTERM to the group,
 * `grace_ns` again, then SIGKILL. Whatever it started is killed too, in whatever group or session it is.
 * Returns how it ended, in words that fit behind "the runner": "was killed by SIGSEGV", "ended with exit code
 * 3", "ended"; the text is valid until the next call. */
const char *rue_process_close(struct rue_process *process, uint64_t grace_ns);

#endif
