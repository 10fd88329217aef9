/* Checks one variant of a recommendation with a few trials. */
#ifndef RUE_CHECK_H
#define RUE_CHECK_H

#include "check_page.h"
#include "study.h"

struct rue_check_goal {
    struct rue_recommendation *earlier;
    struct rue_recommended *part; /* of `earlier` */
    const char *data;             /* NULL: the recommendation's */
    struct rue_runner_address runner;
    struct rue_deployment deployment; /* without GPUs, which are as many as the part has */
    uint64_t budget_ns, trial_timeout_ns, memory_bytes;
    double max_regret_ratio; /* that another configuration may save; 0: the study's bound, at least 0.5 % */
    const char *command_line;
    struct rue_progress *progress;
};

/* Why the part cannot be checked on `data` (NULL: its own); "" if it can. */
const char *rue_check_obstacle(const struct rue_recommended *part, const char *data);

/* RUE_OK also when the part cannot be checked (`skipped`). RUE_USAGE for a runner with another loader;
 * otherwise as rue_study_open, rue_study_plan and rue_study_run. On failure `out` is partly filled. */
rue_status rue_check_run(const struct rue_check_goal *goal, struct rue_check *out,
                         rue_error *error) RUE_MUST_CHECK;

#endif
