#include "philox.h"

#include <criterion/criterion.h>

/* Known answers: kat_vectors of Random123 1.14, philox4x32 with 10 rounds. */
Test(philox, words_are_the_published_ones)
{
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t words[4];
    } known[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         UINT64_MAX,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         UINT64_C(0x299f31d0a4093822),
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (int lane = 0; lane < RUE_PHILOX_LANES; lane++) {
            struct rue_philox block = {0};
            for (int w = 0; w < 4; w++) block.word[w][lane] = known[k].counter[w];
            rue_philox_mix(&block, known[k].key);
            for (int w = 0; w < 4; w++) cr_assert_eq(block.word[w][lane], known[k].words[w]);
        }
}
