/* What watch.c and watch_change.c share. */
#ifndef RUE_WATCH_STATE_H
#define RUE_WATCH_STATE_H

#include "findings.h"
#include "reference.h"
#include "watch.h"

enum { RUE_WATCH_COMPUTE_REPEATS = 2 }; /* compute trials after a change */

struct rue_watched_lane {
    bool dropped;
    struct rue_slowdown slowdown; /* evidence from its references */
    struct rue_reference_series series[RUE_STUDY_VARIANTS_MAX];
    size_t variant;      /* of its last trial; of several lanes, all references are those of the first */
    size_t trials_since; /* its last reference */
    int checks;          /* references that may still follow its last trial */
    bool owes;           /* references, because another lane has changed */
    int made;            /* of them */
};

/* A change that is certain. Computing may still be measured. */
struct rue_watched_change {
    bool active;
    size_t lane; /* that repeats a compute trial */
    struct rue_notice notice;
    double load, least;         /* a logarithm; the least time per batch */
    double before;              /* the same at the initial speed */
    struct rue_watch_task task; /* RUE_WATCH_NOTHING: there is no compute trial */
    int repeats;
};

struct rue_watch {
    const struct rue_study_setup *setup;
    struct rue_study_ledger *ledger;
    bool speeds; /* are watched: the study is long enough */
    struct rue_reference references[RUE_STUDY_VARIANTS_MAX];
    struct rue_like_nodes like;
    struct rue_causes *causes; /* NULL on a virtual clock, and of several machines */
    size_t first_row;          /* of the ledger since the watch began */
    double references_s;       /* without the first RUE_REFERENCE_VALUES_MIN of each variant */
    double last_s;             /* the last reference */
    double trials_s, trial_count;
    bool alarm; /* a lane has changed, and it is not known yet whether the others have, too */
    struct rue_watched_change change;
    size_t count;
    struct rue_watched_lane lanes[]; /* [count] */
};

/* All lanes show a change since the `end`th trial at the latest: begins to measure how much slower computing
 * is, on that lane. False: the speed is the last known one again. */
bool rue_watch_begin_change(struct rue_watch *watch, size_t lane, size_t end);

/* Adds the time of such a compute trial (row `row`), and concludes after the last. RUE_STORE, RUE_MEMORY. */
rue_status rue_watch_measure_change(struct rue_watch *watch, size_t row, struct rue_watch_news *news,
                                    rue_error *error) RUE_MUST_CHECK;

/* Continues the watch at the new speed. */
void rue_watch_restart(struct rue_watch *watch);

#endif
