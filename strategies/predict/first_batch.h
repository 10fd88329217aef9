/* The first batch of a trial takes longer or shorter each time, because workers start and memory is cold. One
 * surprising start says little about its configuration, so starts are pooled over trials. */
#ifndef RUE_FIRST_BATCH_H
#define RUE_FIRST_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rue_start {
    uint64_t group;   /* the same for the same batch size, number of workers, and node */
    double log_ratio; /* of measured over predicted time until the first batch; NaN: unknown */
    /* Written by rue_first_batch_pool: */
    double disturbed;      /* probability that something disturbed this start */
    double mean, variance; /* of the group's log ratio; NaN: unknown */
};

/* Random effects: of all starts together, of their group, and of the trial, which is estimated. Returns how
 * far off predicted starts are, relative to what the random fields expect; at least 1. */
double rue_first_batch_pool(struct rue_start *starts, size_t count);

/* Whether no start before `index` has its group. */
static inline bool rue_start_is_first(const struct rue_start *starts, size_t index)
{
    size_t first = 0;
    while (starts[first].group != starts[index].group) first++;
    return first == index;
}

#endif
