#include "trial_cache.h"

#include <math.h>
#include <stdlib.h>

#include "random.h"

enum { LEAST_CAPACITY = 256 };

static bool is_same(const struct rue_trial_key *a, const struct rue_trial_key *b)
{
    return a->model == b->model && a->config == b->config && a->images == b->images &&
           !rue_speed_differs(a->speed, b->speed);
}

/* The entry of the key, or the free one where it belongs. */
static struct rue_cached_trial *slot_of(const struct rue_trial_cache *cache, const struct rue_trial_key *key)
{
    uint64_t hash = rue_mix64(key->model ^ rue_mix64(key->config ^ rue_mix64(key->images)));
    size_t mask = cache->capacity - 1, at = (size_t)hash & mask;
    while (cache->at[at].key.images && !is_same(&cache->at[at].key, key)) at = (at + 1) & mask;
    return &cache->at[at];
}

/* At most half of the table is filled. */
static bool make_room(struct rue_trial_cache *cache)
{
    if (2 * cache->count < cache->capacity) return true;
    struct rue_trial_cache larger = {.count = cache->count,
                                     .capacity = cache->capacity ? 2 * cache->capacity : LEAST_CAPACITY};
    larger.at = calloc(larger.capacity, sizeof *larger.at);
    if (!larger.at) return false;
    for (size_t i = 0; i < cache->capacity; i++)
        if (cache->at[i].key.images) *slot_of(&larger, &cache->at[i].key) = cache->at[i];
    free(cache->at);
    *cache = larger;
    return true;
}

struct rue_cached_trial *rue_trial_cache_find(struct rue_trial_cache *cache, const struct rue_trial_key *key)
{
    if (!make_room(cache)) return NULL;
    struct rue_cached_trial *slot = slot_of(cache, key);
    if (slot->key.images) return slot;
    *slot = (struct rue_cached_trial){.key = *key, .time_s = NAN};
    cache->count++;
    return slot;
}

void rue_trial_cache_clear(struct rue_trial_cache *cache)
{
    for (size_t i = 0; i < cache->capacity; i++) free(cache->at[i].point);
    free(cache->at);
    *cache = (struct rue_trial_cache){.count = 0};
}
