#include "interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

enum { SAME_PRESS_MS = 100 };

static volatile sig_atomic_t signal_seen;
static _Atomic(const char *) guarded_file; /* lock-free, so a handler may read it */
static _Atomic int64_t seen_ms;
static int wake[2] = {-1, -1};

static void on_signal(int number)
{
    struct timespec now;
    int kept = errno; /* of what is interrupted */
    clock_gettime(CLOCK_MONOTONIC, &now);
    int64_t now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    if (signal_seen && number == SIGINT && now_ms - seen_ms < SAME_PRESS_MS) return;
    if (signal_seen && number == SIGINT) {
        const char *file = atomic_load(&guarded_file);
        if (file) unlink(file);
        _exit(rue_status_exit_code(RUE_INTERRUPTED));
    }
    if (!signal_seen) seen_ms = now_ms;
    if (!signal_seen) signal_seen = number;
    ssize_t ignored = write(wake[1], "", 1);
    (void)ignored;
    errno = kept;
}

void rue_interrupt_install(void)
{
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) wake[0] = wake[1] = -1;
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction before; /* nohup: it goes on when the terminal goes away */
    if (sigaction(SIGHUP, NULL, &before) != 0 || before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

rue_status rue_interrupt_status(void)
{
    if (!signal_seen) return RUE_OK;
    return signal_seen == SIGINT ? RUE_INTERRUPTED : RUE_TERMINATED;
}

int rue_interrupt_fd(void)
{
    return wake[0];
}

void rue_interrupt_guard_file(const char *path)
{
    atomic_store(&guarded_file, path);
}
