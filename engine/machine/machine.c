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

#include "cgroup.h"

/* Reads the value of the line "key: value" of a file in /proc. False: there is none. */
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

uint64_t rue_machine_oom_kills(void)
{
    FILE *file = fopen("/proc/vmstat", "re");
    char line[256];
    uint64_t kills = 0;
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "oom_kill ", 9) == 0) kills = strtoull(line + 9, NULL, 10);
    if (file) fclose(file);
    return kills;
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
    machine.quota_cpus = rue_cgroup_cpus("");
    machine.usable_cpus = machine.affinity_cpus;
    if (machine.quota_cpus > 0 && ceil(machine.quota_cpus) < machine.usable_cpus)
        machine.usable_cpus = (int)ceil(machine.quota_cpus);
    uint64_t limit, available;
    machine.memory_bytes = meminfo_bytes("MemTotal");
    if (rue_cgroup_memory("", &limit, &available) && limit < machine.memory_bytes)
        machine.memory_bytes = limit;
    if (uname(&system) == 0)
        snprintf(machine.kernel, sizeof machine.kernel, "%.60s %.60s", system.sysname, system.release);
    return machine;
}

uint64_t rue_machine_available_bytes(void)
{
    uint64_t available = meminfo_bytes("MemAvailable"), limit, in_group;
    if (rue_cgroup_memory("", &limit, &in_group) && (available == 0 || in_group < available))
        available = in_group > 0 ? in_group : 1;
    return available;
}
