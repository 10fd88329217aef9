#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job_time.h"
#include "plan.h"
#include "random.h"

static struct rue_space grid(void)
{
    static const int batches[] = {32, 128, 256, 512, 1024}, workers[] = {1, 2, 4, 8, 12, 16, 32, 48, 64};
    struct rue_space space = rue_space_default();
    space.count[RUE_BATCH_SIZE] = space.count[RUE_NUM_WORKERS] = 0;
    for (int i = 0; i < 5; i++) rue_space_add(&space, RUE_BATCH_SIZE, batches[i]);
    for (int i = 0; i < 9; i++) rue_space_add(&space, RUE_NUM_WORKERS, workers[i]);
    return space;
}

static struct rue_space small_grid(void)
{
    struct rue_space space = rue_space_default();
    space.count[RUE_BATCH_SIZE] = space.count[RUE_NUM_WORKERS] = 0;
    for (int b = 8; b <= 32; b *= 2) rue_space_add(&space, RUE_BATCH_SIZE, b);
    for (int w = 0; w <= 4; w++) rue_space_add(&space, RUE_NUM_WORKERS, w);
    return space;
}

static const struct rue_plan_scenario scenarios[] = {
    {.loader = {.one_worker_images_per_s = 100, .all_workers_images_per_s = 800},
     .compute_s_per_image = 0.001,
     .job_images = 100000},
    {.loader = {.one_worker_images_per_s = 100, .all_workers_images_per_s = 800},
     .compute_s_per_image = 0.004,
     .job_images = 100000},
};

static struct rue_plan_goal goal_of(const struct rue_space *space, double budget_s)
{
    return (struct rue_plan_goal){.space = space,
                                  .scenarios = scenarios,
                                  .scenario_count = 2,
                                  .repeats = 1,
                                  .trial_overhead_s = 0.1,
                                  .budget_s = budget_s};
}

/* What all trials on `space` would take, added up here. */
static double seconds(const struct rue_plan_goal *goal, const struct rue_space *space, double stretch)
{
    double sum = 0;
    for (size_t c = 0; c < rue_space_size(space); c++)
        for (size_t s = 0; s < goal->scenario_count; s++) {
            struct rue_config config = rue_space_at(space, c);
            uint64_t images = rue_plan_images(stretch, &config, goal->scenarios[s].job_images);
            sum += rue_plan_trial_s(&goal->scenarios[s], &config, images) + goal->trial_overhead_s;
        }
    return sum * goal->repeats;
}

/* What has to hold for every plan. */
static void check_plan(const struct rue_plan_goal *goal, const struct rue_plan *plan)
{
    size_t full = 0;
    cr_assert(goal->budget_s == 0 || plan->expected_s <= goal->budget_s, "%.17g s of %.17g s",
              plan->expected_s, goal->budget_s);
    cr_assert_float_eq(plan->expected_s, seconds(goal, &plan->space, plan->stretch), 1e-9 * plan->expected_s);
    cr_assert_geq(plan->stretch, 1);
    for (size_t c = 0; c < rue_space_size(&plan->space); c++)
        for (size_t s = 0; s < goal->scenario_count; s++) {
            struct rue_config config = rue_space_at(&plan->space, c);
            uint64_t job = goal->scenarios[s].job_images, least = rue_job_floor_images(&config, job);
            uint64_t images = rue_plan_images(plan->stretch, &config, job);
            uint64_t batch = (uint64_t)config.value[RUE_BATCH_SIZE];
            cr_assert(images == job || (images < job && images >= least && images % batch == 0),
                      "%llu images of %llu, batch %llu, floor %llu", (unsigned long long)images,
                      (unsigned long long)job, (unsigned long long)batch, (unsigned long long)least);
            full += images == job;
        }
    cr_assert_eq(plan->trials, rue_space_size(&plan->space) * goal->scenario_count * (size_t)goal->repeats);
    cr_assert_eq(plan->full_trials, full * (size_t)goal->repeats);
    for (int k = 0; k < RUE_KNOB_COUNT; k++) {
        int n = goal->space->count[k], kept = plan->space.count[k];
        cr_assert(kept >= 1 && kept <= n);
    }
}

static struct rue_plan make(const struct rue_plan_goal *goal)
{
    struct rue_plan plan;
    rue_error error = {0};
    cr_assert_eq(rue_plan_make(goal, &plan, &error), RUE_OK, "%s", error.message);
    check_plan(goal, &plan);
    return plan;
}

static struct rue_config config_of(int batch, int workers, int parallelism)
{
    struct rue_config config = rue_config_default();
    config.value[RUE_BATCH_SIZE] = batch;
    config.value[RUE_NUM_WORKERS] = workers;
    config.value[RUE_PARALLELISM] = parallelism;
    return config;
}

static void expect_s(const struct rue_plan_scenario *scenario, struct rue_config config, uint64_t images,
                     double s)
{
    double got = rue_plan_trial_s(scenario, &config, images);
    cr_assert_float_eq(got, s, 1e-9, "%g s, not %g s", got, s);
}

/* One worker 100 images/s, all 800; computing 1000 images/s. */
Test(plan, a_trial_takes_the_slower_of_loading_and_computing)
{
    const struct rue_plan_scenario *light = &scenarios[0];
    struct rue_plan_scenario heavy = {.loader = light->loader, .compute_s_per_image = 0.02, .job_images = 1};
    expect_s(light, config_of(50, 0, RUE_PARALLEL_BATCH), 1000, 10 + 1); /* one after the other */
    expect_s(light, config_of(50, 1, RUE_PARALLEL_BATCH), 1000, 10 + 0.5);
    expect_s(light, config_of(50, 4, RUE_PARALLEL_BATCH), 1000, 2.5 + 0.5);
    expect_s(light, config_of(50, 4, RUE_PARALLEL_SAMPLE), 1000, 2.5 + 0.125);
    expect_s(light, config_of(50, 8, RUE_PARALLEL_BATCH), 1000, 1.25 + 0.5);
    expect_s(light, config_of(50, 64, RUE_PARALLEL_BATCH), 1000, 1.25 + 0.5); /* no faster than all of them */
    expect_s(light, config_of(50, 64, RUE_PARALLEL_SAMPLE), 1000, 1.25 + 0.0625);
    expect_s(&heavy, config_of(50, 4, RUE_PARALLEL_BATCH), 1000, 20 + 0.5);
    expect_s(light, config_of(5000, 4, RUE_PARALLEL_BATCH), 1000,
             2.5 + 10); /* the only batch has 1000 images */
}

Test(plan, all_workers_are_at_least_as_fast_as_one)
{
    struct rue_plan_scenario odd = {.loader = {100, 10}, .job_images = 1};
    expect_s(&odd, config_of(50, 4, RUE_PARALLEL_BATCH), 1000, 10 + 0.5);
}

Test(plan, images_are_whole_batches_that_end_where_the_job_ends_in_a_volley)
{
    struct rue_config config = config_of(32, 4, RUE_PARALLEL_BATCH); /* floor: 32 batches; W = 4 */
    cr_assert_eq(rue_plan_images(1, &config, 40 * 32), 32 * 32);
    cr_assert_eq(rue_plan_images(1, &config, 42 * 32), 34 * 32, "both two batches into a volley");
    cr_assert_eq(rue_plan_images(1, &config, 41 * 32 + 1), 34 * 32, "a partial batch is one too");
    cr_assert_eq(rue_plan_images(1.01, &config, 42 * 32), 34 * 32);
    cr_assert_eq(rue_plan_images(1.1, &config, 42 * 32), 38 * 32);
    cr_assert_eq(rue_plan_images(1.3, &config, 42 * 32), 42 * 32, "the job");
    cr_assert_eq(rue_plan_images(1, &config, 33 * 32), 33 * 32, "the next such end is the job's own");
    cr_assert_eq(rue_plan_images(1, &config, 1000), 1000);
    cr_assert_eq(rue_plan_images(INFINITY, &config, 100001), 100001);
    config.value[RUE_PARALLELISM] = RUE_PARALLEL_SAMPLE;
    cr_assert_eq(rue_plan_images(1, &config, 42 * 32), 32 * 32, "no volleys");
}

Test(plan, images_never_fall_as_stretch_rises)
{
    uint64_t random = 3;
    for (int i = 0; i < 200; i++) {
        struct rue_config config =
            config_of(1 + (int)rue_random_below(&random, 300), (int)rue_random_below(&random, 20),
                      (int)rue_random_below(&random, 2));
        uint64_t job = 1 + rue_random_below(&random, 100000), before = 0;
        for (double stretch = 1; stretch < 40; stretch *= 1.01) {
            uint64_t images = rue_plan_images(stretch, &config, job);
            cr_assert(images >= before && images <= job);
            before = images;
        }
    }
}

Test(plan, whole_jobs_run_where_they_fit)
{
    struct rue_space space = grid();
    struct rue_plan_goal goal = goal_of(&space, 1e6);
    struct rue_plan plan = make(&goal);
    cr_assert_eq(rue_space_size(&plan.space), 45);
    cr_assert(isinf(plan.stretch));
    cr_assert_eq(plan.trials, 90);
    cr_assert_eq(plan.full_trials, 90);
}

Test(plan, a_budget_of_exactly_the_whole_jobs_is_enough)
{
    struct rue_space space = grid();
    struct rue_plan_goal goal = goal_of(&space, 0);
    goal.budget_s = make(&goal).expected_s;
    struct rue_plan plan = make(&goal);
    cr_assert(isinf(plan.stretch));
    cr_assert_eq(rue_space_size(&plan.space), 45);
}

Test(plan, no_budget_is_no_limit)
{
    static const double unlimited[] = {0, INFINITY};
    struct rue_space space = grid();
    for (size_t i = 0; i < 2; i++) {
        struct rue_plan_goal goal = goal_of(&space, unlimited[i]);
        struct rue_plan plan = make(&goal);
        cr_assert(isinf(plan.stretch));
        cr_assert_eq(plan.full_trials, 90);
    }
}

Test(plan, trials_shrink_before_the_grid_does)
{
    struct rue_space space = small_grid();
    struct rue_plan_goal goal = goal_of(&space, 0);
    double whole = make(&goal).expected_s;
    goal.budget_s = whole / 10;
    struct rue_plan plan = make(&goal);
    cr_assert_eq(rue_space_size(&plan.space), 15, "whole jobs would leave too few configurations");
    cr_assert(isfinite(plan.stretch) && plan.stretch > 1);
    cr_assert_eq(plan.full_trials, 0);
    cr_assert_gt(plan.expected_s, 0.95 * goal.budget_s, "the trials are as long as the budget allows");
}

/* 15 configurations of whole jobs do not fit, but more than ten of them do. */
Test(plan, whole_jobs_are_worth_a_third_of_the_configurations)
{
    struct rue_space space = small_grid();
    struct rue_plan_goal goal = goal_of(&space, 0);
    goal.budget_s = make(&goal).expected_s * 0.9;
    struct rue_plan plan = make(&goal);
    cr_assert(isinf(plan.stretch));
    cr_assert(rue_space_size(&plan.space) >= 10 && rue_space_size(&plan.space) < 15, "%zu configurations",
              rue_space_size(&plan.space));
    cr_assert_eq(plan.full_trials, plan.trials);
}

Test(plan, the_grid_is_thinned_where_the_floor_does_not_fit)
{
    struct rue_space space = grid();
    struct rue_plan_goal goal = goal_of(&space, 0);
    goal.budget_s = seconds(&goal, &space, 1) / 3;
    struct rue_plan plan = make(&goal);
    size_t size = rue_space_size(&plan.space);
    cr_assert(size > 1 && size < 45, "%zu configurations", size);
    cr_assert_gt(plan.expected_s, goal.budget_s / 2, "the budget is used");
}

/* Every configuration costs the same here: 5 x 1 would be the most that fit, but say nothing about workers.
 */
Test(plan, no_knob_is_sacrificed_for_a_few_more_configurations)
{
    static const struct rue_plan_scenario same = {
        .loader = {1e9, 1e9}, .compute_s_per_image = 0, .job_images = 1000000};
    struct rue_space space = rue_space_default();
    for (int v = 2; v <= 5; v++) rue_space_add(&space, RUE_BATCH_SIZE, v);
    for (int v = 1; v <= 3; v++) rue_space_add(&space, RUE_NUM_WORKERS, v);
    struct rue_plan_goal goal = {.space = &space,
                                 .scenarios = &same,
                                 .scenario_count = 1,
                                 .repeats = 1,
                                 .trial_overhead_s = 1,
                                 .budget_s = 5.5};
    struct rue_plan plan = make(&goal);
    cr_assert_eq(plan.space.count[RUE_BATCH_SIZE], 2, "2 x 2, not 5 x 1");
    cr_assert_eq(plan.space.count[RUE_NUM_WORKERS], 2);
}

/* Every configuration costs the same here, so that only their number decides: 4 are 1 x 4, 2 x 2 or 4 x 1. */
Test(plan, of_equally_many_configurations_the_evenly_thinned_ones_are_taken)
{
    static const struct rue_plan_scenario same = {
        .loader = {1e9, 1e9}, .compute_s_per_image = 0, .job_images = 1000000};
    struct rue_space space = rue_space_default();
    for (int v = 2; v <= 4; v++) {
        rue_space_add(&space, RUE_BATCH_SIZE, v);
        rue_space_add(&space, RUE_NUM_WORKERS, v - 1);
    }
    struct rue_plan_goal goal = {.space = &space,
                                 .scenarios = &same,
                                 .scenario_count = 1,
                                 .repeats = 1,
                                 .trial_overhead_s = 1,
                                 .budget_s = 4.5};
    struct rue_plan plan = make(&goal);
    cr_assert_eq(plan.space.count[RUE_BATCH_SIZE], 2, "not 1 x 4");
    cr_assert_eq(plan.space.count[RUE_NUM_WORKERS], 2);
}

Test(plan, one_configuration_of_a_short_job)
{
    static const struct rue_plan_scenario tiny = {
        .loader = {1000, 1000}, .compute_s_per_image = 0, .job_images = 1};
    struct rue_space space = rue_space_default();
    struct rue_plan_goal goal = {
        .space = &space, .scenarios = &tiny, .scenario_count = 1, .repeats = 1, .budget_s = 0.0011};
    struct rue_plan plan = make(&goal);
    cr_assert_eq(plan.trials, 1);
    cr_assert_eq(plan.full_trials, 1);
}

Test(plan, repeats_multiply_the_cost)
{
    struct rue_space space = grid();
    struct rue_plan_goal goal = goal_of(&space, 0);
    double once = make(&goal).expected_s;
    goal.repeats = 3;
    struct rue_plan plan = make(&goal);
    cr_assert_float_eq(plan.expected_s, 3 * once, 1e-9 * once);
    cr_assert_eq(plan.trials, 270);
}

Test(plan, a_space_too_large_to_try_is_refused)
{
    struct rue_space space = rue_space_default();
    for (int k = 0; k < RUE_PARALLELISM; k++)
        for (int v = 1; v <= RUE_SPACE_VALUES_MAX; v++) rue_space_add(&space, (enum rue_knob)k, v);
    struct rue_plan_goal goal = goal_of(&space, 100);
    struct rue_plan plan;
    rue_error error = {0};
    cr_assert_eq(rue_plan_make(&goal, &plan, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "give fewer values"), "%s", error.message);
}

static double random_between(uint64_t *random, double low, double high)
{
    double at = (double)rue_random_below(random, 1000001) / 1e6;
    return low * pow(high / low, at);
}

Test(plan, random_goals_always_fit_their_budget)
{
    static const int highest[RUE_KNOB_COUNT] = {512, 64, 8, 1, 1};
    struct rue_plan_scenario some[6];
    uint64_t random = 20;
    int planned = 0, refused = 0, whole = 0, stretched = 0, thinned = 0;
    for (int i = 0; i < 1500; i++) {
        struct rue_space space = rue_space_default();
        for (int k = 0; k < RUE_KNOB_COUNT; k++)
            for (int v = (int)rue_random_below(&random, 6); v > 0; v--)
                rue_space_add(&space, (enum rue_knob)k,
                              rue_knobs[k].min + (int)rue_random_below(&random, (uint64_t)highest[k]));
        struct rue_plan_goal goal = {.space = &space, .scenarios = some};
        goal.scenario_count = 1 + rue_random_below(&random, 6);
        goal.repeats = 1 + (int)rue_random_below(&random, 4);
        goal.trial_overhead_s = rue_random_below(&random, 3) ? random_between(&random, 1e-3, 2) : 0;
        for (size_t s = 0; s < goal.scenario_count; s++) {
            some[s].loader.one_worker_images_per_s = random_between(&random, 10, 1e4);
            some[s].loader.all_workers_images_per_s = random_between(&random, 10, 1e5);
            some[s].compute_s_per_image =
                rue_random_below(&random, 9) ? random_between(&random, 1e-5, 1e-1) : 0;
            some[s].job_images = 1 + (uint64_t)random_between(&random, 1, 1e6);
        }
        goal.budget_s = seconds(&goal, &space, INFINITY) * random_between(&random, 1e-4, 2);
        struct rue_plan plan;
        rue_error error = {0};
        rue_status status = rue_plan_make(&goal, &plan, &error);
        if (status != RUE_OK) {
            struct rue_space one = rue_space_thin(&space, (int[RUE_KNOB_COUNT]){1, 1, 1, 1, 1});
            cr_assert_eq(status, RUE_USAGE);
            cr_assert_gt(seconds(&goal, &one, 1), goal.budget_s * (1 - 1e-12),
                         "one configuration would have fitted");
            refused++;
            continue;
        }
        check_plan(&goal, &plan);
        planned++;
        whole += isinf(plan.stretch);
        stretched += isfinite(plan.stretch) && rue_space_size(&plan.space) == rue_space_size(&space);
        thinned += rue_space_size(&plan.space) < rue_space_size(&space);
    }
    cr_assert(refused > 50 && whole > 50 && stretched > 50 && thinned > 50,
              "a one-sided sample: %d planned, %d refused, %d whole, %d stretched, %d thinned", planned,
              refused, whole, stretched, thinned);
}

Test(plan, is_the_same_every_time)
{
    struct rue_space space = grid();
    struct rue_plan_goal goal = goal_of(&space, 2000);
    struct rue_plan a = make(&goal), b = make(&goal);
    cr_assert_eq(memcmp(&a.space, &b.space, sizeof a.space), 0);
    cr_assert(a.stretch == b.stretch && a.expected_s == b.expected_s && a.trials == b.trials);
}

Test(plan, a_number_of_trials_thins_the_grid_and_keeps_whole_jobs)
{
    struct rue_space space = grid();
    struct rue_plan_goal goal = goal_of(&space, 0);
    struct rue_plan plan;
    for (size_t trials = 2; trials <= 100; trials++) {
        goal.budget_trials = trials;
        cr_assert_eq(rue_plan_make(&goal, &plan, NULL), RUE_OK);
        cr_assert_leq(plan.trials, trials);
        cr_assert_eq(plan.trials, plan.full_trials);
        cr_assert_geq(plan.trials, trials < 90 ? trials / 2 : 90, "%zu of %zu are used", plan.trials, trials);
    }
}

Test(plan, too_few_trials_for_one_configuration_are_refused)
{
    struct rue_space space = grid();
    struct rue_plan_goal goal = goal_of(&space, 0);
    struct rue_plan plan;
    goal.repeats = 3;
    goal.budget_trials = 5;
    cr_assert_eq(rue_plan_make(&goal, &plan, NULL), RUE_USAGE);
    goal.budget_trials = 6;
    cr_assert_eq(make(&goal).trials, 6);
}

Test(plan, trials_of_whole_jobs_alone_are_never_shorter)
{
    struct rue_space space = grid();
    struct rue_plan_goal goal = goal_of(
        &space,
        0.1 * seconds(&(struct rue_plan_goal){.scenarios = scenarios, .scenario_count = 2, .repeats = 1},
                      &space, INFINITY));
    struct rue_plan plan;
    cr_assert_eq(rue_plan_make(&goal, &plan, NULL), RUE_OK);
    cr_assert_lt(plan.full_trials, plan.trials, "such a budget has trials shortened");
    goal.whole_jobs = true;
    cr_assert_eq(rue_plan_make(&goal, &plan, NULL), RUE_OK);
    cr_assert(plan.trials > 0 && plan.full_trials == plan.trials && isinf(plan.stretch));
    cr_assert_leq(plan.expected_s, goal.budget_s);
    goal.budget_s = 1;
    cr_assert_eq(rue_plan_make(&goal, &plan, NULL), RUE_USAGE);
}
