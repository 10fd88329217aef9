/* Which item comes at which position: a pure function of seed and position, in constant memory however many
 * items the data have. Shuffling is a pseudo-random permutation (a Feistel network over the index's bits,
 * with cycle walking: Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002). Positions past the
 * end of the data go on with the next epoch's permutation. */
#ifndef RUE_SAMPLER_H
#define RUE_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct rue_sampler {
    uint64_t items; /* of the data, at least 1 */
    uint64_t seed;
    uint64_t epoch; /* of position 0 */
    bool shuffle;
    int rank;       /* this process loads every world_size-th position, from rank on */
    int world_size; /* at least 1 */
};

/* The item at `position` of this rank's order. Within an epoch each item comes exactly once over all ranks,
 * but for the last positions where items is no multiple of world_size: they wrap into the next epoch. */
uint64_t rue_sampler_item(const struct rue_sampler *sampler, uint64_t position);

#endif
