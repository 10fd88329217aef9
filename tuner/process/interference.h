/* What comes between a program and its CPUs, by the kernel's own counters: time that the hypervisor gave to
 * others (steal), time for which a quota of the control group stopped it, CPUs that slowed down as they were
 * hot, other processes, and how long somebody waited for CPU, storage or memory. The counters are of the
 * whole machine, or of the group, so they tell of a runner too that is another process. */
#ifndef RUE_INTERFERENCE_H
#define RUE_INTERFERENCE_H

/* Where each figure comes from; what a kernel does not tell is NaN. */
struct rue_interference_reading {
    double at_s;                                       /* on the monotonic clock */
    double cpu_s, busy_s, stolen_s;                    /* of all CPUs: /proc/stat */
    double throttled_s;                                /* of the group that was stopped longest: cpu.stat */
    double heat_events;                                /* core_throttle_count */
    double waited_cpu_s, waited_io_s, waited_memory_s; /* "some" of /proc/pressure */
};

/* Of the time between two readings; NaN where not known. */
struct rue_interference_shares {
    double stolen_ratio;    /* of all CPU time */
    double throttled_ratio; /* of the time; with several CPUs it may exceed 1 */
    double heat_events;     /* how often a CPU slowed down */
    double busy_cpus;       /* on average, whoever used them */
    double waited_cpu_ratio, waited_io_ratio, waited_memory_ratio; /* of the time */
};

/* The counters now. Takes a fraction of a millisecond; does not block. `root` is put before /proc and /sys:
 * "", or a folder with a copy of them. */
struct rue_interference_reading rue_interference_read(const char *root);

struct rue_interference_shares rue_interference_between(const struct rue_interference_reading *from,
                                                        const struct rue_interference_reading *to);

#endif
