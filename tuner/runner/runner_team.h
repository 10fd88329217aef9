/* All loaders make each trial together: they start at the same time, and the times are those of the slowest.
 * Each loads its share of the images; a program at a socket gets each request as it is, and knows its share.
 * Of a launcher's ranks, those below the workload's world_size make the trial. A rank that is lost fails it;
 * before the next one the launcher starts all ranks again. */
#ifndef RUE_RUNNER_TEAM_H
#define RUE_RUNNER_TEAM_H

#include "runner.h"

/* `state`: the struct rue_members (runner_members.h), borrowed. The first loader on each node warms the data
 * for all on it. */
extern const struct rue_runner_ops rue_runner_team;

/* The same for one rank that makes trials by itself, as a node of a farm (rue_members_node). */
extern const struct rue_runner_ops rue_runner_node;

#endif
