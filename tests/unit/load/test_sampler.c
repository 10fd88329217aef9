#include "sampler.h"
#include "trial_options.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trial.h"

static struct rue_sampler shuffled(uint64_t items, uint64_t seed, uint64_t epoch)
{
    return (struct rue_sampler){
        .items = items, .seed = seed, .epoch = epoch, .shuffle = true, .world_size = 1};
}

/* Whether `count` positions from `first` on give each of `count` items once. */
static bool is_permutation(const struct rue_sampler *sampler, uint64_t first, uint64_t count)
{
    bool seen[1000] = {false};
    for (uint64_t i = 0; i < count; i++) {
        uint64_t item = rue_sampler_item(sampler, first + i);
        if (item >= count || seen[item]) return false;
        seen[item] = true;
    }
    return true;
}

static bool same_order(const struct rue_sampler *a, const struct rue_sampler *b, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        if (rue_sampler_item(a, i) != rue_sampler_item(b, i)) return false;
    return true;
}

Test(sampler, every_epoch_is_a_permutation_at_every_size_up_to_1000)
{
    for (uint64_t items = 1; items <= 1000; items++) {
        struct rue_sampler sampler = shuffled(items, items * 7, 0);
        cr_assert(is_permutation(&sampler, 0, items), "%d items, epoch 0", (int)items);
        cr_assert(is_permutation(&sampler, 3 * items, items), "%d items, epoch 3", (int)items);
    }
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

Test(sampler, large_sets_stay_in_range_without_repeats)
{
    enum { WINDOW = 20000 };
    static uint64_t items[WINDOW];
    static const uint64_t sizes[] = {65535,
                                     65536,
                                     65537,
                                     1281167,
                                     UINT64_C(1) << 32,
                                     (UINT64_C(1) << 32) + 1,
                                     UINT64_C(1000000000000),
                                     (UINT64_C(1) << 40) - 1,
                                     UINT64_C(1) << 40,
                                     (UINT64_C(1) << 40) + 1};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct rue_sampler sampler = shuffled(sizes[s], s, 2);
        uint64_t first = (sizes[s] - WINDOW) / 2;
        for (uint64_t i = 0; i < WINDOW; i++) {
            items[i] = rue_sampler_item(&sampler, first + i);
            cr_assert_lt(items[i], sizes[s], "size %zu, position %d", s, (int)i);
        }
        qsort(items, WINDOW, sizeof *items, by_value);
        for (int i = 1; i < WINDOW; i++) cr_assert_neq(items[i], items[i - 1], "size %zu", s);
    }
}

Test(sampler, the_order_is_that_of_the_seed_and_the_epoch)
{
    struct rue_sampler a = shuffled(500, 1, 0), same = shuffled(500, 1, 0), seed = shuffled(500, 2, 0),
                       epoch = shuffled(500, 1, 1);
    cr_assert(same_order(&a, &same, 1500));
    cr_assert_not(same_order(&a, &seed, 500), "another seed");
    cr_assert_not(same_order(&a, &epoch, 500), "another epoch");
    cr_assert_not(same_order(&seed, &epoch, 500), "a seed more is not an epoch more");
}

Test(sampler, positions_past_the_end_are_the_next_epoch)
{
    for (uint64_t items = 1; items <= 300; items += 37) {
        struct rue_sampler now = shuffled(items, 9, 4), next = shuffled(items, 9, 5);
        for (uint64_t i = 0; i < items; i++)
            cr_assert_eq(rue_sampler_item(&now, items + i), rue_sampler_item(&next, i), "position %d",
                         (int)i);
    }
}

Test(sampler, the_order_without_shuffle_is_that_of_the_data)
{
    struct rue_sampler sampler = {.items = 7, .seed = 3, .epoch = 2, .world_size = 1};
    for (uint64_t i = 0; i < 30; i++) cr_assert_eq(rue_sampler_item(&sampler, i), i % 7);
}

/* Chi-square of `counts` against equal chances, in standard deviations from its mean. */
static double excess(const int *counts, int cells, double expected)
{
    double chi = 0;
    for (int i = 0; i < cells; i++) chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    return (chi - (cells - 1)) / sqrt(2.0 * (cells - 1));
}

Test(sampler, items_are_equally_likely_at_every_position)
{
    enum { ITEMS = 20, SEEDS = 4000 };
    static int counts[ITEMS][ITEMS];
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct rue_sampler sampler = shuffled(ITEMS, seed, 0);
        for (uint64_t i = 0; i < ITEMS; i++) counts[i][rue_sampler_item(&sampler, i)]++;
    }
    for (int i = 0; i < ITEMS; i++) {
        double far = excess(counts[i], ITEMS, (double)SEEDS / ITEMS);
        cr_assert_lt(far, 8, "position %d is %.1f standard deviations off", i, far);
    }
}

Test(sampler, neighbours_do_not_stay_neighbours)
{
    enum { ITEMS = 1000 };
    int close = 0, fixed = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct rue_sampler sampler = shuffled(ITEMS, seed, 0);
        for (uint64_t i = 0; i + 1 < ITEMS; i++) {
            int64_t step =
                (int64_t)rue_sampler_item(&sampler, i + 1) - (int64_t)rue_sampler_item(&sampler, i);
            close += step == 1 || step == -1;
            fixed += rue_sampler_item(&sampler, i) == i;
        }
    }
    cr_assert_lt(close, 120, "%d neighbours of about 40 that chance leaves", close);
    cr_assert_lt(fixed, 80, "%d fixed points of about 20 that chance leaves", fixed);
}

Test(sampler, the_order_of_a_workload_is_as_requested)
{
    struct rue_workload workload = rue_workload_default();
    workload.seed = 5, workload.epoch = 6, workload.rank = 1, workload.world_size = 3;
    struct rue_sampler sampler = rue_workload_sampler(&workload);
    cr_assert(sampler.items == 1);
    cr_assert(sampler.seed == 5 && sampler.epoch == 6 && sampler.shuffle);
    cr_assert(sampler.rank == 1 && sampler.world_size == 3);
}

/* Each item once, and the items of a block follow each other. */
static void check_blocks(struct rue_sampler sampler, uint64_t seed)
{
    uint8_t *seen = calloc(sampler.items, 1);
    uint64_t changes = 0, last = UINT64_MAX;
    sampler.seed = seed;
    for (uint64_t i = 0; i < sampler.items; i++) {
        uint64_t item = rue_sampler_item(&sampler, i);
        cr_assert(item < sampler.items && !seen[item]++, "item %d", (int)item);
        changes += item / sampler.block != last;
        last = item / sampler.block;
    }
    cr_assert_eq(changes, (sampler.items + sampler.block - 1) / sampler.block);
    free(seen);
}

Test(sampler, blocks_are_shuffled_and_the_items_within_them)
{
    for (uint64_t seed = 0; seed < 40; seed++)
        for (uint64_t items = 1; items < 60; items += 1 + seed % 3)
            for (uint64_t block = 2; block < 20; block += 3)
                check_blocks(
                    (struct rue_sampler){.items = items, .world_size = 1, .shuffle = true, .block = block},
                    seed);
    struct rue_sampler sampler = {.items = 1000, .seed = 1, .world_size = 1, .shuffle = true, .block = 10};
    unsigned in_place = 0, first[100] = {0};
    for (uint64_t i = 0; i < 1000; i++) in_place += rue_sampler_item(&sampler, i) == i;
    cr_assert(in_place < 30);
    for (uint64_t epoch = 0; epoch < 400; epoch++) first[rue_sampler_item(&sampler, epoch * 1000) / 10]++;
    for (int b = 0; b < 100; b++)
        cr_assert(first[b] < 20, "block %d is first in %u of 400 epochs", b, first[b]);
}
