#include <criterion/criterion.h>

#include "space.h"

static struct rue_space make_space(const int *batches, int batch_count, const int *workers, int worker_count)
{
    struct rue_space space = rue_space_default(&rue_own_knobs);
    space.count[RUE_BATCH_SIZE] = space.count[RUE_NUM_WORKERS] = 0;
    for (int i = 0; i < batch_count; i++) rue_space_add(&space, RUE_BATCH_SIZE, batches[i]);
    for (int i = 0; i < worker_count; i++) rue_space_add(&space, RUE_NUM_WORKERS, workers[i]);
    return space;
}

Test(space, the_default_is_one_configuration)
{
    struct rue_space space = rue_space_default(&rue_own_knobs);
    struct rue_config config = rue_space_at(&space, 0), expected = rue_config_default();
    cr_assert_eq(rue_space_size(&space), 1);
    cr_assert(rue_config_equal(&config, &expected));
}

Test(space, values_stay_ascending_and_distinct)
{
    struct rue_space space = make_space((int[]){128, 32, 64, 32, 16}, 5, (int[]){0}, 1);
    static const int expected[] = {16, 32, 64, 128};
    cr_assert_eq(space.count[RUE_BATCH_SIZE], 4);
    for (int i = 0; i < 4; i++) cr_assert_eq(space.values[RUE_BATCH_SIZE][i], expected[i]);
    cr_assert_not(rue_space_add(&space, RUE_BATCH_SIZE, 64), "there already");
    cr_assert(rue_space_has_value(&space, RUE_BATCH_SIZE, 64) &&
              !rue_space_has_value(&space, RUE_BATCH_SIZE, 63));
    cr_assert_eq(rue_space_nearest(&space, RUE_BATCH_SIZE, 63), 64);
}

Test(space, values_beyond_the_capacity_are_refused)
{
    struct rue_space space = rue_space_default(&rue_own_knobs);
    space.count[RUE_BATCH_SIZE] = 0;
    for (int i = 0; i < RUE_SPACE_VALUES_MAX; i++)
        cr_assert(rue_space_add(&space, RUE_BATCH_SIZE, RUE_SPACE_VALUES_MAX - i));
    cr_assert_not(rue_space_add(&space, RUE_BATCH_SIZE, 1000));
    cr_assert_eq(space.count[RUE_BATCH_SIZE], RUE_SPACE_VALUES_MAX);
    cr_assert_eq(space.values[RUE_BATCH_SIZE][0], 1);
    cr_assert_eq(space.values[RUE_BATCH_SIZE][RUE_SPACE_VALUES_MAX - 1], RUE_SPACE_VALUES_MAX);
}

Test(space, grid_order_is_batch_size_then_workers_then_the_rest)
{
    struct rue_space space = make_space((int[]){32, 64}, 2, (int[]){1, 2, 4}, 3);
    rue_space_add(&space, RUE_PREFETCH_FACTOR, 4);
    cr_assert_eq(rue_space_size(&space), 12);
    size_t at = 0;
    static const int batches[] = {32, 64}, workers[] = {1, 2, 4}, prefetches[] = {2, 4};
    for (int b = 0; b < 2; b++)
        for (int w = 0; w < 3; w++)
            for (int p = 0; p < 2; p++) {
                struct rue_config config = rue_space_at(&space, at++);
                cr_assert_eq(config.value[RUE_BATCH_SIZE], batches[b]);
                cr_assert_eq(config.value[RUE_NUM_WORKERS], workers[w]);
                cr_assert_eq(config.value[RUE_PREFETCH_FACTOR], prefetches[p]);
                cr_assert_eq(config.value[RUE_PARALLELISM], RUE_PARALLEL_BATCH);
            }
}
