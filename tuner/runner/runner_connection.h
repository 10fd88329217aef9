/* The tuner's end of the protocol with one runner: starts it, requests trials, and restarts it after a crash.
 * A runner at a socket is neither started, killed nor restarted. */
#ifndef RUE_RUNNER_CONNECTION_H
#define RUE_RUNNER_CONNECTION_H

#include <sys/types.h>

#include "protocol.h"

struct rue_connection;

/* Makes a connection without starting the runner yet. The runner is a child (`command`, NULL: rue's own), the
 * program at `socket` (0: none), or `remote`: started by the agent of a rank at the socket (rank_agent.h). It
 * sees only `gpu`, as in CUDA_VISIBLE_DEVICES (NULL: all GPUs). All is borrowed. RUE_MEMORY. */
rue_status rue_connection_open(const char *command, const char *gpu, int socket, bool remote,
                               struct rue_connection **out, rue_error *error) RUE_MUST_CHECK;

/* If no runner runs, begins to start it and to open its data again, so that several do so in parallel. The
 * next call waits for it. */
void rue_connection_wake(struct rue_connection *connection);

/* Waits for it. RUE_RUNNER: it does not start, or its agent is lost; RUE_DATA: the data changed;
 * RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_connection_prepare(struct rue_connection *connection, rue_error *error) RUE_MUST_CHECK;

/* Starts the runner and exchanges hello. RUE_RUNNER: it does not start or does not speak the protocol;
 * RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_connection_greet(struct rue_connection *connection, rue_error *error) RUE_MUST_CHECK;

/* Whether the connection to the agent has ended. Replaces the agent by one without a runner. */
bool rue_connection_is_lost(const struct rue_connection *connection);
void rue_connection_replace_agent(struct rue_connection *connection, int agent);

/* Ends the runner, and kills everything that it started. */
void rue_connection_close(struct rue_connection *connection);

/* Its first answer to hello; never changes. Borrowed. */
const json_t *rue_connection_greeting(const struct rue_connection *connection);

/* As rue_runners_open_data (runners.h), in two steps, so that several runners open data in parallel. */
rue_status rue_connection_begin_open(struct rue_connection *connection, const struct rue_variant *variant,
                                     const struct rue_workload *workload, uint64_t images,
                                     rue_error *error) RUE_MUST_CHECK;
rue_status rue_connection_finish_open(struct rue_connection *connection, const struct rue_variant *variant,
                                      const struct rue_workload *workload, struct rue_opened *out,
                                      rue_error *error) RUE_MUST_CHECK;

/* A trial in steps, so that several runners can make it together. Parameters and errors as in
 * rue_runner_trial.
 * 1. Begin all. `request` gets an id, and is borrowed until the last step.
 * 2. If the request `waits`, ask each whether it is ready (false: it has answered already, or failed).
 * 3. Start or skip those that are ready.
 * 4. Await the answers. The runners of ranks that failed are ended in parallel.
 * 5. Finish all. */
rue_status rue_connection_begin(struct rue_connection *connection, struct rue_trial_request *request,
                                const char *profile, uint64_t timeout_ns, rue_error *error) RUE_MUST_CHECK;
bool rue_connection_is_ready(struct rue_connection *connection);
bool rue_connection_skip(struct rue_connection *connection); /* false: it has failed */
void rue_connection_await(struct rue_connection *connection);
rue_status rue_connection_finish(struct rue_connection *connection, struct rue_trial_result *result,
                                 rue_error *error) RUE_MUST_CHECK;

/* Starts a ready trial when the clock of its agent is `at_ns` (0: at once). Reads that clock; false: the
 * trial of this runner fails. */
void rue_connection_start(struct rue_connection *connection, uint64_t at_ns);
bool rue_connection_read_clock(struct rue_connection *connection, uint64_t *clock_ns);

/* The runner, or the agent that starts it; NULL: none runs. Borrowed. */
struct rue_process *rue_connection_process(const struct rue_connection *connection);

/* The answer of the last trial, until the next one; NULL: none. */
const json_t *rue_connection_reply(const struct rue_connection *connection);

/* Whether this process, the runner or the machine was suspended during the last trial. Children of the runner
 * and other machines are not watched. */
bool rue_connection_was_suspended(const struct rue_connection *connection);

#endif
