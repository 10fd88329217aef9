#include "slab_pool.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE_PAGE_BYTES = 2 << 20 };

/* The pages are populated when a worker first writes to them; large slabs have huge pages, which start at
 * their own alignment, where the system has them. */
static void *map_slab(void *context, size_t bytes)
{
    (void)context;
    size_t spare = bytes < HUGE_PAGE_BYTES ? 0 : HUGE_PAGE_BYTES, page = (size_t)sysconf(_SC_PAGESIZE);
    size_t whole = (bytes + page - 1) / page * page;
    char *map = mmap(NULL, whole + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) return NULL;
    if (!spare) return map;
    size_t before = (size_t)(-(uintptr_t)map % HUGE_PAGE_BYTES);
    if (before) munmap(map, before);
    if (before < spare) munmap(map + before + whole, spare - before);
    madvise(map + before, whole, MADV_HUGEPAGE);
    return map + before;
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

/* The items and labels of a slab are one allocation. */
static bool allocate_slab(const struct rue_slab_pool *pool, size_t batch_size, struct rue_batch *slab)
{
    slab->items = calloc(batch_size, sizeof *slab->items + sizeof *slab->labels);
    if (!slab->items) return false;
    slab->labels = (int32_t *)(slab->items + batch_size);
    slab->images = pool->allocator->allocate(pool->allocator->context, pool->slab_bytes);
    if (!slab->images) free(slab->items);
    return slab->images;
}

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
        if (!allocate_slab(pool, batch_size, slab))
            return rue_fail(
                error, RUE_INFEASIBLE,
                "could allocate only %zu of %zu batch buffers of %zu bytes%s%s; use smaller batches",
                pool->count, count, slab_bytes, allocator->memory_kind ? " of " : "",
                allocator->memory_kind ? allocator->memory_kind : "");
        pool->free[pool->free_count++] = slab;
    }
    return RUE_OK;
}

bool rue_slab_pool_close(struct rue_slab_pool *pool)
{
    for (; pool->free_count > 0; pool->count--) {
        struct rue_batch *slab = rue_slab_pool_acquire(pool);
        pool->allocator->release(pool->allocator->context, slab->images, pool->slab_bytes);
        free(slab->items);
    }
    if (pool->count > 0) return false;
    free(pool->free);
    free(pool->slabs);
    return true;
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
