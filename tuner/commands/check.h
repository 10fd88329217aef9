/* One variant's part of a recommendation, checked: opened with the runner, and a handful of trials. */
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
    double measured_s, expected_s; /* NaN where not known */
    char reason[RUE_REASON_BYTES];
};

struct rue_check {
    char skipped[RUE_ERROR_MESSAGE_BYTES]; /* why it was not checked; "" when it was */
    size_t difference_count;               /* what is not as it was */
    char differences[RUE_CHECK_DIFFERENCES_MAX][256];
    size_t trial_count;
    struct rue_check_trial trials[RUE_CHECK_TRIALS_MAX];
    struct rue_recheck_findings findings;
    struct rue_speedup gain;        /* of what is checked over a baseline; not known: not tried */
    struct rue_config baseline;     /* that one */
    char baseline_name[48];         /* "workers = CPUs" */
    bool worst;                     /* what was recommended has the least worst regret, not mean regret */
    struct rue_config config, best; /* that is checked, and that seems best here */
};

struct rue_check_goal {
    struct rue_recommendation *earlier;
    struct rue_recommended *part; /* of it */
    const char *data;             /* NULL: those that it names */
    const char *runner;           /* NULL: our own */
    uint64_t budget_ns, trial_timeout_ns, memory_bytes;
    const char *command_line;
    struct rue_progress *progress;
};

/* Why the part cannot be checked, on `data` (NULL: those that it names); "" where it can. */
const char *rue_check_obstacle(const struct rue_recommended *part, const char *data);

/* RUE_OK also where the part cannot be checked (`skipped`). RUE_USAGE for a runner of another loader; as
 * rue_study_perform. `out` is filled in part when it fails. */
rue_status rue_check_run(const struct rue_check_goal *goal, struct rue_check *out,
                         rue_error *error) RUE_MUST_CHECK;

/* What it says, without the variant, as part of the last sentence of the page: "still holds here: ...". */
void rue_check_say(struct rue_page *page, const struct rue_check *check);

/* Whether the recommendation can still be relied on. */
bool rue_check_holds(const struct rue_check *check);

#endif
