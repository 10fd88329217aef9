#include <criterion/criterion.h>

#include "plain_machine.h"

static struct plain_course course_of(struct plain_machine *machine, double budget_s, size_t budget_trials)
{
    struct rue_strategy_setup setup = plain_machine_setup(machine, budget_s);
    setup.budget_trials = budget_trials;
    void *state;
    struct plain_course course = plain_machine_course("halving", &setup, machine, &state);
    rue_strategy_find("halving")->close(state);
    return course;
}

static size_t runs_of(const struct plain_course *course, size_t config)
{
    size_t runs = 0;
    for (size_t m = 0; m < PLAIN_MODELS; m++) runs += course->runs[m][config];
    return runs;
}

Test(strategy_halving, few_configurations_see_every_model_and_most_do_not)
{
    struct plain_machine machine = plain_machine_of(1);
    struct plain_course course = course_of(&machine, 600, 0);
    size_t complete = 0, tried = 0;
    for (size_t c = 0; c < PLAIN_CONFIGS; c++) {
        complete += plain_course_is_complete(&course, c);
        tried += runs_of(&course, c) > 0;
    }
    cr_assert_geq(complete, 2, "the last ones are compared on all models");
    cr_assert_leq(complete, PLAIN_CONFIGS / 2);
    cr_assert_gt(tried, 2 * complete);
}

Test(strategy_halving, the_budget_is_kept)
{
    for (double budget_s = 100; budget_s < 3000; budget_s *= 1.5) {
        struct plain_machine machine = plain_machine_of(2);
        struct plain_course course = course_of(&machine, budget_s, 0);
        cr_assert_leq(course.spent_s, 1.05 * budget_s, "%g s of %g s", course.spent_s, budget_s);
    }
    for (size_t trials = 4; trials < 100; trials += 7) {
        struct plain_machine machine = plain_machine_of(2);
        cr_assert_leq(course_of(&machine, INFINITY, trials).asks, trials);
    }
}

Test(strategy_halving, what_is_clearly_the_best_is_among_the_last)
{
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct plain_machine machine = plain_machine_of(seed);
        machine.favoured = 18;
        struct plain_course course = course_of(&machine, 2000, 0);
        size_t best = 0;
        double least = INFINITY;
        for (size_t c = 0; c < PLAIN_CONFIGS; c++) {
            double sum = 0;
            for (size_t m = 0; m < PLAIN_MODELS; m++)
                sum += plain_machine_s(&machine, RUE_JOINT, m, c, PLAIN_JOB);
            if (sum < least) least = sum, best = c;
        }
        cr_assert(plain_course_is_complete(&course, best), "%zu was dropped with seed %d", best, (int)seed);
    }
}

Test(strategy_halving, trials_that_would_take_too_long_are_left_out_first)
{
    struct plain_machine machine = plain_machine_of(4);
    struct plain_course course = course_of(&machine, 60, 0);
    size_t dear = PLAIN_CONFIGS - 1, cheap = 0; /* 128 images to 16 workers; 16 to one */
    cr_assert_eq(machine.configs[dear].value[RUE_BATCH_SIZE] * machine.configs[dear].value[RUE_NUM_WORKERS],
                 2048);
    cr_assert_eq(runs_of(&course, dear), 0);
    cr_assert_gt(runs_of(&course, cheap), 0);
}

static struct rue_ask first_ask(const struct plain_machine *machine, double budget_s)
{
    struct rue_strategy_setup setup = plain_machine_setup(machine, budget_s);
    struct rue_ask ask;
    void *state;
    cr_assert_eq(rue_strategy_halving.open(&setup, &state, NULL), RUE_OK);
    cr_assert(rue_strategy_halving.ask(state, &ask));
    rue_strategy_halving.close(state);
    return ask;
}

Test(strategy_halving, little_time_makes_trials_a_round_of_all_workers)
{
    struct plain_machine machine = plain_machine_of(5);
    struct rue_ask ask = first_ask(&machine, 60);
    const int *value = machine.configs[ask.config].value;
    int round = value[RUE_BATCH_SIZE] * (value[RUE_NUM_WORKERS] > 2 ? value[RUE_NUM_WORKERS] : 2);
    double least = fmax(round, 0.05 * PLAIN_JOB);
    cr_assert(ask.images >= least && (double)ask.images < least + value[RUE_BATCH_SIZE]);
    cr_assert_eq(first_ask(&machine, 1e6).images, PLAIN_JOB);
}

/* Four configurations on three models: two models are seen by all, the third by the two that are left.
 * Answers which these are, a bit each. The second one is better by its worst regret, the first by the mean.
 */
static unsigned finalists(enum rue_objective objective)
{
    enum { MODELS = 3, CONFIGS = 4 };
    static const double time_s[MODELS][CONFIGS] = {{1, 1.25, 1.1, 3}, {1.4, 1.2, 1, 3}, {1, 1, 1, 1}};
    struct rue_config configs[CONFIGS];
    for (int c = 0; c < CONFIGS; c++) configs[c] = rue_config_default();
    struct rue_strategy_setup setup = {.scenario_count = MODELS,
                                       .config_count = CONFIGS,
                                       .configs = configs,
                                       .job_images = 100,
                                       .objective = objective,
                                       .whole_jobs = true,
                                       .budget_trials = 2 * 2 * CONFIGS + MODELS};
    size_t seen[MODELS], seen_count = 0;
    unsigned left = 0;
    void *state;
    struct rue_ask ask;
    cr_assert_eq(rue_strategy_halving.open(&setup, &state, NULL), RUE_OK);
    while (rue_strategy_halving.ask(state, &ask)) {
        struct rue_trial_result result = rue_trial_result_empty();
        size_t model = 0;
        while (model < seen_count && seen[model] != ask.scenario) model++;
        if (model == seen_count) seen[seen_count++] = ask.scenario;
        if (model == MODELS - 1) left |= 1U << ask.config;
        result.outcome = RUE_TRIAL_OK;
        result.images = 100;
        result.end_to_end_ns = (int64_t)(1e9 * time_s[model][ask.config]);
        rue_strategy_halving.tell(state, &ask, &result);
    }
    rue_strategy_halving.close(state);
    return left;
}

Test(strategy_halving, the_worst_regret_decides_where_it_is_the_objective)
{
    cr_assert_eq(finalists(RUE_OBJECTIVE_MEAN), 1U << 0 | 1U << 2);
    cr_assert_eq(finalists(RUE_OBJECTIVE_WORST), 1U << 1 | 1U << 2);
}

Test(strategy_halving, what_fails_is_left_at_once)
{
    struct plain_machine machine = plain_machine_of(3);
    machine.broken = 5;
    struct plain_course course = course_of(&machine, 2000, 0);
    cr_assert_eq(runs_of(&course, 5), 1);
}
