/* Several loaders: one per GPU of this machine, or one per rank of a launcher. A team makes each trial
 * together: each loads its share of the images, and the times are those of the slowest. */
#ifndef RUE_RUNNER_GROUP_H
#define RUE_RUNNER_GROUP_H

#include "gpu_list.h"
#include "protocol.h"
#include "rank.h"
#include "runner_address.h"

struct rue_runner_group;
struct rue_member;

/* Starts a runner for each GPU, or (NULL) for each rank of the launcher of the address, and exchanges hello.
 * As rue_runners_open (runners.h) and rue_launch_open. */
rue_status rue_runner_group_open(const struct rue_runner_address *address, const struct rue_gpu_list *gpus,
                                 struct rue_runner_group **out, rue_error *error) RUE_MUST_CHECK;
void rue_runner_group_close(struct rue_runner_group *group);

/* The hello of the first, with the share of the CPUs that each has; never changes. */
const struct rue_hello *rue_runner_group_hello(const struct rue_runner_group *group);

size_t rue_runner_group_count(const struct rue_runner_group *group);

/* A member, and who it is if it is a rank. */
struct rue_member *rue_runner_group_member(struct rue_runner_group *group, size_t index);
const struct rue_rank *rue_runner_group_rank(const struct rue_runner_group *group, size_t index);

/* As rue_runners_open_data, for a team. The first loader on each node warms the data for all on it. */
rue_status rue_runner_group_begin_open(struct rue_runner_group *group, const struct rue_variant *variant,
                                       const struct rue_workload *workload, uint64_t images,
                                       rue_error *error) RUE_MUST_CHECK;
rue_status rue_runner_group_finish_open(struct rue_runner_group *group, const struct rue_variant *variant,
                                        const struct rue_workload *workload, struct rue_opened *out,
                                        rue_error *error) RUE_MUST_CHECK;

/* As rue_runner_trial. All start at the same time; of a launcher's ranks, those below the workload's
 * world_size. A rank that is lost fails the trial; before the next one
 * the launcher starts all ranks again. */
rue_status rue_runner_group_trial(struct rue_runner_group *group, const struct rue_trial_request *request,
                                  const char *profile, uint64_t timeout_ns, struct rue_trial_result *result,
                                  rue_error *error) RUE_MUST_CHECK;

bool rue_runner_group_was_suspended(const struct rue_runner_group *group);

#endif
