#include "machine.h"

#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* The value of the line "key<spaces>: value" of a /proc file; false when there is none. */
static bool proc_value(const char *path, const char *key, char *out, size_t bytes)
{
    FILE *file = fopen(path, "re");
    if (!file) return false;
    char line[512];
    bool found = false;
    while (!found && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        if (!colon || strncmp(line, key, strlen(key)) != 0) continue;
        char *value = colon + 1 + strspn(colon + 1, " \t");
        value[strcspn(value, "\n")] = 0;
        snprintf(out, bytes, "%s", value);
        found = true;
    }
    fclose(file);
    return found;
}

static uint64_t meminfo_bytes(const char *key)
{
    char value[64];
    return proc_value("/proc/meminfo", key, value, sizeof value) ? strtoull(value, NULL, 10) * 1024 : 0;
}

/* Whether the comma-separated list `names` holds `name`; `names` is cut up. */
static bool list_holds(char *names, const char *name)
{
    char *save = NULL;
    for (char *at = strtok_r(names, ",", &save); at; at = strtok_r(NULL, ",", &save))
        if (strcmp(at, name) == 0) return true;
    return false;
}

/* The first line of a control group's file, in the group of this process (`controller` NULL: version 2). A
 * container sees its own group at the mount's root, so that is looked at as well. */
static bool cgroup_line(const char *controller, const char *file, char *out, size_t bytes)
{
    char group[PATH_MAX] = "", line[PATH_MAX];
    FILE *own = fopen("/proc/self/cgroup", "re");
    while (own && fgets(line, sizeof line, own)) {
        char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
        if (!path) continue;
        *path++ = 0;
        path[strcspn(path, "\n")] = 0;
        bool mine = controller ? list_holds(names + 1, controller) : strcmp(names, ":") == 0;
        if (mine) snprintf(group, sizeof group, "%s", path);
    }
    if (own) fclose(own);
    const char *groups[] = {group, ""};
    for (int i = 0; i < 2; i++) {
        char path[3 * PATH_MAX];
        snprintf(path, sizeof path, "/sys/fs/cgroup%s%s%s/%s", controller ? "/" : "",
                 controller ? controller : "", groups[i], file);
        FILE *stream = fopen(path, "re");
        if (!stream) continue;
        bool got = fgets(out, (int)bytes, stream) != NULL;
        fclose(stream);
        if (got) return true;
    }
    return false;
}

static double quota_cpus(void)
{
    char text[128];
    double quota = 0, period = 0;
    if (cgroup_line(NULL, "cpu.max", text, sizeof text)) {
        char *end;
        quota = strtod(text, &end);
        period = end == text ? 0 : strtod(end, NULL);
    } else if (cgroup_line("cpu", "cpu.cfs_quota_us", text, sizeof text)) {
        quota = strtod(text, NULL);
        if (cgroup_line("cpu", "cpu.cfs_period_us", text, sizeof text)) period = strtod(text, NULL);
    }
    return quota > 0 && period > 0 ? quota / period : 0;
}

static uint64_t cgroup_bytes(const char *v2, const char *v1)
{
    char text[128];
    if (!cgroup_line(NULL, v2, text, sizeof text) && !cgroup_line("memory", v1, text, sizeof text)) return 0;
    return strtoull(text, NULL, 10); /* "max" reads as 0: no limit */
}

static int affinity_cpus(int online)
{
    for (int room = online > 64 ? online : 64; room <= 1 << 16; room *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        if (!set) break;
        size_t bytes = CPU_ALLOC_SIZE((size_t)room);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0) return count;
    }
    return online;
}

struct rue_machine rue_machine_read(void)
{
    struct rue_machine machine = {0};
    struct utsname system;
    if (!proc_value("/proc/cpuinfo", "model name", machine.cpu, sizeof machine.cpu))
        snprintf(machine.cpu, sizeof machine.cpu, "unknown");
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    machine.online_cpus = online > 0 ? (int)online : 1;
    machine.affinity_cpus = affinity_cpus(machine.online_cpus);
    machine.quota_cpus = quota_cpus();
    machine.usable_cpus = machine.affinity_cpus;
    if (machine.quota_cpus > 0 && ceil(machine.quota_cpus) < machine.usable_cpus)
        machine.usable_cpus = (int)ceil(machine.quota_cpus);
    uint64_t limit = cgroup_bytes("memory.max", "memory.limit_in_bytes");
    machine.memory_bytes = meminfo_bytes("MemTotal");
    if (limit && limit < machine.memory_bytes) machine.memory_bytes = limit;
    if (uname(&system) == 0)
        snprintf(machine.kernel, sizeof machine.kernel, "%.60s %.60s", system.sysname, system.release);
    return machine;
}

uint64_t rue_machine_available_bytes(void)
{
    uint64_t available = meminfo_bytes("MemAvailable");
    uint64_t limit = cgroup_bytes("memory.max", "memory.limit_in_bytes");
    uint64_t used = cgroup_bytes("memory.current", "memory.usage_in_bytes");
    if (limit && limit < meminfo_bytes("MemTotal")) {
        uint64_t left = used < limit ? limit - used : 0;
        if (left < available) available = left;
    }
    return available;
}
