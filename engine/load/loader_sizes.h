/* What a loader needs for its options, before it allocates anything. */
#ifndef RUE_LOADER_SIZES_H
#define RUE_LOADER_SIZES_H

#include "loader.h"

/* Batches in flight for a job of `images`: min(W * prefetch_factor, max_queue_size, batches), at least 1. */
uint64_t rue_loader_window(const struct rue_loader_options *options, uint64_t images);

/* Slabs for a job of `images`. */
uint64_t rue_loader_slabs(const struct rue_loader_options *options, uint64_t images);

/* RUE_USAGE: an option is out of range. RUE_INFEASIBLE: the slabs and a cache of chunks of `cache_bytes`
 * exceed memory_bytes of the options. */
rue_status rue_loader_check(const struct rue_loader_options *options, uint64_t cache_bytes,
                            rue_error *error) RUE_MUST_CHECK;

#endif
