/* Several runners, one per node, that make trials each by itself and at the same time (`--farm`). Each is a
 * lane of the study. */
#ifndef RUE_RUNNER_FARM_H
#define RUE_RUNNER_FARM_H

#include "rank.h"
#include "runner_group.h"

/* Begins a trial on a lane that has none; as rue_runner_trial. `profile` is borrowed until it is finished.
 * RUE_INTERNAL: it has no thread. */
rue_status rue_runner_farm_begin(struct rue_runner_group *group, size_t lane,
                                 const struct rue_trial_request *request, const char *profile,
                                 uint64_t timeout_ns, rue_error *error) RUE_MUST_CHECK;

/* Waits until the trial of a lane, or the start of its new runner, has ended. `*lane` is SIZE_MAX if none has
 * after `timeout_ms`. RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_runner_farm_wait(struct rue_runner_group *group, int timeout_ms, size_t *lane,
                                rue_error *error) RUE_MUST_CHECK;

/* Waits for a lane that has begun something, up to `timeout_ms` or a signal. True: that has ended. */
bool rue_runner_farm_has_ended(const struct rue_runner_group *group, size_t lane, int timeout_ms);

/* The result of the lane's trial; waits for it. RUE_RUNNER: its runner cannot be restarted. */
rue_status rue_runner_farm_finish(struct rue_runner_group *group, size_t lane,
                                  struct rue_trial_result *result, rue_error *error) RUE_MUST_CHECK;

/* After a trial: if that ended its runner, begins to start a new one: `*begun`. The wait returns the lane
 * when it has started; then end the restart. RUE_RUNNER: it cannot be started. */
rue_status rue_runner_farm_restart(struct rue_runner_group *group, size_t lane, bool *begun,
                                   rue_error *error) RUE_MUST_CHECK;
rue_status rue_runner_farm_end_restart(struct rue_runner_group *group, size_t lane,
                                       rue_error *error) RUE_MUST_CHECK;

/* Ends what lanes still do. */
void rue_runner_farm_close(struct rue_runner_group *group);

/* After a trial: whether it was suspended, and whether the connection to the lane ended. */
bool rue_runner_farm_was_suspended(const struct rue_runner_group *group, size_t lane);
bool rue_runner_farm_is_lost(const struct rue_runner_group *group, size_t lane);

/* The node of the lane. */
const struct rue_rank *rue_runner_farm_rank(const struct rue_runner_group *group, size_t lane);

#endif
