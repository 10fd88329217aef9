/* What the kernel counts of the CPUs' time: how long they were busy and idle, and how long tasks waited. */
#ifndef RUE_CPU_TIMES_H
#define RUE_CPU_TIMES_H

#include <stdbool.h>
#include <stdio.h>

/* Seconds up to now, summed over CPUs; NaN: not known. */
struct rue_cpu_times {
    double busy_s;   /* in programs and the kernel; of a guest's programs, too */
    double idle_s;   /* also while waiting for storage */
    double stolen_s; /* given to others by the hypervisor */
};

/* `root` is the prefix of /proc: "", or a folder with a copy of it. Reads in less than 1 ms, without
 * blocking. `usable`: only of the CPUs that this process may use, else of all. */
struct rue_cpu_times rue_cpu_times_read(const char *root, bool usable);

/* Seconds in which some task waited for a resource, "cpu", "io" or "memory"; NaN: not known. */
double rue_pressure_s(const char *root, const char *resource);

/* Opens a file of the kernel to read, without blocking; NULL: it cannot be read. */
FILE *rue_kernel_file_open(const char *root, const char *path);

#endif
