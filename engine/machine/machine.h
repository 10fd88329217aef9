/* Facts of the machine that the process runs on, as far as the process may use it. */
#ifndef RUE_MACHINE_H
#define RUE_MACHINE_H

#include <stdint.h>

struct rue_machine {
    char cpu[128];         /* the processor's own name */
    int online_cpus;       /* of the machine */
    int affinity_cpus;     /* that the scheduler may put this process on */
    double quota_cpus;     /* that the control group (v1 or v2) grants; 0: unlimited */
    int usable_cpus;       /* min(affinity, quota rounded up), at least 1 */
    uint64_t memory_bytes; /* of the machine, or of the control group where that is less */
    char kernel[128];
};

struct rue_machine rue_machine_read(void);

/* Memory that can be had now without swapping: MemAvailable, or what the control group leaves where that is
 * less. At least 1 where anything is known, 0 when nothing is. */
uint64_t rue_machine_available_bytes(void);

/* How many processes the kernel has killed for want of memory since it started, in any control group; 0 where
 * it does not say. */
uint64_t rue_machine_oom_kills(void);

#endif
