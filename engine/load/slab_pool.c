#include "slab_pool.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static void *map_slab(void *context, size_t bytes)
{
    (void)context;
    /* Populated now, so that loading causes no page faults. */
    void *slab = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    return slab == MAP_FAILED ? NULL : slab;
}

static void unmap_slab(void *context, void *slab, size_t bytes)
{
    (void)context;
    munmap(slab, bytes);
}

static void trim_slab(void *context, void *slab, size_t used, size_t bytes)
{
    (void)context;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), kept = (used + page - 1) / page * page;
    if (kept < bytes) madvise((char *)slab + kept, bytes - kept, MADV_DONTNEED);
}

const struct rue_slab_allocator rue_slab_allocator_default = {
    .allocate = map_slab, .release = unmap_slab, .trim = trim_slab};

rue_status rue_slab_pool_open(struct rue_slab_pool *pool, const struct rue_slab_allocator *allocator,
                              size_t count, size_t batch_size, size_t slab_bytes, rue_error *error)
{
    pool->allocator = allocator;
    pool->slab_bytes = slab_bytes;
    pool->slabs = calloc(count, sizeof *pool->slabs);
    pool->free = calloc(count, sizeof *pool->free);
    if (!pool->slabs || !pool->free) return rue_fail_memory(error, "slabs", count * sizeof *pool->slabs);
    for (; pool->count < count; pool->count++) {
        struct rue_batch *slab = &pool->slabs[pool->count];
        slab->labels = calloc(batch_size, sizeof *slab->labels);
        slab->images = slab->labels ? allocator->allocate(allocator->context, slab_bytes) : NULL;
        if (!slab->images) {
            free(slab->labels);
            return rue_fail(error, RUE_INFEASIBLE,
                            "could allocate only %zu of %zu batch buffers of %zu bytes%s%s", pool->count,
                            count, slab_bytes, allocator->memory_kind ? " of " : "",
                            allocator->memory_kind ? allocator->memory_kind : "");
        }
        pool->free[pool->free_count++] = slab;
    }
    return RUE_OK;
}

void rue_slab_pool_close(struct rue_slab_pool *pool)
{
    for (size_t i = 0; i < pool->count; i++) {
        pool->allocator->release(pool->allocator->context, pool->slabs[i].images, pool->slab_bytes);
        free(pool->slabs[i].labels);
    }
    free(pool->free);
    free(pool->slabs);
}

struct rue_batch *rue_slab_pool_acquire(struct rue_slab_pool *pool)
{
    assert(pool->free_count > 0);
    return pool->free[--pool->free_count];
}

void rue_slab_pool_release(struct rue_slab_pool *pool, struct rue_batch *slab)
{
    assert(pool->free_count < pool->count);
    pool->free[pool->free_count++] = slab;
}

void rue_slab_pool_trim(struct rue_slab_pool *pool, struct rue_batch *slab, size_t used)
{
    const struct rue_slab_allocator *allocator = pool->allocator;
    if (allocator->trim) allocator->trim(allocator->context, slab->images, used, pool->slab_bytes);
}
