#include "runner_address.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Adds the socket whose number is the first element of `list`. */
static rue_status add_socket(struct rue_runner_address *out, const char *list, rue_error *error)
{
    char *end;
    long fd = strtol(list, &end, 10);
    int type = 0, length = (int)strcspn(list, ",");
    socklen_t bytes = sizeof type;
    for (size_t i = 0; i < out->socket_count; i++)
        if (out->sockets[i] == fd) return rue_fail(error, RUE_USAGE, "--runner-fd: %ld is given twice", fd);
    if (out->socket_count == RUE_RUNNER_SOCKETS_MAX)
        return rue_fail(error, RUE_USAGE, "--runner-fd: give at most %d sockets", RUE_RUNNER_SOCKETS_MAX);
    if (end != list + length || fd < 3 || fd > 1 << 20 ||
        getsockopt((int)fd, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_STREAM)
        return rue_fail(
            error, RUE_USAGE,
            "--runner-fd: %.*s is not an open stream socket; start rue so that it inherits one end "
            "of a socket pair",
            length, list);
    fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    out->sockets[out->socket_count++] = (int)fd;
    return RUE_OK;
}

rue_status rue_runner_address_read(const struct rue_options *options, struct rue_runner_address *out,
                                   rue_error *error)
{
    const char *list = rue_options_text(options, "runner-fd");
    *out = (struct rue_runner_address){.command = rue_options_text(options, "runner")};
    if (!list) return RUE_OK;
    if (rue_options_given(options, "runner"))
        return rue_fail(error, RUE_USAGE, "--runner and --runner-fd both say who makes the trials: give one");
    out->command = NULL;
    rue_status status;
    do {
        status = add_socket(out, list, error);
        list += strcspn(list, ",");
    } while (status == RUE_OK && *list++);
    return status;
}
