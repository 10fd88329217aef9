#include <criterion/criterion.h>
#include <math.h>

#include "duel.h"
#include "pipeline_fixture.h"

TestSuite(duel_probes, .timeout = 60);

enum { MODELS = 4, SIZES = 4, WORKERS = 5, CONFIGS = SIZES * WORKERS, JOB = 6000 };

/* A loader and models as they were known, and by how much they are slower now. */
struct machine {
    struct rue_config configs[CONFIGS];
    struct rue_knowledge *knowledge;
    struct rue_prior prior;
    struct rue_strategy_setup setup;
    double slower_load, slower_compute;
    size_t counts[RUE_MEASURE_COUNT]; /* of what was asked */
    struct rue_duel duel;
};

static double compute_s(size_t model, double batch_size)
{
    return 2e-3 + 5e-4 * (double)(model + 1) * batch_size;
}

/* The machine is known, or one like it, and has become slower since by those factors. */
static void machine_open(struct machine *machine, bool same, double slower_load, double slower_compute)
{
    static const int sizes[SIZES] = {16, 64, 128, 256}, workers[WORKERS] = {1, 2, 4, 8, 16};
    *machine = (struct machine){.slower_load = slower_load, .slower_compute = slower_compute};
    cr_assert_eq(rue_knowledge_open(MODELS, &machine->knowledge, NULL), RUE_OK);
    machine->knowledge->loader = pipeline_small;
    for (int p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++) machine->knowledge->covariance[p][p] = 1e-4;
    for (size_t m = 0; same && m < MODELS; m++)
        for (int s = 0; s < SIZES; s++)
            rue_compute_curve_add(&machine->knowledge->consumers[2 * m].curve, sizes[s],
                                  compute_s(m, sizes[s]), NAN);
    pipeline_grid(sizes, SIZES, workers, WORKERS, machine->configs);
    machine->prior = (struct rue_prior){.knowledge = machine->knowledge,
                                        .widen_sd = same ? 0.25 : 0.5,
                                        .same_machine = same,
                                        .config = SIZE_MAX};
    machine->setup =
        rue_strategy_setup_default((struct rue_setup_grid){MODELS, CONFIGS, machine->configs}, JOB);
    machine->setup.runner =
        (struct rue_setup_runner){.measures = {true, true, true}, .cpus = 12, .round_robin = true};
    machine->setup.known.prior = &machine->prior;
}

static void machine_close(struct machine *machine)
{
    rue_duel_close(&machine->duel);
    rue_knowledge_close(machine->knowledge);
}

/* Answers what is asked. */
static void answer(struct machine *machine)
{
    struct rue_question ask;
    while (rue_question_queue_pop(&machine->duel.queue, 0, &ask)) {
        struct rue_trial_result result = rue_trial_result_empty();
        struct rue_pipeline_consumer none = {1e-6, 0, 0, false};
        struct rue_pipeline_times times;
        const struct rue_config *config = &machine->configs[ask.config];
        double batch = config->value[RUE_BATCH_SIZE];
        machine->counts[ask.measure]++;
        result.outcome = RUE_TRIAL_OK;
        if (ask.measure == RUE_COMPUTE) {
            double spent_s = (double)ask.batches * compute_s(ask.scenario, batch) * machine->slower_compute;
            result.batches = (int64_t)ask.batches;
            result.images = (int64_t)((double)ask.batches * batch);
            result.compute_ns = (int64_t)(1e9 * spent_s);
        } else {
            times = rue_pipeline_predict(&pipeline_small, &none, config, ask.images);
            result.images = (int64_t)ask.images;
            result.batches = (int64_t)((double)ask.images / batch);
            result.first_batch_ns = (int64_t)(1e9 * times.first_batch_s * machine->slower_load);
            result.end_to_end_ns = (int64_t)(1e9 * times.end_to_end_s * machine->slower_load);
            result.shutdown_ns = (int64_t)(1e9 * times.shutdown_s * machine->slower_load);
            result.compute_ns = 0;
        }
        rue_duel_observe(&machine->duel, &ask, &result);
    }
    rue_duel_update(&machine->duel);
    cr_assert_eq(machine->duel.status, RUE_OK, "%s", machine->duel.error.message);
}

static const struct rue_prediction *get_prediction(const struct machine *machine)
{
    return machine->duel.forecast->prediction;
}

/* All probes in their order. */
static void probe(struct machine *machine)
{
    struct rue_duel *duel = &machine->duel;
    cr_assert_eq(rue_duel_open(duel, &machine->setup, NULL), RUE_OK);
    rue_duel_push_load_probes(duel);
    answer(machine);
    rue_duel_push_compute_probes(duel);
    answer(machine);
}

/* Whether the model's compute was measured at the batch size of the configuration. */
static bool is_computed(const struct machine *machine, size_t model, size_t config)
{
    struct rue_knowledge *learned;
    cr_assert_eq(rue_prediction_knowledge(get_prediction(machine), &learned, NULL), RUE_OK);
    const struct rue_compute_point *point = rue_compute_curve_find(
        &learned->consumers[2 * model].curve, machine->configs[config].value[RUE_BATCH_SIZE]);
    bool computed = point && point->trials > 0;
    rue_knowledge_close(learned);
    return computed;
}

static void expect_right(const struct machine *machine, double limit)
{
    for (size_t m = 0; m < MODELS; m++)
        for (size_t c = 0; c < CONFIGS; c++) {
            struct rue_pipeline_consumer consumer = {
                2e-3 * machine->slower_compute, 5e-4 * (double)(m + 1) * machine->slower_compute, 0, false};
            struct rue_pipeline_loader now = pipeline_small;
            struct rue_pipeline_times times;
            for (int p = 0; p < RUE_PIPELINE_PARAMETER_COUNT; p++)
                if (p != RUE_PIPELINE_contention_ratio && p != RUE_PIPELINE_jitter_ratio)
                    now.value[p] *= machine->slower_load;
            times = rue_pipeline_predict(&now, &consumer, &machine->configs[c], JOB);
            double found = rue_prediction_trial_s(get_prediction(machine), m, c, JOB);
            cr_assert_lt(fabs(log(found / times.end_to_end_s)), limit,
                         "model %zu, config %zu: %.2f s, not %.2f", m, c, found, times.end_to_end_s);
        }
}

Test(duel_probes, a_prior_of_this_machine_saves_most_probes)
{
    struct machine machine;
    machine_open(&machine, true, 1, 1);
    probe(&machine);
    cr_assert_eq(machine.counts[RUE_LOAD], 3);
    cr_assert_eq(machine.counts[RUE_COMPUTE], MODELS, "one of each model");
    cr_assert(is_computed(&machine, 0, 0));
    cr_assert_not(is_computed(&machine, 0, CONFIGS - 1), "a prior is not a measurement");
    expect_right(&machine, 0.02);
    machine_close(&machine);
}

Test(duel_probes, another_machine_gets_every_probe)
{
    struct machine machine;
    machine_open(&machine, false, 2, 1);
    probe(&machine);
    cr_assert(machine.counts[RUE_LOAD] >= 8 && machine.counts[RUE_COMPUTE] == 2 * MODELS);
    expect_right(&machine, 0.05);
    machine_close(&machine);
}

Test(duel_probes, few_probes_detect_a_slower_loader)
{
    struct machine machine;
    machine_open(&machine, true, 1.5, 1);
    probe(&machine);
    expect_right(&machine, 0.1);
    machine_close(&machine);
}

Test(duel_probes, one_probe_detects_a_faster_model)
{
    struct machine machine;
    machine_open(&machine, true, 1, 0.5);
    probe(&machine);
    expect_right(&machine, 0.05);
    machine_close(&machine);
}

Test(duel_probes, few_trials_have_few_probes_and_cover_every_model)
{
    for (size_t trials = 2 * MODELS + 3; trials < 40; trials++) {
        struct machine machine;
        machine_open(&machine, false, 1, 1);
        machine.setup.budget.trials = trials;
        probe(&machine);
        size_t made = machine.counts[RUE_LOAD] + machine.counts[RUE_COMPUTE];
        cr_assert_leq(made + MODELS, trials, "%zu probes of %zu trials", made, trials);
        cr_assert_geq(machine.counts[RUE_LOAD], 3);
        for (size_t m = 0; m < MODELS; m++) cr_assert(is_computed(&machine, m, 0));
        expect_right(&machine, 0.5);
        machine_close(&machine);
    }
}

Test(duel_probes, estimates_are_exported)
{
    struct machine machine;
    struct rue_knowledge *learned;
    machine_open(&machine, true, 1, 1);
    cr_assert_eq(rue_duel_open(&machine.duel, &machine.setup, NULL), RUE_OK);
    cr_assert_eq(rue_prediction_knowledge(get_prediction(&machine), &learned, NULL), RUE_OK);
    cr_assert_null(learned, "nothing yet");
    rue_duel_close(&machine.duel);
    machine.duel = (struct rue_duel){0};
    probe(&machine);
    cr_assert_eq(rue_prediction_knowledge(get_prediction(&machine), &learned, NULL), RUE_OK);
    for (size_t m = 0; m < MODELS; m++) {
        cr_assert_eq(learned->consumers[2 * m].curve.count, SIZES,
                     "also of models that were not probed this time");
        double found = rue_knowledge_job_s(learned, m, &machine.configs[7], JOB);
        cr_assert_float_eq(found / rue_prediction_trial_s(get_prediction(&machine), m, 7, JOB), 1, 1e-9);
    }
    rue_knowledge_close(learned);
    machine_close(&machine);
}

Test(duel_probes, estimates_of_a_cell_count_until_trials_contradict)
{
    struct machine with, without;
    static const double offsets[MODELS * CONFIGS] = {[7] = 0.1};
    machine_open(&with, true, 1, 1);
    machine_open(&without, true, 1, 1);
    with.prior.offsets = offsets;
    probe(&with);
    probe(&without);
    double ratio = rue_prediction_trial_s(get_prediction(&with), 0, 7, JOB) /
                   rue_prediction_trial_s(get_prediction(&without), 0, 7, JOB);
    cr_assert_float_eq(log(ratio), 0.1, 1e-9);
    machine_close(&with);
    machine_close(&without);
}
