/* What scheduler.c and lanes.c share: the lanes of a study, their time, and how they end. */
#ifndef RUE_LANES_H
#define RUE_LANES_H

#include "tracks.h"
#include "trial_failures.h"
#include "watch.h"

/* A trial of a lane, and what it is for. */
struct rue_lane_trial {
    enum { RUE_LANE_QUESTION, RUE_LANE_WATCH, RUE_LANE_REPEAT } purpose;
    struct rue_watch_task task; /* of the watch */
    size_t repeated_row;        /* that a repeat replaces */
    struct rue_flight flight;
};

struct rue_lane {
    size_t number, node; /* of its runner, from 0; as strategies number it */
    struct rue_runner *runner;
    uint64_t clock_ns;    /* spent time that is accounted for */
    bool dropped;         /* makes no more trials */
    bool busy, starting;  /* makes a trial; starts a new runner, also busy */
    uint64_t starting_ns; /* spent time when it began to start */
    bool waits;           /* for another lane's result */
    bool has_asked;       /* `asked` is still to be answered, after a trial of the watch */
    struct rue_asked asked;
    struct rue_track *last; /* the track of its last question */
    struct rue_lane_trial trial;
    uint64_t begun_ns; /* its clock when the trial began */
    uint64_t end_ns;   /* of the trial, on a virtual clock */
    size_t trials;     /* for strategies, in this run */
    struct {
        bool known;
        double seconds, sd;
    } expected; /* of the trial */
    struct {
        char last[RUE_REASON_BYTES];
        struct rue_same_failures same;
        bool succeeds, fails; /* its last trial for a strategy was ok; the last ones failed */
    } failures;
};

struct rue_schedule {
    struct rue_study *study;
    struct rue_tracks *tracks;
    struct rue_watch *watch; /* NULL: there is nothing to watch */
    uint64_t start_ns;
    size_t charged;                 /* trials that no track asked for; each track pays its part */
    size_t next_unsure;             /* the row from which unsure trials are repeated; RUE_NONE: none are */
    size_t first_trial, last_trial; /* of this run: their numbers; 0: none */
    char last_drop[RUE_ERROR_MESSAGE_BYTES];
    size_t count;
    struct rue_lane lanes[]; /* [count] */
};

static inline bool rue_lanes_is_virtual(const struct rue_schedule *schedule)
{
    return rue_study_hello(&schedule->study->setup)->virtual_clock;
}

static inline const struct rue_strategy_ops *rue_lanes_strategy(const struct rue_schedule *schedule)
{
    return schedule->study->setup.plan.strategy;
}

/* Lets waiting lanes ask again, because there is a new result. */
void rue_lanes_wake(struct rue_schedule *schedule);

/* Accounts for the time until `now_ns` on a lane without a trial. */
void rue_lanes_advance(struct rue_schedule *schedule, struct rue_lane *lane, uint64_t now_ns);

/* Charges what no strategy observes, trials that none asked for and earlier attempts, to the track of the
 * lane's last question; before the first question, to all tracks. */
void rue_lanes_charge(struct rue_schedule *schedule, const struct rue_lane *lane, uint64_t cost_ns,
                      size_t trials);

/* The budget that all tracks need for a recommendation. */
struct rue_watch_reserve rue_lanes_watch_reserve(const struct rue_schedule *schedule);

bool rue_lanes_is_spent(const struct rue_schedule *schedule, const struct rue_lane *lane);

/* Drops a lane that can make no more trials, because of `text`. If it is the only one, `why` (nullable) ends
 * the study. RUE_RUNNER; RUE_STORE, RUE_MEMORY. */
rue_status rue_lanes_lose(struct rue_schedule *schedule, struct rue_lane *lane, const char *text,
                          const rue_error *why, rue_error *error) RUE_MUST_CHECK;

/* Drops all lanes that differ from the others. RUE_STORE, RUE_MEMORY. */
rue_status rue_lanes_drop_different(struct rue_schedule *schedule, rue_error *error) RUE_MUST_CHECK;

/* Counts identical failures in a row on a lane. After too many, the lane is dropped if a trial succeeds on
 * another lane. RUE_INFEASIBLE: all lanes have too many. */
rue_status rue_lanes_count_failures(struct rue_schedule *schedule, struct rue_lane *lane,
                                    rue_error *error) RUE_MUST_CHECK;

#endif
