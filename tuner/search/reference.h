/* Reference trials: one short trial of a variant (load-only if the runner can, else joint), repeated during
 * the study. The times of one lane show whether its machine changes. */
#ifndef RUE_REFERENCE_H
#define RUE_REFERENCE_H

#include "slowdown.h"
#include "study_ledger.h"

enum { RUE_REFERENCE_PENDING = 16 };

/* The reference of a variant, the same on all lanes. */
struct rue_reference {
    bool chosen;
    size_t model;                     /* RUE_NONE: load-only */
    struct rue_trial_request request; /* its images are increased until the first time counts */
};

/* Its times on one lane, as logarithms of seconds. */
struct rue_reference_series {
    bool begun, failed;
    size_t variant, node; /* node: as strategies number them; 0: the only machine */
    struct rue_reference_level baseline;
    double initial;                        /* at the initial speed; 0: unknown */
    bool anchored;                         /* `initial` is final */
    double pending[RUE_REFERENCE_PENDING]; /* [pending_count] since a change is suspected */
    size_t pending_count;
};

/* Chooses the reference of a variant: a small batch and a few workers. */
struct rue_reference rue_reference_choose(const struct rue_study_setup *setup, size_t variant);

/* Continues with the references of earlier runs on the series' node: adopts their length, unless `fixed`, and
 * adds their times, converted to the current speed. So a change of the machine between two runs is detected,
 * too. RUE_STORE, RUE_MEMORY. */
rue_status rue_reference_continue(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                  struct rue_reference *reference, bool fixed,
                                  struct rue_reference_series *series, rue_error *error) RUE_MUST_CHECK;

/* Makes a reference longer if its `seconds` are much less than `target_s`, because a very short one is too
 * noisy. False: it keeps its length. */
bool rue_reference_lengthen(struct rue_reference *reference, uint64_t job_images, double seconds,
                            double target_s);

/* After a change, the times since then are the new baseline. The next change is still measured against the
 * initial speed, because errors from change to change would add up. */
void rue_reference_restart(struct rue_reference_series *series);

#endif
