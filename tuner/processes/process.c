#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advice.h"
#include "interrupt.h"
#include "keeper.h"
#include "suspension.h"
#include "units.h"

/* How long the keeper may take to report a change. */
static const uint64_t keeper_delay_ns = 500 * RUE_NS_PER_MS;

/* The sender of a signal waits until all children have ended. */
static const uint64_t signalled_grace_ns = 300 * RUE_NS_PER_MS;

struct rue_process {
    struct rue_keeper keeper; /* pid 0, socket_fd -1: not a child */
    int in, out;              /* our ends of the pipes, or twice the socket */
    bool ended;
    bool gone;       /* the last call failed because it ended */
    int wait_status; /* as of waitpid, once it ended */
    int stopped;     /* the signal that stopped it; 0: it runs */
    unsigned suspensions;
    char *buffer;
    size_t used, capacity;
    size_t line_bytes; /* of the line returned last, with its newline */
    size_t searched;   /* bytes that have no newline */
};

rue_status rue_process_open(const char *const argv[], struct rue_process **out, rue_error *error)
{
    int to[2] = {-1, -1}, from[2] = {-1, -1};
    struct rue_process *process = calloc(1, sizeof *process);
    if (!process) return rue_fail_memory(error, "a child process", sizeof *process);
    rue_status status = RUE_OK;
    if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0)
        status =
            rue_fail(error, RUE_RUNNER, "cannot start %s: %s%s", argv[0], strerror(errno), rue_advice(errno));
    if (status == RUE_OK) status = rue_keeper_open(argv, to[0], from[1], &process->keeper, error);
    if (to[0] >= 0) close(to[0]);
    if (from[1] >= 0) close(from[1]);
    if (status != RUE_OK) {
        if (to[1] >= 0) close(to[1]);
        if (from[0] >= 0) close(from[0]);
        free(process);
        return status;
    }
    fcntl(to[1], F_SETFL, O_NONBLOCK);
    process->in = to[1];
    process->out = from[0];
    *out = process;
    return RUE_OK;
}

rue_status rue_process_adopt(int socket_fd, struct rue_process **out, rue_error *error)
{
    struct rue_process *process = calloc(1, sizeof *process);
    if (!process) return rue_fail_memory(error, "a process", sizeof *process);
    *process = (struct rue_process){.keeper = {.socket_fd = -1}, .in = socket_fd, .out = socket_fd};
    fcntl(socket_fd, F_SETFL, O_NONBLOCK);
    *out = process;
    return RUE_OK;
}

int rue_process_keeper_socket(const struct rue_process *process)
{
    return process->keeper.socket_fd;
}

static int remaining_ms(uint64_t deadline_ns)
{
    if (deadline_ns == UINT64_MAX) return -1;
    uint64_t now = rue_suspension_awake_ns();
    if (now >= deadline_ns) return 0;
    uint64_t ms = (deadline_ns - now) / 1000000 + 1;
    return ms > 3600000 ? 3600000 : (int)ms;
}

/* Reads all reports of the keeper. If the keeper is gone, so is the child. */
static void read_keeper(struct rue_process *process)
{
    int wait_status;
    while (!process->ended) {
        ssize_t got = recv(process->keeper.socket_fd, &wait_status, sizeof wait_status, MSG_DONTWAIT);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return;
        if (got == 0) wait_status = SIGKILL;
        bool unseen = WIFCONTINUED(wait_status) && !process->stopped; /* its stop was not reported */
        process->stopped = WIFSTOPPED(wait_status) ? WSTOPSIG(wait_status) : 0;
        process->ended = !WIFSTOPPED(wait_status) && !WIFCONTINUED(wait_status);
        process->wait_status = wait_status;
        process->suspensions += process->stopped != 0 || unseen;
    }
}

unsigned rue_process_suspensions(struct rue_process *process)
{
    read_keeper(process);
    return process->suspensions;
}

bool rue_process_is_gone(const struct rue_process *process)
{
    return process->gone;
}

bool rue_process_has_ended(struct rue_process *process)
{
    read_keeper(process);
    return process->ended;
}

int rue_process_output(const struct rue_process *process)
{
    return process->out;
}

const char *rue_process_stop_signal(const struct rue_process *process)
{
    return process->stopped ? sigabbrev_np(process->stopped) : NULL;
}

/* Waits until `fd` is ready or closed. The child's descendants may hold its pipes open after its end, so its
 * end also ends the wait, after all that it wrote is read. */
static rue_status wait_for_fd(struct rue_process *process, int fd, short events, uint64_t deadline_ns,
                              rue_error *error)
{
    for (;;) {
        struct pollfd wait[3] = {{.fd = fd, .events = events},
                                 {.fd = rue_interrupt_fd(), .events = POLLIN},
                                 {.fd = process->ended ? -1 : process->keeper.socket_fd, .events = POLLIN}};
        int ready = poll(wait, 3, process->ended ? 0 : remaining_ms(deadline_ns)), why = errno;
        rue_status stopped = rue_interrupt_status();
        if (stopped != RUE_OK) return rue_fail(error, stopped, "interrupted");
        if (ready > 0) read_keeper(process);
        if (ready > 0 && (wait[0].revents || poll(wait, 1, 0) > 0)) return RUE_OK;
        process->gone = process->ended;
        if (process->gone) return rue_fail(error, RUE_RUNNER, "ended");
        if (ready < 0 && why != EINTR)
            return rue_fail(error, RUE_INTERNAL, "cannot wait for the runner: %s", strerror(why));
        if (remaining_ms(deadline_ns) == 0) return rue_fail(error, RUE_TIMEOUT, "gave no answer in time");
    }
}

/* Waits up to `timeout_ns`, but not long after a signal. True: the child ended. The end of a connection is
 * that of the program. */
static bool wait_for_exit(struct rue_process *process, uint64_t timeout_ns)
{
    uint64_t deadline = rue_suspension_awake_ns() + timeout_ns;
    bool signalled = false;
    process->ended |= !process->keeper.pid;
    for (;;) {
        if (!signalled && rue_interrupt_status() != RUE_OK) {
            uint64_t soon = rue_suspension_awake_ns() + signalled_grace_ns;
            signalled = true;
            if (soon < deadline) deadline = soon;
        }
        read_keeper(process);
        int left = remaining_ms(deadline);
        if (process->ended || left == 0) return process->ended;
        struct pollfd wait[2] = {{.fd = process->keeper.socket_fd, .events = POLLIN},
                                 {.fd = signalled ? -1 : rue_interrupt_fd(), .events = POLLIN}};
        poll(wait, 2, left);
    }
}

static rue_status write_bytes(struct rue_process *process, const char *text, size_t left,
                              uint64_t deadline_ns, rue_error *error)
{
    while (left) {
        ssize_t put = write(process->in, text, left);
        if (put < 0 && errno == EAGAIN) {
            rue_status status = wait_for_fd(process, process->in, POLLOUT, deadline_ns, error);
            if (status != RUE_OK) return status;
        } else if (put < 0 && errno != EINTR && (errno == EPIPE || !process->keeper.pid)) {
            process->gone = wait_for_exit(process, keeper_delay_ns);
            return rue_fail(error, RUE_RUNNER, process->gone ? "ended" : "does not read its requests");
        } else if (put < 0 && errno != EINTR) {
            return rue_fail(error, RUE_INTERNAL, "cannot receive a request: %s", strerror(errno));
        }
        if (put <= 0) continue;
        text += put;
        left -= (size_t)put;
    }
    return RUE_OK;
}

rue_status rue_process_write_line(struct rue_process *process, const char *line, uint64_t deadline_ns,
                                  rue_error *error)
{
    rue_status status = write_bytes(process, line, strlen(line), deadline_ns, error);
    return status == RUE_OK ? write_bytes(process, "\n", 1, deadline_ns, error) : status;
}

static rue_status read_chunk(struct rue_process *process, rue_error *error)
{
    if (process->used == process->capacity) {
        size_t capacity = process->capacity ? process->capacity * 2 : 65536;
        char *grown = realloc(process->buffer, capacity);
        if (!grown) return rue_fail_memory(error, "a line of the runner", capacity);
        process->buffer = grown;
        process->capacity = capacity;
    }
    ssize_t got = read(process->out, process->buffer + process->used, process->capacity - process->used);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return RUE_OK;
    if (got <= 0) {
        process->gone = wait_for_exit(process, keeper_delay_ns);
        return rue_fail(error, RUE_RUNNER, "%s", process->gone ? "ended" : "closed its output");
    }
    process->used += (size_t)got;
    return RUE_OK;
}

static void drop_line(struct rue_process *process)
{
    if (!process->line_bytes) return;
    process->used -= process->line_bytes;
    memmove(process->buffer, process->buffer + process->line_bytes, process->used);
    process->line_bytes = process->searched = 0;
}

/* The newline of the next line, or NULL. */
static char *find_newline(struct rue_process *process)
{
    char *end = process->used > process->searched
                    ? memchr(process->buffer + process->searched, '\n', process->used - process->searched)
                    : NULL;
    process->searched = end ? (size_t)(end - process->buffer) : process->used;
    return end;
}

bool rue_process_collect(struct rue_process *process, size_t longest)
{
    drop_line(process);
    if (find_newline(process)) return true;
    rue_status status = read_chunk(process, NULL);
    return find_newline(process) || status != RUE_OK || process->searched > longest;
}

const char *rue_process_peek_line(struct rue_process *process, size_t *bytes)
{
    drop_line(process);
    if (!find_newline(process)) return NULL;
    *bytes = process->searched;
    return process->buffer;
}

rue_status rue_process_read_line(struct rue_process *process, uint64_t deadline_ns, size_t longest,
                                 const char **line, rue_error *error)
{
    drop_line(process);
    for (;;) {
        char *end = find_newline(process);
        if (process->searched > longest)
            return rue_fail(error, RUE_RUNNER, "sent a line of more than %zu bytes", longest);
        if (end) {
            *end = 0;
            process->line_bytes = process->searched + 1;
            *line = process->buffer;
            return RUE_OK;
        }
        rue_status status = wait_for_fd(process, process->out, POLLIN, deadline_ns, error);
        if (status == RUE_OK) status = read_chunk(process, error);
        if (status != RUE_OK) return status;
    }
}

static struct rue_process_end describe_end(int wait_status)
{
    static char text[64];
    int code = WEXITSTATUS(wait_status);
    /* From a shell's exit code where that is one for a signal. */
    int signal = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : code > 128 ? code - 128 : 0;
    const char *name = signal ? sigabbrev_np(signal) : NULL;
    if (!wait_status) return (struct rue_process_end){.text = "ended"}; /* also at a socket, in any thread */
    if (WIFSIGNALED(wait_status))
        snprintf(text, sizeof text, "was killed by SIG%s", name ? name : "?");
    else if (name)
        snprintf(text, sizeof text, "ended with exit code %d (SIG%s)", code, name);
    else
        snprintf(text, sizeof text, "ended with exit code %d", code);
    return (struct rue_process_end){text, WIFEXITED(wait_status) ? code : -1, signal == SIGKILL};
}

static void end_child(struct rue_process *process, uint64_t grace_ns)
{
    close(process->in);
    if (!wait_for_exit(process, grace_ns)) {
        rue_keeper_signal(process->keeper.socket_fd, SIGTERM);
        wait_for_exit(process, grace_ns);
    }
    shutdown(process->keeper.socket_fd, SHUT_WR);
    kill(process->keeper.pid, SIGCONT);                     /* it may have been stopped */
    while (!wait_for_exit(process, RUE_NS_PER_S)) continue; /* the keeper ends within seconds */
    while (waitpid(process->keeper.pid, NULL, 0) < 0 && errno == EINTR) continue;
    close(process->keeper.socket_fd);
    close(process->out);
}

struct rue_process_end rue_process_close(struct rue_process *process, uint64_t grace_ns)
{
    if (!process) return describe_end(0);
    if (process->keeper.pid) end_child(process, grace_ns);
    int wait_status = process->wait_status;
    free(process->buffer);
    free(process);
    return describe_end(wait_status);
}
