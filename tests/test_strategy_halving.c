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
        for (size_t m = 0; m < PLAIN_MODELS; m++)
            machine.expected_s[m * PLAIN_CONFIGS] *= 1; /* as expected */
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

Test(strategy_halving, what_fails_is_left_at_once)
{
    struct plain_machine machine = plain_machine_of(3);
    machine.broken = 5;
    struct plain_course course = course_of(&machine, 2000, 0);
    cr_assert_eq(runs_of(&course, 5), 1);
}
