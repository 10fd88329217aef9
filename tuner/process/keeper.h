/* A small process between this one and a child of it. The keeper is the parent of the child, and becomes the
 * parent of whatever the child's descendants leave behind (PR_SET_CHILD_SUBREAPER), in whatever group or
 * session they are. When this process closes it, or dies however it may, kill -9 included, the keeper kills
 * all of them and ends.
 *
 * What escapes: processes of other users (a set-user-ID program), those that another program starts for the
 * child (a daemon, a batch system, another machine), those that fork faster than they are killed for 5 s,
 * where /proc lists no children those outside of the child's group, and, if somebody kills the keeper itself
 * with SIGKILL, what the child started outside of its group. */
#ifndef RUE_KEEPER_H
#define RUE_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "error.h"

struct rue_keeper {
    pid_t pid;
    int socket_fd; /* see below */
};

/* Starts argv[0] (searched in PATH) in a group of its own, with `in` and `out` as its standard input and
 * output (they stay the caller's) and standard error shared. Forks without exec: no other thread may run.
 * Blocks until the child is started. RUE_RUNNER when the system refuses a process.
 *
 * From the line come the changes of the child's state, an int each, a status as of waitpid(2): stopped,
 * continued, ended. Shut down for writing, it tells the keeper to kill all that is left, which closes the
 * line when that is done, in 5 s at most, and ends. */
rue_status rue_keeper_open(const char *const argv[], int in, int out, struct rue_keeper *keeper,
                           rue_error *error) RUE_MUST_CHECK;

/* Sends a signal to the child's group, if the child runs; SIGSTOP and SIGCONT go to all of its descendants,
 * in whatever group they are. Safe in a signal handler: `socket_fd` is that of the keeper. */
void rue_keeper_signal(int socket_fd, int number);

#endif
