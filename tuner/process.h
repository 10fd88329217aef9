/* A child process in a group of its own, talked to in lines over pipes. */
#ifndef RUE_PROCESS_H
#define RUE_PROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "error.h"

struct rue_process;

/* Starts argv[0] (searched in PATH) with standard input and output as pipes and standard error shared. The
 * child is killed when this process dies. RUE_RUNNER when it cannot be started. */
rue_status rue_process_open(const char *const argv[], struct rue_process **out,
                            rue_error *error) RUE_MUST_CHECK;

/* The group that the child and all that it starts are in. */
pid_t rue_process_group(const struct rue_process *process);

/* Writes `line` and a newline. RUE_RUNNER when the child does not read (it ended). */
rue_status rue_process_write_line(struct rue_process *process, const char *line,
                                  rue_error *error) RUE_MUST_CHECK;

/* The next line, without its newline, valid until the next call. Waits until `deadline_ns` (monotonic;
 * UINT64_MAX: for ever). RUE_TIMEOUT; RUE_RUNNER when the child ended or the line is longer than `longest`;
 * RUE_INTERRUPTED or RUE_TERMINATED when a signal came first. */
rue_status rue_process_read_line(struct rue_process *process, uint64_t deadline_ns, size_t longest,
                                 const char **line, rue_error *error) RUE_MUST_CHECK;

/* Ends the child: closes its input and waits `grace_ns` for it to go by itself, then SIGTERM to the group,
 * `grace_ns` again, then SIGKILL. Whatever is left of the group is killed too. Returns how it ended, in words
 * that fit behind "the runner": "was killed by SIGSEGV", "ended with exit code 3", "ended"; the text is valid
 * until the next call. */
const char *rue_process_close(struct rue_process *process, uint64_t grace_ns);

#endif
