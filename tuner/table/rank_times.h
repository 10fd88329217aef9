/* Compares the ranks of launched trials, to name one that is slower than the others. */
#ifndef RUE_RANK_TIMES_H
#define RUE_RANK_TIMES_H

#include "findings.h"

/* Sums over trials, for each rank. Zeroed: no trial yet. */
struct rue_rank_times {
    size_t trials, count;
    struct rue_rank_sums *ranks; /* [count] owned */
};

/* Adds a trial with the `ranks` of struct rue_trial_result (NULL: none). Other numbers of ranks than in the
 * first trial are skipped. RUE_MEMORY. */
rue_status rue_rank_times_add(struct rue_rank_times *times, const char *ranks,
                              rue_error *error) RUE_MUST_CHECK;

/* The slowest rank, if it takes more than 1.1 times as long as the median of the others; else all zero. */
struct rue_slow_rank_findings rue_rank_times_slowest(const struct rue_rank_times *times);

void rue_rank_times_close(struct rue_rank_times *times);

#endif
