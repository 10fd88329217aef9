/* The processes below one process, as /proc/PID/task/TID/children lists them; without that list, which few
 * kernels lack (CONFIG_PROC_CHILDREN), none are found. */
#ifndef RUE_DESCENDANTS_H
#define RUE_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

/* A zeroed struct is an empty list. */
struct rue_descendants {
    size_t count, capacity;
    pid_t *at; /* [count], owned, each behind its parent */
};

/* Lists the children of `root`, theirs, and so on, in place of what the list held. Those that are born
 * meanwhile may be missing; out of memory, so may others. */
void rue_descendants_find(struct rue_descendants *list, pid_t root);

/* Frees the list, which is empty again. */
void rue_descendants_close(struct rue_descendants *list);

#endif
