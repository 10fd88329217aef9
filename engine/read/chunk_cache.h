/* A bounded cache of decoded chunks. Threads that need the same chunk at the same time load it once: the
 * first one loads, the others wait. Thread-safe. */
#ifndef RUE_CHUNK_CACHE_H
#define RUE_CHUNK_CACHE_H

#include <stdint.h>

#include "error.h"

struct rue_chunk_cache;
struct rue_chunk;

/* Fills `into` [bytes] with the chunk of `key`. */
typedef rue_status rue_chunk_load(const void *context, uint64_t key, void *into, uint64_t bytes,
                                  rue_error *error);

/* Keeps up to `capacity_bytes` of chunks that no thread uses. RUE_MEMORY. */
rue_status rue_chunk_cache_open(uint64_t capacity_bytes, struct rue_chunk_cache **out,
                                rue_error *error) RUE_MUST_CHECK;
void rue_chunk_cache_close(struct rue_chunk_cache *cache);

/* Returns the chunk of `key` [bytes], loaded with `load` if it is not in the cache. Its bytes stay valid
 * until it is released. Waits for a thread that loads the same chunk. Errors of `load`; RUE_MEMORY. */
rue_status rue_chunk_cache_acquire(struct rue_chunk_cache *cache, uint64_t key, uint64_t bytes,
                                   rue_chunk_load *load, const void *context, struct rue_chunk **out,
                                   rue_error *error) RUE_MUST_CHECK;
const void *rue_chunk_bytes(const struct rue_chunk *chunk);
void rue_chunk_cache_release(struct rue_chunk_cache *cache, struct rue_chunk *chunk);

#endif
