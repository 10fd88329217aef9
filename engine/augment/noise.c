#include <math.h>

#include "image.h"
#include "item_random.h"
#include "normal.h"

enum { QUANTILES = 4096, BLOCK_NOISE = 12, AT_ONCE = 8 * RUE_PHILOX_LANES };

static uint8_t add_clipped(uint8_t level, int16_t delta)
{
    int sum = level + delta;
    return sum < 0 ? 0 : sum > 255 ? 255 : (uint8_t)sum;
}

static struct rue_philox draw_words(uint32_t first, uint64_t key)
{
    struct rue_philox block = {0};
    for (uint32_t i = 0; i < RUE_PHILOX_LANES; i++) block.word[0][i] = first + i;
    rue_philox_mix(&block, key);
    return block;
}

/* Adds a normal number to each level. Block 12 of the item is the key of a stream of its own. Each word of
 * that stream is two numbers of 12 bits, each the quantile (number + 0.5) / 4096. */
void rue_image_add_noise(const struct rue_image *image, float deviation,
                         const struct rue_augmentation_key *key, uint64_t item)
{
    int16_t deltas[QUANTILES];
    for (int q = 0; q < QUANTILES; q++)
        deltas[q] = (int16_t)rint(255 * (double)deviation * rue_normal_quantile((q + 0.5) / QUANTILES));
    struct rue_philox own = rue_item_blocks(key, item, BLOCK_NOISE);
    uint64_t stream = (uint64_t)own.word[1][0] << 32 | own.word[0][0];
    uint8_t *levels = (uint8_t *)image->pixels;
    for (size_t at = 0, bytes = image->count * 4; at < bytes; at += AT_ONCE) {
        struct rue_philox random = draw_words((uint32_t)(at / 8), stream);
        for (size_t i = 0; i < AT_ONCE && at + i < bytes; i += 2) {
            uint32_t word = random.word[i / 2 % 4][i / 8];
            levels[at + i] = add_clipped(levels[at + i], deltas[word >> 20]);
            levels[at + i + 1] = add_clipped(levels[at + i + 1], deltas[word >> 4 & (QUANTILES - 1)]);
        }
    }
}
