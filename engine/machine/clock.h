/* The monotonic clock: every time in rue is taken from it. */
#ifndef RUE_CLOCK_H
#define RUE_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC in ns. */
uint64_t rue_clock_now_ns(void);

/* How long this machine has been suspended since it started, in ns: the monotonic clock stood still
 * meanwhile. */
uint64_t rue_clock_suspended_ns(void);

/* Sleeps until the clock shows `deadline_ns`, signals notwithstanding; returns at once when it is past. The
 * calling thread's timer slack is what bounds how late it wakes: see rue_clock_remove_slack. */
void rue_clock_sleep_until(uint64_t deadline_ns);

/* The same, but sharper: sleeps until shortly before and watches the clock for the rest, a quarter of the
 * wait between 80 and 200 us. A core that sleeps takes 20 us to wake, one that sleeps deeply up to 200 us; a
 * consumer that waits for a GPU spins as well. */
void rue_clock_wait_until(uint64_t deadline_ns);

/* Asks the kernel to wake the calling thread without the usual 50 us of timer slack. */
void rue_clock_remove_slack(void);

#endif
