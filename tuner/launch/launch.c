#include "launch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "advice.h"
#include "interrupt.h"
#include "process.h"
#include "progress.h"
#include "runner_command.h"
#include "shell_quote.h"
#include "suspension.h"
#include "tcp.h"
#include "units.h"

enum { PENDING_MAX = 64 };

/* How long a connection may take to send its line, and ranks to connect after their launcher has ended. */
static const uint64_t join_timeout_ns = 5 * RUE_NS_PER_S, ended_grace_ns = 300 * RUE_NS_PER_MS;
static const uint64_t close_grace_ns = 2 * RUE_NS_PER_S;

/* How long ranks that are too many may take to connect after the others. One rank alone shows little: each of
 * several ranks without a number of its own calls itself the only one. */
static const uint64_t spare_grace_ns = 100 * RUE_NS_PER_MS, lone_grace_ns = RUE_NS_PER_S;

/* A connection that has not sent its line yet. */
struct pending {
    int fd;
    size_t used;
    uint64_t deadline_ns;
    char text[RUE_JOIN_BYTES];
};

struct joined {
    int fd; /* -1: not connected yet */
    struct rue_rank rank;
};

struct rue_launch {
    struct rue_process *launcher;
    const char *words;             /* of the user, for messages */
    char name[RUE_TCP_NAME_BYTES]; /* where ranks connect */
    char token[RUE_TOKEN_BYTES];
    size_t count, joined_count; /* 0: not known yet */
    struct joined *ranks;       /* [count] */
    struct rue_rank first;      /* that joined */
    size_t pending_count;
    struct pending pending[PENDING_MAX];
    char refused[RUE_ERROR_MESSAGE_BYTES]; /* why the last connection was refused; "": none was */
};

static rue_status make_token(char out[RUE_TOKEN_BYTES], rue_error *error)
{
    unsigned char bytes[(RUE_TOKEN_BYTES - 1) / 2];
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return rue_fail(error, RUE_INTERNAL, "cannot get random bytes for a token: %s", strerror(errno));
    for (size_t i = 0; i < sizeof bytes; i++) snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return RUE_OK;
}

/* ---- the launcher ---- */

/* The launcher's words are for a shell; what follows them is quoted. Standard output is rue's own. */
static rue_status make_command(const struct rue_launcher *launcher, const struct rue_runner_address *address,
                               char **out, rue_error *error)
{
    char program[PATH_MAX] = "", quoted[2 * PATH_MAX], runner[2 * PATH_MAX] = "";
    if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
        return rue_fail(error, RUE_INTERNAL, "cannot find the path of rue: %s", strerror(errno));
    rue_shell_quote(program, quoted, sizeof quoted);
    if (address->command) rue_shell_quote(address->command, runner, sizeof runner);
    if (asprintf(out, "%s%s %s runner --connect%s%s 1>&2 </dev/null",
                 rue_runner_command_is_simple(launcher->words) ? "exec " : "", launcher->words, quoted,
                 runner[0] ? " --runner " : "", runner) < 0)
        return rue_fail_memory(error, "a command", strlen(launcher->words));
    return RUE_OK;
}

static void pass_address(const char *address, const char *token)
{
    char text[RUE_TCP_NAME_BYTES + RUE_TOKEN_BYTES + 1];
    snprintf(text, sizeof text, "%s/%s", address, token);
    setenv(RUE_RANK_VARIABLE, text, 1);
    setenv(RUE_RANK_VARIABLE_MPI, text, 1);
}

static rue_status start_launcher(struct rue_launch *launch, const struct rue_launcher *launcher,
                                 const struct rue_runner_address *address, rue_error *error)
{
    char *command = NULL;
    rue_status status = make_command(launcher, address, &command, error);
    if (status != RUE_OK) return status;
    pass_address(launch->name, launch->token);
    rue_rank_unset();
    const char *const words[] = {"/bin/sh", "-c", command, NULL};
    status = rue_process_open(words, &launch->launcher, error);
    unsetenv(RUE_RANK_VARIABLE);
    unsetenv(RUE_RANK_VARIABLE_MPI);
    free(command);
    if (status == RUE_OK) rue_suspension_follow(rue_process_keeper_socket(launch->launcher));
    return status;
}

/* ---- connections ---- */

static void refuse(struct rue_launch *launch, int fd, const char *why)
{
    char line[RUE_ERROR_MESSAGE_BYTES];
    rue_error_shorten(why, launch->refused, sizeof launch->refused);
    int length =
        snprintf(line, sizeof line, "{\"status\":\"refused\",\"reason\":\"the connection %.200s\"}\n", why);
    (void)send(fd, line, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL);
    close(fd);
}

static const char *variable_name(const struct rue_rank *rank)
{
    return rank->variable ? rank->variable : "its rank";
}

/* No rank can join later that makes such ranks complete. */
static rue_status fail_numbers(const struct rue_launch *launch, const struct rue_rank *a,
                               const struct rue_rank *b, rue_error *error)
{
    char what[200];
    if (!a->variable && !b->variable)
        snprintf(what, sizeof what, "gave two ranks no number: on %s and on %s", a->node, b->node);
    else if (a->world_size == b->world_size)
        snprintf(what, sizeof what, "gave two ranks the number %d: %s on %s and %s on %s", a->rank,
                 variable_name(a), a->node, variable_name(b), b->node);
    else
        snprintf(what, sizeof what,
                 "gave rank %d (%s on %s) a world size of %d, and rank %d (%s on %s) one of %d", a->rank,
                 variable_name(a), a->node, a->world_size, b->rank, variable_name(b), b->node, b->world_size);
    return rue_fail(error, RUE_RUNNER,
                    "the launcher '%.160s' %s; unset variables that are not the launcher's own, or set RANK, "
                    "WORLD_SIZE and LOCAL_RANK in each rank",
                    launch->words, what);
}

/* The first rank that connects determines their number. One that its launcher has started again takes the
 * place of its first connection. */
static rue_status add_rank(struct rue_launch *launch, const struct rue_rank *rank, int fd, rue_error *error)
{
    if (rank->wrong[0])
        return rue_fail(error, RUE_RUNNER, "the launcher '%.160s' started a rank on %s without a number: %s",
                        launch->words, rank->node, rank->wrong);
    if (!launch->ranks) {
        launch->ranks = calloc((size_t)rank->world_size, sizeof *launch->ranks);
        if (!launch->ranks) return rue_fail_memory(error, "ranks", (size_t)rank->world_size);
        launch->count = (size_t)rank->world_size;
        launch->first = *rank;
        for (size_t i = 0; i < launch->count; i++) launch->ranks[i].fd = -1;
    }
    if (rank->world_size != launch->first.world_size)
        return fail_numbers(launch, &launch->first, rank, error);
    struct joined *joined = &launch->ranks[rank->rank];
    if (joined->fd >= 0 && !rue_tcp_has_ended(joined->fd))
        return fail_numbers(launch, &joined->rank, rank, error);
    if (joined->fd < 0)
        launch->joined_count++;
    else
        close(joined->fd);
    *joined = (struct joined){fd, *rank};
    return RUE_OK;
}

/* The line of a connection is complete. */
static rue_status admit(struct rue_launch *launch, struct pending *pending, rue_error *error)
{
    static const char welcome[] = "{\"status\":\"ok\"}\n";
    struct rue_rank rank;
    rue_error wrong = {0};
    rue_status status = rue_rank_decode_join(pending->text, launch->token, &rank, &wrong);
    if (status != RUE_OK) return refuse(launch, pending->fd, wrong.message), RUE_OK;
    status = add_rank(launch, &rank, pending->fd, error);
    if (status != RUE_OK) return close(pending->fd), status;
    (void)send(pending->fd, welcome, sizeof welcome - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    return RUE_OK;
}

static void forget_pending(struct rue_launch *launch, size_t at)
{
    launch->pending[at] = launch->pending[--launch->pending_count];
}

/* Reads no byte after the line: a rank sends nothing more before it is asked. */
static rue_status read_pending(struct rue_launch *launch, size_t at, rue_error *error)
{
    struct pending *pending = &launch->pending[at];
    size_t room = sizeof pending->text - 1 - pending->used;
    ssize_t got = recv(pending->fd, pending->text + pending->used, room, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return RUE_OK;
    pending->used += got > 0 ? (size_t)got : 0;
    pending->text[pending->used] = 0;
    char *end = memchr(pending->text, '\n', pending->used);
    rue_status status = RUE_OK;
    if (end) {
        *end = 0;
        status = admit(launch, pending, error);
    } else if (got > 0 && pending->used < sizeof pending->text - 1) {
        return RUE_OK;
    } else {
        refuse(launch, pending->fd, got > 0 ? "sent a line that is too long" : "ended before its line");
    }
    forget_pending(launch, at);
    return status;
}

static rue_status accept_connection(struct rue_launch *launch, int listener, rue_error *error)
{
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    bool full = fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
    if (full)
        return rue_fail(error, RUE_INFEASIBLE, "cannot accept the connection of a rank: %s%s",
                        strerror(errno), rue_advice(errno));
    if (fd < 0) return RUE_OK;
    if (launch->pending_count == PENDING_MAX) {
        refuse(launch, launch->pending[0].fd, "waited while too many others connected");
        memmove(launch->pending, launch->pending + 1, --launch->pending_count * sizeof *launch->pending);
    }
    rue_tcp_prepare(fd);
    launch->pending[launch->pending_count++] =
        (struct pending){.fd = fd, .deadline_ns = rue_suspension_awake_ns() + join_timeout_ns};
    return RUE_OK;
}

static void drop_late(struct rue_launch *launch)
{
    uint64_t now = rue_suspension_awake_ns();
    for (size_t i = launch->pending_count; i-- > 0;)
        if (now >= launch->pending[i].deadline_ns) {
            refuse(launch, launch->pending[i].fd, "sent no line in time");
            forget_pending(launch, i);
        }
}

/* ---- waiting for all ---- */

/* "1, 4 to 7" */
static void list_missing(const struct rue_launch *launch, char *out, size_t bytes)
{
    size_t used = 0;
    for (size_t i = 0; i < launch->count; i++) {
        size_t last = i;
        if (launch->ranks[i].fd >= 0) continue;
        while (last + 1 < launch->count && launch->ranks[last + 1].fd < 0) last++;
        int put = last > i ? snprintf(out + used, bytes - used, "%s%zu to %zu", used ? ", " : "", i, last)
                           : snprintf(out + used, bytes - used, "%s%zu", used ? ", " : "", i);
        if (put < 0 || (size_t)put >= bytes - used) return;
        used += (size_t)put;
        i = last;
    }
}

static rue_status fail_missing(struct rue_launch *launch, const char *what, rue_error *error)
{
    char missing[120] = "", refused[320] = "", numbered[200] = "";
    list_missing(launch, missing, sizeof missing);
    if (launch->first.variable)
        snprintf(
            numbered, sizeof numbered,
            "; rank %d takes its numbers from %s and the variables beside it: unset those that are not the "
            "launcher's own",
            launch->first.rank, launch->first.variable);
    if (launch->refused[0])
        snprintf(refused, sizeof refused, "; a connection was refused: it %.240s", launch->refused);
    if (launch->joined_count == 0)
        return rue_fail(
            error, RUE_RUNNER,
            "the launcher '%.160s' %s before any rank connected to %s%s; its messages are above. Ranks on "
            "other machines need an address that they can reach: --listen ADDRESS",
            launch->words, what, launch->name, refused);
    return rue_fail(error, RUE_RUNNER,
                    "the launcher '%.160s' %s when only %zu of %zu ranks had connected; missing: rank %s%s%s",
                    launch->words, what, launch->joined_count, launch->count, missing, numbered, refused);
}

static bool is_complete(const struct rue_launch *launch)
{
    return launch->count && launch->joined_count == launch->count;
}

static rue_status wait_once(struct rue_launch *launch, int listener, rue_error *error)
{
    struct pollfd wait[PENDING_MAX + 3] = {
        {.fd = listener, .events = POLLIN},
        {.fd = rue_interrupt_fd(), .events = POLLIN},
        {.fd = rue_process_keeper_socket(launch->launcher), .events = POLLIN}};
    size_t count = launch->pending_count;
    for (size_t i = 0; i < count; i++)
        wait[3 + i] = (struct pollfd){.fd = launch->pending[i].fd, .events = POLLIN};
    if (rue_process_has_ended(launch->launcher)) wait[2].fd = -1;
    poll(wait, 3 + count, 100);
    rue_status status = rue_interrupt_status();
    if (status != RUE_OK) return rue_fail(error, status, "interrupted");
    for (size_t i = count;
         status == RUE_OK && i-- > 0;) /* the last is moved to the place of a finished one */
        if (wait[3 + i].revents) status = read_pending(launch, i, error);
    if (status == RUE_OK && wait[0].revents) status = accept_connection(launch, listener, error);
    drop_late(launch);
    return status;
}

static void show_waiting(const struct rue_launch *launch, struct rue_progress *progress)
{
    if (!progress || !rue_progress_due(progress)) return;
    if (launch->count)
        rue_progress_show(progress, "waiting for ranks: %zu of %zu have connected", launch->joined_count,
                          launch->count);
    else
        rue_progress_show(progress, "waiting for ranks: none has connected to %s", launch->name);
}

static rue_status wait_for_spare_ranks(struct rue_launch *launch, int listener, rue_error *error)
{
    uint64_t deadline = rue_suspension_awake_ns() + (launch->count == 1 ? lone_grace_ns : spare_grace_ns);
    rue_status status = RUE_OK;
    while (status == RUE_OK && rue_suspension_awake_ns() < deadline)
        status = wait_once(launch, listener, error);
    return status;
}

static rue_status wait_for_ranks(struct rue_launch *launch, int listener, uint64_t timeout_ns,
                                 struct rue_progress *progress, rue_error *error)
{
    char text[RUE_UNIT_TEXT_BYTES], what[200];
    uint64_t deadline = rue_suspension_awake_ns() + timeout_ns, ended_ns = 0;
    rue_status status = RUE_OK;
    while (status == RUE_OK && !is_complete(launch)) {
        show_waiting(launch, progress);
        status = wait_once(launch, listener, error);
        uint64_t now = rue_suspension_awake_ns();
        if (!ended_ns && rue_process_has_ended(launch->launcher)) ended_ns = now;
        if (status != RUE_OK || is_complete(launch)) break;
        if (ended_ns && (now >= ended_ns + ended_grace_ns || now >= deadline)) {
            rue_suspension_unfollow(rue_process_keeper_socket(launch->launcher));
            snprintf(what, sizeof what, "%s", rue_process_close(launch->launcher, 0).text);
            launch->launcher = NULL;
            return fail_missing(launch, what, error);
        }
        snprintf(what, sizeof what, "still ran after %s (--launch-timeout)",
                 rue_format_duration(timeout_ns, text, sizeof text));
        if (now >= deadline) return fail_missing(launch, what, error);
    }
    return status == RUE_OK ? wait_for_spare_ranks(launch, listener, error) : status;
}

rue_status rue_launch_open(const struct rue_launcher *launcher, const struct rue_runner_address *address,
                           struct rue_launch **out, rue_error *error)
{
    int listener = -1;
    struct rue_launch *launch = calloc(1, sizeof *launch);
    if (!launch) return rue_fail_memory(error, "a launch", sizeof *launch);
    launch->words = launcher->words;
    rue_status status = make_token(launch->token, error);
    rue_error why = {0};
    if (status == RUE_OK) status = rue_tcp_listen(launcher->listen, &listener, launch->name, &why);
    if (why.status != RUE_OK) status = rue_fail(error, why.status, "--listen %s", why.message);
    if (status == RUE_OK) status = start_launcher(launch, launcher, address, error);
    if (status == RUE_OK)
        status = wait_for_ranks(launch, listener, launcher->timeout_ns, address->progress, error);
    if (listener >= 0) close(listener);
    for (size_t i = 0; i < launch->pending_count; i++) close(launch->pending[i].fd);
    launch->pending_count = 0;
    if (status != RUE_OK) return rue_launch_close(launch), status;
    *out = launch;
    return RUE_OK;
}

void rue_launch_close(struct rue_launch *launch)
{
    if (!launch) return;
    for (size_t i = 0; i < launch->count; i++)
        if (launch->ranks[i].fd >= 0) close(launch->ranks[i].fd);
    if (launch->launcher) {
        rue_suspension_unfollow(rue_process_keeper_socket(launch->launcher));
        rue_process_close(launch->launcher, close_grace_ns);
    }
    free(launch->ranks);
    free(launch);
}

size_t rue_launch_count(const struct rue_launch *launch)
{
    return launch->count;
}

const struct rue_rank *rue_launch_rank(const struct rue_launch *launch, size_t rank)
{
    return &launch->ranks[rank].rank;
}

int rue_launch_socket(const struct rue_launch *launch, size_t rank)
{
    return launch->ranks[rank].fd;
}
