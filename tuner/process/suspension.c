#include "suspension.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "clock.h"
#include "keeper.h"

enum { FOLLOWED_MAX = 64 };

/* All lock-free, so that handlers may use them. */
static atomic_int followed[FOLLOWED_MAX]; /* descriptor + 1; 0: none */
static atomic_uint continued;
static _Atomic uint64_t stopped_ns;

static void on_continue(int number)
{
    (void)number;
    atomic_fetch_add(&continued, 1);
}

static void send_followed(int number)
{
    for (int i = 0; i < FOLLOWED_MAX; i++) {
        int line = atomic_load(&followed[i]) - 1;
        if (line >= 0) rue_keeper_signal(line, number);
    }
}

/* Stops by the signal's own default: where nobody could continue this process, the kernel does not stop it.
 */
static void on_stop(int number)
{
    int kept = errno;
    uint64_t begin = rue_clock_now_ns();
    struct sigaction handler, stop = {.sa_handler = SIG_DFL};
    sigset_t it;
    sigemptyset(&it);
    sigaddset(&it, number);
    send_followed(SIGSTOP);
    sigaction(number, &stop, &handler);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &it, NULL); /* here it stands still */
    pthread_sigmask(SIG_BLOCK, &it, NULL);
    sigaction(number, &handler, NULL);
    send_followed(SIGCONT);
    atomic_fetch_add(&stopped_ns, rue_clock_now_ns() - begin);
    atomic_fetch_add(&continued, 1);
    errno = kept;
}

void rue_suspension_install(void)
{
    struct sigaction before, stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART},
                             go_on = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
    sigemptyset(&stop.sa_mask);
    sigemptyset(&go_on.sa_mask);
    sigaction(SIGCONT, &go_on, NULL);
    if (sigaction(SIGTSTP, NULL, &before) != 0 || before.sa_handler != SIG_IGN)
        sigaction(SIGTSTP, &stop, NULL);
}

/* The first place that holds `was` holds `becomes`. */
static void replace_followed(int was, int becomes)
{
    bool done = false;
    for (int i = 0; !done && i < FOLLOWED_MAX; i++) {
        int expected = was;
        done = atomic_compare_exchange_strong(&followed[i], &expected, becomes);
    }
}

void rue_suspension_follow(int line)
{
    replace_followed(0, line + 1);
}

void rue_suspension_unfollow(int line)
{
    replace_followed(line + 1, 0);
}

unsigned rue_suspension_count(void)
{
    return atomic_load(&continued);
}

uint64_t rue_suspension_awake_ns(void)
{
    return rue_clock_now_ns() - atomic_load(&stopped_ns);
}
