/* The runner as a study sees it: one loader, or several (`--gpus`) that are one towards whoever asks. Each of
 * several has a GPU of its own; all make the same trial at once, each with its share of the images. What they
 * answer is what the slowest of them took. */
#ifndef RUE_RUNNER_CLIENT_H
#define RUE_RUNNER_CLIENT_H

#include "gpu_list.h"
#include "runner_connection.h"

struct rue_runner;

/* Starts a runner by `command` (as rue_connection_open) for each of the GPUs (NULL: one, which sees all there
 * are) and greets them. RUE_RUNNER when
 * one does not start or does not speak the protocol, or when they are not alike; RUE_INTERRUPTED,
 * RUE_TERMINATED. */
rue_status rue_runner_open(const char *command, const struct rue_gpu_list *gpus, struct rue_runner **out,
                           rue_error *error) RUE_MUST_CHECK;

/* Who answers in this process, without a runner: recorded times. `state` is borrowed for its life. */
struct rue_local_runner {
    void (*hello)(const void *state, struct rue_hello *out);
    void (*open)(const void *state, const struct rue_variant *variant, struct rue_opened *out);
    void (*trial)(const void *state, const struct rue_trial_request *request, struct rue_trial_result *out);
};
rue_status rue_runner_open_local(const struct rue_local_runner *local, const void *state,
                                 struct rue_runner **out, rue_error *error) RUE_MUST_CHECK;

void rue_runner_close(struct rue_runner *runner);

/* What it said when it was first started; never changes. */
const struct rue_hello *rue_runner_hello(const struct rue_runner *runner);

/* Has it open a variant, and read the `images` of the workload once where the workload is warm. RUE_DATA with
 * its reason when it cannot, RUE_RUNNER when it ends. Repeated by itself whenever the runner is started
 * again. */
rue_status rue_runner_open_data(struct rue_runner *runner, const struct rue_variant *variant,
                                const struct rue_workload *workload, uint64_t images, struct rue_opened *out,
                                rue_error *error) RUE_MUST_CHECK;

/* One trial; `profile` as in rue_protocol_encode_trial; `timeout_ns` from now until it is taken for hung.
 * A runner that crashes, hangs or talks garbage makes a failed (or timeout) result that says so, and a new
 * one is started for the next trial (three times where it dies in starting), as after one that says that it
 * is spent. RUE_OK with a result; RUE_INTERRUPTED or RUE_TERMINATED when a signal ended the trial; RUE_RUNNER
 * when no new runner could be started, or when it came back as another one (runner_identity.h); RUE_DATA when
 * it opened other data. */
rue_status rue_runner_trial(struct rue_runner *runner, struct rue_trial_request *request, const char *profile,
                            uint64_t timeout_ns, struct rue_trial_result *result,
                            rue_error *error) RUE_MUST_CHECK;

/* Whether the last trial was under way while this process, a runner or the machine was stopped and continued:
 * then its result says nothing. */
bool rue_runner_was_suspended(const struct rue_runner *runner);

/* One result of `results` [count], which are all ok: the times of the slowest, and what all of them together
 * used. Its arrays are those of the slowest; those of the others are freed. */
struct rue_trial_result rue_runner_merge(struct rue_trial_result *results, size_t count);

#endif
