/* Records in which order the ranks of a trial answer or end: if one ends, a launcher may end all others. */
#ifndef RUE_RANK_WATCH_H
#define RUE_RANK_WATCH_H

#include "runner_members.h"

/* Begins to watch all ranks, for a trial. Does nothing if the loaders are not ranks. */
void rue_rank_watch_open(struct rue_members *group);

/* Waits until each rank that `waits` has sent a line or ended its connection, and records the order. Ends at
 * `deadline_ns` (of rue_suspension_awake_ns), or after a signal. */
void rue_rank_watch_wait(struct rue_members *group, uint64_t deadline_ns);

void rue_rank_watch_close(struct rue_members *group);

#endif
