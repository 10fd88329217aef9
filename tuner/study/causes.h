/* What the kernel says of why a machine is slow: readings of its counters along a study, and words for what
 * they show. Only of this machine: a runner's own clock says nothing about it. */
#ifndef RUE_CAUSES_H
#define RUE_CAUSES_H

#include <stddef.h>

#include "study_setup.h"

struct rue_causes;

enum { RUE_CAUSES_BYTES = 256 };

/* Takes the first reading. `root` as of rue_interference_open. RUE_MEMORY. */
rue_status rue_causes_open(const char *root, struct rue_causes **out, rue_error *error) RUE_MUST_CHECK;
void rue_causes_close(struct rue_causes *causes);

/* Takes a reading after the trial of that number (numbers rise), for which the runner used `cpu_s` seconds of
 * CPU time; NaN where not known. RUE_MEMORY. */
rue_status rue_causes_record(struct rue_causes *causes, size_t trial, double cpu_s,
                             rue_error *error) RUE_MUST_CHECK;

/* What was worse from the trial `since` on than before it: "18 % of the CPU time was stolen by the
 * hypervisor, ..."; "" when nothing was. */
void rue_causes_explain(const struct rue_causes *causes, size_t since, char out[RUE_CAUSES_BYTES]);

/* The same of all the time, for what is worth a word by itself: stolen, throttled, hot. */
void rue_causes_summarise(const struct rue_causes *causes, char out[RUE_CAUSES_BYTES]);

/* What keeps the machine from trials, of all the time, in which nothing of ours ran: "other processes
 * used 1.3 CPUs, ...". They count where they leave less than `usable_cpus` of `online_cpus`. "" : it is idle,
 * or the kernel does not say. */
void rue_causes_judge(const struct rue_causes *causes, int online_cpus, int usable_cpus,
                      char out[RUE_CAUSES_BYTES]);

/* Says on the screen, and in `out`, what keeps this machine busy `when` no trial runs ("before the first
 * trial");
 * "": nothing. Sleeps for five ticks, or a twentieth of the budget where that is less. Looks at nothing for a
 * runner with a clock of its own, a dry run, and a study without a budget, which recommends nothing.
 * RUE_MEMORY. */
rue_status rue_causes_check_idle(const struct rue_study_setup *setup, const char *when,
                                 char out[RUE_CAUSES_BYTES], rue_error *error) RUE_MUST_CHECK;

#endif
