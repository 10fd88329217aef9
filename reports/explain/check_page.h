/* Whether the parts of a recommendation hold on this machine, as their checks found. */
#ifndef RUE_CHECK_PAGE_H
#define RUE_CHECK_PAGE_H

#include <jansson.h>
#include <limits.h>

#include "findings.h"
#include "interval.h"
#include "recheck.h"
#include "section.h"

enum { RUE_CHECK_TRIALS_MAX = 64, RUE_CHECK_DIFFERENCES_MAX = 8 };

struct rue_check {
    char skipped[RUE_ERROR_MESSAGE_BYTES]; /* why it was not checked; "" */
    size_t difference_count;               /* what changed since the study */
    char differences[RUE_CHECK_DIFFERENCES_MAX][256];
    size_t trial_count;
    struct rue_trial_row trials[RUE_CHECK_TRIALS_MAX];
    double expected_ns[RUE_CHECK_TRIALS_MAX]; /* of each trial; NaN: unknown */
    struct rue_recheck_findings findings;
    struct rue_speedup gain; /* over the baseline; confidence 0: not measured */
    struct rue_config baseline;
    char baseline_name[48];             /* "workers = CPUs" */
    struct rue_change_findings changes; /* what disturbed it; without notices and nodes */
    bool worst;                         /* it minimises worst regret, not mean regret */
    struct rue_config config, best;     /* checked, and probably best here */
};

struct rue_checks {
    const char *path;          /* of the recommendation */
    struct rue_findings parts; /* all its variants, for their names */
    size_t count;              /* parts that were checked, the first ones */
    struct rue_check *at;      /* [count] */
};

/* The name of a part's data. */
enum { RUE_CHECK_NAME_BYTES = PATH_MAX + 128 };
void rue_checks_name(const struct rue_checks *checks, size_t part, char out[RUE_CHECK_NAME_BYTES]);

/* Whether other programs used the machine, or its speed changed. */
bool rue_check_is_disturbed(const struct rue_check *check);

/* Adds the result to the last sentence of the page, without the variant: "still holds here: ...". */
void rue_check_say(struct rue_page *page, const struct rue_check *check);

/* A section for each part. */
void rue_checks_put(const struct rue_checks *checks, struct rue_page *page);

/* An object (docs/output.md). `holds`: all parts hold. A new reference; NULL: out of memory. */
json_t *rue_checks_json(const struct rue_checks *checks, bool holds);

#endif
