/* Several runners, one per node, that make trials each by itself and at the same time (`--farm`). Each is a
 * lane of the study. */
#ifndef RUE_RUNNER_FARM_H
#define RUE_RUNNER_FARM_H

#include "rank.h"
#include "runner_group.h"

/* Begins a trial on a lane that has none; as rue_runner_trial. RUE_RUNNER: its runner cannot be restarted. */
rue_status rue_runner_farm_begin(struct rue_runner_group *group, size_t lane,
                                 const struct rue_trial_request *request, const char *profile,
                                 uint64_t timeout_ns, rue_error *error) RUE_MUST_CHECK;

/* Waits until a lane has an answer or a new runner, is lost, or is late. RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_runner_farm_wait(struct rue_runner_group *group, size_t *lane,
                                rue_error *error) RUE_MUST_CHECK;

/* Ends the lane's trial; waits for the answer. */
rue_status rue_runner_farm_finish(struct rue_runner_group *group, size_t lane,
                                  struct rue_trial_result *result, rue_error *error) RUE_MUST_CHECK;

/* After a trial: if that ended its runner, begins to start a new one. The wait returns the lane when it has
 * started; then end the restart. */
bool rue_runner_farm_restart(struct rue_runner_group *group, size_t lane);
void rue_runner_farm_end_restart(struct rue_runner_group *group, size_t lane);

/* After a trial: whether it was suspended, and whether the connection to the lane ended. */
bool rue_runner_farm_was_suspended(const struct rue_runner_group *group, size_t lane);
bool rue_runner_farm_is_lost(const struct rue_runner_group *group, size_t lane);

/* The node of the lane. */
const struct rue_rank *rue_runner_farm_rank(const struct rue_runner_group *group, size_t lane);

#endif
