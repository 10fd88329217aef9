/* Batch strategies, with scripted memory and clock. */
#include "batch_sizer.h"

#include <criterion/criterion.h>
#include <math.h>

enum { LARGEST = 64, MS = 1000000 };

static struct rue_batch_sizer sizer;

static size_t next_at(uint64_t ms, uint64_t free_percent)
{
    const struct rue_batch_facts facts = {1 + ms * MS, free_percent, 100};
    return rue_batch_sizer_next(&sizer, &facts);
}

Test(batch_sizer, fixed_and_round_robin_never_change_the_size)
{
    static const enum rue_batch_strategy strategies[] = {RUE_BATCHES_FIXED, RUE_BATCHES_ROUND_ROBIN};
    for (int s = 0; s < 2; s++) {
        cr_assert_eq(rue_batch_least(strategies[s], LARGEST), LARGEST);
        sizer = rue_batch_sizer_make(strategies[s], LARGEST);
        for (uint64_t i = 0; i < 100; i++) {
            cr_assert_eq(next_at(100 * i, i % 2), LARGEST);
            rue_batch_sizer_observe(&sizer, LARGEST, 100 * i * MS);
        }
    }
}

Test(batch_sizer, memory_shrinks_batches_step_by_step_to_an_eighth)
{
    cr_assert_eq(rue_batch_least(RUE_BATCHES_MEMORY, LARGEST), 8);
    cr_assert_eq(rue_batch_least(RUE_BATCHES_MEMORY, 5), 1);
    sizer = rue_batch_sizer_make(RUE_BATCHES_MEMORY, LARGEST);
    cr_assert_eq(next_at(0, 50), 64);
    cr_assert_eq(next_at(10, 10), 64, "10 % are enough");
    cr_assert_eq(next_at(20, 9), 32);
    cr_assert_eq(next_at(119, 9), 32, "one step in 100 ms");
    cr_assert_eq(next_at(120, 9), 16);
    cr_assert_eq(next_at(220, 0), 8);
    cr_assert_eq(next_at(400, 0), 8, "the minimum");
}

Test(batch_sizer, memory_grows_batches_back_after_a_second_of_calm)
{
    sizer = rue_batch_sizer_make(RUE_BATCHES_MEMORY, 50);
    cr_assert_eq(next_at(0, 1), 25);
    cr_assert_eq(next_at(200, 1), 12);
    cr_assert_eq(next_at(1000, 20), 12);
    cr_assert_eq(next_at(1900, 15), 12, "between both limits nothing changes");
    cr_assert_eq(next_at(2000, 20), 12, "and calm begins again");
    cr_assert_eq(next_at(2999, 30), 12);
    cr_assert_eq(next_at(3000, 30), 24);
    cr_assert_eq(next_at(3999, 30), 24);
    cr_assert_eq(next_at(4000, 30), 48);
    cr_assert_eq(next_at(5000, 30), 50, "the largest");
    cr_assert_eq(next_at(9000, 30), 50);
    cr_assert_eq(next_at(9100, 5), 25);
}

Test(batch_sizer, unknown_memory_changes_nothing)
{
    const struct rue_batch_facts unknown = {.now_ns = 1};
    sizer = rue_batch_sizer_make(RUE_BATCHES_MEMORY, LARGEST);
    for (int i = 0; i < 9; i++) cr_assert_eq(rue_batch_sizer_next(&sizer, &unknown), LARGEST);
}

/* A loader whose batches of k images take batch_ms(k), with `window` batches in flight. Returns the share of
 * the last `tail` batches that have `size` images. */
struct machine {
    double (*batch_ms)(size_t images, double now_ms);
    int window;
    double now_ms;
    size_t sizes[4096];
    int begun, delivered;
};

static void run_machine(struct machine *machine, int batches)
{
    const struct rue_batch_facts facts = {0};
    sizer = rue_batch_sizer_make(RUE_BATCHES_ADAPTIVE, LARGEST);
    while (machine->delivered < batches) {
        while (machine->begun < machine->delivered + machine->window)
            machine->sizes[machine->begun++] = rue_batch_sizer_next(&sizer, &facts);
        size_t images = machine->sizes[machine->delivered++];
        machine->now_ms += machine->batch_ms(images, machine->now_ms);
        rue_batch_sizer_observe(&sizer, images, (uint64_t)(machine->now_ms * MS));
    }
}

static double share_of(const struct machine *machine, size_t size, int from, int to)
{
    int found = 0;
    for (int i = from; i < to; i++) found += machine->sizes[i] == size;
    return (double)found / (to - from);
}

static double best_at_16(size_t images, double now_ms)
{
    (void)now_ms;
    double distance = log2((double)images / 16);
    return (double)images * (1 + 0.2 * distance * distance);
}

static double equal_rates(size_t images, double now_ms)
{
    return (double)images * (1 + 0.02 * sin(now_ms)); /* noise */
}

static double better_when_large(size_t images, double now_ms)
{
    (void)now_ms;
    return 50 + (double)images;
}

/* Large batches are best at first, small ones later. */
static double changing(size_t images, double now_ms)
{
    return now_ms < 20000 ? better_when_large(images, now_ms) : (double)images * (double)images / 8;
}

Test(batch_sizer, adaptive_climbs_to_the_best_size)
{
    for (int window = 1; window <= 16; window *= 4) {
        struct machine machine = {.batch_ms = best_at_16, .window = window};
        run_machine(&machine, 4000);
        cr_assert_eq(machine.sizes[0], LARGEST, "it begins with batch_size");
        cr_assert_gt(share_of(&machine, 16, 400, 4000), 0.8, "window %d: %g", window,
                     share_of(&machine, 16, 400, 4000));
        for (int i = 0; i < 4000; i++) cr_assert(machine.sizes[i] >= 8 && machine.sizes[i] <= LARGEST);
    }
}

Test(batch_sizer, adaptive_keeps_a_size_that_no_other_beats)
{
    double (*const machines[])(size_t, double) = {better_when_large, equal_rates};
    for (int m = 0; m < 2; m++) {
        struct machine machine = {.batch_ms = machines[m], .window = 4};
        run_machine(&machine, 4000);
        cr_assert_gt(share_of(&machine, LARGEST, 0, 4000), 0.85, "%d: %g", m,
                     share_of(&machine, LARGEST, 0, 4000));
    }
}

Test(batch_sizer, adaptive_follows_a_machine_that_changes)
{
    struct machine machine = {.batch_ms = changing, .window = 4};
    run_machine(&machine, 4000);
    cr_assert_gt(share_of(&machine, LARGEST, 0, 100), 0.6);
    cr_assert_gt(share_of(&machine, 8, 3000, 4000), 0.8, "%g", share_of(&machine, 8, 3000, 4000));
}

Test(batch_sizer, a_batch_of_one_image_cannot_change)
{
    const struct rue_batch_facts facts = {0};
    sizer = rue_batch_sizer_make(RUE_BATCHES_ADAPTIVE, 1);
    for (uint64_t i = 1; i < 1000; i++) {
        cr_assert_eq(rue_batch_sizer_next(&sizer, &facts), 1);
        rue_batch_sizer_observe(&sizer, 1, i * 50 * MS);
    }
}
