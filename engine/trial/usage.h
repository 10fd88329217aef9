/* Resources that this process has used so far, and its CPUs' time, as the kernel counts them. */
#ifndef RUE_USAGE_H
#define RUE_USAGE_H

#include <stdint.h>

#include "cpu_times.h"

struct rue_usage {
    uint64_t cpu_ns;     /* user and system time of all threads */
    uint64_t read_bytes; /* read from storage, not from the page cache; 0 if the kernel does not report it */
    uint64_t anon_bytes; /* resident anonymous memory now */
    uint64_t file_bytes; /* resident file-backed and shared memory now */
    uint64_t peak_bytes; /* largest resident memory of both kinds since the last reset */
    struct rue_cpu_times cpus; /* of the CPUs that the process may use */
    double waited_s;           /* in which some task of the machine waited for a CPU; NaN: not known */
};

struct rue_usage rue_usage_read(void);

/* cpu_ns alone, which is faster to read. */
uint64_t rue_usage_cpu_ns(void);

/* Resets peak_bytes to the memory that is resident now, if the kernel allows it. */
void rue_usage_reset_peak(void);

#endif
