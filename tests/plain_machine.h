/* A simulated machine of few words for tests of strategies: loading and computing overlap, the slower one
 * counts, and one configuration is `favoured` by a share of its time. */
#ifndef RUE_TESTS_PLAIN_MACHINE_H
#define RUE_TESTS_PLAIN_MACHINE_H

#include <criterion/criterion.h>
#include <math.h>

#include "random.h"
#include "strategy.h"

enum { PLAIN_MODELS = 4, PLAIN_CONFIGS = 20, PLAIN_JOB = 4000, PLAIN_ASKS_MAX = 3000 };

struct plain_machine {
    uint64_t seed;
    double noise;
    size_t favoured, broken; /* configurations; broken: never runs */
    struct rue_config configs[PLAIN_CONFIGS];
    double expected_s[PLAIN_MODELS * PLAIN_CONFIGS];
};

static double plain_machine_s(const struct plain_machine *machine, enum rue_measure measure, size_t model,
                              size_t config, double images)
{
    const int *value = machine->configs[config].value;
    double load = images / (80 * value[RUE_NUM_WORKERS]), compute = images * 2e-3 * (double)(model + 1);
    double start = 0.1 + 0.05 * value[RUE_NUM_WORKERS] + 0.2 * (double)(config % 4);
    double s = measure == RUE_LOAD      ? start + load
               : measure == RUE_COMPUTE ? compute
                                        : start + fmax(load, compute);
    return measure == RUE_JOINT && config != machine->favoured ? 1.08 * s : s;
}

static inline struct plain_machine plain_machine_of(uint64_t seed)
{
    struct plain_machine machine = {.seed = seed, .noise = 0.01, .favoured = 9, .broken = PLAIN_CONFIGS};
    for (size_t c = 0; c < PLAIN_CONFIGS; c++) {
        machine.configs[c] = rue_config_default();
        machine.configs[c].value[RUE_BATCH_SIZE] = 16 << (c % 4);
        machine.configs[c].value[RUE_NUM_WORKERS] = 1 << c / 4;
    }
    for (size_t i = 0; i < PLAIN_MODELS * PLAIN_CONFIGS; i++)
        machine.expected_s[i] =
            plain_machine_s(&machine, RUE_JOINT, i / PLAIN_CONFIGS, i % PLAIN_CONFIGS, PLAIN_JOB);
    return machine;
}

static inline struct rue_strategy_setup plain_machine_setup(const struct plain_machine *machine,
                                                            double budget_s)
{
    return (struct rue_strategy_setup){.scenario_count = PLAIN_MODELS,
                                       .config_count = PLAIN_CONFIGS,
                                       .configs = machine->configs,
                                       .job_images = PLAIN_JOB,
                                       .repeats = 1,
                                       .seed = machine->seed,
                                       .measures = {true, true, true},
                                       .cpus = 16,
                                       .budget_s = budget_s,
                                       .expected_s = machine->expected_s,
                                       .epsilon_ratio = 0.005,
                                       .confidence = 0.95};
}

static inline struct rue_trial_result plain_machine_run(struct plain_machine *machine,
                                                        const struct rue_ask *ask)
{
    struct rue_trial_result result = rue_trial_result_empty();
    double batch = machine->configs[ask->config].value[RUE_BATCH_SIZE];
    bool computes = ask->measure == RUE_COMPUTE;
    double images = computes ? (double)ask->batches * batch : ask->images ? (double)ask->images : PLAIN_JOB;
    double s = plain_machine_s(machine, ask->measure, ask->scenario, ask->config, images);
    s *= 1 + machine->noise * (2 * rue_random_unit(&machine->seed) - 1);
    result.outcome = ask->config == machine->broken ? RUE_TRIAL_FAILED : RUE_TRIAL_OK;
    result.config = machine->configs[ask->config];
    result.cost_ns = (int64_t)(1e9 * (s + 0.05));
    if (result.outcome != RUE_TRIAL_OK) return result;
    result.images = (int64_t)images;
    result.batches = (int64_t)ceil(images / batch);
    result.end_to_end_ns = (int64_t)(1e9 * s);
    result.first_batch_ns = result.end_to_end_ns / result.batches;
    result.compute_ns = computes ? result.end_to_end_ns : result.end_to_end_ns / 4;
    result.load_wait_ns = result.end_to_end_ns / 4;
    result.shutdown_ns = 0;
    return result;
}

/* What was asked jointly, and what all cost. */
struct plain_course {
    size_t asks, joints;
    double spent_s;
    size_t runs[PLAIN_MODELS][PLAIN_CONFIGS];
    size_t config[PLAIN_ASKS_MAX]; /* [joints] */
};

/* Asks until the strategy ends; `*state` is left open. */
static inline struct plain_course plain_machine_course(const char *name,
                                                       const struct rue_strategy_setup *setup,
                                                       struct plain_machine *machine, void **state)
{
    const struct rue_strategy_ops *strategy = rue_strategy_find(name);
    struct plain_course course = {0};
    struct rue_ask ask;
    cr_assert_eq(strategy->open(setup, state, NULL), RUE_OK);
    for (; strategy->ask(*state, &ask); course.asks++) {
        cr_assert_lt(course.asks, PLAIN_ASKS_MAX, "it must come to an end");
        struct rue_trial_result result = plain_machine_run(machine, &ask);
        course.spent_s += (double)result.cost_ns / 1e9;
        if (ask.measure == RUE_JOINT) {
            course.config[course.joints++] = ask.config;
            course.runs[ask.scenario][ask.config]++;
        }
        strategy->tell(*state, &ask, &result);
    }
    return course;
}

static inline bool plain_course_is_complete(const struct plain_course *course, size_t config)
{
    for (size_t m = 0; m < PLAIN_MODELS; m++)
        if (course->runs[m][config] == 0) return false;
    return true;
}

#endif
