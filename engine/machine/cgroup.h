/* What the control groups of this process (version 1 or 2) allow. Limits of every group from the process's
 * own up to the root count, and the tightest one holds. */
#ifndef RUE_CGROUP_H
#define RUE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* CPUs that the quota grants; 0: no quota. */
double rue_cgroup_cpus(void);

/* The memory limit, and what it leaves: page cache that would be given back does not count as used. False: no
 * limit. */
bool rue_cgroup_memory(uint64_t *limit_bytes, uint64_t *left_bytes);

/* The largest number behind `key` in the file `name` of this process's own group and of those above it; NaN
 * where none has one. Of version 2 (`controller` NULL), or of that controller of version 1. `root` is put
 * before /proc and /sys: "", or a folder with a copy of them. */
double rue_cgroup_max_value(const char *root, const char *controller, const char *name, const char *key);

#endif
