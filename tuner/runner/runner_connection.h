/* The tuner's end of the protocol with one runner: starts it, requests trials, and restarts it after a crash.
 * A runner at a socket is neither started, killed nor restarted. */
#ifndef RUE_RUNNER_CONNECTION_H
#define RUE_RUNNER_CONNECTION_H

#include <sys/types.h>

#include "protocol.h"
#include "runner_address.h"

struct rue_connection;

/* Starts the runner, or uses the socket, and exchanges hello. Borrows the command. It sees only `gpu`, as in
 * CUDA_VISIBLE_DEVICES (NULL: all GPUs; borrowed). RUE_RUNNER: it does not start or does not speak the
 * protocol; RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_connection_open(const struct rue_runner_address *address, const char *gpu,
                               struct rue_connection **out, rue_error *error) RUE_MUST_CHECK;

/* Ends the runner, and kills everything that it started. */
void rue_connection_close(struct rue_connection *connection);

/* Its first answer to hello, decoded and as JSON; never changes. Borrowed. */
const struct rue_hello *rue_connection_hello(const struct rue_connection *connection);
const json_t *rue_connection_greeting(const struct rue_connection *connection);

/* As rue_runner_open_data (runner_client.h). */
rue_status rue_connection_open_data(struct rue_connection *connection, const struct rue_variant *variant,
                                    const struct rue_workload *workload, uint64_t images,
                                    struct rue_opened *out, rue_error *error) RUE_MUST_CHECK;

/* A trial in steps, so that several runners can make it together. Begin all. If the request `waits`, ask each
 * whether it is ready (false: it has answered already, or failed), and start or skip those that are. Finish
 * all. `request` is borrowed until then, and gets an id. Parameters and errors as in rue_runner_trial. */
rue_status rue_connection_begin(struct rue_connection *connection, struct rue_trial_request *request,
                                const char *profile, uint64_t timeout_ns, rue_error *error) RUE_MUST_CHECK;
bool rue_connection_is_ready(struct rue_connection *connection);
void rue_connection_start(struct rue_connection *connection, bool start);
rue_status rue_connection_finish(struct rue_connection *connection, struct rue_trial_result *result,
                                 rue_error *error) RUE_MUST_CHECK;

/* Whether this process, the runner or the machine was suspended during the last trial. Children of the runner
 * and other machines are not watched. */
bool rue_connection_was_suspended(const struct rue_connection *connection);

#endif
