/* A runner: makes trials, one at a time. There are three kinds: in this process (recorded times), a team of
 * loaders, which make each trial together (runner_team.h), and a node of a farm, which is a team of one. */
#ifndef RUE_RUNNER_H
#define RUE_RUNNER_H

#include "protocol.h"
#include "rank.h"

struct rue_runner_ops {
    const struct rue_hello *(*hello)(const void *state);
    /* Opens a variant, in two steps, so that several runners open it in parallel; see rue_runners_open_data.
     */
    rue_status (*begin_open)(void *state, const struct rue_variant *variant,
                             const struct rue_workload *workload, uint64_t images, rue_error *error);
    rue_status (*finish_open)(void *state, const struct rue_variant *variant,
                              const struct rue_workload *workload, struct rue_opened *out, rue_error *error);
    /* See rue_runner_trial; `result` is empty, with the requested configuration. */
    rue_status (*trial)(void *state, struct rue_trial_request *request, const char *profile,
                        uint64_t timeout_ns, struct rue_trial_result *result, rue_error *error);
    /* Whether the last trial ended its process; starts it again, which else the next trial does. (optional,
     * both or none) */
    bool (*has_ended)(const void *state);
    rue_status (*restart)(void *state, rue_error *error);
    bool (*is_lost)(const void *state);       /* it can make no more trials (optional) */
    bool (*was_suspended)(const void *state); /* see rue_runner_was_suspended (optional) */
    void (*interrupt)(void *state);           /* ends what its thread does (optional) */
    void (*close)(void *state);               /* (optional) */
};

struct rue_runner {
    const struct rue_runner_ops *ops;
    void *state;
    bool concurrent;              /* works in a thread of its own, while other runners work */
    const struct rue_rank *rank;  /* its node, of a farm; NULL: none */
    struct rue_runner_work *work; /* begun and not finished; NULL: none */
};

/* Makes one trial; `profile` as in rue_protocol_encode_trial. A runner that crashes, sends a wrong answer, or
 * gives none within `timeout_ns` makes a result with the outcome failed or timeout, and a reason. The next
 * trial then restarts it (3 attempts), as after the answer "spent"; a runner at a socket fails that trial.
 * RUE_OK with a result; RUE_INTERRUPTED or RUE_TERMINATED: a signal ended the trial; RUE_RUNNER: it cannot be
 * restarted, or answers hello differently (runner_identity.h); RUE_DATA: the data changed. */
rue_status rue_runner_trial(struct rue_runner *runner, struct rue_trial_request *request, const char *profile,
                            uint64_t timeout_ns, struct rue_trial_result *result,
                            rue_error *error) RUE_MUST_CHECK;

/* Begins a trial; or begins to restart the process if the last trial ended it (`*begun`). `profile` is
 * borrowed until rue_runner_finish. RUE_INTERNAL: no thread can be started. */
rue_status rue_runner_begin(struct rue_runner *runner, const struct rue_trial_request *request,
                            const char *profile, uint64_t timeout_ns, rue_error *error) RUE_MUST_CHECK;
rue_status rue_runner_begin_restart(struct rue_runner *runner, bool *begun, rue_error *error) RUE_MUST_CHECK;

/* Waits for the end of what was begun. Fails as rue_runner_trial. `result` is NULL for a restart. */
rue_status rue_runner_finish(struct rue_runner *runner, struct rue_trial_result *result,
                             rue_error *error) RUE_MUST_CHECK;

/* Waits until one of `runners` [count] has ended what it began: `*index`; SIZE_MAX if none has after
 * `timeout_ms`. RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_runner_wait(const struct rue_runner *runners, size_t count, int timeout_ms, size_t *index,
                           rue_error *error) RUE_MUST_CHECK;

/* Interrupts what was begun, waits for its end, and closes the runner. */
void rue_runner_close(struct rue_runner *runner);

/* Whether this process, the runner or its machine was suspended during the last trial. Its times are then
 * useless. */
bool rue_runner_was_suspended(const struct rue_runner *runner);

/* Whether it can make no more trials, after a trial. */
bool rue_runner_is_lost(const struct rue_runner *runner);

#endif
