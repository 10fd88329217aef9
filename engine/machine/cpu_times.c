#include "cpu_times.h"

#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

FILE *rue_kernel_file_open(const char *root, const char *path)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    int file = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    FILE *stream = file < 0 ? NULL : fdopen(file, "r");
    if (file >= 0 && !stream) close(file);
    return stream;
}

/* Whether a line of /proc/stat counts: that of all CPUs, or with `usable` those of usable ones. */
static bool is_counted(const char *line, const cpu_set_t *usable)
{
    if (!usable) return strncmp(line, "cpu ", 4) == 0;
    char *end;
    unsigned long cpu =
        strncmp(line, "cpu", 3) == 0 && line[3] != ' ' ? strtoul(line + 3, &end, 10) : CPU_SETSIZE;
    return cpu < CPU_SETSIZE && end > line + 3 && *end == ' ' && CPU_ISSET(cpu, usable);
}

/* Adds a line's ticks. Fields: user nice system idle iowait irq softirq steal; user has the time of guests.
 */
static bool add_ticks(const char *line, struct rue_cpu_times *sums)
{
    enum { IDLE = 3, WAITING = 4, STOLEN = 7, FIELDS = 8 };
    const char *at = strchr(line, ' ');
    double ticks[FIELDS], sum = 0;
    for (int i = 0; i < FIELDS; i++) {
        char *end;
        ticks[i] = strtod(at, &end);
        if (end == at || !(ticks[i] >= 0 && isfinite(ticks[i]))) return false;
        at = end;
        sum += ticks[i];
    }
    sums->idle_s += ticks[IDLE] + ticks[WAITING];
    sums->stolen_s += ticks[STOLEN];
    sums->busy_s += sum - ticks[IDLE] - ticks[WAITING] - ticks[STOLEN];
    return true;
}

struct rue_cpu_times rue_cpu_times_read(const char *root, bool usable)
{
    struct rue_cpu_times sums = {0}, unknown = {NAN, NAN, NAN};
    char line[1024];
    cpu_set_t set;
    size_t count = 0;
    bool valid = !usable || sched_getaffinity(0, sizeof set, &set) == 0;
    FILE *file = valid ? rue_kernel_file_open(root, "/proc/stat") : NULL;
    while (valid && file && fgets(line, sizeof line, file) && strncmp(line, "cpu", 3) == 0) {
        if (!is_counted(line, usable ? &set : NULL)) continue;
        valid = add_ticks(line, &sums);
        count++;
    }
    if (file) fclose(file);
    /* A container may number its CPUs otherwise than the kernel does. */
    if (!valid || count != (usable ? (size_t)CPU_COUNT(&set) : 1)) return unknown;
    double ticks_per_s = (double)sysconf(_SC_CLK_TCK);
    return (struct rue_cpu_times){sums.busy_s / ticks_per_s, sums.idle_s / ticks_per_s,
                                  sums.stolen_s / ticks_per_s};
}

double rue_pressure_s(const char *root, const char *resource)
{
    static const char key[] = "total=";
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/pressure/%s", resource);
    FILE *file = rue_kernel_file_open(root, path);
    bool some = file && fgets(line, sizeof line, file) && strncmp(line, "some ", 5) == 0;
    if (file) fclose(file);
    const char *total = some ? strstr(line, key) : NULL;
    char *end;
    double micros = total ? strtod(total + sizeof key - 1, &end) : NAN;
    return total && end > total + sizeof key - 1 && isfinite(micros) && micros >= 0 ? micros / 1e6 : NAN;
}
