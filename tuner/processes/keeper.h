/* A small process between this one and its child. The keeper is the parent of the child and of its orphaned
 * descendants in any group or session (PR_SET_CHILD_SUBREAPER). When this process closes it or dies, even by
 * SIGKILL, the keeper kills all of them and ends. It cannot kill: processes of other users (set-user-ID
 * programs); processes that a daemon, batch system or other machine starts for the child; processes that fork
 * faster than they are killed for 5 s. Without lists of children in /proc, or if the keeper itself is killed
 * by SIGKILL, processes outside the child's group survive, too. */
#ifndef RUE_KEEPER_H
#define RUE_KEEPER_H

#include <stdbool.h>
#include <sys/types.h>

#include "error.h"

struct rue_keeper {
    pid_t pid;
    int socket_fd; /* connected to the keeper, see below */
};

/* Starts argv[0] (searched in PATH) in its own group. `in` and `out` become its standard input and output and
 * stay the caller's; standard error is shared. Forks without exec, so no other thread may run. Waits until
 * the child is started. RUE_RUNNER: the system refuses a process. The socket delivers an int for each change
 * of the child's state, as of waitpid(2): stopped, continued, ended. After a shutdown for writing, the keeper
 * kills everything within 5 s, closes the socket and ends. */
rue_status rue_keeper_open(const char *const argv[], int in, int out, struct rue_keeper *keeper,
                           rue_error *error) RUE_MUST_CHECK;

/* Sends a signal to the child's group if the child runs; SIGSTOP and SIGCONT go to all its descendants. Safe
 * in a signal handler. `socket_fd` is that of the keeper. */
void rue_keeper_signal(int socket_fd, int number);

#endif
