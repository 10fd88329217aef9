#include "keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "advice.h"
#include "clock.h"
#include "descendants.h"
#include "units.h"

static const uint64_t sweep_ns = 5 * RUE_NS_PER_S;

/* ---- in the keeper ---- */

/* What the keeper has to do with; `child` is 0 once it ended. */
struct ward {
    pid_t child;
    int line;
    sigset_t while_waiting;
    struct rue_descendants below; /* whoever was signalled last */
};

static void run_child(const char *const argv[], int in, int out, pid_t keeper, const sigset_t *mask)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(127); /* the keeper died before the line above */
    static const int reset[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
    for (size_t i = 0; i < sizeof reset / sizeof *reset; i++) signal(reset[i], SIG_DFL);
    signal(SIGTTOU, SIG_IGN); /* it may warn people although its group is not the terminal's */
    sigprocmask(SIG_SETMASK, mask, NULL);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execvp(argv[0], (char *const *)argv);
    fprintf(stderr, "rue: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static void report_end(const struct ward *ward, int how)
{
    (void)send(ward->line, &how, sizeof how, MSG_NOSIGNAL);
}

/* Signals all descendants of `ancestor` but those in the group. */
static void signal_all(struct rue_descendants *below, pid_t ancestor, pid_t group, int number)
{
    rue_descendants_find(below, ancestor);
    for (size_t i = 0; i < below->count; i++)
        if (getpgid(below->at[i]) != group) kill(below->at[i], number);
}

/* Tells what became of the child; false when there are no children any more. */
static bool reap(struct ward *ward)
{
    int how;
    pid_t pid;
    while ((pid = waitpid(-1, &how, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (pid != ward->child) continue;
        report_end(ward, how);
        if (WIFSTOPPED(how) || WIFCONTINUED(how)) continue;
        kill(-ward->child, SIGKILL); /* without their leader they are of no use */
        ward->child = 0;
    }
    return pid == 0 || errno != ECHILD;
}

static void sweep(struct ward *ward)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    uint64_t deadline = rue_clock_now_ns() + sweep_ns;
    if (ward->child) kill(-ward->child, SIGKILL);
    while (reap(ward) && rue_clock_now_ns() < deadline) {
        signal_all(&ward->below, getpid(), 0, SIGKILL);
        ppoll(NULL, 0, &pause, &ward->while_waiting);
    }
}

/* What the child started in groups of their own stands still with it, and goes on with it. */
static void pass_on(struct ward *ward, int number)
{
    if (!ward->child) return;
    kill(-ward->child, number);
    if (number == SIGSTOP || number == SIGCONT) signal_all(&ward->below, ward->child, ward->child, number);
}

static void on_child(int number)
{
    (void)number; /* it ends the wait */
}

static void keep(const char *const argv[], int in, int out, int line, const sigset_t *mask)
{
    struct ward ward = {.line = line};
    setpgid(0, 0); /* signals of the terminal are not for it, nor those that are sent to the child's group */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "rue-keeper");
    signal(SIGCHLD, on_child);
    sigfillset(&ward.while_waiting);
    sigdelset(&ward.while_waiting, SIGCHLD);
    pid_t keeper = getpid();
    ward.child = fork();
    if (ward.child == 0) run_child(argv, in, out, keeper, mask);
    int failed = ward.child < 0 ? errno : 0;
    report_end(&ward, failed);
    if (failed) _exit(1);
    setpgid(ward.child, ward.child); /* both sides do it, so that neither has to wait for the other */
    /* The pipes, the folder's lock and whatever else is open here would otherwise outlive their owner. */
    ward.line = dup2(line, 0);
    closefrom(1);
    for (;;) {
        reap(&ward);
        struct pollfd wait = {.fd = ward.line, .events = POLLIN};
        if (ppoll(&wait, 1, NULL, &ward.while_waiting) <= 0) continue;
        int number;
        if (recv(ward.line, &number, sizeof number, 0) != sizeof number) break; /* dismissed, or all alone */
        reap(&ward);
        pass_on(&ward, number);
    }
    sweep(&ward);
    _exit(0);
}

/* ---- in its owner ---- */

static rue_status fail_start(const char *name, int why, rue_error *error)
{
    return rue_fail(error, RUE_RUNNER, "cannot start %s: %s%s", name, strerror(why), rue_advice(why));
}

rue_status rue_keeper_open(const char *const argv[], int in, int out, struct rue_keeper *keeper,
                           rue_error *error)
{
    int ends[2], failed = 0;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return fail_start(argv[0], errno, error);
    sigset_t all, mask; /* a handler of this process must not run in the keeper */
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &mask);
    *keeper = (struct rue_keeper){.pid = fork(), .line = ends[0]};
    if (keeper->pid < 0) failed = errno;
    if (keeper->pid == 0) {
        close(ends[0]);
        keep(argv, in, out, ends[1], &mask);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(ends[1]);
    if (failed) return close(ends[0]), fail_start(argv[0], failed, error);
    ssize_t got;
    while ((got = recv(ends[0], &failed, sizeof failed, 0)) < 0 && errno == EINTR) continue;
    if (got == sizeof failed && failed == 0) return RUE_OK;
    while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR) continue;
    close(keeper->line);
    return fail_start(argv[0], got == sizeof failed ? failed : ECHILD, error);
}

void rue_keeper_signal(int line, int number)
{
    (void)send(line, &number, sizeof number, MSG_NOSIGNAL | MSG_DONTWAIT);
}
