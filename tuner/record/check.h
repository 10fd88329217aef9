/* Checks one variant of a recommendation with a few trials. */
#ifndef RUE_CHECK_H
#define RUE_CHECK_H

#include "interval.h"
#include "recheck.h"
#include "section.h"
#include "study.h"

enum { RUE_CHECK_TRIALS_MAX = 64, RUE_CHECK_DIFFERENCES_MAX = 8 };

struct rue_check_trial {
    char model[RUE_MODEL_NAME_BYTES];
    struct rue_config config;
    uint64_t images;
    enum rue_outcome outcome;
    double measured_s, expected_s; /* NaN: unknown */
    char reason[RUE_REASON_BYTES];
};

struct rue_check {
    char skipped[RUE_ERROR_MESSAGE_BYTES]; /* why it was not checked; "" */
    size_t difference_count;               /* what changed since the study */
    char differences[RUE_CHECK_DIFFERENCES_MAX][256];
    size_t trial_count;
    struct rue_check_trial trials[RUE_CHECK_TRIALS_MAX];
    struct rue_recheck_findings findings;
    struct rue_speedup gain; /* over the baseline; confidence 0: not measured */
    struct rue_config baseline;
    char baseline_name[48];         /* "workers = CPUs" */
    bool busy;                      /* other programs used the machine */
    bool worst;                     /* it minimises worst regret, not mean regret */
    struct rue_config config, best; /* checked, and probably best here */
};

struct rue_check_goal {
    struct rue_recommendation *earlier;
    struct rue_recommended *part; /* of `earlier` */
    const char *data;             /* NULL: the recommendation's */
    struct rue_runner_address runner;
    uint64_t budget_ns, trial_timeout_ns, memory_bytes;
    const char *command_line;
    struct rue_progress *progress;
};

/* Why the part cannot be checked on `data` (NULL: its own); "" if it can. */
const char *rue_check_obstacle(const struct rue_recommended *part, const char *data);

/* RUE_OK also when the part cannot be checked (`skipped`). RUE_USAGE for a runner with another loader;
 * otherwise as rue_study_open, rue_study_plan and rue_study_run. On failure `out` is partly filled. */
rue_status rue_check_run(const struct rue_check_goal *goal, struct rue_check *out,
                         rue_error *error) RUE_MUST_CHECK;

/* Adds the result to the last sentence of the page, without the variant: "still holds here: ...". */
void rue_check_say(struct rue_page *page, const struct rue_check *check);

#endif
