#include "chunk_cache.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "random.h"

enum { BUCKETS = 4096, MAPPED_BYTES = 1 << 20 };

enum state { LOADING, READY, FAILED };

struct rue_chunk {
    uint64_t key, bytes;
    uint64_t uses; /* that are still expected */
    void *data;
    enum state state;
    rue_error why;                   /* if failed */
    unsigned users;                  /* threads that load it, wait for it or use it */
    struct rue_chunk *next;          /* in the bucket */
    struct rue_chunk *older, *newer; /* among the chunks that no thread uses */
};

struct rue_chunk_cache {
    pthread_mutex_t lock; /* guards all members below */
    pthread_cond_t loaded;
    uint64_t capacity_bytes, bytes; /* of all chunks */
    struct rue_chunk *oldest, *newest;
    struct rue_chunk *buckets[BUCKETS];
};

rue_status rue_chunk_cache_open(uint64_t capacity_bytes, struct rue_chunk_cache **out, rue_error *error)
{
    struct rue_chunk_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return rue_fail_memory(error, "a cache of chunks", sizeof *cache);
    pthread_mutex_init(&cache->lock, NULL);
    pthread_cond_init(&cache->loaded, NULL);
    cache->capacity_bytes = capacity_bytes;
    *out = cache;
    return RUE_OK;
}

static struct rue_chunk **find_place(struct rue_chunk_cache *cache, uint64_t key)
{
    struct rue_chunk **place = &cache->buckets[rue_mix64(key) % BUCKETS];
    while (*place && (*place)->key != key) place = &(*place)->next;
    return place;
}

static void unlink_unused(struct rue_chunk_cache *cache, struct rue_chunk *chunk)
{
    *(chunk->older ? &chunk->older->newer : &cache->oldest) = chunk->newer;
    *(chunk->newer ? &chunk->newer->older : &cache->newest) = chunk->older;
    chunk->older = chunk->newer = NULL;
}

/* A chunk without expected uses becomes the oldest. */
static void link_unused(struct rue_chunk_cache *cache, struct rue_chunk *chunk)
{
    if (chunk->uses == 0) {
        chunk->newer = cache->oldest;
        *(cache->oldest ? &cache->oldest->older : &cache->newest) = chunk;
        cache->oldest = chunk;
        return;
    }
    chunk->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = chunk;
    cache->newest = chunk;
}

/* Large chunks are populated at once, and their memory is returned to the system. */
static void *allocate_bytes(uint64_t bytes)
{
    if (bytes < MAPPED_BYTES) return malloc(bytes);
    void *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return data == MAP_FAILED ? NULL : data;
}

static void free_chunk(struct rue_chunk *chunk)
{
    if (chunk->bytes < MAPPED_BYTES)
        free(chunk->data);
    else if (chunk->data)
        munmap(chunk->data, chunk->bytes);
    free(chunk);
}

/* Needs the lock. */
static void remove_oldest(struct rue_chunk_cache *cache)
{
    struct rue_chunk *chunk = cache->oldest;
    unlink_unused(cache, chunk);
    *find_place(cache, chunk->key) = chunk->next;
    cache->bytes -= chunk->bytes;
    free_chunk(chunk);
}

/* Removes a chunk without expected uses, and the oldest unused chunks until `needed` more bytes fit. Returns
 * the memory of one that has this size, for reuse; NULL: none. Needs the lock. */
static void *make_room(struct rue_chunk_cache *cache, uint64_t needed)
{
    void *memory = NULL;
    while (cache->oldest &&
           (cache->bytes + needed > cache->capacity_bytes || (!memory && cache->oldest->uses == 0))) {
        if (!memory && cache->oldest->bytes == needed) {
            memory = cache->oldest->data;
            cache->oldest->data = NULL;
        }
        remove_oldest(cache);
    }
    return memory;
}

/* Needs the lock. A failed chunk leaves the cache with its last user, so that the next one tries again. */
static void release(struct rue_chunk_cache *cache, struct rue_chunk *chunk)
{
    if (chunk->uses > 0) chunk->uses--;
    if (--chunk->users > 0) return;
    if (chunk->state == READY) {
        link_unused(cache, chunk);
        return;
    }
    *find_place(cache, chunk->key) = chunk->next;
    cache->bytes -= chunk->bytes;
    free_chunk(chunk);
}

/* Needs the lock, which is open while the chunk is loaded. */
static rue_status add_chunk(struct rue_chunk_cache *cache, const struct rue_chunk_request *request,
                            struct rue_chunk **out, rue_error *error)
{
    uint64_t bytes = request->bytes;
    struct rue_chunk *chunk = calloc(1, sizeof *chunk);
    if (!chunk) return rue_fail_memory(error, "a chunk", sizeof *chunk);
    *chunk = (struct rue_chunk){.key = request->key,
                                .bytes = bytes,
                                .uses = request->uses,
                                .data = make_room(cache, bytes),
                                .users = 1};
    *find_place(cache, request->key) = chunk;
    cache->bytes += bytes;
    pthread_mutex_unlock(&cache->lock);
    if (!chunk->data) chunk->data = allocate_bytes(bytes);
    rue_error why = {0};
    rue_status status = chunk->data ? request->load(request->context, request->key, chunk->data, bytes, &why)
                                    : rue_fail_memory(&why, "a chunk", bytes);
    pthread_mutex_lock(&cache->lock);
    chunk->why = why;
    chunk->state = status == RUE_OK ? READY : FAILED;
    pthread_cond_broadcast(&cache->loaded);
    *out = chunk;
    return RUE_OK;
}

rue_status rue_chunk_cache_acquire(struct rue_chunk_cache *cache, const struct rue_chunk_request *request,
                                   struct rue_chunk **out, rue_error *error)
{
    rue_status status = RUE_OK;
    pthread_mutex_lock(&cache->lock);
    struct rue_chunk *chunk = *find_place(cache, request->key);
    if (!chunk) {
        status = add_chunk(cache, request, &chunk, error);
    } else {
        if (chunk->users++ == 0) unlink_unused(cache, chunk);
        if (chunk->uses == 0) chunk->uses = request->uses; /* in another epoch */
        while (chunk->state == LOADING) pthread_cond_wait(&cache->loaded, &cache->lock);
    }
    if (status == RUE_OK && chunk->state == FAILED) {
        status = rue_fail(error, chunk->why.status, "%s", chunk->why.message);
        release(cache, chunk);
    }
    pthread_mutex_unlock(&cache->lock);
    *out = chunk;
    return status;
}

bool rue_chunk_cache_prepare(struct rue_chunk_cache *cache, const struct rue_chunk_request *request)
{
    struct rue_chunk_request later = *request;
    pthread_mutex_lock(&cache->lock);
    struct rue_chunk *chunk = *find_place(cache, request->key);
    bool busy = chunk && chunk->state == LOADING;
    later.uses++; /* this one does not count */
    if (!chunk && add_chunk(cache, &later, &chunk, NULL) == RUE_OK) release(cache, chunk);
    pthread_mutex_unlock(&cache->lock);
    return busy;
}

const void *rue_chunk_bytes(const struct rue_chunk *chunk)
{
    return chunk->data;
}

void rue_chunk_cache_release(struct rue_chunk_cache *cache, struct rue_chunk *chunk)
{
    pthread_mutex_lock(&cache->lock);
    release(cache, chunk);
    pthread_mutex_unlock(&cache->lock);
}

void rue_chunk_cache_trim(struct rue_chunk_cache *cache)
{
    pthread_mutex_lock(&cache->lock);
    while (cache->oldest) remove_oldest(cache);
    pthread_mutex_unlock(&cache->lock);
}

void rue_chunk_cache_close(struct rue_chunk_cache *cache)
{
    if (!cache) return;
    rue_chunk_cache_trim(cache);
    pthread_cond_destroy(&cache->loaded);
    pthread_mutex_destroy(&cache->lock);
    free(cache);
}
