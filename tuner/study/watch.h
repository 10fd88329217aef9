/* Watches whether the machine becomes slower or faster during a study.
 *
 * Every RUE_WATCH_PERIOD trials the same short reference trial runs (load-only if the runner can, else
 * joint). Its time is compared with its earlier times; an unexpected one is repeated at once. When a change
 * is certain (slowdown.h), its size is reported for loading and for computing, with the cause that the kernel
 * shows. The change began between two references, at the trial that fits best.
 *
 * References cost at most 12 % of the time. */
#ifndef RUE_WATCH_H
#define RUE_WATCH_H

#include "causes.h"
#include "study_ledger.h"

struct rue_watch;

enum { RUE_WATCH_PERIOD = 5 };

/* The planned references. rue_watch_plan: false if the study is too short to be watched. */
struct rue_watch_plan {
    size_t references;
    struct rue_trial_request request;
    size_t model; /* RUE_NONE: load-only */
};
bool rue_watch_plan(const struct rue_study_setup *setup, struct rue_watch_plan *out);

/* The reference of a variant: load-only if the runner can, else joint. */
void rue_watch_choose_reference(const struct rue_study_setup *setup, size_t variant, size_t *model,
                                struct rue_trial_request *request);

/* The trials for the strategy in a budget of `trials`; a small budget has no references. */
size_t rue_watch_strategy_trials(const struct rue_study_setup *setup, size_t trials);

/* Borrows both after the plan. `*out` is NULL if the study is too short. RUE_MEMORY. */
rue_status rue_watch_open(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          struct rue_watch **out, rue_error *error) RUE_MUST_CHECK;

/* Describes what disturbed the whole study. (`disturbance` is nullable) */
void rue_watch_close(struct rue_watch *watch, char disturbance[RUE_CAUSES_BYTES]);

/* Part of the budget that references may not spend. */
struct rue_watch_reserve {
    double seconds;
    size_t trials;
};

/* Makes the references that are due after the ledger's last trial, and do not spend `reserve`. `*changed`:
 * they show `*change` of the machine, which is then stored and reported. Fails as rue_study_measure. */
rue_status rue_watch_check(struct rue_watch *watch, struct rue_watch_reserve reserve, bool *changed,
                           struct rue_speed_change *change, rue_error *error) RUE_MUST_CHECK;

#endif
