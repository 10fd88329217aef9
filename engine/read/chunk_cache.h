/* A bounded cache of decoded chunks. Threads that need the same chunk at the same time load it once: the
 * first one loads, the others wait. Thread-safe. */
#ifndef RUE_CHUNK_CACHE_H
#define RUE_CHUNK_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "error.h"

struct rue_chunk_cache;
struct rue_chunk;

/* Fills `into` [bytes] with the chunk of `key`. */
typedef rue_status rue_chunk_load(const void *context, uint64_t key, void *into, uint64_t bytes,
                                  rue_error *error);

struct rue_chunk_request {
    uint64_t key, bytes;
    uint64_t uses; /* expected in an epoch: after so many releases the chunk is the first to be removed */
    rue_chunk_load *load;
    const void *context;
};

/* Keeps up to `capacity_bytes` of chunks that no thread uses. RUE_MEMORY. */
rue_status rue_chunk_cache_open(uint64_t capacity_bytes, struct rue_chunk_cache **out,
                                rue_error *error) RUE_MUST_CHECK;
void rue_chunk_cache_close(struct rue_chunk_cache *cache);

/* Removes all chunks that no thread uses. */
void rue_chunk_cache_trim(struct rue_chunk_cache *cache);

/* Returns the chunk of `request`, loaded if it is not in the cache. Its bytes stay valid
 * until it is released. Waits for a thread that loads the same chunk. Errors of `load`; RUE_MEMORY. */
rue_status rue_chunk_cache_acquire(struct rue_chunk_cache *cache, const struct rue_chunk_request *request,
                                   struct rue_chunk **out, rue_error *error) RUE_MUST_CHECK;

/* Loads the chunk for a later use, unless it is in the cache. True: another thread loads it now. Does not
 * wait; a failed load is tried again when the chunk is acquired. */
bool rue_chunk_cache_prepare(struct rue_chunk_cache *cache, const struct rue_chunk_request *request);
const void *rue_chunk_bytes(const struct rue_chunk *chunk);
void rue_chunk_cache_release(struct rue_chunk_cache *cache, struct rue_chunk *chunk);

#endif
