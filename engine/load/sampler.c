#include "sampler.h"

#include <stdlib.h>
#include <string.h>

#include "parts.h"
#include "permutation.h"
#include "source.h"
#include "turns.h"

/* A shard of the rank: its first item in the data, and the rank's items up to its end. */
struct rue_shard_range {
    uint64_t first, end;
};

/* Permutes blocks, and the items of each. A last block that is shorter gets a place of its own among the
 * others. */
static uint64_t shuffle(const struct rue_sampler *sampler, uint64_t index, uint64_t key)
{
    uint64_t block = sampler->block;
    if (block <= 1) return rue_permute(index, sampler->items, key);
    uint64_t full = sampler->items / block, rest = sampler->items % block;
    uint64_t before = rest ? block * (rue_mix64(key) % (full + 1)) : sampler->items;
    if (index >= before && index - before < rest)
        return full * block + rue_permute(index - before, rest, key);
    if (index >= before) index -= rest;
    uint64_t chosen = rue_permute(index / block, full, key);
    return chosen * block + rue_permute(index % block, block, rue_mix64(key) + chosen);
}

static uint64_t shard_items(const struct rue_source *source, size_t shard)
{
    return rue_source_shard_first(source, shard + 1) - rue_source_shard_first(source, shard);
}

/* Sets the smallest and the largest share of all ranks, of `total` shards. */
static void compare_shares(struct rue_sampler *sampler, const struct rue_source *source, size_t total)
{
    sampler->least_share = sampler->items;
    sampler->most_share = 0;
    for (size_t rank = 0, world = (size_t)sampler->world_size; rank < world; rank++) {
        uint64_t share = 0;
        for (size_t shard = rank; shard < total; shard += world) share += shard_items(source, shard);
        if (share < sampler->least_share) sampler->least_share = share;
        if (share > sampler->most_share) sampler->most_share = share;
    }
}

static rue_status open_shards(struct rue_sampler *sampler, const struct rue_source *source, rue_error *error)
{
    size_t total = rue_source_shards(source), world = (size_t)sampler->world_size,
           rank = (size_t)sampler->rank;
    const struct rue_variant data = rue_source_variant(source);
    if (!rue_source_is_ordered(source))
        return rue_fail(
            error, RUE_USAGE,
            "the subset of %s is not in the order of the data, so that it has no shards: use strided "
            "or contiguous shares",
            data.path);
    if (!total)
        return rue_fail(error, RUE_USAGE,
                        "%s has no shards (its format is %s): use strided or contiguous shares", data.path,
                        data.format);
    if (total < world)
        return rue_fail(error, RUE_USAGE,
                        "%zu ranks cannot share the %zu shard%s of %s: use %zu rank%s, or strided shares",
                        world, total, total == 1 ? "" : "s", data.path, total,
                        total == 1 ? "" : "s or fewer");
    sampler->shard_count = (total - rank + world - 1) / world;
    sampler->shards = malloc(sampler->shard_count * sizeof *sampler->shards);
    if (!sampler->shards)
        return rue_fail_memory(error, "shards", sampler->shard_count * sizeof *sampler->shards);
    uint64_t end = 0;
    for (size_t i = 0; i < sampler->shard_count; i++) {
        end += shard_items(source, rank + i * world);
        sampler->shards[i] = (struct rue_shard_range){rue_source_shard_first(source, rank + i * world), end};
    }
    compare_shares(sampler, source, total);
    return RUE_OK;
}

/* The rank's items before `item`, in the order of the data. */
static uint64_t count_before(const struct rue_sampler *sampler, uint64_t item)
{
    struct rue_sampler ordered = *sampler;
    uint64_t low = 0, high = rue_sampler_share(sampler);
    ordered.shuffle = false;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        if (rue_sampler_item(&ordered, middle) < item)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static rue_status open_turns(struct rue_sampler *sampler, const struct rue_source *source, rue_error *error)
{
    rue_status status = rue_parts_find(source, &sampler->parts, &sampler->part_count, error);
    if (status != RUE_OK || sampler->part_count < 2) return status;
    size_t count = sampler->part_count + 1;
    uint64_t *firsts = malloc(count * sizeof *firsts);
    if (!firsts) return rue_fail_memory(error, "parts of the data", count * sizeof *firsts);
    for (size_t p = 0; p < count; p++) firsts[p] = count_before(sampler, sampler->parts[p]);
    status = rue_turns_open(firsts, sampler->part_count, sampler->turn, &sampler->turns, error);
    if (sampler->share == RUE_SHARE_SHARDS) memcpy(sampler->parts, firsts, count * sizeof *firsts);
    free(firsts);
    return status;
}

rue_status rue_sampler_open(struct rue_sampler *sampler, const struct rue_source *source, rue_error *error)
{
    rue_status status = RUE_OK;
    sampler->items = rue_source_count(source);
    sampler->block = rue_source_block(source);
    sampler->shards = NULL;
    sampler->shard_count = 0;
    sampler->parts = NULL;
    sampler->part_count = 0;
    sampler->turns = NULL;
    if (sampler->world_size < 1 || sampler->rank < 0 || sampler->rank >= sampler->world_size)
        return rue_fail(error, RUE_USAGE, "rank %d of world_size %d is out of range: ranks begin at 0",
                        sampler->rank, sampler->world_size);
    if (sampler->share == RUE_SHARE_SHARDS) status = open_shards(sampler, source, error);
    if (status == RUE_OK && sampler->turn && rue_sampler_share(sampler))
        status = open_turns(sampler, source, error);
    if (status != RUE_OK) rue_sampler_close(sampler);
    if (status != RUE_OK || rue_sampler_share(sampler)) return status;
    rue_sampler_close(sampler);
    bool shards = sampler->share == RUE_SHARE_SHARDS;
    return rue_fail(error, RUE_USAGE,
                    "rank %d of %d has nothing to load: %s has only %llu item%s%s; use fewer ranks",
                    sampler->rank, sampler->world_size, rue_source_variant(source).path,
                    (unsigned long long)sampler->items, sampler->items == 1 ? "" : "s",
                    shards ? ", and the rank's shards are empty" : "");
}

void rue_sampler_close(struct rue_sampler *sampler)
{
    free(sampler->shards);
    free(sampler->parts);
    rue_turns_close(sampler->turns);
    sampler->shards = NULL;
    sampler->shard_count = 0;
    sampler->parts = NULL;
    sampler->turns = NULL;
}

uint64_t rue_sampler_share(const struct rue_sampler *sampler)
{
    uint64_t world = (uint64_t)sampler->world_size;
    if (sampler->share == RUE_SHARE_SHARDS)
        return sampler->shard_count ? sampler->shards[sampler->shard_count - 1].end : 0;
    return sampler->items / world + ((uint64_t)sampler->rank < sampler->items % world);
}

uint64_t rue_sampler_images(const struct rue_sampler *sampler, enum rue_even even)
{
    uint64_t world = (uint64_t)sampler->world_size;
    bool shards = sampler->share == RUE_SHARE_SHARDS;
    if (even == RUE_EVEN_NONE) return rue_sampler_share(sampler);
    if (even == RUE_EVEN_DROP) return shards ? sampler->least_share : sampler->items / world;
    return shards ? sampler->most_share : sampler->items / world + (sampler->items % world > 0);
}

/* The position in the order of all items. */
static uint64_t global_position(const struct rue_sampler *sampler, uint64_t index)
{
    uint64_t world = (uint64_t)sampler->world_size, rank = (uint64_t)sampler->rank;
    uint64_t longer = sampler->items % world; /* ranks with one item more */
    if (sampler->share == RUE_SHARE_STRIDED) return index * world + rank;
    return rank * (sampler->items / world) + (rank < longer ? rank : longer) + index;
}

static uint64_t item_in_shards(const struct rue_sampler *sampler, uint64_t index)
{
    size_t first = 0, last = sampler->shard_count - 1;
    while (first < last) {
        size_t middle = first + (last - first) / 2;
        if (sampler->shards[middle].end > index)
            last = middle;
        else
            first = middle + 1;
    }
    return sampler->shards[first].first + index - (first ? sampler->shards[first - 1].end : 0);
}

uint64_t rue_sampler_epoch(const struct rue_sampler *sampler, uint64_t position)
{
    return sampler->epoch + position / rue_sampler_share(sampler);
}

static uint64_t shuffle_part(const struct rue_sampler *sampler, uint64_t index, uint64_t key)
{
    size_t low = 0, high = sampler->part_count - 1;
    while (low < high) {
        size_t middle = high - (high - low) / 2;
        if (sampler->parts[middle] > index)
            high = middle - 1;
        else
            low = middle;
    }
    uint64_t first = sampler->parts[low];
    return first + rue_permute(index - first, sampler->parts[low + 1] - first, key + low);
}

uint64_t rue_sampler_item(const struct rue_sampler *sampler, uint64_t position)
{
    uint64_t share = rue_sampler_share(sampler), index = position % share;
    uint64_t key = rue_mix64(rue_mix64(sampler->seed) + sampler->epoch + position / share);
    bool shards = sampler->share == RUE_SHARE_SHARDS;
    if (sampler->turns) index = rue_turns_item(sampler->turns, index);
    if (!shards) index = global_position(sampler, index);
    if (sampler->shuffle && sampler->turns)
        index = shuffle_part(sampler, index, key);
    else if (sampler->shuffle)
        index =
            shards ? rue_permute(index, share, key + (uint64_t)sampler->rank) : shuffle(sampler, index, key);
    return shards ? item_in_shards(sampler, index) : index;
}
