/* Who makes the trials of a study: --runner, --runner-fd. */
#ifndef RUE_RUNNER_ADDRESS_H
#define RUE_RUNNER_ADDRESS_H

#include "options.h"

/* All zero: rue's own runner, on this machine. At most one of the first two is set. */
struct rue_runner_address {
    const char *command;           /* for a shell */
    int fd;                        /* a connected stream socket */
    struct rue_progress *progress; /* shows how many ranks have connected; borrowed; NULL: silent */
};

/* Reads the options of a command that has them. Children do not inherit the socket. RUE_USAGE: two contradict
 * each other, or the descriptor is not an open stream socket. */
rue_status rue_runner_address_read(const struct rue_options *options, struct rue_runner_address *out,
                                   rue_error *error) RUE_MUST_CHECK;

static inline bool rue_runner_address_is_own(const struct rue_runner_address *address)
{
    return !address->command && !address->fd;
}

#endif
