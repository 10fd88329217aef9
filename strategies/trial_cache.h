/* Predictions of trials that were asked for already, kept until what they are made of changes. */
#ifndef RUE_TRIAL_CACHE_H
#define RUE_TRIAL_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "belief.h"

struct rue_trial_key {
    size_t model, config;
    uint64_t images;
    struct rue_speed speed; /* of the machine */
};

struct rue_cached_trial {
    struct rue_trial_key key;
    double time_s;                  /* NaN: not known yet */
    struct rue_belief_point *point; /* owned by the cache; NULL: not known yet */
};

struct rue_trial_cache {
    size_t count, capacity;      /* 0, or a power of 2 */
    struct rue_cached_trial *at; /* [capacity] a hash table; without images: free */
};

/* The entry of a trial of at least one image, added where there is none; valid until the next call. NULL
 * without memory. */
struct rue_cached_trial *rue_trial_cache_find(struct rue_trial_cache *cache, const struct rue_trial_key *key);

/* Forgets everything and frees what it took. */
void rue_trial_cache_clear(struct rue_trial_cache *cache);

#endif
