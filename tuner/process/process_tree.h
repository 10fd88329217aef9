/* What the processes below one process use together, by the kernel's accounting: also what those that ended
 * have used, as far as their parents waited for them. One thread at a time. */
#ifndef RUE_PROCESS_TREE_H
#define RUE_PROCESS_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "descendants.h"

/* Counters never shrink. Memory is that of now. */
struct rue_tree_usage {
    uint64_t cpu_ns;                  /* user and system time */
    uint64_t read_bytes, write_bytes; /* from and to storage; 0 where the kernel does not tell */
    uint64_t rss_bytes;               /* pages that processes share count once for each */
    unsigned processes, threads;
};

enum { RUE_TREE_COUNTERS = 3 };

struct rue_process_tree {
    pid_t root;
    struct rue_descendants below;
    uint64_t last[RUE_TREE_COUNTERS];
};

/* The processes below `root`, which should do little itself: it is not one of them, but what it uses, and has
 * waited for, is counted. */
struct rue_process_tree rue_process_tree_open(pid_t root);
void rue_process_tree_close(struct rue_process_tree *tree);

/* Looks at all of them. Those that end meanwhile are skipped; out of memory, some are not seen. */
void rue_process_tree_read(struct rue_process_tree *tree, struct rue_tree_usage *out);

#endif
