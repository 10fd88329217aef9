/* On machines that are made of the pipeline, which may have changed since. */
#include <criterion/criterion.h>
#include <math.h>

#include "pipeline_fixture.h"
#include "random.h"
#include "strategy.h"

TestSuite(recheck, .timeout = 120);

enum { MODELS = 3, SIZES = 3, WORKERS = 5, CONFIGS = SIZES * WORKERS, CELLS = MODELS * CONFIGS, JOB = 8000 };

struct machine {
    struct rue_pipeline_loader loader;
    struct rue_config configs[CONFIGS];
    size_t broken; /* a configuration that does not run; CONFIGS: none */
    uint64_t seed;
    size_t trials;
    double slower;     /* all times, by this factor */
    bool unknown;      /* its models */
    uint64_t shortest; /* of the trials */
    size_t asked[MODELS];
};

static const struct rue_pipeline_consumer consumers[MODELS] = {
    {2e-3, 3e-4, 0, false}, {5e-3, 1e-3, 0, false}, {5e-3, 3e-3, 0, false}};

static struct machine make_machine(uint64_t seed)
{
    static const int sizes[SIZES] = {32, 128, 512}, workers[WORKERS] = {1, 4, 8, 16, 32};
    struct machine machine = {.broken = CONFIGS, .slower = 1, .shortest = JOB, .seed = rue_mix64(seed)};
    machine.loader = (struct rue_pipeline_loader){.value = {[RUE_PIPELINE_start_s] = 0.2,
                                                            [RUE_PIPELINE_start_worker_s] = 0.05,
                                                            [RUE_PIPELINE_batch_s] = 4e-3,
                                                            [RUE_PIPELINE_inline_ratio] = 1,
                                                            [RUE_PIPELINE_beside_ratio] = 1,
                                                            [RUE_PIPELINE_warm_up_ratio] = 0.05,
                                                            [RUE_PIPELINE_item_s] = 8e-3,
                                                            [RUE_PIPELINE_contention_ratio] = 0.005,
                                                            [RUE_PIPELINE_storage_s] = 2e-4,
                                                            [RUE_PIPELINE_stop_worker_s] = 0.01,
                                                            [RUE_PIPELINE_jitter_ratio] = 0.08},
                                                  .cpus = 32,
                                                  .round_robin = true};
    pipeline_grid(sizes, SIZES, workers, WORKERS, machine.configs);
    return machine;
}

static double time_s(const struct machine *machine, size_t model, size_t config, uint64_t images)
{
    return rue_pipeline_predict(&machine->loader, &consumers[model], &machine->configs[config], images)
        .end_to_end_s;
}

/* Mean regrets; answers the configuration of the least. */
static size_t rank(const struct machine *machine, double *regrets)
{
    size_t best = 0;
    for (size_t c = 0; c < CONFIGS; c++) regrets[c] = 0;
    for (size_t m = 0; m < MODELS; m++) {
        double least = INFINITY;
        for (size_t c = 0; c < CONFIGS; c++) least = fmin(least, time_s(machine, m, c, JOB));
        for (size_t c = 0; c < CONFIGS; c++) regrets[c] += (time_s(machine, m, c, JOB) / least - 1) / MODELS;
    }
    for (size_t c = 0; c < CONFIGS; c++)
        if (regrets[c] < regrets[best]) best = c;
    return best;
}

static struct rue_trial_result perform(struct machine *machine, const struct rue_question *ask)
{
    struct rue_trial_result result = rue_trial_result_empty();
    double noise = 1 + 0.03 * (rue_random_unit(&machine->seed) - 0.5);
    machine->trials++;
    machine->asked[ask->scenario]++;
    if (ask->images < machine->shortest) machine->shortest = ask->images;
    result.config = machine->configs[ask->config];
    result.outcome = ask->config == machine->broken ? RUE_TRIAL_FAILED : RUE_TRIAL_OK;
    result.cost_ns = 1000000;
    if (result.outcome != RUE_TRIAL_OK) return result;
    cr_assert(ask->measure == RUE_JOINT && ask->images > 0 && ask->images <= JOB);
    result.images = (int64_t)ask->images;
    result.batches = (int64_t)(ask->images / (uint64_t)result.config.value[RUE_BATCH_SIZE] + 1);
    result.end_to_end_ns =
        (int64_t)(1e9 * noise * machine->slower * time_s(machine, ask->scenario, ask->config, ask->images));
    result.cost_ns += result.end_to_end_ns;
    return result;
}

/* A study of `before`, which knew everything, checked on `now`. */
static struct rue_recheck_findings check_by(const struct machine *before, struct machine *now,
                                            double budget_s, bool by_job)
{
    struct rue_knowledge *knowledge;
    double regrets[CONFIGS], offsets[CELLS] = {0};
    cr_assert_eq(rue_knowledge_open(MODELS, &knowledge, NULL), RUE_OK);
    knowledge->loader = before->loader;
    for (int p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++) knowledge->covariance[p][p] = 1e-4;
    for (size_t m = 0; m < MODELS && !before->unknown; m++)
        for (int size = 32; size <= 512; size *= 4)
            rue_compute_curve_add(&knowledge->consumers[2 * m].curve, size,
                                  consumers[m].batch_s + size * consumers[m].image_s, NAN);
    struct rue_prior prior = {.knowledge = knowledge,
                              .widen_sd = 0.1,
                              .same_machine = true,
                              .whole_jobs = by_job,
                              .offsets = offsets,
                              .config = rank(before, regrets)};
    struct rue_strategy_setup setup =
        rue_strategy_setup_default((struct rue_setup_grid){MODELS, CONFIGS, now->configs}, JOB);
    setup.runner = (struct rue_setup_runner){.measures = {true, true, true}, .cpus = 32, .round_robin = true};
    setup.seed = now->seed;
    setup.budget.seconds = budget_s;
    setup.known.prior = &prior;
    setup.aim.epsilon_ratio = 0.005;
    void *recheck;
    struct rue_recheck_findings found;
    struct rue_question ask;
    cr_assert_eq(rue_strategy_recheck.open(&setup, &recheck, NULL), RUE_OK);
    while (rue_strategy_recheck.ask(recheck, 0, &ask)) {
        struct rue_trial_result result = perform(now, &ask);
        rue_strategy_recheck.observe(recheck, &ask, &result);
        cr_assert_eq(rue_strategy_recheck.status(recheck, NULL), RUE_OK);
    }
    cr_assert_eq(rue_strategy_recheck.judge(recheck, &found, NULL), RUE_OK);
    rue_strategy_recheck.close(recheck);
    rue_knowledge_close(knowledge);
    return found;
}

static struct rue_recheck_findings check(const struct machine *before, struct machine *now, double budget_s)
{
    return check_by(before, now, budget_s, false);
}

Test(recheck, trials_use_the_available_time_if_only_job_times_are_known)
{
    struct machine machine = make_machine(1);
    struct rue_recheck_findings found = check_by(&machine, &machine, 600, true);
    cr_assert_eq(found.verdict, RUE_RECHECK_HOLDS);
    cr_assert_eq(machine.shortest, JOB);
    check_by(&machine, &machine, 30, true);
    cr_assert(machine.shortest >= 8 * 32 && machine.shortest < JOB);
}

Test(recheck, whole_jobs_run_on_every_model_if_the_budget_is_enough)
{
    double regrets[CONFIGS];
    struct machine machine = make_machine(1);
    size_t best = rank(&machine, regrets);
    double jobs_s = 0;
    for (size_t m = 0; m < MODELS; m++) jobs_s += 2 * time_s(&machine, m, best, JOB);
    for (int by_job = 0; by_job < 2; by_job++) {
        machine = make_machine(1);
        struct rue_recheck_findings found = check_by(&machine, &machine, 2 * jobs_s, by_job);
        cr_assert(found.whole_jobs && found.verdict == RUE_RECHECK_HOLDS);
        cr_assert_eq(machine.shortest, JOB);
        for (size_t m = 0; m < MODELS; m++) cr_assert(machine.asked[m] >= 2, "%zu", m);
        found = check_by(&machine, &machine, jobs_s, by_job);
        cr_assert(!found.whole_jobs && machine.shortest < JOB, "a margin is left");
    }
}

Test(recheck, the_recommendation_holds_on_the_same_machine)
{
    int held = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct machine machine = make_machine(seed);
        struct rue_recheck_findings found = check(&machine, &machine, 30);
        held += found.verdict == RUE_RECHECK_HOLDS;
        cr_assert_float_eq(found.time_ratio, 1, 0.05);
        cr_assert(found.tried >= 2 && found.excess_ratio < 0.05);
    }
    cr_assert_geq(held, 9);
}

Test(recheck, does_not_hold_if_another_configuration_became_the_best)
{
    int gone = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        struct machine before = make_machine(seed), now = before;
        double regrets[CONFIGS], old_regrets[CONFIGS];
        now.loader.value[RUE_PIPELINE_item_s] *= 4;
        rank(&now, regrets);
        cr_assert_gt(regrets[rank(&before, old_regrets)], 0.05, "the case is none");
        gone += check(&before, &now, 40).verdict != RUE_RECHECK_HOLDS;
    }
    cr_assert_geq(gone, 9);
}

Test(recheck, a_uniformly_slower_machine_is_reported_and_may_hold)
{
    struct machine before = make_machine(3), now = before;
    now.slower = 1.4;
    struct rue_recheck_findings found = check(&before, &now, 60);
    cr_assert_float_eq(found.time_ratio, 1.4, 0.1);
    cr_assert_neq(found.verdict, RUE_RECHECK_BEATEN);
    now.slower = 3;
    cr_assert_neq(check(&before, &now, 90).verdict, RUE_RECHECK_HOLDS);
}

Test(recheck, a_configuration_that_no_longer_runs_has_failed)
{
    double regrets[CONFIGS];
    struct machine before = make_machine(1), now = before;
    now.broken = rank(&before, regrets);
    cr_assert_eq(check(&before, &now, 30).verdict, RUE_RECHECK_FAILED);
}

Test(recheck, a_rival_that_does_not_run_has_no_effect)
{
    double regrets[CONFIGS];
    struct machine before = make_machine(1), now = before;
    size_t best = rank(&before, regrets), second = best == 0;
    for (size_t c = 0; c < CONFIGS; c++)
        if (c != best && regrets[c] < regrets[second]) second = c;
    now.broken = second;
    struct rue_recheck_findings found = check(&before, &now, 30);
    cr_assert_eq(found.verdict, RUE_RECHECK_HOLDS);
}

Test(recheck, the_verdict_is_unsure_without_comparable_times)
{
    struct machine before = make_machine(1), now = before;
    before.unknown = true;
    struct rue_recheck_findings found = check(&before, &now, 30);
    cr_assert_geq(now.trials, 2);
    cr_assert(isnan(found.time_ratio));
    cr_assert_eq(found.verdict, RUE_RECHECK_UNSURE);
}

Test(recheck, one_pair_is_tried_at_any_cost)
{
    struct machine machine = make_machine(2);
    struct rue_recheck_findings found = check(&machine, &machine, 0);
    cr_assert_eq(machine.trials, 2);
    cr_assert_eq(found.verdict, RUE_RECHECK_HOLDS);
}

Test(recheck, no_configuration_gives_no_verdict)
{
    void *recheck;
    struct rue_prior prior = {.config = SIZE_MAX};
    struct rue_strategy_setup setup = rue_strategy_setup_default((struct rue_setup_grid){1, 1, NULL}, 1);
    cr_assert_eq(rue_strategy_recheck.open(&setup, &recheck, NULL), RUE_USAGE);
    setup.known.prior = &prior;
    cr_assert_eq(rue_strategy_recheck.open(&setup, &recheck, NULL), RUE_USAGE);
}
