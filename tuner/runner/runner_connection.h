/* The tuner's end of the protocol towards one runner: starts it, asks it for trials, survives its death. */
#ifndef RUE_RUNNER_CONNECTION_H
#define RUE_RUNNER_CONNECTION_H

#include <sys/types.h>

#include "protocol.h"

struct rue_connection;

/* Starts a runner by `command`, for a shell (NULL: this program's own runner), and greets it. Of the GPUs it
 * sees `gpu` alone (nullable: all of them; as CUDA_VISIBLE_DEVICES has it; borrowed). RUE_RUNNER when it does
 * not start or does not speak the protocol; RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_connection_open(const char *command, const char *gpu, struct rue_connection **out,
                               rue_error *error) RUE_MUST_CHECK;

/* Ends the runner; whatever it left running is killed. */
void rue_connection_close(struct rue_connection *connection);

/* What it said when it was first started, decoded and in its own words; never changes. Borrowed. */
const struct rue_hello *rue_connection_hello(const struct rue_connection *connection);
const json_t *rue_connection_greeting(const struct rue_connection *connection);

/* As rue_runner_open_data (runner_client.h). */
rue_status rue_connection_open_data(struct rue_connection *connection, const struct rue_variant *variant,
                                    const struct rue_workload *workload, uint64_t images,
                                    struct rue_opened *out, rue_error *error) RUE_MUST_CHECK;

/* A trial, in steps, so that several runners can make one each at once: begin them all; where a request
 * `waits`, ask each whether it is ready (false: it has answered already, or never will), then tell those that
 * are to start, or not to; finish them all. `request` is borrowed until then, and its id set. `profile`,
 * `timeout_ns` and what may become of it as of rue_runner_trial. */
rue_status rue_connection_begin(struct rue_connection *connection, struct rue_trial_request *request,
                                const char *profile, uint64_t timeout_ns, rue_error *error) RUE_MUST_CHECK;
bool rue_connection_is_ready(struct rue_connection *connection);
void rue_connection_start(struct rue_connection *connection, bool start);
rue_status rue_connection_finish(struct rue_connection *connection, struct rue_trial_result *result,
                                 rue_error *error) RUE_MUST_CHECK;

/* Whether the last trial was under way while this process, the runner or the machine was stopped and
 * continued. What a runner started itself is not watched; nor is a runner on another machine. */
bool rue_connection_was_suspended(const struct rue_connection *connection);

#endif
