/* Which rank is lost first: a launcher may end all others because of it. */
#ifndef RUE_RANK_WATCH_H
#define RUE_RANK_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "process.h"

/* Reads until there is a line of each of these agents, or its connection has ended; at most until
 * `deadline_ns` of rue_suspension_awake_ns, or until a signal comes. NULL among them are skipped. Returns the
 * index of the first whose connection ended, or -1. */
int rue_rank_watch(struct rue_process *const *ranks, size_t count, uint64_t deadline_ns);

#endif
