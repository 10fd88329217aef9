/* What glibc 2.28 lacks of the functions that rue and its libraries call. cc.sh links it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define GIGA 1000000000L

#ifdef RUE_SHARED_OBJECT
/* Archives made for programs read these at a fixed distance. So a shared object has pointers of its own to
 * the same streams. */
#    undef stdin
#    undef stdout
#    undef stderr
extern FILE _IO_2_1_stdin_, _IO_2_1_stdout_, _IO_2_1_stderr_;
FILE *stdin = &_IO_2_1_stdin_, *stdout = &_IO_2_1_stdout_, *stderr = &_IO_2_1_stderr_;
#endif

/* Of 2.32, read by libstdc++: false is always right. */
char __libc_single_threaded;

/* Of 2.30. */
ssize_t getdents64(int folder, void *buffer, size_t length)
{
    return syscall(SYS_getdents64, folder, buffer, length);
}

/* Of 2.30. The deadline moves to the clock of the condition: a wait that a change of that clock ends early or
 * late is checked by its caller. */
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *deadline)
{
    struct timespec now, until;
    clock_gettime(clock, &now);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += deadline->tv_sec - now.tv_sec;
    until.tv_nsec += deadline->tv_nsec - now.tv_nsec;
    if (until.tv_nsec < 0) until.tv_sec--, until.tv_nsec += GIGA;
    if (until.tv_nsec >= GIGA) until.tv_sec++, until.tv_nsec -= GIGA;
    return pthread_cond_timedwait(condition, mutex, &until);
}

/* Of 2.32. */
const char *sigabbrev_np(int number)
{
    static const char *const names[] = {
        [SIGHUP] = "HUP",   [SIGINT] = "INT",       [SIGQUIT] = "QUIT", [SIGILL] = "ILL",
        [SIGTRAP] = "TRAP", [SIGABRT] = "ABRT",     [SIGBUS] = "BUS",   [SIGFPE] = "FPE",
        [SIGKILL] = "KILL", [SIGUSR1] = "USR1",     [SIGSEGV] = "SEGV", [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE", [SIGALRM] = "ALRM",     [SIGTERM] = "TERM", [SIGSTKFLT] = "STKFLT",
        [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",     [SIGSTOP] = "STOP", [SIGTSTP] = "TSTP",
        [SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU",     [SIGURG] = "URG",   [SIGXCPU] = "XCPU",
        [SIGXFSZ] = "XFSZ", [SIGVTALRM] = "VTALRM", [SIGPROF] = "PROF", [SIGWINCH] = "WINCH",
        [SIGPOLL] = "POLL", [SIGPWR] = "PWR",       [SIGSYS] = "SYS"};
    return number > 0 && number < (int)(sizeof names / sizeof *names) ? names[number] : NULL;
}

enum { FILES_MAX = 65536 };

/* Of 2.34. Called after fork: only system calls. On kernels before 5.9, files above FILES_MAX stay open:
 * closing all that containers permit, often 2^30, would take minutes. */
void closefrom(int first)
{
    if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    int end = limit.rlim_cur < FILES_MAX ? (int)limit.rlim_cur : FILES_MAX;
    for (int file = first; file < end; file++) close(file);
}
