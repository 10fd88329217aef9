/* Threads that share pieces of work. The caller is the first member. */
#ifndef RUE_THREAD_TEAM_H
#define RUE_THREAD_TEAM_H

#include <stddef.h>

#include "error.h"

struct rue_thread_team;

/* The work of one member; `member` is 0 to members - 1. */
typedef void rue_thread_work(void *context, size_t member, size_t members);

/* `members` >= 1 includes the caller. RUE_INFEASIBLE: the threads could not be started. RUE_MEMORY. */
rue_status rue_thread_team_open(size_t members, struct rue_thread_team **out,
                                rue_error *error) RUE_MUST_CHECK;

/* Runs `work` on all members, and returns when all are done. One caller at a time. */
void rue_thread_team_run(struct rue_thread_team *team, rue_thread_work *work, void *context);

/* Joins the threads. */
void rue_thread_team_close(struct rue_thread_team *team);

#endif
