/* Whether an earlier recommendation still holds, told from a handful of joint trials: the configuration that
 * was recommended against the one that is most likely to beat it now, back to back, on one model after the
 * other, with trials as long as lets the budget hold a pair on every model. Where it holds whole jobs of it
 * and of its best rival on every model, those come first. `rue_strategy_recheck` (strategy.h) does so. Its
 * setup has a prior, whose config is the one that is checked, and a budget for the trials, though the first
 * pair is asked for whatever it costs; another configuration that is better by no more than the aim's epsilon
 * does not matter. Where the prior knows times of whole jobs alone, trials run the job, or enough of it to
 * say how long it takes. */
#ifndef RUE_RECHECK_H
#define RUE_RECHECK_H

#include <stdbool.h>
#include <stddef.h>

/* Of a limit: first batches of one configuration differ by less. */
#define RUE_RECHECK_LATE 1.2

enum rue_recheck_verdict {
    RUE_RECHECK_HOLDS,
    RUE_RECHECK_BEATEN,  /* another configuration is better by more than the margin */
    RUE_RECHECK_UNSURE,  /* the times are so different that nothing is certain, as they are at twice
                            or half what they were; or no time could be compared with what it was */
    RUE_RECHECK_FAILED,  /* it does not run */
    RUE_RECHECK_UNTRIED, /* no trial of it succeeded or failed */
};

struct rue_recheck_findings {
    enum rue_recheck_verdict verdict;
    double time_ratio;   /* measured over expected, the median of the trials; NaN where none was expected */
    size_t best;         /* the configuration that is expected to be the best here */
    double excess_ratio; /* by how much the checked one is expected to be worse than it, in mean regret */
    size_t tried;        /* configurations */
    bool whole_jobs;     /* it and its best rival ran whole jobs on every model */
};

#endif
