/* Ctrl-Z and fg: this process stops, and so do the runners that follow it; what was measured meanwhile is
 * worth nothing, and the time counts for nothing. */
#ifndef RUE_SUSPENSION_H
#define RUE_SUSPENSION_H

#include <stdint.h>

/* Installs the handlers for SIGTSTP (unless that is ignored) and SIGCONT. Once a process. */
void rue_suspension_install(void);

/* What the keeper at the other end of `keeper_socket` keeps is stopped and continued with this process, up to
 * 64 of them, until unfollow, which comes before the line is closed. */
void rue_suspension_follow(int keeper_socket);
void rue_suspension_unfollow(int keeper_socket);

/* How often this process was told to go on. SIGSTOP and SIGCONT count as Ctrl-Z and fg do. */
unsigned rue_suspension_count(void);

/* The monotonic clock in ns, which stands still while this process is stopped by Ctrl-Z: what deadlines and
 * budgets are counted in. (SIGSTOP cannot be seen coming, so that time runs on.) */
uint64_t rue_suspension_awake_ns(void);

#endif
