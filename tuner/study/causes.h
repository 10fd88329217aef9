/* Why this machine is slow: readings of the kernel's counters during a study, and text for what they show.
 * They are meaningless for a runner with a virtual clock. */
#ifndef RUE_CAUSES_H
#define RUE_CAUSES_H

#include <stddef.h>

#include "study_setup.h"

struct rue_causes;

enum { RUE_CAUSES_BYTES = 256 };

/* Makes the first reading. `root` as of rue_interference_open. RUE_MEMORY. */
rue_status rue_causes_open(const char *root, struct rue_causes **out, rue_error *error) RUE_MUST_CHECK;
void rue_causes_close(struct rue_causes *causes);

/* Makes a reading after trial number `trial` (ascending). `cpu_s`: seconds of CPU time that the runner used
 * for it; NaN: unknown. RUE_MEMORY. */
rue_status rue_causes_record(struct rue_causes *causes, size_t trial, double cpu_s,
                             rue_error *error) RUE_MUST_CHECK;

/* Describes what is worse since trial `since` than before: "18 % of the CPU time was stolen by the
 * hypervisor, ..."; "": nothing. */
void rue_causes_explain(const struct rue_causes *causes, size_t since, char out[RUE_CAUSES_BYTES]);

/* Describes the whole time, only what matters without a comparison: stolen, throttled, hot. */
void rue_causes_summarise(const struct rue_causes *causes, char out[RUE_CAUSES_BYTES]);

/* Describes what kept the machine busy while rue ran no trial: "other processes used 1.3 CPUs, ...". Other
 * processes are reported if fewer than `usable_cpus` of `online_cpus` are idle. "": idle, or unknown. */
void rue_causes_judge(const struct rue_causes *causes, int online_cpus, int usable_cpus,
                      char out[RUE_CAUSES_BYTES]);

/* Writes to the screen and to `out` what keeps the machine busy; "": nothing. `when`: "before the first
 * trial". Sleeps 50 ms, or 1/20 of the budget if that is less. Does nothing for a virtual clock, a dry run,
 * or a study without a budget, as it gives no recommendation. RUE_MEMORY. */
rue_status rue_causes_check_idle(const struct rue_study_setup *setup, const char *when,
                                 char out[RUE_CAUSES_BYTES], rue_error *error) RUE_MUST_CHECK;

#endif
