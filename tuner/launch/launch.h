/* Starts the ranks of a job by the user's launcher (srun, mpirun, torchrun, any command that starts
 * processes) and waits until each has connected back. The launcher runs `rue runner --connect` in each rank
 * (rank_agent.h). */
#ifndef RUE_LAUNCH_H
#define RUE_LAUNCH_H

#include "deployment.h"
#include "rank.h"
#include "runner_address.h"

struct rue_launch;

/* Listens, runs the launcher in a shell, and waits until all ranks have connected, for at most
 * launcher->timeout_ns. Ranks start the runner of the address. Connections without the token are closed; at
 * most 1024 bytes of each are read. RUE_USAGE: cannot listen there; RUE_RUNNER: the launcher does not start
 * or ended early, ranks are missing or contradict each other; RUE_INTERRUPTED, RUE_TERMINATED. */
rue_status rue_launch_open(const struct rue_launcher *launcher, const struct rue_runner_address *address,
                           struct rue_launch **out, rue_error *error) RUE_MUST_CHECK;

/* Ends the connections, and with them the ranks and their runners; then ends the launcher. */
void rue_launch_close(struct rue_launch *launch);

size_t rue_launch_count(const struct rue_launch *launch);

/* The rank, and the socket that is connected to its agent; both borrowed. */
const struct rue_rank *rue_launch_rank(const struct rue_launch *launch, size_t rank);
int rue_launch_socket(const struct rue_launch *launch, size_t rank);

#endif
