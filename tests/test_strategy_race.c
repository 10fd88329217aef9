#include <criterion/criterion.h>

#include "plain_machine.h"

TestSuite(strategy_race, .timeout = 120);

static struct rue_claim race(struct plain_machine *machine, struct rue_strategy_setup setup,
                             struct plain_course *course)
{
    const struct rue_strategy_ops *strategy = rue_strategy_find("race");
    struct rue_claim claim;
    void *state;
    *course = plain_machine_course("race", &setup, machine, &state);
    cr_assert(strategy->claim(state, &claim));
    strategy->close(state);
    return claim;
}

static size_t count_racers(const struct plain_course *course)
{
    size_t racers = 0;
    for (size_t c = 0; c < PLAIN_CONFIGS; c++) {
        size_t runs = 0;
        for (size_t m = 0; m < PLAIN_MODELS; m++) runs += course->runs[m][c];
        racers += runs > 0;
    }
    return racers;
}

Test(strategy_race, what_it_recommends_ran_on_every_model_and_few_race)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        struct plain_machine machine = plain_machine_of(seed);
        struct plain_course course;
        struct rue_claim claim = race(&machine, plain_machine_setup(&machine, 800), &course);
        cr_assert(claim.verified && plain_course_is_complete(&course, claim.config));
        cr_assert_leq(count_racers(&course), 6, "%zu raced", count_racers(&course));
        cr_assert_leq(course.spent_s, 804, "noise of the last trials aside");
    }
}

Test(strategy_race, losers_are_dropped_on_the_way)
{
    struct plain_machine machine = plain_machine_of(1);
    struct rue_strategy_setup setup = plain_machine_setup(&machine, INFINITY);
    struct plain_course course;
    setup.epsilon_ratio = 1e-4;
    race(&machine, setup, &course);
    size_t most = 0, least = SIZE_MAX;
    for (size_t c = 0; c < PLAIN_CONFIGS; c++) {
        size_t runs = 0;
        for (size_t m = 0; m < PLAIN_MODELS; m++) runs += course.runs[m][c];
        if (runs == 0) continue;
        most = runs > most ? runs : most;
        least = runs < least ? runs : least;
    }
    cr_assert_lt(least, most, "all ran as often, %zu times", most);
}

Test(strategy_race, one_that_does_not_run_is_not_recommended)
{
    struct plain_machine machine = plain_machine_of(1), whole = machine;
    struct plain_course course;
    size_t best = race(&whole, plain_machine_setup(&whole, 800), &course).config;
    machine.broken = best;
    struct rue_claim claim = race(&machine, plain_machine_setup(&machine, 800), &course);
    cr_assert(claim.verified && claim.config != best);
}
