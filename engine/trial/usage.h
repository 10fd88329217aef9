/* What this process has used so far, by the kernel's accounting. */
#ifndef RUE_USAGE_H
#define RUE_USAGE_H

#include <stdint.h>

struct rue_usage {
    uint64_t cpu_ns;     /* user and system time of all threads */
    uint64_t read_bytes; /* from storage, not from the page cache; 0 where the kernel does not tell */
    uint64_t anon_bytes; /* resident anonymous memory now */
    uint64_t file_bytes; /* resident file-backed and shared memory now */
    uint64_t peak_bytes; /* largest resident memory of both kinds since the last reset */
};

struct rue_usage rue_usage_read(void);

/* Of these, the first alone, which is told at once. */
uint64_t rue_usage_cpu_ns(void);

/* Lets peak_bytes begin anew at what is resident now; without effect where the kernel does not allow it. */
void rue_usage_reset_peak(void);

#endif
