/* Whether an earlier recommendation still holds, told from a handful of joint trials: the configuration that
 * was recommended against the one that is most likely to beat it now, back to back, on one model after the
 * other, with trials as long as lets the budget hold a pair on every model. Where it holds whole jobs of it
 * and of its best rival on every model, those come first. Ask and tell, as a strategy; no I/O, no clock. */
#ifndef RUE_RECHECK_H
#define RUE_RECHECK_H

#include "strategy.h"

struct rue_recheck;

/* `setup` has a prior, whose config is the one that is checked, and a budget for the trials; it is borrowed.
 * `by_job`: what is known are times of whole jobs alone, so trials run the job, or enough of it to tell its
 * time, and are told as such. RUE_USAGE where the prior has no config; RUE_MEMORY; RUE_INTERNAL for a prior
 * that is none. */
rue_status rue_recheck_open(const struct rue_strategy_setup *setup, bool by_job, struct rue_recheck **out,
                            rue_error *error) RUE_MUST_CHECK;
void rue_recheck_close(struct rue_recheck *recheck);

/* As those of struct rue_strategy_ops; the first pair is asked for whatever it costs. */
bool rue_recheck_ask(struct rue_recheck *recheck, struct rue_ask *out);
rue_status rue_recheck_tell(struct rue_recheck *recheck, const struct rue_ask *ask,
                            const struct rue_trial_result *result, rue_error *error) RUE_MUST_CHECK;

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
    double tried_ratio;  /* by how much it is expected to be worse than the best of those */
};

/* `margin_ratio`: a configuration that is better by no more does not matter. RUE_MEMORY, RUE_INTERNAL. */
rue_status rue_recheck_conclude(struct rue_recheck *recheck, double margin_ratio,
                                struct rue_recheck_findings *out, rue_error *error) RUE_MUST_CHECK;

/* Seconds that the trial was expected to take if nothing has changed. */
double rue_recheck_expected_s(const struct rue_recheck *recheck, const struct rue_ask *ask, uint64_t images);

#endif
