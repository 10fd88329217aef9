/* In which order the ranks of a trial answer or end: a launcher may end all others because of one. */
#ifndef RUE_RANK_WATCH_H
#define RUE_RANK_WATCH_H

#include "runner_members.h"

/* Begins to watch all ranks of the launcher, for a trial. Does nothing without a launcher. */
void rue_rank_watch_open(struct rue_members *group);

/* Reads until there is a line of each rank that `waits`, or its connection has ended; at most until
 * `deadline_ns` of rue_suspension_awake_ns, or until a signal comes. Notes when that was. */
void rue_rank_watch_wait(struct rue_members *group, uint64_t deadline_ns);

void rue_rank_watch_close(struct rue_members *group);

#endif
