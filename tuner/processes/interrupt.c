#include "interrupt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { SAME_PRESS_MS = 100, TICK_MS = 100, TICKS_UNREAD = 3 };

static const char erase_line[] = "\r\033[K";

/* Handlers use only lock-free data, and data that are constant after the installation. */
static volatile sig_atomic_t signal_seen, line_open;
static atomic_int deferred; /* number of deferrals */
static _Atomic(const char *) guarded_file;
static _Atomic int64_t seen_ms;
static int wake[2] = {-1, -1}, null_fd = -1;
static char lines[2][64]; /* for SIGINT, for the others */

static rue_status signal_status(int number)
{
    return number == SIGINT ? RUE_INTERRUPTED : RUE_TERMINATED;
}

static bool can_write(int fd)
{
    struct pollfd output = {.fd = fd, .events = POLLOUT};
    return poll(&output, 1, 0) == 1;
}

static void quit_now(int number)
{
    const char *file = atomic_load(&guarded_file), *line = lines[number != SIGINT];
    if (file) unlink(file);
    ssize_t ignored =
        line_open && can_write(STDERR_FILENO) ? write(STDERR_FILENO, erase_line, sizeof erase_line - 1) : 0;
    if (can_write(STDERR_FILENO)) ignored = write(STDERR_FILENO, line, strlen(line));
    (void)ignored;
    _exit(rue_status_exit_code(signal_status(number)));
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void on_signal(int number)
{
    static const struct itimerval ticks = {{0, TICK_MS * 1000}, {0, TICK_MS * 1000}};
    int saved_errno = errno; /* of the interrupted code */
    int64_t now = now_ms();
    if (signal_seen && now - seen_ms < SAME_PRESS_MS) return;
    if (deferred == 0 || (signal_seen && number == SIGINT)) quit_now(number);
    if (!signal_seen) {
        seen_ms = now;
        signal_seen = number;
        setitimer(ITIMER_REAL, &ticks, NULL);
    }
    ssize_t ignored = write(wake[1], "", 1);
    (void)ignored;
    errno = saved_errno;
}

/* A blocked write restarts when this handler returns, and then writes to /dev/null. */
static void on_tick(int number)
{
    static int unread[2];
    int saved_errno = errno;
    (void)number;
    for (int i = 0; i < 2; i++) {
        int fd = i ? STDERR_FILENO : STDOUT_FILENO;
        unread[i] = can_write(fd) ? 0 : unread[i] + 1;
        if (unread[i] >= TICKS_UNREAD && null_fd >= 0) dup2(null_fd, fd);
    }
    errno = saved_errno;
}

void rue_interrupt_install(const char *command)
{
    snprintf(lines[0], sizeof lines[0], "rue %s: %s\n", command, rue_status_text(RUE_INTERRUPTED));
    snprintf(lines[1], sizeof lines[1], "rue %s: %s\n", command, rue_status_text(RUE_TERMINATED));
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) wake[0] = wake[1] = -1;
    null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    struct sigaction before; /* ignored under nohup: continue without the terminal */
    if (sigaction(SIGHUP, NULL, &before) != 0 || before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    action.sa_handler = on_tick;
    sigaction(SIGALRM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

void rue_interrupt_defer(bool begins)
{
    deferred += begins ? 1 : -1;
}

rue_status rue_interrupt_status(void)
{
    return signal_seen ? signal_status(signal_seen) : RUE_OK;
}

int rue_interrupt_fd(void)
{
    return wake[0];
}

int rue_interrupt_start_thread(pthread_t *thread, void *(*main)(void *), void *context)
{
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    int failed = pthread_create(thread, NULL, main, context);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return failed;
}

void rue_interrupt_guard_file(const char *path)
{
    atomic_store(&guarded_file, path);
}

void rue_interrupt_set_line(bool open_line)
{
    line_open = open_line;
}
