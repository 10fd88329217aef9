/* The processes below one process, from /proc/PID/task/TID/children. A kernel without CONFIG_PROC_CHILDREN
 * lists none. */
#ifndef RUE_DESCENDANTS_H
#define RUE_DESCENDANTS_H

#include <stddef.h>
#include <sys/types.h>

/* A zeroed struct is an empty list. */
struct rue_descendants {
    size_t count, capacity;
    pid_t *at; /* [count], owned, each after its parent */
};

/* Replaces the list by all descendants of `root`. Processes that start meanwhile may be missing; if memory is
 * out, others too. */
void rue_descendants_find(struct rue_descendants *list, pid_t root);

/* Frees and empties the list. */
void rue_descendants_close(struct rue_descendants *list);

#endif
