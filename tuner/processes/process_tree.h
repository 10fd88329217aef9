/* The usage of all processes below one process, from the kernel's accounting. It includes ended processes
 * that their parents waited for. One thread at a time. */
#ifndef RUE_PROCESS_TREE_H
#define RUE_PROCESS_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "descendants.h"

/* Counters never decrease; memory, processes and threads are current values. */
struct rue_tree_usage {
    uint64_t cpu_ns;                  /* user and system time */
    uint64_t read_bytes, write_bytes; /* from and to storage; 0: unknown */
    uint64_t rss_bytes;               /* shared pages count once per process */
    unsigned processes, threads;
};

enum { RUE_TREE_COUNTERS = 3 };

/* Zeroed but for `root`, which itself adds only its counters and those of children that it waited for, so it
 * should do little work. */
struct rue_process_tree {
    pid_t root;
    struct rue_descendants below; /* the owner closes it */
    uint64_t last[RUE_TREE_COUNTERS];
};

/* Processes that end meanwhile are skipped. If memory is out, some are missing. */
void rue_process_tree_read(struct rue_process_tree *tree, struct rue_tree_usage *out);

#endif
