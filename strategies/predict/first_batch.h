/* The first batch of a trial takes longer or shorter each time, because workers start and memory is cold. One
 * surprising start says little about its configuration, so the starts of all trials are pooled. */
#ifndef RUE_FIRST_BATCH_H
#define RUE_FIRST_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rue_start {
    uint64_t group;   /* the same for trials whose starts should take the same time */
    double log_ratio; /* of measured over predicted time until the first batch; not finite: unknown */
    /* Written by rue_first_batch_pool: */
    size_t first;          /* index of the group's first start */
    double disturbed;      /* probability that something disturbed this start */
    double next;           /* the same in the next round */
    double mean, variance; /* of the group's log ratio, at its first start; NaN: unknown */
};

/* What all starts have in common. */
struct rue_start_pool {
    double
        error; /* how far off predicted starts are, relative to what the random fields expect; at least 1 */
    double variance; /* of the logarithm of a start's time, from trial to trial */
};

/* Random effects: of all starts together, of their group, and of the trial. `starts` [count], may be empty.
 */
struct rue_start_pool rue_first_batch_pool(struct rue_start *starts, size_t count);

#endif
