/* Philox4x32-10: 128 random bits from a counter of 128 bits and a key of 64 bits (Salmon, Moraes, Dror, Shaw,
 * "Parallel Random Numbers: As Easy as 1, 2, 3", 2011). It has no state. */
#ifndef RUE_PHILOX_H
#define RUE_PHILOX_H

#include <stdint.h>

enum { RUE_PHILOX_LANES = 16 /* counters that are computed at once, in SIMD registers */ };

/* A counter in each lane; afterwards the random words. */
struct rue_philox {
    uint32_t word[4][RUE_PHILOX_LANES];
};

static inline __attribute__((always_inline)) void rue_philox_mix(struct rue_philox *block, uint64_t key)
{
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < RUE_PHILOX_LANES; i++) {
            uint64_t a = UINT64_C(0xD2511F53) * block->word[0][i],
                     b = UINT64_C(0xCD9E8D57) * block->word[2][i];
            block->word[0][i] = (uint32_t)(b >> 32) ^ block->word[1][i] ^ key0;
            block->word[1][i] = (uint32_t)b;
            block->word[2][i] = (uint32_t)(a >> 32) ^ block->word[3][i] ^ key1;
            block->word[3][i] = (uint32_t)a;
        }
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
}

#endif
