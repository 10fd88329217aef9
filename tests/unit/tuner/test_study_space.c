#include <criterion/criterion.h>
#include <string.h>

#include "machine.h"
#include "study.h"
#include "study_space.h"

static struct rue_study_goal goal;
static struct rue_hello hello;
static struct rue_space space;

/* A runner without a space, on a machine with so many CPUs. */
static void runner_with(int cpus)
{
    hello = (struct rue_hello){.runner = "rue 0.1.0", .space = rue_space_default(&rue_own_knobs)};
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++) hello.varies[k] = true;
    snprintf(hello.machine_json, sizeof hello.machine_json, "{\"usable_cpus\":%d}", cpus);
}

static rue_status make(uint64_t job_images, rue_error *error)
{
    return rue_study_space(&goal, &hello, job_images, &space, error);
}

/* The values of a knob must be these. */
static void expect(enum rue_knob knob, int count, const int *values)
{
    cr_assert_eq(space.count[knob], count, "%s has %d values", rue_own_knobs.at[knob]->name,
                 space.count[knob]);
    for (int i = 0; i < count; i++)
        cr_assert_eq(space.values[knob][i], values[i], "%s: value %d is %d", rue_own_knobs.at[knob]->name, i,
                     space.values[knob][i]);
}

#define EXPECT(knob, ...) \
    expect(knob, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]){__VA_ARGS__})

/* In place of what was asked before. */
static void ask(enum rue_knob knob, const char *values, const char *origin)
{
    goal.space.knobs.count = 0;
    rue_knob_choices_add(&goal.space.knobs, rue_own_knobs.at[knob]->name, values, origin);
}

static void accept(enum rue_knob knob, const char *list)
{
    rue_error error = {0};
    runner_with(4);
    goal = (struct rue_study_goal){0};
    ask(knob, list, "");
    cr_assert_eq(make(100000, &error), RUE_OK, "'%s': %s", list, error.message);
}

static void refuse(enum rue_knob knob, const char *list, const char *says)
{
    rue_error error = {0};
    runner_with(4);
    goal = (struct rue_study_goal){0};
    ask(knob, list, "RUE_KNOB");
    cr_assert_eq(make(100000, &error), RUE_USAGE, "'%s' was taken", list);
    cr_assert(strstr(error.message, says) && strncmp(error.message, "RUE_KNOB: ", 10) == 0, "'%s': %s", list,
              error.message);
}

Test(study_space, lists_name_their_values)
{
    accept(RUE_BATCH_SIZE, "32,64,128");
    EXPECT(RUE_BATCH_SIZE, 32, 64, 128);
    accept(RUE_NUM_WORKERS, "7");
    EXPECT(RUE_NUM_WORKERS, 7);
    accept(RUE_PARALLELISM, "sample,batch");
    EXPECT(RUE_PARALLELISM, RUE_PARALLEL_BATCH, RUE_PARALLEL_SAMPLE);
}

Test(study_space, blanks_around_values_are_ignored)
{
    accept(RUE_BATCH_SIZE, " 32, 64\t,128 ");
    EXPECT(RUE_BATCH_SIZE, 32, 64, 128);
    accept(RUE_PARALLELISM, "sample, batch");
    EXPECT(RUE_PARALLELISM, RUE_PARALLEL_BATCH, RUE_PARALLEL_SAMPLE);
    refuse(RUE_BATCH_SIZE, "32, ,64", "a value is missing in '32, ,64'");
    refuse(RUE_BATCH_SIZE, "3 2", "'3 2' is not a list");
    refuse(RUE_BATCH_SIZE, " ", "' ' is not a list");
}

Test(study_space, too_many_values_are_refused)
{
    accept(RUE_BATCH_SIZE, "1..64,64,1..3");
    refuse(RUE_BATCH_SIZE, "1..64,65", "more than 64 values");
    refuse(RUE_BATCH_SIZE, "1..64,65..128", "more than 64 values");
    refuse(RUE_BATCH_SIZE, "1..1000", "more than 64 values");
}

Test(study_space, an_empty_place_in_a_list_is_refused)
{
    refuse(RUE_BATCH_SIZE, "32,,64", "a value is missing in '32,,64'");
    refuse(RUE_NUM_WORKERS, ",1", "a value is missing in ',1'");
    refuse(RUE_NUM_WORKERS, "1,", "a value is missing in '1,'");
    refuse(RUE_PARALLELISM, "batch,", "a value is missing in 'batch,'");
}

Test(study_space, values_are_sorted_and_unique)
{
    accept(RUE_BATCH_SIZE, "64,32,64,1,32");
    EXPECT(RUE_BATCH_SIZE, 1, 32, 64);
}

Test(study_space, ranges_have_both_ends)
{
    accept(RUE_NUM_WORKERS, "0..4");
    EXPECT(RUE_NUM_WORKERS, 0, 1, 2, 3, 4);
    accept(RUE_NUM_WORKERS, "16,1..3,2..4");
    EXPECT(RUE_NUM_WORKERS, 1, 2, 3, 4, 16);
    accept(RUE_NUM_WORKERS, "5..5");
    EXPECT(RUE_NUM_WORKERS, 5);
    accept(RUE_NUM_WORKERS, "1..64");
    cr_assert_eq(space.count[RUE_NUM_WORKERS], 64);
}

Test(study_space, an_invalid_list_is_refused_with_an_example)
{
    static const char *const bad[] = {"",    ",",      "x",     "1.5",     "1..", "..4", "4..1", "1-4", "-1",
                                      "257", "0..257", "1...3", "1..2..3", "2 4", "+2",  "0x10", "1e2"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refuse(RUE_NUM_WORKERS, bad[i], "whole numbers from 0 to 256, such as 32,64,128 or 0..8");
    refuse(RUE_PARALLELISM, "both", "known: batch or sample");
    refuse(RUE_PARALLELISM, "0", "known: batch or sample");
    refuse(RUE_BATCH_SIZE, "0", "from 1 to 65536");
}

Test(study_space, a_range_of_too_many_values_is_refused)
{
    refuse(RUE_NUM_WORKERS, "0..64", "more than 64 values");
    refuse(RUE_BATCH_SIZE, "1..65536", "more than 64 values");
}

Test(study_space, a_list_that_is_too_long_is_refused)
{
    char list[3000];
    memset(list, '1', sizeof list - 1);
    list[sizeof list - 1] = 0;
    refuse(RUE_BATCH_SIZE, list, "too long");
}

static void make_default(int cpus)
{
    rue_error error = {0};
    runner_with(cpus);
    goal = (struct rue_study_goal){0};
    cr_assert_eq(make(100000, &error), RUE_OK, "%s", error.message);
    EXPECT(RUE_BATCH_SIZE, 16, 32, 64, 128, 256);
    EXPECT(RUE_PREFETCH_FACTOR, rue_own_knobs.at[RUE_PREFETCH_FACTOR]->fallback);
    EXPECT(RUE_PARALLELISM, RUE_PARALLEL_BATCH);
}

Test(study_space, default_workers_reach_twice_the_usable_cpus)
{
    make_default(1);
    EXPECT(RUE_NUM_WORKERS, 0, 1, 2);
    make_default(2);
    EXPECT(RUE_NUM_WORKERS, 0, 1, 2, 4);
    make_default(6);
    EXPECT(RUE_NUM_WORKERS, 0, 1, 2, 4, 6, 8);
    make_default(16);
    EXPECT(RUE_NUM_WORKERS, 0, 1, 2, 4, 8, 16, 32);
    make_default(256);
    EXPECT(RUE_NUM_WORKERS, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256);
    make_default(1000);
    EXPECT(RUE_NUM_WORKERS, 0, 1, 2, 4, 8, 16, 32, 64, 128, 256);
}

Test(study_space, cpus_are_those_that_the_runner_reports)
{
    runner_with(12);
    cr_assert_eq(rue_study_usable_cpus(&hello), 12);
    strcpy(hello.machine_json, "{\"cpus\":5}");
    cr_assert_eq(rue_study_usable_cpus(&hello), 5);
    strcpy(hello.machine_json, "");
    cr_assert_eq(rue_study_usable_cpus(&hello), rue_machine_read().usable_cpus);
    strcpy(hello.machine_json, "{\"usable_cpus\":-3}");
    cr_assert_eq(rue_study_usable_cpus(&hello), rue_machine_read().usable_cpus);
}

/* A runner that can vary batch sizes and workers. */
static void runner_with_space(void)
{
    static const int batches[] = {8, 32, 128}, workers[] = {0, 4};
    runner_with(4);
    hello.has_space = true;
    hello.space = rue_space_default(&rue_own_knobs);
    hello.space.count[RUE_BATCH_SIZE] = hello.space.count[RUE_NUM_WORKERS] = 0;
    for (int i = 0; i < 3; i++) rue_space_add(&hello.space, RUE_BATCH_SIZE, batches[i]);
    for (int i = 0; i < 2; i++) rue_space_add(&hello.space, RUE_NUM_WORKERS, workers[i]);
    memset(hello.varies, 0, sizeof hello.varies);
    hello.varies[RUE_BATCH_SIZE] = hello.varies[RUE_NUM_WORKERS] = true;
    goal = (struct rue_study_goal){0};
}

Test(study_space, a_runner_s_own_space_is_the_default)
{
    runner_with_space();
    cr_assert_eq(make(100000, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 8, 32, 128);
    EXPECT(RUE_NUM_WORKERS, 0, 4);
    EXPECT(RUE_PREFETCH_FACTOR, rue_own_knobs.at[RUE_PREFETCH_FACTOR]->fallback);
}

Test(study_space, given_values_replace_the_runner_s)
{
    runner_with_space();
    ask(RUE_NUM_WORKERS, "1..3", "");
    cr_assert_eq(make(100000, NULL), RUE_OK);
    EXPECT(RUE_NUM_WORKERS, 1, 2, 3);
    EXPECT(RUE_BATCH_SIZE, 8, 32, 128);
}

Test(study_space, a_knob_that_the_runner_cannot_vary_is_refused)
{
    rue_error error = {0};
    runner_with_space();
    ask(RUE_PREFETCH_FACTOR, "2,4", "--prefetch-factor");
    cr_assert_eq(make(100000, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "--prefetch-factor: the runner rue 0.1.0 cannot vary"), "%s",
              error.message);
}

Test(study_space, batches_larger_than_the_job_are_not_in_a_default)
{
    runner_with(4);
    goal = (struct rue_study_goal){0};
    cr_assert_eq(make(100, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 16, 32, 64);
    cr_assert_eq(make(64, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 16, 32, 64);
    cr_assert_eq(make(10, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 10);
    cr_assert_eq(make(1, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 1);
    runner_with_space();
    cr_assert_eq(make(100, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 8, 32);
}

Test(study_space, of_given_batches_that_hold_the_job_the_smallest_stays)
{
    runner_with(4);
    goal = (struct rue_study_goal){0};
    ask(RUE_BATCH_SIZE, "16,128,256,512", "--batch-size");
    cr_assert_eq(make(127, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 16, 128);
    cr_assert_eq(make(128, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 16, 128);
    cr_assert_eq(make(129, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 16, 128, 256);
    cr_assert_eq(make(10, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 16);
}

Test(study_space, the_smallest_size_of_a_runner_stays)
{
    runner_with_space();
    goal = (struct rue_study_goal){0};
    cr_assert_eq(make(5, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 8);
}

static void expect_no_batch(const char *given, int batch_size)
{
    rue_error error = {0};
    char words[64];
    goal = (struct rue_study_goal){.loader.workload.drop_last = true};
    if (given) ask(RUE_BATCH_SIZE, given, "--batch-size");
    snprintf(words, sizeof words, "a job of 5 images has no batch of %d", batch_size);
    cr_assert_eq(make(5, &error), RUE_USAGE);
    cr_assert(strstr(error.message, words) && strstr(error.message, "drop_last"), "%s", error.message);
}

Test(study_space, with_drop_last_a_job_needs_a_full_batch)
{
    runner_with_space();
    expect_no_batch(NULL, 8);
    expect_no_batch("4,8", 8);
    runner_with(4);
    expect_no_batch("4,8,16", 16);
    goal.space.knobs.count = 0;
    cr_assert_eq(make(5, NULL), RUE_OK);
    EXPECT(RUE_BATCH_SIZE, 5);
}

/* No more workers than these, from a limit. */
static void limit_workers(int most)
{
    goal = (struct rue_study_goal){.space = {.limits_workers = true, .max_workers = most}};
    goal.space.max_workers_origin = "--max-workers";
}

Test(study_space, workers_above_the_limit_are_not_in_a_default)
{
    runner_with(4);
    limit_workers(3);
    cr_assert_eq(make(1000, NULL), RUE_OK);
    EXPECT(RUE_NUM_WORKERS, 0, 1, 2);
    limit_workers(0);
    cr_assert_eq(make(1000, NULL), RUE_OK);
    EXPECT(RUE_NUM_WORKERS, 0);
    limit_workers(100);
    cr_assert_eq(make(1000, NULL), RUE_OK);
    EXPECT(RUE_NUM_WORKERS, 0, 1, 2, 4, 8);
}

Test(study_space, given_workers_above_the_limit_are_refused)
{
    rue_error error = {0};
    runner_with(4);
    limit_workers(4);
    ask(RUE_NUM_WORKERS, "0..8", "RUE_NUM_WORKERS");
    cr_assert_eq(make(1000, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "RUE_NUM_WORKERS: 8 workers") && strstr(error.message, "--max-workers 4"),
              "%s", error.message);
    ask(RUE_NUM_WORKERS, "0..4", "");
    cr_assert_eq(make(1000, NULL), RUE_OK);
    EXPECT(RUE_NUM_WORKERS, 0, 1, 2, 3, 4);
}

Test(study_space, a_limit_below_the_runner_s_values_is_refused)
{
    rue_error error = {0};
    runner_with_space();
    hello.space.count[RUE_NUM_WORKERS] = 0;
    rue_space_add(&hello.space, RUE_NUM_WORKERS, 4);
    limit_workers(3);
    cr_assert_eq(make(1000, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "--max-workers 3: the runner needs at least 4") &&
                  strstr(error.message, "raise the limit"),
              "%s", error.message);
}
