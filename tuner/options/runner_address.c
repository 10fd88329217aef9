#include "runner_address.h"

#include <fcntl.h>
#include <sys/socket.h>

rue_status rue_runner_address_read(const struct rue_options *options, struct rue_runner_address *out,
                                   rue_error *error)
{
    int type = 0;
    socklen_t bytes = sizeof type;
    *out = (struct rue_runner_address){.command = rue_options_text(options, "runner"),
                                       .fd = (int)rue_options_number(options, "runner-fd")};
    if (!out->fd) return RUE_OK;
    if (rue_options_given(options, "runner"))
        return rue_fail(error, RUE_USAGE, "--runner and --runner-fd both say who makes the trials: give one");
    if (getsockopt(out->fd, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_STREAM)
        return rue_fail(error, RUE_USAGE,
                        "--runner-fd: %d is not an open stream socket; start rue so that it inherits one end "
                        "of a socket pair",
                        out->fd);
    fcntl(out->fd, F_SETFD, FD_CLOEXEC);
    out->command = NULL;
    return RUE_OK;
}
