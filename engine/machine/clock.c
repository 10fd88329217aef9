#include "clock.h"

#include <errno.h>
#include <sys/prctl.h>
#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t rue_clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t rue_clock_suspended_ns(void)
{
    /* In this order a delay between the two reads can only make the result smaller. */
    uint64_t boot_ns = read_clock(CLOCK_BOOTTIME), awake_ns = read_clock(CLOCK_MONOTONIC);
    return boot_ns > awake_ns ? boot_ns - awake_ns : 0;
}

void rue_clock_sleep_until(uint64_t deadline_ns)
{
    struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / UINT64_C(1000000000)),
                                .tv_nsec = (long)(deadline_ns % UINT64_C(1000000000))};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL) == EINTR) continue;
}

static void pause_briefly(void)
{
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
}

void rue_clock_wait_until(uint64_t deadline_ns)
{
    const uint64_t longest_spin_ns = 200000, shortest_spin_ns = 80000;
    uint64_t now = rue_clock_now_ns();
    if (now >= deadline_ns) return;
    uint64_t wait_ns = deadline_ns - now, spin_ns = wait_ns / 4;
    if (spin_ns > longest_spin_ns) spin_ns = longest_spin_ns;
    if (spin_ns < shortest_spin_ns) spin_ns = shortest_spin_ns;
    if (spin_ns < wait_ns) rue_clock_sleep_until(deadline_ns - spin_ns);
    while (rue_clock_now_ns() < deadline_ns) pause_briefly();
}

void rue_clock_remove_slack(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL);
}
