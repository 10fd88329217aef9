/* The order in which items are loaded. It is a pure function of seed and position and needs constant memory,
 * or a few bytes per shard. Shuffling is a pseudo-random permutation: a Feistel network over the bits of the
 * index, with cycle walking (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", 2002).
 *
 * The same seed and epoch give the same order of all items on any number of ranks, and in each epoch the
 * ranks together load each item once. Strided and contiguous shares are slices of that order: the first items
 * % world_size ranks load one item more than the others, and ranks from `items` on load nothing.
 *
 * With `turn`, parts of the data take turns: the rank gets so many items of one part, then of the next one,
 * and so on. Parts without a full turn left drop out; what is left over of all parts comes last. Each part is
 * shuffled for itself. Parts are the folders of the shards, or the shards if all are in one folder; without
 * several shards, the items of each label, if they follow each other. */
#ifndef RUE_SAMPLER_H
#define RUE_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "loading.h"

struct rue_source;
struct rue_shard_range;
struct rue_turns;

struct rue_sampler {
    uint64_t items; /* in the data, at least 1 */
    uint64_t seed;
    uint64_t epoch; /* the epoch of position 0 */
    bool shuffle;
    uint64_t block; /* shuffle blocks of so many items, and within them; up to 1: all items */
    int rank;       /* 0 to world_size - 1 */
    int world_size; /* at least 1 */
    enum rue_share share;
    uint64_t turn; /* items of a turn; 0: parts do not take turns */
    /* Set by rue_sampler_open. */
    struct rue_shard_range *shards; /* [shard_count] of this rank */
    size_t shard_count;
    uint64_t least_share, most_share; /* of all ranks, with RUE_SHARE_SHARDS */
    /* [part_count + 1] the first of each part, and the end: an item, or with RUE_SHARE_SHARDS its number
     * among those of the rank. */
    uint64_t *parts;
    size_t part_count;
    struct rue_turns *turns; /* NULL: none, or the data are one part */
};

/* Sets `items` and `block`, and allocates shards and parts if they are needed. RUE_USAGE: the rank is out of
 * range, or has nothing to load; the message names it and the number of items or shards. RUE_MEMORY. */
rue_status rue_sampler_open(struct rue_sampler *sampler, const struct rue_source *source,
                            rue_error *error) RUE_MUST_CHECK;
void rue_sampler_close(struct rue_sampler *sampler);

/* Items of this rank in each epoch; 0: it has nothing to load. */
uint64_t rue_sampler_share(const struct rue_sampler *sampler);

/* Images that this rank loads in an epoch so that ranks are `even`. With RUE_EVEN_DROP 0 if a rank has
 * nothing to load. */
uint64_t rue_sampler_images(const struct rue_sampler *sampler, enum rue_even even);

/* Returns the item (0 to items - 1) at `position` of this rank, whose share must not be 0. Positions after
 * the rank's share continue with its share of the next epoch. */
uint64_t rue_sampler_item(const struct rue_sampler *sampler, uint64_t position);

/* The epoch of that position. */
uint64_t rue_sampler_epoch(const struct rue_sampler *sampler, uint64_t position);

#endif
