/* Who makes the trials of a study: --runner and --runner-fd. */
#ifndef RUE_RUNNER_ADDRESS_H
#define RUE_RUNNER_ADDRESS_H

#include "options.h"

/* All zero: rue's own runner. At most one is set. */
struct rue_runner_address {
    const char *command; /* for a shell */
    int fd;              /* a connected stream socket */
};

/* Reads both options of a command that has them. Children do not inherit the socket. RUE_USAGE: both are on
 * the command line, or the descriptor is not an open stream socket. */
rue_status rue_runner_address_read(const struct rue_options *options, struct rue_runner_address *out,
                                   rue_error *error) RUE_MUST_CHECK;

static inline bool rue_runner_address_is_own(const struct rue_runner_address *address)
{
    return !address->command && !address->fd;
}

#endif
