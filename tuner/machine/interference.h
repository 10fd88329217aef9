/* What slows a program down, from the kernel's counters: CPU time that the hypervisor gave to others (steal),
 * throttling by a quota of the control group, hot CPUs, other processes, and waiting for CPU, storage or
 * memory. The counters cover the whole machine or control group, so they include runners in other processes.
 */
#ifndef RUE_INTERFERENCE_H
#define RUE_INTERFERENCE_H

enum rue_interference {
    RUE_STOLEN,     /* share of the CPU time: /proc/stat */
    RUE_THROTTLED,  /* of the most throttled group: cpu.stat; may exceed 1 with several CPUs */
    RUE_HEAT,       /* slowdowns of hot CPUs per second: core_throttle_count */
    RUE_BUSY,       /* number of busy CPUs: /proc/stat */
    RUE_WAITED_CPU, /* "some" of /proc/pressure */
    RUE_WAITED_IO,
    RUE_WAITED_MEMORY,
    RUE_INTERFERENCES
};

/* NaN: not known. */
struct rue_interference_reading {
    double time_s;                     /* on the monotonic clock */
    double cpu_s;                      /* of all CPUs, including idle time */
    double counter[RUE_INTERFERENCES]; /* seconds; RUE_HEAT: events */
};

/* The counters now, in less than 1 ms, without blocking. `root` is the prefix of /proc and /sys: "", or a
 * folder with a copy of them. */
struct rue_interference_reading rue_interference_read(const char *root);

/* Increases between two readings, per second; RUE_STOLEN: per second of CPU time. NaN: not known. */
void rue_interference_rates(const struct rue_interference_reading *from,
                            const struct rue_interference_reading *to, double out[RUE_INTERFERENCES]);

#endif
