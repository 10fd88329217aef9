/* The monotonic clock, which all times in rue use. */
#ifndef RUE_CLOCK_H
#define RUE_CLOCK_H

#include <stdint.h>

/* The time of CLOCK_MONOTONIC in ns. */
uint64_t rue_clock_now_ns(void);

/* How long this machine has been suspended since it started, in ns. The monotonic clock does not count it. */
uint64_t rue_clock_suspended_ns(void);

/* Sleeps until `deadline_ns`, also when signals arrive. Returns at once if the time has passed. The timer
 * slack of the thread limits the accuracy: see rue_clock_remove_slack. */
void rue_clock_sleep_until(uint64_t deadline_ns);

/* The same, more accurately: sleeps first, and spins for the last quarter of the wait, 80 to 200 us. A
 * sleeping core needs 20 to 200 us to wake. A consumer that waits for a GPU spins as well. */
void rue_clock_wait_until(uint64_t deadline_ns);

/* Sets the timer slack of the calling thread from the usual 50 us to 1 ns. */
void rue_clock_remove_slack(void);

#endif
