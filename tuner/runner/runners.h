/* The runners of a study: several that make trials each by itself and at the same time (a farm), or one,
 * which is a team of one or more loaders (`--gpus`, `--launch`, `--runner-fd`), which make each trial
 * together (runner_team.h). */
#ifndef RUE_RUNNERS_H
#define RUE_RUNNERS_H

#include "deployment.h"
#include "runner.h"
#include "runner_address.h"

struct rue_runners {
    size_t count;
    struct rue_runner *at;         /* [count] */
    const struct rue_hello *hello; /* of the first; never changes */
    struct rue_members *group;     /* of a team or a farm; NULL: a runner of another kind */
    struct rue_members *nodes;     /* [count], of a farm; else NULL */
};

/* Opens a runner for each loader of the deployment, and exchanges hello. Sets the number of ranks or nodes
 * that its launcher has started, and borrows the launcher's words. RUE_USAGE: as rue_gpu_list_parse;
 * RUE_RUNNER: a runner does not start, does not speak the protocol, or differs from the first; as
 * rue_launch_open. The caller closes `*out`. */
rue_status rue_runners_open(const struct rue_runner_address *address, struct rue_deployment *deployment,
                            struct rue_runners **out, rue_error *error) RUE_MUST_CHECK;

/* One runner of another kind. `state` is closed by `ops`, also after a failure. */
rue_status rue_runners_open_one(const struct rue_runner_ops *ops, void *state, struct rue_runners **out,
                                rue_error *error) RUE_MUST_CHECK;

void rue_runners_close(struct rue_runners *runners);

/* Opens a variant on all runners, and reads `images` once if the workload is warm. RUE_DATA with the runner's
 * reason, or the data of two nodes differ; RUE_RUNNER: it ended or its answer is wrong. Every restart of a
 * runner repeats it. */
rue_status rue_runners_open_data(struct rue_runners *runners, const struct rue_variant *variant,
                                 const struct rue_workload *workload, uint64_t images, struct rue_opened *out,
                                 rue_error *error) RUE_MUST_CHECK;

#endif
