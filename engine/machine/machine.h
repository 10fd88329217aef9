/* The machine, as far as this process may use it. */
#ifndef RUE_MACHINE_H
#define RUE_MACHINE_H

#include <stdint.h>

struct rue_machine {
    char cpu[128];         /* name of the processor */
    int online_cpus;       /* CPUs of the machine that are online */
    int affinity_cpus;     /* CPUs that the scheduler may use for this process */
    double quota_cpus;     /* CPUs that the control group (v1 or v2) allows; 0: no limit */
    int usable_cpus;       /* min(affinity, quota rounded up), at least 1 */
    uint64_t memory_bytes; /* of the machine, or the limit of the control group if it is smaller */
    char kernel[128];
};

struct rue_machine rue_machine_read(void);

/* Memory that is available without swapping: the minimum of MemAvailable and the memory that is available in
 * the control group. At least 1, or 0 if it is unknown. */
uint64_t rue_machine_available_bytes(void);

/* Number of processes that the kernel has killed since it started because memory was short, in all control
 * groups. 0 if the kernel does not report it. */
uint64_t rue_machine_oom_kills(void);

#endif
