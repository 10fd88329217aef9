/* The batch buffers of a loader: allocated once, borrowed and returned. The caller locks. */
#ifndef RUE_SLAB_POOL_H
#define RUE_SLAB_POOL_H

#include <stdbool.h>

#include "loader.h"

struct rue_slab_pool {
    const struct rue_slab_allocator *allocator;
    size_t slab_bytes;
    struct rue_batch *slabs; /* [count] */
    size_t count;            /* not freed yet */
    struct rue_batch **free; /* stack of free_count */
    size_t free_count;
};

/* Fills an empty pool with `count` slabs of `batch_size` images; close it also after a failure.
 * RUE_INFEASIBLE: the allocator refused a slab. RUE_MEMORY. */
rue_status rue_slab_pool_open(struct rue_slab_pool *pool, const struct rue_slab_allocator *allocator,
                              size_t count, size_t batch_size, size_t slab_bytes,
                              rue_error *error) RUE_MUST_CHECK;

/* Frees the slabs that are not borrowed; false: some are. Call it again when one of them was released. */
bool rue_slab_pool_close(struct rue_slab_pool *pool);

/* A free slab; there must be one. */
struct rue_batch *rue_slab_pool_acquire(struct rue_slab_pool *pool);

/* Gives the memory of the slab after its first `used` bytes back to the system, if the allocator can. */
void rue_slab_pool_trim(struct rue_slab_pool *pool, struct rue_batch *slab, size_t used);

void rue_slab_pool_release(struct rue_slab_pool *pool, struct rue_batch *slab);

#endif
