/* Watches the machines during a study: whether one becomes slower or faster, and whether one of several
 * differs from the others.
 *
 * Every RUE_WATCH_PERIOD trials of a lane, and after a trial with an unexpected time, its reference runs
 * (reference.h). Its time is compared with its earlier times; an unexpected one is repeated at once. A change
 * is certain (slowdown.h) when every lane shows it: then its size is reported for loading and for computing,
 * with the cause that the kernel shows. The change began between two references, at the trial that fits best.
 * A lane that changes alone differs from the others (like_nodes.h), which are measured again before it is
 * judged.
 *
 * References cost at most 5 % of the time, and more only after unexpected times. On one machine, a reference
 * that was made while other programs used CPUs (contention.h) shows nothing, once the usual time is known. */
#ifndef RUE_WATCH_H
#define RUE_WATCH_H

#include "like_nodes.h"
#include "machine_change.h"

struct rue_watch;

enum { RUE_WATCH_PERIOD = RUE_NODE_PERIOD };

/* The planned references. rue_watch_plan: false if the study is too short to be watched. */
struct rue_watch_plan {
    size_t references;
    struct rue_trial_request request;
    size_t model; /* RUE_NONE: load-only */
};
bool rue_watch_plan(const struct rue_study_setup *setup, struct rue_watch_plan *out);

/* The trials for the strategy in a budget of `trials`; a small budget has no references. */
size_t rue_watch_strategy_trials(const struct rue_study_setup *setup, size_t trials);

/* Call it after the plan; borrows both. `*out` is NULL if there is nothing to watch: one machine, and a study
 * that is too short. RUE_MEMORY. */
rue_status rue_watch_open(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                          struct rue_watch **out, rue_error *error) RUE_MUST_CHECK;

/* Closes the watch; `disturbance` (nullable) describes what disturbed the whole study. */
void rue_watch_close(struct rue_watch *watch, char disturbance[RUE_CAUSES_BYTES]);

/* Part of the budget that references may not spend. */
struct rue_watch_reserve {
    double seconds;
    size_t trials;
};

/* A trial that is due on a lane. */
enum rue_watch_kind {
    RUE_WATCH_NOTHING,
    RUE_WATCH_REFERENCE,
    RUE_WATCH_NODE_COMPUTES, /* compares the nodes */
    RUE_WATCH_COMPUTES       /* how much slower computing has become */
};
struct rue_watch_task {
    enum rue_watch_kind kind;
    size_t variant, model;
    struct rue_trial_request request;
};

/* The trial that is due on the lane, which does not spend `reserve`; `out->kind` is RUE_WATCH_NOTHING if none
 * is. RUE_STORE, RUE_MEMORY. */
rue_status rue_watch_next(struct rue_watch *watch, size_t lane, struct rue_watch_reserve reserve,
                          struct rue_watch_task *out, rue_error *error) RUE_MUST_CHECK;

/* Counts a new trial of a strategy, row `row` of the ledger. RUE_MEMORY. */
rue_status rue_watch_count(struct rue_watch *watch, size_t lane, size_t row, rue_error *error) RUE_MUST_CHECK;

/* A change of all machines, which is stored and reported. */
struct rue_watch_news {
    bool changed;
    struct rue_speed_change change;
};

/* Observes the result of a due trial, row `row` of the ledger. RUE_STORE, RUE_MEMORY. */
rue_status rue_watch_observe(struct rue_watch *watch, size_t lane, const struct rue_watch_task *task,
                             size_t row, struct rue_watch_news *news, rue_error *error) RUE_MUST_CHECK;

/* Whether the others wait for a trial of the lane. */
bool rue_watch_needs(const struct rue_watch *watch, size_t lane);

/* At the end of a run: concludes a change that is still being measured. Then lanes may differ, too.
 * RUE_STORE, RUE_MEMORY. */
rue_status rue_watch_conclude(struct rue_watch *watch, struct rue_watch_news *news,
                              rue_error *error) RUE_MUST_CHECK;

/* The lane that differs most, whether or not it is to be dropped. */
struct rue_node_difference rue_watch_compare(const struct rue_watch *watch);

/* Finds the lane that differs from the others, and why; node 0: none. The caller drops it and calls
 * this again, because each drop changes what is usual. */
struct rue_node_difference rue_watch_find_different(const struct rue_watch *watch);
void rue_watch_drop(struct rue_watch *watch, size_t lane);

#endif
