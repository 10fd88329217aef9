/* The times that the matrices were told, so that they can be told anew: when the machine has changed, what
 * was measured since counts as it would have taken before. Of strategies that do not predict. */
#ifndef RUE_STUDY_TIMES_H
#define RUE_STUDY_TIMES_H

#include "study.h"

struct rue_study_times {
    size_t count, capacity;
    struct rue_study_time {
        struct rue_ask ask; /* its trial is the one that counts */
        size_t variant, model, config;
        size_t repeat;                  /* of the cell in its matrix */
        double cost_ns;                 /* as measured */
        double told_ns;                 /* to the matrix */
        struct rue_trial_result result; /* without its arrays */
    } * at;                             /* [count] */
    size_t again;                       /* those before it are not to be measured again */
};

/* Notes what the matrix has just been told, and tells it what it would have been before any change.
 * RUE_MEMORY.
 */
rue_status rue_study_times_add(struct rue_study_times *times, struct rue_study *study,
                               const struct rue_study_time *time, rue_error *error) RUE_MUST_CHECK;

/* A change of the machine has been noticed: tells all matrices anew. */
rue_status rue_study_times_shift(struct rue_study_times *times, struct rue_study *study,
                                 rue_error *error) RUE_MUST_CHECK;

/* The next time that is to be measured again, as nobody knows whether it is of before or after a change; NULL
 * when none is. */
struct rue_study_time *rue_study_times_again(struct rue_study_times *times,
                                             const struct rue_study_ledger *ledger);

/* Puts a new measurement in the place of an earlier one. */
rue_status rue_study_time_replace(struct rue_study *study, struct rue_study_time *time, double cost_ns,
                                  const struct rue_trial_result *result, rue_error *error) RUE_MUST_CHECK;

/* Marks the rows of trials that lie far from the other repeats of their cells, of which there are three at
 * least. Without memory it marks none. */
void rue_study_times_mark(const struct rue_study_times *times, struct rue_study_ledger *ledger,
                          struct rue_study_outcome *outcome);

void rue_study_times_close(struct rue_study_times *times);

#endif
