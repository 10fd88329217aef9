/* A permutation of any number of items that needs no memory: a Feistel network. */
#ifndef RUE_PERMUTATION_H
#define RUE_PERMUTATION_H

#include "random.h"

/* A permutation of [0, 2^(2*half)) that depends on the key. */
static inline uint64_t rue_permute_bits(uint64_t x, unsigned half, uint64_t key)
{
    enum { ROUNDS = 6 };
    uint64_t mask = (UINT64_C(1) << half) - 1, left = x >> half, right = x & mask;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t mixed = rue_mix64(key + round * UINT64_C(0xD1342543DE82EF95) + right) & mask;
        uint64_t next = left ^ mixed;
        left = right;
        right = next;
    }
    return left << half | right;
}

/* The place of `index` in a permutation of [0, items) that depends on the key. Permutes until the result is
 * below `items`: fewer than 4 steps on average, because 2^(2*half) < 4 * items. */
static inline uint64_t rue_permute(uint64_t index, uint64_t items, uint64_t key)
{
    unsigned bits = items > 1 ? 64u - (unsigned)__builtin_clzll(items - 1) : 1;
    unsigned half = (bits + 1) / 2;
    do index = rue_permute_bits(index, half, key);
    while (index >= items);
    return index;
}

#endif
