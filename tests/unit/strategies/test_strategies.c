/* Every strategy on every machine that is odd: it comes to an end, asks nothing that it must not, and claims
 * nothing that is no number. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "random.h"
#include "strategy.h"

enum { MODELS_MAX = 3, SIZES = 4, WORKERS = 4, CONFIGS = SIZES * WORKERS, ASKS_MAX = 3000 };
static const uint64_t job = 3000;

struct oddity {
    const char *name;
    size_t models, configs;
    double budget_s;      /* 0: no limit */
    size_t budget_trials; /* 0: no limit */
    bool joint_alone;
    double (*time_s)(size_t model, size_t config, double plain_s); /* NULL: as it is */
    enum rue_outcome (*outcome)(size_t model, size_t config);      /* NULL: ok */
    bool answered; /* something is measured on every model, so a recommendation there can be */
};

static double zero(size_t model, size_t config, double plain_s)
{
    (void)model, (void)config, (void)plain_s;
    return 0;
}

static double negative(size_t model, size_t config, double plain_s)
{
    (void)model, (void)config;
    return -plain_s;
}

static double huge(size_t model, size_t config, double plain_s)
{
    (void)model, (void)config, (void)plain_s;
    return (double)RUE_TRIAL_FIELD_MAX / 1e9;
}

static double now_and_then_zero(size_t model, size_t config, double plain_s)
{
    return (model + config) % 3 ? plain_s : 0;
}

static double equal(size_t model, size_t config, double plain_s)
{
    (void)model, (void)config, (void)plain_s;
    return 5;
}

static double tied(size_t model, size_t config, double plain_s)
{
    (void)model;
    return config < 2 ? 1 : plain_s + 2;
}

static enum rue_outcome first_model_never(size_t model, size_t config)
{
    (void)config;
    return model == 0 ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_OK;
}

static enum rue_outcome never(size_t model, size_t config)
{
    (void)model, (void)config;
    return RUE_TRIAL_FAILED;
}

static enum rue_outcome one_config_alone(size_t model, size_t config)
{
    (void)model;
    return config == 5 ? RUE_TRIAL_OK : RUE_TRIAL_TIMEOUT;
}

static const struct oddity oddities[] = {
    {"nothing odd", 3, CONFIGS, 600, 0, false, NULL, NULL, true},
    {"joint alone", 3, CONFIGS, 600, 0, true, NULL, NULL, true},
    {"a space of one point", 3, 1, 600, 0, false, NULL, NULL, true},
    {"a space of one point, joint alone", 3, 1, 600, 0, true, NULL, NULL, true},
    {"two points", 3, 2, 600, 0, false, NULL, NULL, true},
    {"one model", 1, CONFIGS, 600, 0, false, NULL, NULL, true},
    {"a model infeasible everywhere", 3, CONFIGS, 600, 0, false, NULL, first_model_never, false},
    {"a model infeasible everywhere, joint alone", 3, CONFIGS, 600, 0, true, NULL, first_model_never, false},
    {"nothing runs", 3, CONFIGS, 600, 0, false, NULL, never, false},
    {"one configuration runs", 3, CONFIGS, 600, 0, false, NULL, one_config_alone, false},
    {"times of zero", 3, CONFIGS, 600, 0, false, zero, NULL, false},
    {"times of zero, joint alone", 3, CONFIGS, 600, 0, true, zero, NULL, false},
    {"negative times", 3, CONFIGS, 600, 0, false, negative, NULL, false},
    {"endless times", 3, CONFIGS, 600, 0, false, huge, NULL, false},
    {"now and then a time of zero", 3, CONFIGS, 600, 0, false, now_and_then_zero, NULL, false},
    {"all cells equal", 3, CONFIGS, 600, 0, false, equal, NULL, true},
    {"two exactly tied", 3, CONFIGS, 600, 0, false, tied, NULL, true},
    {"no time at all", 3, CONFIGS, 1e-9, 0, false, NULL, NULL, false},
    {"one trial", 3, CONFIGS, 0, 1, false, NULL, NULL, false},
    {"trials for one configuration", 3, CONFIGS, 0, 3, false, NULL, NULL, true},
    {"too few trials for probes", 3, CONFIGS, 0, 8, false, NULL, NULL, true},
    {"trials for some probes", 3, CONFIGS, 0, 10, false, NULL, NULL, true},
    {"few trials, joint alone", 3, CONFIGS, 0, 8, true, NULL, NULL, true},
    {"forty trials", 3, CONFIGS, 0, 40, false, NULL, NULL, true},
    {"no limit", 2, 6, 0, 0, false, equal, NULL, true},
};

struct machine {
    const struct oddity *oddity;
    uint64_t seed;
    struct rue_config configs[CONFIGS];
};

static double rate(const struct machine *machine, size_t config)
{
    return 100 * fmax(1, sqrt(machine->configs[config].value[RUE_NUM_WORKERS]));
}

static double plain_s(const struct machine *machine, enum rue_measure measure, size_t model, size_t config,
                      double images)
{
    double load = images / rate(machine, config), compute = images * 2e-3 * (double)(model + 1);
    double start = 0.1 + 0.02 * machine->configs[config].value[RUE_NUM_WORKERS];
    return measure == RUE_LOAD      ? start + load
           : measure == RUE_COMPUTE ? compute
                                    : start + fmax(load, compute);
}

static struct machine make_machine(const struct oddity *oddity)
{
    struct machine machine = {.oddity = oddity, .seed = 7};
    for (size_t c = 0; c < oddity->configs; c++) {
        machine.configs[c] = rue_config_default();
        machine.configs[c].value[RUE_BATCH_SIZE] = 16 << (c % SIZES);
        machine.configs[c].value[RUE_NUM_WORKERS] = 1 << c / SIZES;
    }
    return machine;
}

static int64_t to_ns(double seconds)
{
    return (int64_t)(seconds * 1e9);
}

static struct rue_trial_result perform(struct machine *machine, const struct rue_question *ask)
{
    const struct oddity *oddity = machine->oddity;
    struct rue_trial_result result = rue_trial_result_empty();
    const struct rue_config *config = &machine->configs[ask->config];
    double batch = config->value[RUE_BATCH_SIZE];
    bool computes = ask->measure == RUE_COMPUTE;
    double images = computes ? (double)ask->batches * batch : ask->images ? (double)ask->images : (double)job;
    double time_s = plain_s(machine, ask->measure, ask->scenario, ask->config, images);
    time_s *= 1 + 0.01 * rue_random_unit(&machine->seed);
    result.config = *config;
    result.outcome = oddity->outcome ? oddity->outcome(ask->scenario, ask->config) : RUE_TRIAL_OK;
    result.cost_ns = to_ns(0.05 + time_s);
    if (result.outcome != RUE_TRIAL_OK) return result;
    if (oddity->time_s) time_s = oddity->time_s(ask->scenario, ask->config, time_s);
    result.images = (int64_t)images;
    result.batches = (int64_t)ceil(images / batch);
    result.end_to_end_ns = to_ns(time_s);
    result.first_batch_ns = result.end_to_end_ns / result.batches;
    result.compute_ns = computes ? result.end_to_end_ns : result.end_to_end_ns / 4;
    result.load_wait_ns = result.end_to_end_ns / 4;
    result.shutdown_ns = 0;
    return result;
}

static struct rue_strategy_setup make_setup(const struct machine *machine)
{
    const struct oddity *oddity = machine->oddity;
    struct rue_strategy_setup setup = rue_strategy_setup_default(
        (struct rue_setup_grid){oddity->models, oddity->configs, machine->configs}, job);
    setup.runner =
        (struct rue_setup_runner){.measures = {true, !oddity->joint_alone, !oddity->joint_alone}, .cpus = 4};
    setup.seed = 3;
    setup.budget.seconds = oddity->budget_s > 0 ? oddity->budget_s : INFINITY;
    setup.budget.trials = oddity->budget_trials;
    return setup;
}

/* What a run has come to. */
struct course {
    size_t asks;
    double spent_s;
    bool ran[MODELS_MAX][CONFIGS], bad[MODELS_MAX][CONFIGS];
    uint64_t fingerprint; /* of the questions in their order */
};

static void check_ask(const struct oddity *oddity, const struct course *course,
                      const struct rue_question *ask)
{
    cr_assert_lt(course->asks, ASKS_MAX, "%s: it must come to an end", oddity->name);
    cr_assert(ask->scenario < oddity->models && ask->config < oddity->configs);
    cr_assert(ask->images <= job && isfinite(ask->expected_s) && ask->expected_s >= 0);
    cr_assert(ask->measure == RUE_JOINT || !oddity->joint_alone);
    if (ask->measure == RUE_JOINT)
        cr_assert_not(course->bad[ask->scenario][ask->config], "%s: a cell that failed is left alone",
                      oddity->name);
}

static bool budget_is_spent(const struct rue_strategy_setup *setup, const struct course *course)
{
    return course->spent_s >= setup->budget.seconds ||
           (setup->budget.trials && course->asks >= setup->budget.trials);
}

static struct course run(const struct rue_strategy_ops *strategy, const struct rue_strategy_setup *setup,
                         struct machine *machine, void *state)
{
    struct course course = {.fingerprint = 1};
    struct rue_question ask;
    while (!budget_is_spent(setup, &course) && strategy->ask(state, 0, &ask)) {
        check_ask(machine->oddity, &course, &ask);
        struct rue_trial_result result = perform(machine, &ask);
        if (ask.measure == RUE_JOINT) {
            bool ok = result.outcome == RUE_TRIAL_OK;
            course.ran[ask.scenario][ask.config] |= ok;
            course.bad[ask.scenario][ask.config] |= !ok;
        }
        course.spent_s += (double)result.cost_ns / 1e9;
        course.fingerprint = rue_mix64(course.fingerprint ^
                                       (ask.scenario + 100 * ask.config + 10000 * ask.images + ask.measure));
        course.asks++;
        strategy->observe(state, &ask, &result);
    }
    return course;
}

static void check_claim(const struct rue_strategy_ops *strategy, const struct oddity *oddity, void *state)
{
    struct rue_claim claim;
    if (!strategy->claim || !strategy->claim(state, SIZE_MAX, &claim)) return;
    cr_assert_lt(claim.config, oddity->configs);
    cr_assert(isfinite(claim.bound_ratio) && claim.bound_ratio >= 0, "%s, %s: a bound of %g", strategy->name,
              oddity->name, claim.bound_ratio);
    for (size_t i = 0; i < oddity->models * oddity->configs; i++) {
        struct rue_estimate estimate;
        if (!strategy->estimate(state, i / oddity->configs, i % oddity->configs, &estimate)) continue;
        cr_assert(isfinite(estimate.time_s) && estimate.time_s > 0, "%s, %s: a cell of %g s", strategy->name,
                  oddity->name, estimate.time_s);
    }
}

/* Whether some configuration ran on every model. */
static bool is_answered(const struct oddity *oddity, const struct course *course)
{
    for (size_t c = 0; c < oddity->configs; c++) {
        size_t ran = 0;
        for (size_t m = 0; m < oddity->models; m++) ran += course->ran[m][c];
        if (ran == oddity->models) return true;
    }
    return false;
}

static struct course run_strategy(const struct rue_strategy_ops *strategy, const struct oddity *oddity)
{
    struct machine machine = make_machine(oddity);
    struct rue_strategy_setup setup = make_setup(&machine);
    rue_error error = {0};
    void *state;
    cr_assert_eq(strategy->open(&setup, &state, &error), RUE_OK, "%s, %s: %s", strategy->name, oddity->name,
                 error.message);
    struct course course = run(strategy, &setup, &machine, state);
    check_claim(strategy, oddity, state);
    strategy->close(state);
    return course;
}

/* By their index, as a parameter is copied into another process, where functions lie elsewhere. */
ParameterizedTestParameters(strategies, come_to_an_end_on_every_odd_machine)
{
    static size_t indices[sizeof oddities / sizeof *oddities];
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) indices[i] = i;
    return cr_make_param_array(size_t, indices, sizeof indices / sizeof *indices, NULL);
}

ParameterizedTest(const size_t *index, strategies, come_to_an_end_on_every_odd_machine, .timeout = 120)
{
    const struct oddity *oddity = &oddities[*index];
    for (size_t i = 0; rue_strategies[i]; i++) {
        struct course course = run_strategy(rue_strategies[i], oddity);
        if (oddity->answered)
            cr_assert(is_answered(oddity, &course), "%s, %s: nothing ran on every model",
                      rue_strategies[i]->name, oddity->name);
    }
}

Test(strategies, ask_the_same_with_the_same_seed)
{
    for (size_t i = 0; rue_strategies[i]; i++)
        cr_assert_eq(run_strategy(rue_strategies[i], &oddities[0]).fingerprint,
                     run_strategy(rue_strategies[i], &oddities[0]).fingerprint, "%s",
                     rue_strategies[i]->name);
}

Test(strategies, refuse_a_setup_without_a_trial)
{
    struct machine machine = make_machine(&oddities[0]);
    for (size_t i = 0; rue_strategies[i]; i++) {
        struct rue_strategy_setup setup = make_setup(&machine);
        void *state = &setup;
        setup.grid.config_count = 0;
        cr_assert_eq(rue_strategies[i]->open(&setup, &state, NULL), RUE_USAGE);
        cr_assert_null(state);
        setup = make_setup(&machine);
        setup.grid.scenario_count = 0;
        cr_assert_eq(rue_strategies[i]->open(&setup, &state, NULL), RUE_USAGE);
    }
}

Test(strategies, close_accepts_null)
{
    for (size_t i = 0; rue_strategies[i]; i++) rue_strategies[i]->close(NULL);
}

Test(strategies, are_named_and_found)
{
    cr_assert_str_eq(rue_strategy_names[0], RUE_STRATEGY_AUTO);
    cr_assert_null(rue_strategy_find(RUE_STRATEGY_AUTO), "who it stands for is unknown here");
    size_t count = 0;
    for (; rue_strategies[count]; count++) {
        cr_assert_str_eq(rue_strategy_names[count + 1], rue_strategies[count]->name);
        cr_assert_eq(rue_strategy_find(rue_strategies[count]->name), rue_strategies[count]);
    }
    cr_assert_null(rue_strategy_names[count + 1]);
}
