#include "suspension.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "clock.h"
#include "keeper.h"

enum { FOLLOWED_MAX = 64 };

/* Lock-free, for the handlers. */
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
        int keeper_socket = atomic_load(&followed[i]) - 1;
        if (keeper_socket >= 0) rue_keeper_signal(keeper_socket, number);
    }
}

/* Uses the default action, because the kernel ignores it where no shell could continue the process. */
static void on_stop(int number)
{
    int saved_errno = errno;
    uint64_t begin = rue_clock_now_ns();
    struct sigaction handler, stop = {.sa_handler = SIG_DFL};
    sigset_t signal_set;
    sigemptyset(&signal_set);
    sigaddset(&signal_set, number);
    send_followed(SIGSTOP);
    sigaction(number, &stop, &handler);
    raise(number);
    pthread_sigmask(SIG_UNBLOCK, &signal_set, NULL); /* the process stops here */
    pthread_sigmask(SIG_BLOCK, &signal_set, NULL);
    sigaction(number, &handler, NULL);
    send_followed(SIGCONT);
    atomic_fetch_add(&stopped_ns, rue_clock_now_ns() - begin);
    atomic_fetch_add(&continued, 1);
    errno = saved_errno;
}

void rue_suspension_install(void)
{
    struct sigaction before, stop = {.sa_handler = on_stop, .sa_flags = SA_RESTART},
                             resume = {.sa_handler = on_continue, .sa_flags = SA_RESTART};
    sigemptyset(&stop.sa_mask);
    sigemptyset(&resume.sa_mask);
    sigaction(SIGCONT, &resume, NULL);
    if (sigaction(SIGTSTP, NULL, &before) != 0 || before.sa_handler != SIG_IGN)
        sigaction(SIGTSTP, &stop, NULL);
}

/* Changes the first slot that holds `old_value`. */
static void replace_followed(int old_value, int new_value)
{
    bool done = false;
    for (int i = 0; !done && i < FOLLOWED_MAX; i++) {
        int expected = old_value;
        done = atomic_compare_exchange_strong(&followed[i], &expected, new_value);
    }
}

void rue_suspension_follow(int keeper_socket)
{
    replace_followed(0, keeper_socket + 1);
}

void rue_suspension_unfollow(int keeper_socket)
{
    replace_followed(keeper_socket + 1, 0);
}

unsigned rue_suspension_count(void)
{
    return atomic_load(&continued);
}

uint64_t rue_suspension_awake_ns(void)
{
    return rue_clock_now_ns() - atomic_load(&stopped_ns);
}
