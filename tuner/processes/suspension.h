/* Ctrl-Z and fg: this process stops together with its runners. Trials in progress become useless, and the
 * stopped time does not count. */
#ifndef RUE_SUSPENSION_H
#define RUE_SUSPENSION_H

#include <stdint.h>

/* Installs the handlers for SIGTSTP (unless it is ignored) and SIGCONT. Call it once. */
void rue_suspension_install(void);

/* The child of this keeper stops and continues with this process, until unfollow. At most 64. Unfollow before
 * the socket is closed. */
void rue_suspension_follow(int keeper_socket);
void rue_suspension_unfollow(int keeper_socket);

/* The number of times that this process was continued, also after SIGSTOP. */
unsigned rue_suspension_count(void);

/* The monotonic clock in ns, without the time for which Ctrl-Z stopped this process, for deadlines and
 * budgets. Stops by SIGSTOP count, because it cannot be handled. */
uint64_t rue_suspension_awake_ns(void);

#endif
