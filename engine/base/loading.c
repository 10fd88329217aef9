#include "loading.h"

#include <stddef.h>

const char *const rue_parallelism_names[RUE_PARALLEL_COUNT + 1] = {"batch", "sample", NULL};
const char *const rue_read_names[RUE_READ_COUNT + 1] = {"auto", "batch", "item", NULL};
const char *const rue_batch_strategy_names[RUE_BATCHES_COUNT + 1] = {"fixed", "round-robin", "memory",
                                                                     "adaptive", NULL};
const char *const rue_bad_images_names[RUE_BAD_COUNT + 1] = {"fail", "replace", NULL};
const char *const rue_missing_chunks_names[RUE_MISSING_COUNT + 1] = {"fill", "error", NULL};
const char *const rue_share_names[RUE_SHARE_COUNT + 1] = {"strided", "contiguous", "shards", NULL};
const char *const rue_orientation_names[RUE_ORIENTATION_COUNT + 1] = {"ignore", "apply", NULL};
const char *const rue_decode_names[RUE_DECODE_COUNT + 1] = {"exact", "fast", NULL};
