#include "model_sleep.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "clock.h"

enum { COST_NS = 3000000 };

static struct rue_model model;

static void setup(void)
{
    struct rue_profile profile = {.per_batch_ns = COST_NS, .per_image_ns = 1000};
    cr_assert_eq(rue_model_sleep_open(&profile, &model, NULL), RUE_OK);
}

static void teardown(void)
{
    rue_model_close(&model);
}

TestSuite(model_sleep, .init = setup, .fini = teardown);

static uint64_t submit(size_t images)
{
    uint64_t ticket;
    struct rue_batch batch = {.count = images};
    cr_assert_eq(model.ops->submit(model.state, &batch, &ticket, NULL), RUE_OK);
    return ticket;
}

static void wait_for(uint64_t ticket)
{
    cr_assert_eq(model.ops->wait(model.state, ticket, NULL), RUE_OK);
    cr_assert_geq(rue_clock_now_ns(), ticket, "it woke before the work was done");
}

Test(model_sleep, batches_follow_each_other_on_the_device)
{
    uint64_t before = rue_clock_now_ns(), end = submit(10), after = rue_clock_now_ns();
    cr_assert(end >= before + COST_NS + 10000 && end <= after + COST_NS + 10000,
              "the first begins when it is submitted");
    for (size_t images = 1; images < 6; images++) {
        uint64_t next = submit(images);
        cr_assert_eq(next, end + COST_NS + images * 1000, "%zu images wait for the batch before", images);
        end = next;
    }
    wait_for(end);
}

Test(model_sleep, waits_are_allowed_in_any_order)
{
    uint64_t first = submit(1), second = submit(1), third = submit(1);
    wait_for(third);
    wait_for(first);
    wait_for(second);
}

Test(model_sleep, an_idle_device_begins_at_once)
{
    wait_for(submit(1));
    rue_clock_sleep_until(rue_clock_now_ns() + 1000000);
    uint64_t before = rue_clock_now_ns(), end = submit(2);
    cr_assert_geq(end, before + COST_NS + 2000, "idle time is not made up for");
}

Test(model_sleep, lateness_is_reported_and_never_shrinks)
{
    cr_assert_eq(model.ops->overshoot_ns(model.state), 0);
    uint64_t last = 0, lateness = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t ticket = submit(1);
        wait_for(ticket);
        lateness += rue_clock_now_ns() - ticket;
        uint64_t reported = model.ops->overshoot_ns(model.state);
        cr_assert(reported >= last && reported <= lateness, "%d: reported %d ns", i, (int)reported);
        last = reported;
    }
}

Test(model_sleep, time_that_already_passed_is_not_overshoot)
{
    uint64_t ticket = submit(1);
    rue_clock_sleep_until(ticket + 2000000);
    wait_for(ticket);
    cr_assert_eq(model.ops->overshoot_ns(model.state), 0);
}

Test(model_sleep, the_profile_is_copied)
{
    struct rue_profile profile = {.per_batch_ns = 1000};
    struct rue_model other;
    struct rue_batch batch = {.count = 1};
    uint64_t first, second;
    cr_assert_eq(rue_model_sleep_open(&profile, &other, NULL), RUE_OK);
    profile.per_batch_ns = 1e15;
    cr_assert_eq(other.ops->submit(other.state, &batch, &first, NULL), RUE_OK);
    cr_assert_leq(first, rue_clock_now_ns() + 1000);
    cr_assert_eq(other.ops->submit(other.state, &batch, &second, NULL), RUE_OK);
    cr_assert_eq(other.ops->wait(other.state, second, NULL), RUE_OK);
    rue_model_close(&other);
}

Test(model_sleep, a_batch_beyond_the_device_s_memory_is_infeasible)
{
    struct rue_profile profile = {
        .name = "ape@bee", .device = "a bee", .largest_batch = 64, .per_image_ns = 1};
    struct rue_model small;
    struct rue_batch batch = {.count = 65};
    rue_error error = {0};
    uint64_t ticket;
    cr_assert_eq(rue_model_sleep_open(&profile, &small, NULL), RUE_OK);
    cr_expect_eq(small.ops->submit(small.state, &batch, &ticket, &error), RUE_INFEASIBLE);
    cr_expect(strstr(error.message, "65") && strstr(error.message, "memory of a bee, which holds at most 64"),
              "%s", error.message);
    batch.count = 64;
    cr_expect_eq(small.ops->submit(small.state, &batch, &ticket, NULL), RUE_OK);
    rue_model_close(&small);
}

Test(model_sleep, the_limit_of_a_device_without_a_name_is_checked)
{
    const struct rue_profile profile = {.name = "ape", .per_batch_ns = 1, .largest_batch = 2};
    struct rue_model small;
    struct rue_batch batch = {.count = 3};
    uint64_t end;
    rue_error error = {0};
    cr_assert_eq(rue_model_sleep_open(&profile, &small, NULL), RUE_OK);
    cr_assert_eq(small.ops->submit(small.state, &batch, &end, &error), RUE_INFEASIBLE);
    cr_assert(strstr(error.message, "memory of its device, which holds at most 2 of ape"), "%s",
              error.message);
    rue_model_close(&small);
}

/* It takes longer to wake than such a wait lasts. */
Test(model_sleep, who_waits_for_a_few_microseconds_stays_awake)
{
    struct rusage before, after;
    cr_assert_eq(getrusage(RUSAGE_THREAD, &before), 0);
    for (int i = 0; i < 20; i++) rue_clock_wait_until(rue_clock_now_ns() + 50000);
    cr_assert_eq(getrusage(RUSAGE_THREAD, &after), 0);
    cr_assert_eq(after.ru_nvcsw, before.ru_nvcsw);
}
