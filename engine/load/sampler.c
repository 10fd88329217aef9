#include "sampler.h"

#include "random.h"

enum { ROUNDS = 6 };

/* A permutation of [0, 2^(2*half)) that depends on the key. */
static uint64_t feistel(uint64_t x, unsigned half, uint64_t key)
{
    uint64_t mask = (UINT64_C(1) << half) - 1, left = x >> half, right = x & mask;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t mixed = rue_mix64(key + round * UINT64_C(0xD1342543DE82EF95) + right) & mask;
        uint64_t next = left ^ mixed;
        left = right;
        right = next;
    }
    return left << half | right;
}

/* Repeats the permutation until the result is in [0, items): fewer than 4 steps on average, because
 * 2^(2*half) < 4 * items. */
static uint64_t permute(uint64_t index, uint64_t items, uint64_t key)
{
    unsigned bits = items > 1 ? 64u - (unsigned)__builtin_clzll(items - 1) : 1;
    unsigned half = (bits + 1) / 2;
    do index = feistel(index, half, key);
    while (index >= items);
    return index;
}

uint64_t rue_sampler_item(const struct rue_sampler *sampler, uint64_t position)
{
    uint64_t global = position * (uint64_t)sampler->world_size + (uint64_t)sampler->rank;
    uint64_t epoch = sampler->epoch + global / sampler->items, index = global % sampler->items;
    if (!sampler->shuffle) return index;
    uint64_t key = rue_mix64(rue_mix64(sampler->seed) + epoch);
    return permute(index, sampler->items, key);
}
