#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "interrupt.h"

struct rue_process {
    pid_t pid;   /* also its group */
    int in, out; /* our ends of its standard input and output */
    int life;    /* pidfd, readable once it ended; -1 where the kernel has none */
    char *buffer;
    size_t used, capacity;
    size_t line_bytes; /* of the line handed out last, newline included */
};

static void run_child(const char *const argv[], int in, int out, pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127); /* the parent died before the line above */
    static const int reset[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ};
    for (size_t i = 0; i < sizeof reset / sizeof *reset; i++) signal(reset[i], SIG_DFL);
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    execvp(argv[0], (char *const *)argv);
    fprintf(stderr, "rue: cannot run %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

rue_status rue_process_open(const char *const argv[], struct rue_process **out, rue_error *error)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    struct rue_process *process = calloc(1, sizeof *process);
    if (!process) return rue_fail_memory(error, "a child process", sizeof *process);
    pid_t parent = getpid();
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0 || (process->pid = fork()) < 0) {
        rue_fail(error, RUE_RUNNER, "cannot start %s: %s", argv[0], strerror(errno));
        for (int i = 0; i < 2; i++) {
            if (to[i] >= 0) close(to[i]);
            if (from[i] >= 0) close(from[i]);
        }
        free(process);
        return RUE_RUNNER;
    }
    if (process->pid == 0) run_child(argv, to[0], from[1], parent);
    setpgid(process->pid, process->pid); /* both sides do it, so that neither has to wait for the other */
    close(to[0]);
    close(from[1]);
    process->in = to[1];
    process->out = from[0];
    process->life = pidfd_open(process->pid, 0);
    *out = process;
    return RUE_OK;
}

pid_t rue_process_group(const struct rue_process *process)
{
    return process->pid;
}

rue_status rue_process_write_line(struct rue_process *process, const char *line, rue_error *error)
{
    size_t left = strlen(line);
    while (left) {
        ssize_t put = write(process->in, line, left);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0)
            return rue_fail(error, RUE_RUNNER, "does not read what it is asked: %s", strerror(errno));
        line += put;
        left -= (size_t)put;
    }
    while (write(process->in, "\n", 1) < 0)
        if (errno != EINTR)
            return rue_fail(error, RUE_RUNNER, "does not read what it is asked: %s", strerror(errno));
    return RUE_OK;
}

static int remaining_ms(uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) return -1;
    uint64_t now = rue_clock_now_ns();
    if (now >= deadline_ns) return 0;
    uint64_t ms = (deadline_ns - now) / 1000000 + 1;
    return ms > 3600000 ? 3600000 : (int)ms;
}

/* Readable means data or the end of them. What the child started may hold its output open when it is gone, so
 * its death ends the wait too, once what it wrote has been read. */
static rue_status wait_readable(struct rue_process *process, uint64_t deadline_ns, rue_error *error)
{
    for (;;) {
        struct pollfd wait[3] = {{.fd = process->out, .events = POLLIN},
                                 {.fd = rue_interrupt_fd(), .events = POLLIN},
                                 {.fd = process->life, .events = POLLIN}};
        int ready = poll(wait, 3, remaining_ms(deadline_ns));
        rue_status stopped = rue_interrupt_status();
        if (stopped != RUE_OK) return rue_fail(error, stopped, "interrupted");
        if (ready > 0 && (wait[0].revents || poll(wait, 1, 0) > 0)) return RUE_OK;
        if (ready > 0 && wait[2].revents) return rue_fail(error, RUE_RUNNER, "ended");
        if (ready < 0 && errno != EINTR)
            return rue_fail(error, RUE_INTERNAL, "cannot wait for the runner: %s", strerror(errno));
        if (remaining_ms(deadline_ns) == 0) return rue_fail(error, RUE_TIMEOUT, "gave no answer in time");
    }
}

static rue_status read_more(struct rue_process *process, rue_error *error)
{
    if (process->used == process->capacity) {
        size_t capacity = process->capacity ? process->capacity * 2 : 65536;
        char *grown = realloc(process->buffer, capacity);
        if (!grown) return rue_fail_memory(error, "a line of the runner", capacity);
        process->buffer = grown;
        process->capacity = capacity;
    }
    ssize_t got = read(process->out, process->buffer + process->used, process->capacity - process->used);
    if (got < 0 && errno == EINTR) return RUE_OK;
    if (got <= 0) return rue_fail(error, RUE_RUNNER, "ended");
    process->used += (size_t)got;
    return RUE_OK;
}

rue_status rue_process_read_line(struct rue_process *process, uint64_t deadline_ns, size_t longest,
                                 const char **line, rue_error *error)
{
    process->used -= process->line_bytes;
    if (process->used) memmove(process->buffer, process->buffer + process->line_bytes, process->used);
    process->line_bytes = 0;
    for (size_t searched = 0;;) {
        char *end = process->used > searched
                        ? memchr(process->buffer + searched, '\n', process->used - searched)
                        : NULL;
        searched = end ? (size_t)(end - process->buffer) : process->used;
        if (searched > longest)
            return rue_fail(error, RUE_RUNNER, "wrote a line of more than %zu bytes", longest);
        if (end) {
            *end = 0;
            process->line_bytes = searched + 1;
            *line = process->buffer;
            return RUE_OK;
        }
        rue_status status = wait_readable(process, deadline_ns, error);
        if (status == RUE_OK) status = read_more(process, error);
        if (status != RUE_OK) return status;
    }
}

/* Waits for the child up to `grace_ns`; true with its wait status when it is gone. */
static bool reap(struct rue_process *process, uint64_t grace_ns, int *how)
{
    uint64_t deadline = rue_clock_now_ns() + grace_ns;
    for (uint64_t pause = 200000;; pause = pause < 20000000 ? pause * 2 : pause) {
        pid_t got = waitpid(process->pid, how, WNOHANG);
        if (got == process->pid) return true;
        if (got < 0 && errno != EINTR) return *how = 0, true;
        uint64_t now = rue_clock_now_ns();
        if (now >= deadline) return false;
        rue_clock_sleep_until(now + pause < deadline ? now + pause : deadline);
    }
}

static const char *describe_end(int how)
{
    static char text[64];
    int code = WEXITSTATUS(how);
    if (WIFSIGNALED(how))
        snprintf(text, sizeof text, "was killed by SIG%s",
                 sigabbrev_np(WTERMSIG(how)) ? sigabbrev_np(WTERMSIG(how)) : "?");
    else if (code > 128 && sigabbrev_np(code - 128)) /* how a shell tells of a signal */
        snprintf(text, sizeof text, "ended with exit code %d (SIG%s)", code, sigabbrev_np(code - 128));
    else if (code)
        snprintf(text, sizeof text, "ended with exit code %d", code);
    else
        snprintf(text, sizeof text, "ended");
    return text;
}

const char *rue_process_close(struct rue_process *process, uint64_t grace_ns)
{
    if (!process) return "ended";
    int how = 0;
    close(process->in);
    bool gone = reap(process, grace_ns, &how);
    if (!gone) {
        kill(-process->pid, SIGTERM);
        gone = reap(process, grace_ns, &how);
    }
    kill(-process->pid, SIGKILL); /* what the child left behind of its group, or the child itself */
    if (!gone) reap(process, UINT64_C(5000000000), &how);
    close(process->out);
    if (process->life >= 0) close(process->life);
    free(process->buffer);
    free(process);
    return describe_end(how);
}
