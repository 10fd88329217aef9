/* Which rank is lost first: a launcher may end all others because of it. */
#ifndef RUE_RANK_WATCH_H
#define RUE_RANK_WATCH_H

#include <stddef.h>
#include <stdint.h>

/* Waits until each of these sockets has something to read or has ended, until `deadline_ns` of
 * rue_suspension_awake_ns, or until a signal comes; -1 among them are skipped. Returns the index of the first
 * that ended, or -1. */
int rue_rank_watch(const int *sockets, size_t count, uint64_t deadline_ns);

#endif
