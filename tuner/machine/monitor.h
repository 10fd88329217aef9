/* Samples the usage of the processes below this one, and of the GPUs, in a thread. */
#ifndef RUE_MONITOR_H
#define RUE_MONITOR_H

#include "error.h"
#include "scaling.h"

struct rue_monitor;

/* Starts a thread that samples every `period_ns`. Times of samples count from `zero_ns` on the clock of
 * rue_suspension_awake_ns. RUE_MEMORY; RUE_INTERNAL: no thread can be started. */
rue_status rue_monitor_open(uint64_t zero_ns, uint64_t period_ns, struct rue_monitor **out,
                            rue_error *error) RUE_MUST_CHECK;
void rue_monitor_close(struct rue_monitor *monitor);

/* Ends the thread, then takes a last sample. */
void rue_monitor_stop(struct rue_monitor *monitor);

/* The samples, after the stop; borrowed. If memory ran out, the last ones are missing. */
size_t rue_monitor_samples(const struct rue_monitor *monitor, const struct rue_usage_sample **out);

#endif
