/* Limits of this process's control groups (version 1 or 2) and of all above them; the smallest applies.
 * `root` is put before /proc and /sys: "", or a folder with copies of them. */
#ifndef RUE_CGROUP_H
#define RUE_CGROUP_H

#include <stdbool.h>
#include <stdint.h>

/* CPUs of the quota; 0: no quota. */
double rue_cgroup_cpus(const char *root);

/* The memory limit, and the memory available under it, including reclaimable page cache. False: no limit. */
bool rue_cgroup_memory(const char *root, uint64_t *limit_bytes, uint64_t *available_bytes);

/* The largest number after `key` in the file `name` of this process's control group and of those above it.
 * NaN: no group has it. `controller` NULL: version 2, else the controller of version 1. */
double rue_cgroup_max_value(const char *root, const char *controller, const char *name, const char *key);

#endif
