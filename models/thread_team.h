/* Threads that share work: all of them take part in each piece, the caller as the first. */
#ifndef RUE_THREAD_TEAM_H
#define RUE_THREAD_TEAM_H

#include <stddef.h>

#include "error.h"

struct rue_thread_team;

/* What each of `members` does; `member` counts from 0. */
typedef void rue_thread_work(void *context, size_t member, size_t members);

/* `members` at least 1, the caller included. RUE_INFEASIBLE when the system refuses threads; RUE_MEMORY. */
rue_status rue_thread_team_open(size_t members, struct rue_thread_team **out,
                                rue_error *error) RUE_MUST_CHECK;

/* Returns when all members are done. One caller at a time. */
void rue_thread_team_run(struct rue_thread_team *team, rue_thread_work *work, void *context);

/* Joins the threads. */
void rue_thread_team_close(struct rue_thread_team *team);

#endif
