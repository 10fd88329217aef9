/* Checks with a few joint trials whether an earlier recommendation still holds. On each model in turn, the
 * recommended configuration and its most probable rival run back to back. Trials are as long as the budget
 * allows for one pair per model. If it allows whole jobs of both on every model, these run first. The
 * strategy is `rue_strategy_recheck` (strategy.h). Its setup has a prior, whose config is checked, and a
 * budget, which the first pair may exceed. A rival that is better by at most epsilon does not matter. If the
 * prior knows only times of whole jobs, trials run the job, or enough of it to extend its time. */
#ifndef RUE_RECHECK_H
#define RUE_RECHECK_H

#include <stdbool.h>
#include <stddef.h>

/* A first batch may exceed its limit by this factor: those of one configuration vary by less. */
#define RUE_RECHECK_LATE 1.2

enum rue_recheck_verdict {
    RUE_RECHECK_HOLDS,
    RUE_RECHECK_BEATEN, /* another configuration is better by more than the margin */
    RUE_RECHECK_UNSURE, /* times differ from the expected ones by more than a factor of 2, the loss may be too
                           large, or no time was expected */
    RUE_RECHECK_FAILED, /* the configuration does not run */
    RUE_RECHECK_UNTRIED, /* it has no trial that succeeded or failed */
};

struct rue_recheck_findings {
    enum rue_recheck_verdict verdict;
    double time_ratio;   /* median of measured over expected time; NaN: unknown */
    size_t best;         /* the configuration with the least expected regret */
    double excess_ratio; /* expected excess of the checked configuration over it, in mean regret */
    size_t tried;        /* configurations */
    bool whole_jobs;     /* whole jobs of both ran on every model */
};

#endif
