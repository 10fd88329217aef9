#include <criterion/criterion.h>

#include "pipeline_fixture.h"
#include "probes.h"

TestSuite(probes, .timeout = 60);

static const bool all_kinds[RUE_MEASURE_COUNT] = {true, true, true};

static struct rue_probes_budget plan_probes(const bool measures[RUE_MEASURE_COUNT], size_t models,
                                            size_t trials)
{
    struct rue_strategy_setup setup = rue_strategy_setup_default((struct rue_setup_grid){models, 0, NULL}, 1);
    setup.budget.trials = trials;
    for (int i = 0; i < RUE_MEASURE_COUNT; i++) setup.runner.measures[i] = measures[i];
    return rue_probes_budget(&setup);
}

Test(probes, all_probes_are_made_without_a_limit_of_trials)
{
    struct rue_probes_budget room = plan_probes(all_kinds, 12, 0);
    cr_assert(room.load == SIZE_MAX && room.compute == SIZE_MAX);
}

/* Load-only probes of a grid of 16..128 x workers; `*inlined` of them without workers. */
static size_t load_probes(const int *workers, int count, size_t *inlined)
{
    static const int sizes[] = {16, 32, 64, 128};
    struct rue_config configs[4 * 8];
    pipeline_grid(sizes, 4, workers, count, configs);
    struct rue_strategy_setup setup =
        rue_strategy_setup_default((struct rue_setup_grid){2, 4 * (size_t)count, configs}, 5000);
    struct rue_question asks[RUE_PROBES_LOAD_MAX];
    size_t asked = rue_probes_load(&setup, asks);
    *inlined = 0;
    for (size_t i = 0; i < asked; i++) *inlined += configs[asks[i].config].value[RUE_NUM_WORKERS] == 0;
    return asked;
}

Test(probes, loading_without_workers_is_probed_if_the_space_has_it)
{
    size_t inlined, asked = load_probes((const int[]){0, 1, 2, 4, 8, 16, 32, 64}, 8, &inlined);
    cr_assert(asked == RUE_PROBES_LOAD_MAX && inlined == 1, "%zu of %zu", inlined, asked);
    asked = load_probes((const int[]){1, 2, 4, 8, 16, 32, 64}, 7, &inlined);
    cr_assert(asked == RUE_PROBES_LOAD_MAX - 1 && inlined == 0, "%zu of %zu", inlined, asked);
    asked = load_probes((const int[]){0}, 1, &inlined);
    cr_assert(asked > 0 && inlined == asked, "%zu of %zu", inlined, asked);
}

Test(probes, one_trial_per_model_is_reserved_for_verification)
{
    for (size_t models = 1; models <= 40; models++)
        for (size_t trials = models; trials <= 300; trials++) {
            struct rue_probes_budget room = plan_probes(all_kinds, models, trials);
            size_t all = room.load + room.compute;
            cr_assert_leq(all + models, trials, "%zu models, %zu trials", models, trials);
            cr_assert(all == 0 || (room.load >= 3 && room.compute >= models),
                      "%zu models, %zu trials: probes that leave out a model", models, trials);
            cr_assert_eq(all > 0, trials >= 2 * models + 3);
        }
}

Test(probes, half_of_many_trials_are_reserved_for_the_decision)
{
    struct rue_probes_budget room = plan_probes(all_kinds, 4, 40);
    cr_assert(room.load == RUE_PROBES_LOAD_MAX && room.compute == 10);
    cr_assert_eq(plan_probes(all_kinds, 4, 41).compute, 10);
}

Test(probes, the_survey_has_its_share_without_load_trials)
{
    static const bool kinds[RUE_MEASURE_COUNT] = {[RUE_JOINT] = true, [RUE_COMPUTE] = true};
    cr_assert_eq(plan_probes(kinds, 4, 10).load, 0, "3 trials cannot verify 4 models");
    cr_assert_eq(plan_probes(kinds, 4, 15).load, 3);
    cr_assert_eq(plan_probes(kinds, 4, 15).compute, 4);
}
