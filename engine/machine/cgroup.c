#include "cgroup.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The control group of the process, or one above it. */
struct group {
    const char *root;       /* put before /proc and /sys */
    const char *controller; /* of version 1; NULL: version 2 */
    char path[PATH_MAX];    /* below the mount; "" is the root */
};

static bool list_contains(char *names, const char *name)
{
    char *save = NULL;
    for (char *at = strtok_r(names, ",", &save); at; at = strtok_r(NULL, ",", &save))
        if (strcmp(at, name) == 0) return true;
    return false;
}

/* The control group of this process. In a container the path may be that of the host, without readable files.
 * The walk upwards then ends at the root of the mount, the group of the container. */
static struct group own_group(const char *root, const char *controller)
{
    struct group group = {.root = root, .controller = controller};
    char line[PATH_MAX], list[PATH_MAX + 32];
    snprintf(list, sizeof list, "%s/proc/self/cgroup", root);
    FILE *file = fopen(list, "re");
    while (file && fgets(line, sizeof line, file)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        bool matches = controller ? list_contains(names + 1, controller) : names[1] == 0;
        if (matches) snprintf(group.path, sizeof group.path, "%s", strcmp(path, "/") == 0 ? "" : path);
    }
    if (file) fclose(file);
    return group;
}

/* False: it is the root. */
static bool move_to_parent(struct group *group)
{
    char *slash = strrchr(group->path, '/');
    if (!slash) return false;
    *slash = 0;
    return true;
}

static FILE *open_file(const struct group *group, const char *name)
{
    char path[2 * PATH_MAX];
    const char *controller = group->controller ? group->controller : "";
    snprintf(path, sizeof path, "%s/sys/fs/cgroup%s%s%s/%s", group->root, *controller ? "/" : "", controller,
             group->path, name);
    return fopen(path, "re");
}

double rue_cgroup_max_value(const char *root, const char *controller, const char *name, const char *key)
{
    double maximum = NAN, value;
    char word[64];
    struct group group = own_group(root, controller);
    do {
        FILE *file = open_file(&group, name);
        while (file &&
               fscanf(file, "%63s %lf", word, &value) == 2) // NOLINT(cert-err34-c): the kernel writes numbers
            if (strcmp(word, key) == 0 && value >= 0) maximum = fmax(maximum, value);
        if (file) fclose(file);
    } while (move_to_parent(&group));
    return maximum;
}

/* Reads up to two numbers of the first line and returns their number (0 for "max"). */
static int read_numbers(const struct group *group, const char *name, double out[2])
{
    FILE *file = open_file(group, name);
    if (!file) return 0;
    int count = fscanf(file, "%lf %lf", &out[0], &out[1]); // NOLINT(cert-err34-c): the kernel writes numbers
    fclose(file);
    return count > 0 ? count : 0;
}

double rue_cgroup_cpus(const char *root)
{
    double cpus = 0, numbers[2], period[2];
    struct group group = own_group(root, NULL);
    do {
        if (read_numbers(&group, "cpu.max", numbers) == 2 && numbers[0] > 0 && numbers[1] > 0)
            cpus = cpus > 0 && cpus < numbers[0] / numbers[1] ? cpus : numbers[0] / numbers[1];
    } while (move_to_parent(&group));
    group = own_group(root, "cpu");
    do {
        if (read_numbers(&group, "cpu.cfs_quota_us", numbers) &&
            read_numbers(&group, "cpu.cfs_period_us", period) && numbers[0] > 0 && period[0] > 0)
            cpus = cpus > 0 && cpus < numbers[0] / period[0] ? cpus : numbers[0] / period[0];
    } while (move_to_parent(&group));
    return cpus;
}

/* Page cache of the group, which the kernel frees when memory is short. */
static double reclaimable_bytes(const struct group *group)
{
    char key[64];
    double value, sum = 0;
    const char *prefix = group->controller ? "total_" : "";
    size_t skip = strlen(prefix);
    FILE *file = open_file(group, "memory.stat");
    while (file &&
           fscanf(file, "%63s %lf", key, &value) == 2) // NOLINT(cert-err34-c): the kernel writes numbers
        if (strncmp(key, prefix, skip) == 0 &&
            (!strcmp(key + skip, "inactive_file") || !strcmp(key + skip, "active_file")))
            sum += value;
    if (file) fclose(file);
    return sum;
}

/* The smallest limit, and the smallest free memory under any limit, of version 2 (`controller` NULL) or 1. */
static bool read_memory_limit(const char *root, const char *controller, uint64_t *limit, uint64_t *available)
{
    bool limited = false;
    struct group group = own_group(root, controller);
    do {
        double max[2], used[2] = {0};
        /* Version 1 writes a number near 2^63 for "no limit". */
        if (!read_numbers(&group, controller ? "memory.limit_in_bytes" : "memory.max", max) || max[0] > 1e18)
            continue;
        (void)read_numbers(&group, controller ? "memory.usage_in_bytes" : "memory.current", used);
        double occupied = used[0] - reclaimable_bytes(&group),
               unused = max[0] - (occupied > 0 ? occupied : 0);
        if (!limited || (uint64_t)max[0] < *limit) *limit = (uint64_t)max[0];
        if (!limited || unused < (double)*available) *available = unused > 0 ? (uint64_t)unused : 0;
        limited = true;
    } while (move_to_parent(&group));
    return limited;
}

bool rue_cgroup_memory(const char *root, uint64_t *limit_bytes, uint64_t *available_bytes)
{
    return read_memory_limit(root, NULL, limit_bytes, available_bytes) ||
           read_memory_limit(root, "memory", limit_bytes, available_bytes);
}
