/* The tuner's end of the protocol: starts a runner, asks it for trials, survives its death. */
#ifndef RUE_RUNNER_CLIENT_H
#define RUE_RUNNER_CLIENT_H

#include <sys/types.h>

#include "protocol.h"

struct rue_runner;

/* How a runner is started; `words` and `gpu` are borrowed for its life. */
enum { RUE_RUNNER_WORDS_MAX = 6 };
struct rue_runner_command {
    const char *shell; /* for a shell; NULL: this program's own runner */
    const char *const
        *words;      /* (optional) arguments of our own, RUE_RUNNER_WORDS_MAX at most, NULL at the end */
    const char *gpu; /* (optional) of the GPUs it sees this one alone, as CUDA_VISIBLE_DEVICES has it */
};

/* Starts the runner and greets it. RUE_RUNNER when it does not start or does not speak the protocol;
 * RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_runner_open(const struct rue_runner_command *command, struct rue_runner **out,
                           rue_error *error) RUE_MUST_CHECK;

/* Ends it; whatever it left running is killed. */
void rue_runner_close(struct rue_runner *runner);

/* What it said when it was first started; never changes. */
const struct rue_hello *rue_runner_hello(const struct rue_runner *runner);
const json_t *rue_runner_greeting(const struct rue_runner *runner); /* the same in its own words; borrowed */

/* Has it open a variant, and read the `images` of the workload once where the workload is warm. RUE_DATA with
 * its reason when it cannot, RUE_RUNNER when it ends. Repeated by itself whenever the runner is started
 * again. */
rue_status rue_runner_open_data(struct rue_runner *runner, const struct rue_variant *variant,
                                const struct rue_workload *workload, uint64_t images, struct rue_opened *out,
                                rue_error *error) RUE_MUST_CHECK;

/* One trial; `profile` as in rue_protocol_encode_trial; `patience_ns` from now until it is taken for hung.
 * Sets request->id. A runner that crashes, hangs or talks garbage makes a failed (or timeout) result that
 * says so, and a new one is started for the next trial (three times where it dies in starting), as after one
 * that says that it is spent. RUE_OK with a
 * result; RUE_INTERRUPTED or RUE_TERMINATED when a signal ended the trial; RUE_RUNNER when no new runner
 * could be started, or when it came back as another one (runner_identity.h); RUE_DATA when it opened other
 * data. */
rue_status rue_runner_trial(struct rue_runner *runner, struct rue_trial_request *request, const char *profile,
                            uint64_t patience_ns, struct rue_trial_result *result,
                            rue_error *error) RUE_MUST_CHECK;

/* The same trial in steps, so that several runners can make one each at once: begin them all; where a request
 * `waits`, ask each whether it is ready (false: it has answered already, or never will), then tell those that
 * are to start, or not to; finish them all. `request` is borrowed until then. */
rue_status rue_runner_begin(struct rue_runner *runner, struct rue_trial_request *request, const char *profile,
                            uint64_t patience_ns, rue_error *error) RUE_MUST_CHECK;
bool rue_runner_is_ready(struct rue_runner *runner);
void rue_runner_start(struct rue_runner *runner, bool start);
rue_status rue_runner_finish(struct rue_runner *runner, struct rue_trial_result *result,
                             rue_error *error) RUE_MUST_CHECK;

/* Whether the last trial was under way while this process, the runner or the machine was stopped and
 * continued: then its result says nothing. What a runner started itself is not watched; nor is a runner on
 * another machine. */
bool rue_runner_was_suspended(const struct rue_runner *runner);

#endif
