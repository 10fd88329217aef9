/* The runner of a study: one loader, or several (`--gpus`, `--launch`) that answer as one. Each of several
 * has its own GPU. All make the same trial at the same time, each with its share of the images. Their times
 * are those of the slowest. */
#ifndef RUE_RUNNER_CLIENT_H
#define RUE_RUNNER_CLIENT_H

#include "gpu_list.h"
#include "protocol.h"
#include "runner_address.h"

struct rue_runner;

/* Opens a runner for each GPU (NULL: one that sees all), or for each rank that the launcher of the address
 * starts, and exchanges hello. RUE_RUNNER: one does not start, does not speak the protocol, or differs from
 * the first; as rue_launch_open. */
rue_status rue_runner_open(const struct rue_runner_address *address, const struct rue_gpu_list *gpus,
                           struct rue_runner **out, rue_error *error) RUE_MUST_CHECK;

/* A runner in this process, without a child process: recorded times. `state` is borrowed until the close. */
struct rue_local_runner {
    void (*hello)(const void *state, struct rue_hello *out);
    void (*open)(const void *state, const struct rue_variant *variant, struct rue_opened *out);
    void (*trial)(const void *state, const struct rue_trial_request *request, struct rue_trial_result *out);
};
rue_status rue_runner_open_local(const struct rue_local_runner *local, const void *state,
                                 struct rue_runner **out, rue_error *error) RUE_MUST_CHECK;

void rue_runner_close(struct rue_runner *runner);

/* The ranks of a farm, each of which makes trials by itself (runner_farm.h); NULL: it is none. Borrowed. */
struct rue_runner_group *rue_runner_farm(const struct rue_runner *runner);

/* Its first answer to hello; never changes. */
const struct rue_hello *rue_runner_hello(const struct rue_runner *runner);

/* The number of loaders. */
size_t rue_runner_count(const struct rue_runner *runner);

/* Opens a variant, and reads `images` once if the workload is warm. RUE_DATA with the runner's reason;
 * RUE_RUNNER: it ended or its answer is wrong. Every restart of the runner repeats it. */
rue_status rue_runner_open_data(struct rue_runner *runner, const struct rue_variant *variant,
                                const struct rue_workload *workload, uint64_t images, struct rue_opened *out,
                                rue_error *error) RUE_MUST_CHECK;

/* Makes one trial; `profile` as in rue_protocol_encode_trial. A runner that crashes, sends a wrong answer, or
 * gives none within `timeout_ns` makes a result with the outcome failed or timeout, and a reason. The next
 * trial then restarts it (3 attempts), as after "spent"; a runner at a socket fails that trial. RUE_OK with a
 * result; RUE_INTERRUPTED or RUE_TERMINATED: a signal ended the trial; RUE_RUNNER: it cannot be restarted, or
 * answers hello differently (runner_identity.h); RUE_DATA: the data changed. */
rue_status rue_runner_trial(struct rue_runner *runner, struct rue_trial_request *request, const char *profile,
                            uint64_t timeout_ns, struct rue_trial_result *result,
                            rue_error *error) RUE_MUST_CHECK;

/* Whether this process, a runner or the machine was suspended during the last trial. Its times are then
 * useless. */
bool rue_runner_was_suspended(const struct rue_runner *runner);

#endif
