/* Watches whether the machine becomes slower, or faster, while a study runs.
 *
 * Every few trials a short reference trial is made, always the same one (load-only where the runner can; else
 * joint), and its time is compared with what it took before. One that is not as expected is repeated at once.
 * When a change is sure (slowdown.h), its size is told, for loading and for computing, and what the kernel
 * says of its cause. The change began between two references, where trials of which something was expected
 * fit it best.
 *
 * References cost budget: one in RUE_WATCH_PERIOD trials, and at most an eighth of the time. */
#ifndef RUE_WATCH_H
#define RUE_WATCH_H

#include "causes.h"
#include "study_ledger.h"

struct rue_watch;

enum { RUE_WATCH_PERIOD = 5 };

/* What is planned for a study of so many trials (0: not known): how many references, and their images and
 * workers. False for a study that is too short to be watched. */
struct rue_watch_plan {
    size_t references;
    struct rue_trial_request request;
    size_t model; /* RUE_NONE: load-only */
};
bool rue_watch_plan(const struct rue_study_setup *setup, struct rue_watch_plan *out);

/* Of a budget of so many trials, those that are left to the strategy; a small one has no room for references.
 */
size_t rue_watch_strategy_trials(const struct rue_study_setup *setup, size_t trials);

/* Both are borrowed, planned. `*out` is NULL for a study that is too short. RUE_MEMORY. */
rue_status rue_watch_open(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          struct rue_watch **out, rue_error *error) RUE_MUST_CHECK;

/* Says what disturbed all of it. (`disturbance` is nullable) */
void rue_watch_close(struct rue_watch *watch, char disturbance[RUE_CAUSES_BYTES]);

/* Part of the budget that is not to be spent on references. */
struct rue_watch_reserve {
    double seconds;
    size_t trials;
};

/* Makes the references that are due after the ledger's last trial, which was made now, and that leave
 * `reserve`; as rue_study_measure fails. `*changed`: whether they show `*change` of the machine, which is
 * then noted in the ledger and on the screen. */
rue_status rue_watch_check(struct rue_watch *watch, struct rue_watch_reserve reserve, bool *changed,
                           struct rue_speed_change *change, rue_error *error) RUE_MUST_CHECK;

#endif
