/* `rue runner --connect`: the agent of a rank. It connects to the tuner that launched it, starts a runner,
 * and passes lines between the two. It adds what only this machine knows: the end of the runner, the time of
 * its clock, what slowed the machine down. */
#ifndef RUE_RANK_AGENT_H
#define RUE_RANK_AGENT_H

#include "error.h"

/* Serves until the tuner ends the connection, or a signal comes; then the runner and all its children are
 * killed. `command`: of the runner, for a shell; NULL: rue's own. RUE_USAGE: not started by a launcher
 * of rue; RUE_RUNNER: the tuner cannot be reached, or refuses this rank. */
rue_status rue_rank_agent_serve(const char *command, rue_error *error) RUE_MUST_CHECK;

#endif
