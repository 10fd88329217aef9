/* Loaders of processes, and a grid, for tests of what predicts. */
#ifndef RUE_TESTS_PIPELINE_FIXTURE_H
#define RUE_TESTS_PIPELINE_FIXTURE_H

#include "pipeline.h"

/* Many CPUs, slow to start. */
static const struct rue_pipeline_loader pipeline_large = {
    .value = {[RUE_PIPELINE_start_s] = 0.3,
              [RUE_PIPELINE_start_worker_s] = 0.06,
              [RUE_PIPELINE_batch_s] = 0.005,
              [RUE_PIPELINE_inline_ratio] = 1,
              [RUE_PIPELINE_beside_ratio] = 1,
              [RUE_PIPELINE_warm_up_ratio] = 0.05,
              [RUE_PIPELINE_item_s] = 0.01,
              [RUE_PIPELINE_contention_ratio] = 0.005,
              [RUE_PIPELINE_storage_s] = 1.0 / 3000,
              [RUE_PIPELINE_stop_worker_s] = 0.015,
              [RUE_PIPELINE_jitter_ratio] = 0.06},
    .cpus = 64,
    .in_turn = true,
};

/* Fewer CPUs than workers. */
static const struct rue_pipeline_loader pipeline_small = {
    .value = {[RUE_PIPELINE_start_s] = 0.1,
              [RUE_PIPELINE_start_worker_s] = 0.04,
              [RUE_PIPELINE_batch_s] = 2e-3,
              [RUE_PIPELINE_inline_ratio] = 1,
              [RUE_PIPELINE_beside_ratio] = 1,
              [RUE_PIPELINE_warm_up_ratio] = 0.05,
              [RUE_PIPELINE_item_s] = 8e-3,
              [RUE_PIPELINE_contention_ratio] = 0.01,
              [RUE_PIPELINE_storage_s] = 2e-4,
              [RUE_PIPELINE_stop_worker_s] = 0.01,
              [RUE_PIPELINE_jitter_ratio] = 0.08},
    .cpus = 12,
    .in_turn = true,
};

/* Every batch size with every number of workers, into `out` [sizes * workers]. */
static inline void pipeline_grid(const int *size, int sizes, const int *worker, int workers,
                                 struct rue_config *out)
{
    for (int c = 0; c < sizes * workers; c++) {
        out[c] = rue_config_default();
        out[c].value[RUE_BATCH_SIZE] = size[c / workers];
        out[c].value[RUE_NUM_WORKERS] = worker[c % workers];
    }
}

#endif
