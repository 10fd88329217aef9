#include "keeper.h"

#include <ctype.h>
#include <dirent.h>
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
#include "array.h"
#include "clock.h"
#include "units.h"

enum { QUESTION = 0 }; /* what the owner sends beside the numbers of signals */

static const uint64_t sweep_ns = 5 * RUE_NS_PER_S;

/* ---- in the keeper ---- */

/* What the keeper has to do with; `child` is 0 once it ended. */
struct ward {
    pid_t child;
    int line;
    sigset_t while_waiting;
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

/* The pipes, the folder's lock and whatever else is open here would otherwise outlive their owner. */
static void close_all_but(int kept)
{
    unsigned fd = (unsigned)kept;
    if ((fd == 0 || close_range(0, fd - 1, 0) == 0) && close_range(fd + 1, ~0U, 0) == 0) return;
    DIR *folder = opendir("/proc/self/fd"); /* an older kernel; the limit may be a billion */
    struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        int other = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : kept;
        if (other != kept && other != dirfd(folder)) close(other);
    }
    if (folder) closedir(folder);
}

static void tell(const struct ward *ward, int how)
{
    (void)send(ward->line, &how, sizeof how, MSG_NOSIGNAL);
}

/* Tells what became of the child; false when there are no children any more. */
static bool reap(struct ward *ward)
{
    int how;
    pid_t pid;
    while ((pid = waitpid(-1, &how, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
        if (pid != ward->child) continue;
        tell(ward, how);
        if (WIFSTOPPED(how) || WIFCONTINUED(how)) continue;
        kill(-ward->child, SIGKILL); /* without their leader they are of no use */
        ward->child = 0;
    }
    return pid == 0 || errno != ECHILD;
}

/* The parent of a process, 0 when there is none. */
static pid_t parent_of(const char *pid)
{
    char path[300], text[512];
    snprintf(path, sizeof path, "/proc/%s/stat", pid);
    FILE *file = fopen(path, "re");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[got] = 0;
    const char *name_end = strrchr(text, ')'); /* the name may hold anything */
    int parent = 0;
    return name_end && sscanf(name_end, ") %*c %d", &parent) == 1 ? parent : 0;
}

/* Those that left the group: their parents ended or were killed, so they are the keeper's own children now.
 */
static void kill_children(void)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (isdigit((unsigned char)entry->d_name[0]) && parent_of(entry->d_name) == getpid())
            kill((pid_t)atoi(entry->d_name), SIGKILL);
    if (folder) closedir(folder);
}

static void sweep(struct ward *ward)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    uint64_t deadline = rue_clock_now_ns() + sweep_ns;
    if (ward->child) kill(-ward->child, SIGKILL);
    while (reap(ward) && rue_clock_now_ns() < deadline) {
        kill_children();
        ppoll(NULL, 0, &pause, &ward->while_waiting);
    }
}

/* A process, and whether it was told. */
struct kin {
    pid_t pid, parent;
    bool told;
};

/* Without memory for all of them, the first ones. */
static size_t list_processes(struct kin **out)
{
    size_t count = 0, capacity = 0;
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    *out = NULL;
    while (folder && (entry = readdir(folder))) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        if (rue_array_grow(out, &capacity, count + 1, sizeof **out, "processes", NULL) != RUE_OK) break;
        (*out)[count++] = (struct kin){.pid = (pid_t)atoi(entry->d_name), .parent = parent_of(entry->d_name)};
    }
    if (folder) closedir(folder);
    return count;
}

/* What the child started in groups of their own stands still with it, and goes on with it. */
static void signal_descendants(pid_t ancestor, int number)
{
    struct kin *all;
    size_t count = list_processes(&all), line_count = 0;
    pid_t *line = calloc(count + 1, sizeof *line); /* the ancestor, and whoever was told */
    if (line) line[line_count++] = ancestor;
    for (size_t next = 0; next < line_count; next++)
        for (size_t i = 0; i < count; i++) {
            if (all[i].told || all[i].parent != line[next]) continue;
            all[i].told = true;
            line[line_count++] = all[i].pid;
            if (getpgid(all[i].pid) != ancestor) kill(all[i].pid, number);
        }
    free(line);
    free(all);
}

static void pass_on(const struct ward *ward, int number)
{
    if (!ward->child) return;
    kill(-ward->child, number);
    if (number == SIGSTOP || number == SIGCONT) signal_descendants(ward->child, number);
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
    tell(&ward, failed);
    if (failed) _exit(1);
    setpgid(ward.child, ward.child); /* both sides do it, so that neither has to wait for the other */
    close_all_but(line);
    for (;;) {
        reap(&ward);
        struct pollfd wait = {.fd = line, .events = POLLIN};
        if (ppoll(&wait, 1, NULL, &ward.while_waiting) <= 0) continue;
        int number;
        if (recv(line, &number, sizeof number, 0) != sizeof number) break; /* dismissed, or all alone */
        reap(&ward);
        if (number == QUESTION)
            tell(&ward, RUE_KEEPER_UP_TO_DATE);
        else
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
    rue_keeper_close(keeper);
    return fail_start(argv[0], got == sizeof failed ? failed : ECHILD, error);
}

bool rue_keeper_hear(const struct rue_keeper *keeper, int *how)
{
    ssize_t got;
    while ((got = recv(keeper->line, how, sizeof *how, MSG_DONTWAIT)) < 0 && errno == EINTR) continue;
    if (got == 0) *how = SIGKILL;
    return got >= 0;
}

bool rue_keeper_ask(const struct rue_keeper *keeper)
{
    const int question = QUESTION;
    return send(keeper->line, &question, sizeof question, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof question;
}

void rue_keeper_signal(int line, int number)
{
    (void)send(line, &number, sizeof number, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void rue_keeper_dismiss(const struct rue_keeper *keeper)
{
    shutdown(keeper->line, SHUT_WR);
    kill(keeper->pid, SIGCONT); /* whoever stopped it */
}

void rue_keeper_close(struct rue_keeper *keeper)
{
    while (waitpid(keeper->pid, NULL, 0) < 0 && errno == EINTR) continue;
    close(keeper->line);
}
