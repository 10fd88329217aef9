/* What comes between a program and its CPUs, by the kernel's own counters: time that the hypervisor gave to
 * others (steal), time for which a quota of the control group stopped it, CPUs that slowed down as they were
 * hot, other processes, and how long somebody waited for CPU, storage or memory. The counters are of the
 * whole machine, or of the group, so they tell of a runner too that is another process. */
#ifndef RUE_INTERFERENCE_H
#define RUE_INTERFERENCE_H

enum rue_interference {
    RUE_STOLEN,     /* CPU time, of all of it: /proc/stat */
    RUE_THROTTLED,  /* time of the group that was stopped longest: cpu.stat; with several CPUs it may exceed 1
                     */
    RUE_HEAT,       /* how often a CPU slowed down: core_throttle_count */
    RUE_BUSY,       /* CPUs, whoever used them: /proc/stat */
    RUE_WAITED_CPU, /* "some" of /proc/pressure */
    RUE_WAITED_IO,
    RUE_WAITED_MEMORY,
    RUE_INTERFERENCES
};

/* What a kernel does not tell is NaN. */
struct rue_interference_reading {
    double time_s;                     /* on the monotonic clock */
    double cpu_s;                      /* of all CPUs, idle ones too */
    double counter[RUE_INTERFERENCES]; /* in seconds; of heat, events */
};

/* The counters now. Takes a fraction of a millisecond; does not block. `root` is put before /proc and /sys:
 * "", or a folder with a copy of them. */
struct rue_interference_reading rue_interference_read(const char *root);

/* What grew between two readings, per second; of what was stolen, per second of CPU time. NaN where not
 * known.
 */
void rue_interference_rates(const struct rue_interference_reading *from,
                            const struct rue_interference_reading *to, double out[RUE_INTERFERENCES]);

#endif
