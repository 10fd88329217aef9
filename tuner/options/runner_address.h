/* Who makes the trials of a study: --runner, --runner-fd. */
#ifndef RUE_RUNNER_ADDRESS_H
#define RUE_RUNNER_ADDRESS_H

#include "options.h"

enum { RUE_RUNNER_SOCKETS_MAX = 1024 };

/* All zero: rue's own runner, on this machine. It has a command, or sockets, or none of both. */
struct rue_runner_address {
    const char *command;                 /* for a shell */
    size_t socket_count;                 /* more than 1: of programs that make each trial together */
    int sockets[RUE_RUNNER_SOCKETS_MAX]; /* [socket_count] connected stream sockets */
    struct rue_progress *progress;       /* shows how many ranks have connected; borrowed; NULL: silent */
};

/* Reads the options of a command that has them. Children do not inherit the sockets. RUE_USAGE: two
 * contradict each other, or a descriptor is not an open stream socket, or is given twice. */
rue_status rue_runner_address_read(const struct rue_options *options, struct rue_runner_address *out,
                                   rue_error *error) RUE_MUST_CHECK;

static inline bool rue_runner_address_is_own(const struct rue_runner_address *address)
{
    return !address->command && !address->socket_count;
}

#endif
