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

static const uint64_t kill_timeout_ns = 5 * RUE_NS_PER_S;

/* `child` is 0 after its end. */
struct kept_child {
    pid_t child;
    int socket_fd;
    sigset_t wait_mask;
    struct rue_descendants below; /* as of the last signal */
};

static void run_child(const char *const argv[], int in, int out, pid_t keeper, const sigset_t *mask)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != keeper) _exit(127); /* the keeper died before prctl() */
    static const int reset[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
    for (size_t i = 0; i < sizeof reset / sizeof *reset; i++) signal(reset[i], SIG_DFL);
    signal(SIGTTOU, SIG_IGN); /* it may print warnings from outside the terminal's group */
    sigprocmask(SIG_SETMASK, mask, NULL);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execvp(argv[0], (char *const *)argv);
    fprintf(stderr, "rue: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

static void report_state(const struct kept_child *kept, int wait_status)
{
    (void)send(kept->socket_fd, &wait_status, sizeof wait_status, MSG_NOSIGNAL);
}

/* Signals the descendants of `ancestor` that are outside `group`. */
static void signal_descendants(struct rue_descendants *below, pid_t ancestor, pid_t group, int number)
{
    rue_descendants_find(below, ancestor);
    for (size_t i = 0; i < below->count; i++)
        if (getpgid(below->at[i]) != group) kill(below->at[i], number);
}

/* Reports the child's changes of state. False: no children are left. */
static bool reap_children(struct kept_child *kept)
{
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (pid != kept->child) continue;
        report_state(kept, wait_status);
        if (WIFSTOPPED(wait_status) || WIFCONTINUED(wait_status)) continue;
        kill(-kept->child, SIGKILL); /* the rest of its group */
        kept->child = 0;
    }
    return pid == 0 || errno != ECHILD;
}

static void kill_all(struct kept_child *kept)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    uint64_t deadline = rue_clock_now_ns() + kill_timeout_ns;
    if (kept->child) kill(-kept->child, SIGKILL);
    while (reap_children(kept) && rue_clock_now_ns() < deadline) {
        signal_descendants(&kept->below, getpid(), 0, SIGKILL);
        ppoll(NULL, 0, &pause, &kept->wait_mask);
    }
}

/* Descendants in other groups are stopped and continued with the child. */
static void forward_signal(struct kept_child *kept, int number)
{
    if (!kept->child) return;
    kill(-kept->child, number);
    if (number == SIGSTOP || number == SIGCONT)
        signal_descendants(&kept->below, kept->child, kept->child, number);
}

static void on_sigchld(int number)
{
    (void)number; /* it interrupts ppoll() */
}

static void run_keeper(const char *const argv[], int in, int out, int socket_fd, const sigset_t *mask)
{
    struct kept_child kept = {.socket_fd = socket_fd};
    setpgid(0, 0); /* signals for the terminal's or the child's group must not reach the keeper */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    prctl(PR_SET_NAME, "rue-keeper");
    signal(SIGCHLD, on_sigchld);
    sigfillset(&kept.wait_mask);
    sigdelset(&kept.wait_mask, SIGCHLD);
    pid_t keeper = getpid();
    kept.child = fork();
    if (kept.child == 0) run_child(argv, in, out, keeper, mask);
    int failed = kept.child < 0 ? errno : 0;
    report_state(&kept, failed);
    if (failed) _exit(1);
    setpgid(kept.child, kept.child); /* parent and child both do it: neither has to wait */
    /* Otherwise the keeper would hold the owner's pipes and locks after the owner's death. */
    kept.socket_fd = dup2(socket_fd, 0);
    closefrom(1);
    for (;;) {
        reap_children(&kept);
        struct pollfd wait = {.fd = kept.socket_fd, .events = POLLIN};
        if (ppoll(&wait, 1, NULL, &kept.wait_mask) <= 0) continue;
        int number;
        if (recv(kept.socket_fd, &number, sizeof number, 0) != sizeof number)
            break; /* the owner shut the socket down, or died */
        reap_children(&kept);
        forward_signal(&kept, number);
    }
    kill_all(&kept);
    _exit(0);
}

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
    *keeper = (struct rue_keeper){.pid = fork(), .socket_fd = ends[0]};
    if (keeper->pid < 0) failed = errno;
    if (keeper->pid == 0) {
        close(ends[0]);
        run_keeper(argv, in, out, ends[1], &mask);
    }
    sigprocmask(SIG_SETMASK, &mask, NULL);
    close(ends[1]);
    if (failed) return close(ends[0]), fail_start(argv[0], failed, error);
    ssize_t got;
    while ((got = recv(ends[0], &failed, sizeof failed, 0)) < 0 && errno == EINTR) continue;
    if (got == sizeof failed && failed == 0) return RUE_OK;
    while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR) continue;
    close(keeper->socket_fd);
    return fail_start(argv[0], got == sizeof failed ? failed : ECHILD, error);
}

void rue_keeper_signal(int socket_fd, int number)
{
    (void)send(socket_fd, &number, sizeof number, MSG_NOSIGNAL | MSG_DONTWAIT);
}
