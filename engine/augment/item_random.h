/* Random words of an item: 16 blocks of Philox at once. docs/augmentation.md lists what each word draws. */
#ifndef RUE_ITEM_RANDOM_H
#define RUE_ITEM_RANDOM_H

#include "augmentation.h"
#include "philox.h"

/* Lane i has block `first` + i. */
static inline struct rue_philox rue_item_blocks(const struct rue_augmentation_key *key, uint64_t item,
                                                uint32_t first)
{
    struct rue_philox out;
    for (uint32_t i = 0; i < RUE_PHILOX_LANES; i++) {
        out.word[0][i] = (uint32_t)item;
        out.word[1][i] = (uint32_t)(item >> 32);
        out.word[2][i] = key->epoch;
        out.word[3][i] = key->stream << 8 | (first + i);
    }
    rue_philox_mix(&out, key->seed);
    return out;
}

/* 24 bits: a multiple of 2^-24 in [0, 1). */
static inline __attribute__((always_inline)) float rue_unit(uint32_t word)
{
    return (float)(int32_t)(word >> 8) * 0x1p-24F;
}

#endif
