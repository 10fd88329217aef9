/* The order in which items are loaded. It is a pure function of seed and position and needs constant memory.
 * Shuffling is a pseudo-random permutation: a Feistel network over the bits of the index, with cycle walking
 * (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). Positions after the last item of an
 * epoch continue with the permutation of the next epoch. */
#ifndef RUE_SAMPLER_H
#define RUE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct rue_sampler {
    uint64_t items; /* in the data, at least 1 */
    uint64_t seed;
    uint64_t epoch; /* the epoch of position 0 */
    bool shuffle;
    int rank;       /* 0 to world_size - 1: loads the positions rank, rank + world_size, ... */
    int world_size; /* at least 1 */
};

/* Returns the item (0 to items - 1) at `position` of this rank. In each epoch all ranks together load each
 * item once. If `items` is not a multiple of world_size, the last positions belong to the next epoch. */
uint64_t rue_sampler_item(const struct rue_sampler *sampler, uint64_t position);

#endif
