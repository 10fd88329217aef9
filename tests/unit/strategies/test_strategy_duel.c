/* On simulated machines that are made of the pipeline and of errors that it does not know. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "simulated_machine.h"

TestSuite(strategy_duel, .timeout = 120);

enum { ASKS_MAX = 4000 };

struct outcome {
    struct rue_claim claim;
    bool claimed;
    size_t asks;
    double spent_s;
    struct rue_question log[ASKS_MAX];
    struct rue_estimate cells[MODELS][CONFIGS]; /* where something is claimed */
};

static double spend_otherwise(const struct machine *machine, void *state, double left_s)
{
    double reserve_s = 0;
    size_t trials = 0;
    if (machine->other_s <= 0) return 0;
    rue_strategy_duel.reserve(state, &reserve_s, &trials);
    cr_assert_eq(trials > 0, reserve_s > 0);
    double spent_s = fmax(0, fmin(machine->other_s, left_s - reserve_s));
    rue_strategy_duel.spend(state, 0, spent_s, 0);
    return spent_s;
}

static void play_setup(struct machine *machine, const struct rue_strategy_setup *setup, struct outcome *out)
{
    const struct rue_strategy_ops *duel = &rue_strategy_duel;
    void *state;
    rue_error error = {0};
    cr_assert_eq(duel->open(setup, &state, &error), RUE_OK, "%s", error.message);
    out->spent_s = 0;
    for (out->asks = 0; out->spent_s < setup->budget.seconds && duel->ask(state, 0, &out->log[out->asks]);
         out->asks++) {
        cr_assert_lt(out->asks + 1, ASKS_MAX, "it must come to an end");
        struct rue_trial_result result = perform(machine, &out->log[out->asks]);
        out->spent_s += (double)result.cost_ns / 1e9;
        duel->observe(state, &out->log[out->asks], &result);
        out->spent_s += spend_otherwise(machine, state, setup->budget.seconds - out->spent_s);
    }
    out->claimed = duel->claim(state, SIZE_MAX, &out->claim);
    if (out->claimed)
        for (size_t i = 0; i < MODELS * CONFIGS; i++) {
            struct rue_estimate *estimate = &out->cells[i / CONFIGS][i % CONFIGS];
            cr_assert(duel->estimate(state, i / CONFIGS, i % CONFIGS, estimate));
            cr_assert_gt(estimate->time_s, 0);
        }
    duel->close(state);
}

static void play(struct machine *machine, double budget_s, double epsilon_ratio, struct outcome *out)
{
    struct rue_strategy_setup setup = make_setup(machine, budget_s, epsilon_ratio);
    play_setup(machine, &setup, out);
}

Test(strategy_duel, finds_a_good_configuration_at_a_small_share_of_the_cost)
{
    enum { MACHINES = 4 };
    static struct outcome outcome;
    int held = 0;
    for (uint64_t seed = 0; seed < MACHINES; seed++) {
        struct machine machine = make_machine(seed);
        double regrets[CONFIGS], least = compute_regrets(&machine, regrets), whole_s = exhaustive_s(&machine);
        play(&machine, 0.15 * whole_s, 0.005, &outcome);
        cr_assert(outcome.claimed && outcome.claim.verified, "seed %d", (int)seed);
        double excess = regrets[outcome.claim.config] - least;
        cr_assert_lt(excess, 0.02, "seed %d: %.2f points worse than the best", (int)seed, 100 * excess);
        cr_assert(isfinite(outcome.claim.bound_ratio) && outcome.claim.bound_ratio >= 0);
        held += excess <= outcome.claim.bound_ratio;
        cr_assert_leq(outcome.spent_s, 0.18 * whole_s);
    }
    cr_assert_geq(held, MACHINES - 1);
}

Test(strategy_duel, the_reserved_trials_are_enough_to_recommend)
{
    static struct outcome outcome;
    for (uint64_t seed = 0; seed < 4; seed++) {
        struct machine machine = make_machine(seed);
        double whole_s = exhaustive_s(&machine);
        machine.other_s = 0.01 * whole_s;
        machine.infeasible = 3 * seed; /* nothing is reserved for what does not run */
        play(&machine, 0.15 * whole_s, 0.005, &outcome);
        cr_assert(outcome.claimed && outcome.claim.verified, "seed %d", (int)seed);
        cr_assert_leq(outcome.spent_s, 0.16 * whole_s);
    }
}

Test(strategy_duel, stops_when_the_bound_is_reached)
{
    static struct outcome outcome;
    struct machine machine = make_machine(3);
    play(&machine, INFINITY, 0.01, &outcome);
    cr_assert(outcome.claimed && outcome.claim.verified);
    cr_assert_leq(outcome.claim.bound_ratio, 0.03);
    cr_assert_lt(outcome.spent_s, exhaustive_s(&machine));
}

Test(strategy_duel, asks_the_same_questions_for_the_same_answers)
{
    static struct outcome one, other;
    struct machine a = make_machine(5), b = make_machine(5);
    play(&a, 100, 0.005, &one);
    play(&b, 100, 0.005, &other);
    cr_assert_eq(one.asks, other.asks);
    for (size_t i = 0; i < one.asks; i++)
        cr_assert(one.log[i].measure == other.log[i].measure &&
                  one.log[i].scenario == other.log[i].scenario && one.log[i].config == other.log[i].config &&
                  one.log[i].images == other.log[i].images);
}

Test(strategy_duel, works_with_only_joint_trials)
{
    static struct outcome outcome;
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct machine machine = make_machine(seed);
        double regrets[CONFIGS], least = compute_regrets(&machine, regrets);
        machine.measures[RUE_LOAD] = machine.measures[RUE_COMPUTE] = false;
        play(&machine, 0.3 * exhaustive_s(&machine), 0.005, &outcome);
        cr_assert(outcome.claimed && outcome.claim.verified, "seed %d", (int)seed);
        cr_assert_lt(regrets[outcome.claim.config] - least, 0.03, "seed %d", (int)seed);
    }
}

/* As recorded times are. */
Test(strategy_duel, works_with_only_the_times_of_whole_jobs)
{
    static struct outcome outcome;
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct machine machine = make_machine(seed);
        double regrets[CONFIGS], least = compute_regrets(&machine, regrets), whole_s = exhaustive_s(&machine);
        machine.measures[RUE_LOAD] = machine.measures[RUE_COMPUTE] = false;
        machine.whole_jobs = true;
        play(&machine, 0.25 * whole_s, 0.005, &outcome);
        cr_assert(outcome.claimed && outcome.claim.verified, "seed %d", (int)seed);
        cr_assert_lt(regrets[outcome.claim.config] - least, 0.03, "seed %d", (int)seed);
        cr_assert_lt(outcome.spent_s, 0.3 * whole_s);
    }
}

Test(strategy_duel, surveys_with_another_configuration_if_the_first_does_not_run)
{
    static struct outcome outcome;
    struct machine machine = make_machine(2);
    machine.measures[RUE_LOAD] = machine.measures[RUE_COMPUTE] = false;
    play(&machine, 0.3 * exhaustive_s(&machine), 0.005, &outcome);
    machine = make_machine(2);
    machine.measures[RUE_LOAD] = machine.measures[RUE_COMPUTE] = false;
    machine.infeasible = outcome.log[0].config;
    play(&machine, 0.3 * exhaustive_s(&machine), 0.005, &outcome);
    cr_assert_eq(outcome.log[0].config, machine.infeasible, "the first question is the same");
    cr_assert(outcome.claimed && outcome.claim.verified);
    cr_assert_neq(outcome.claim.config, machine.infeasible);
}

Test(strategy_duel, works_without_configurations_that_do_not_run)
{
    static struct outcome outcome;
    struct machine machine = make_machine(2);
    double regrets[CONFIGS];
    play(&machine, 0.15 * exhaustive_s(&machine), 0.005, &outcome);
    machine = make_machine(2);
    machine.infeasible = outcome.claim.config;
    double least = compute_regrets(&machine, regrets);
    play(&machine, 0.2 * exhaustive_s(&machine), 0.005, &outcome);
    cr_assert(outcome.claimed && outcome.claim.verified);
    cr_assert_neq(outcome.claim.config, machine.infeasible);
    cr_assert_lt(regrets[outcome.claim.config] - least, 0.03);
}

static size_t count_joint(const struct outcome *outcome, size_t config)
{
    size_t count = 0;
    for (size_t i = 0; i < outcome->asks; i++)
        count += outcome->log[i].measure == RUE_JOINT && outcome->log[i].config == config;
    return count;
}

Test(strategy_duel, configurations_that_failed_on_one_model_are_not_tried_on_others)
{
    static const double shares[] = {0.03, 0.06, 0.1};
    static struct outcome outcome;
    size_t tried = 0;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        struct machine machine = make_machine(2);
        play(&machine, shares[i] * exhaustive_s(&machine), 0.005, &outcome);
        if (!outcome.claimed) continue;
        machine = make_machine(2);
        machine.infeasible = outcome.claim.config;
        play(&machine, shares[i] * exhaustive_s(&machine), 0.005, &outcome);
        cr_assert_leq(count_joint(&outcome, machine.infeasible), 1, "%g of the time", shares[i]);
        tried += count_joint(&outcome, machine.infeasible);
    }
    cr_assert_geq(tried, 2);
}

/* 500 images in batches of 256 are one batch then. */
Test(strategy_duel, a_skipped_last_batch_costs_no_time)
{
    enum { FEW = 500 };
    static struct outcome outcome;
    struct machine machine = make_machine(4);
    machine.drop_last = true;
    struct rue_strategy_setup setup = make_setup(&machine, 60, 0.01);
    setup.job.images = FEW;
    play_setup(&machine, &setup, &outcome);
    cr_assert(outcome.claimed && outcome.claim.verified);
    for (size_t i = 0; i < MODELS * CONFIGS; i++) {
        const struct rue_estimate *cell = &outcome.cells[i / CONFIGS][i % CONFIGS];
        struct rue_pipeline_consumer model = machine.models[i / CONFIGS];
        double true_s = predict_times(&machine, model, i % CONFIGS, FEW).end_to_end_s;
        cr_assert_float_eq(cell->time_s / true_s, 1, 0.3, "model %zu, configuration %zu: %.3f, not %.3f s",
                           i / CONFIGS, i % CONFIGS, cell->time_s, true_s);
        if (setup.grid.configs[i % CONFIGS].value[RUE_BATCH_SIZE] == 256)
            cr_assert_eq(cell->full, cell->trials > 0, "one batch is the whole job");
    }
}

/* As when a study goes on that was finished. */
Test(strategy_duel, a_survey_of_known_trials_is_not_repeated)
{
    static struct outcome outcome;
    const struct rue_strategy_ops *duel = &rue_strategy_duel;
    struct machine machine = make_machine(1);
    machine.measures[RUE_LOAD] = machine.measures[RUE_COMPUTE] = false;
    struct machine again = machine;
    struct rue_strategy_setup setup = make_setup(&machine, INFINITY, 0.02);
    play_setup(&machine, &setup, &outcome);
    void *state;
    cr_assert_eq(duel->open(&setup, &state, NULL), RUE_OK);
    for (size_t i = 0; i < outcome.asks; i++) {
        struct rue_trial_result result = perform(&again, &outcome.log[i]);
        outcome.log[i].stored = true;
        outcome.log[i].trial = i;
        duel->observe(state, &outcome.log[i], &result);
    }
    size_t asks = 0;
    for (struct rue_question ask; duel->ask(state, 0, &ask) && asks < outcome.asks; asks++) {
        struct rue_trial_result result = perform(&again, &ask);
        duel->observe(state, &ask, &result);
    }
    cr_assert_leq(asks, MODELS, "%zu trials of %zu again", asks, outcome.asks);
    duel->close(state);
}

/* When the first batch truly comes, on the model where it comes last. */
static double latest_s(const struct machine *machine, size_t config)
{
    double latest = 0;
    for (size_t m = 0; m < MODELS; m++) {
        struct rue_pipeline_times times = predict_times(machine, machine->models[m], config, JOB);
        latest = fmax(latest, times.first_batch_s * exp(machine->error[m][config]));
    }
    return latest * (1 + machine->first_excess);
}

/* Of those that keep the limit, by how much more than the best of them it costs. */
static double excess_in_time(const struct machine *machine, const double *regrets, size_t config)
{
    double least = INFINITY;
    for (size_t c = 0; c < CONFIGS; c++)
        if (latest_s(machine, c) <= machine->first_limit_s) least = fmin(least, regrets[c]);
    return regrets[config] - least;
}

Test(strategy_duel, does_not_recommend_a_late_first_batch)
{
    static struct outcome outcome;
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct machine machine = make_machine(seed);
        double regrets[CONFIGS];
        compute_regrets(&machine, regrets);
        play(&machine, 0.2 * exhaustive_s(&machine), 0.005, &outcome);
        machine.first_limit_s = 0.8 * latest_s(&machine, outcome.claim.config);
        play(&machine, 0.2 * exhaustive_s(&machine), 0.005, &outcome);
        cr_assert(outcome.claimed && outcome.claim.verified, "seed %d", (int)seed);
        cr_assert_leq(latest_s(&machine, outcome.claim.config), 1.05 * machine.first_limit_s);
        cr_assert_lt(excess_in_time(&machine, regrets, outcome.claim.config), 0.03, "seed %d", (int)seed);
    }
}

Test(strategy_duel, a_late_configuration_is_replaced)
{
    static struct outcome outcome;
    struct machine machine = make_machine(2);
    play(&machine, 0.3 * exhaustive_s(&machine), 0.005, &outcome);
    machine = make_machine(2);
    machine.first_limit_s = 1.2 * latest_s(&machine, outcome.claim.config);
    machine.first_excess = 0.5;
    size_t expected_best = outcome.claim.config;
    play(&machine, 0.5 * exhaustive_s(&machine), 0.005, &outcome);
    cr_assert(outcome.claimed);
    cr_assert_neq(outcome.claim.config, expected_best, "predicted in time, measured late");
    cr_assert_leq(latest_s(&machine, outcome.claim.config), 1.05 * machine.first_limit_s);
}

Test(strategy_duel, what_arrives_in_time_in_the_last_trials_can_be_claimed)
{
    const struct rue_strategy_ops *duel = &rue_strategy_duel;
    struct machine machine = make_machine(2);
    const size_t late = CONFIGS - 1; /* the largest batch */
    struct rue_claim claim;
    struct rue_question ask;
    void *state;
    machine.first_limit_s = 0.6 * latest_s(&machine, late);
    machine.first_excess = -0.5;
    struct rue_strategy_setup setup = make_setup(&machine, INFINITY, 0.005);
    cr_assert_eq(duel->open(&setup, &state, NULL), RUE_OK);
    for (size_t joints = 0; joints < 8 && duel->ask(state, 0, &ask); joints += ask.measure == RUE_JOINT) {
        struct rue_trial_result result = perform(&machine, &ask);
        duel->observe(state, &ask, &result);
    }
    cr_assert(duel->claim(state, late, &claim));
    cr_assert(isinf(claim.bound_ratio), "predicted to be late");
    for (size_t m = 0; m < MODELS; m++) {
        ask = (struct rue_question){.measure = RUE_JOINT, .scenario = m, .config = late, .images = JOB};
        struct rue_trial_result result = perform(&machine, &ask);
        duel->observe(state, &ask, &result);
    }
    cr_assert(duel->claim(state, late, &claim));
    cr_assert(claim.verified && isfinite(claim.bound_ratio));
    duel->close(state);
}

Test(strategy_duel, gives_no_bound_if_every_first_batch_is_late)
{
    static struct outcome outcome;
    struct machine machine = make_machine(2);
    machine.first_limit_s = 1e-3;
    play(&machine, 0.5 * exhaustive_s(&machine), 0.005, &outcome);
    cr_assert_not(outcome.claimed);
    size_t joints = 0;
    for (size_t i = 0; i < outcome.asks; i++) joints += outcome.log[i].measure == RUE_JOINT;
    cr_assert(joints >= 1 && joints <= CONFIGS, "%zu trials to be sure that not even the earliest will do",
              joints);
}

static double compute_regret(const struct machine *machine, size_t model, size_t config)
{
    double best = INFINITY;
    for (size_t c = 0; c < CONFIGS; c++) best = fmin(best, truth_s(machine, model, c));
    return truth_s(machine, model, config) / best - 1;
}

static double compute_worst_regret(const struct machine *machine, size_t config)
{
    double worst = 0;
    for (size_t m = 0; m < MODELS; m++) worst = fmax(worst, compute_regret(machine, m, config));
    return worst;
}

Test(strategy_duel, minimises_the_worst_regret_if_requested)
{
    static struct outcome outcome;
    for (uint64_t seed = 0; seed < 2; seed++) {
        struct machine machine = make_machine(seed);
        struct rue_strategy_setup setup = make_setup(&machine, 0.3 * exhaustive_s(&machine), 0.005);
        double least = INFINITY;
        setup.aim.objective = RUE_OBJECTIVE_WORST;
        for (size_t c = 0; c < CONFIGS; c++) least = fmin(least, compute_worst_regret(&machine, c));
        play_setup(&machine, &setup, &outcome);
        cr_assert(outcome.claimed && outcome.claim.verified, "seed %d", (int)seed);
        double excess = compute_worst_regret(&machine, outcome.claim.config) - least;
        cr_assert_lt(excess, 0.03, "seed %d: %.2f points", (int)seed, 100 * excess);
        cr_assert_leq(excess, outcome.claim.bound_ratio + 0.01, "seed %d", (int)seed);
    }
}

Test(strategy_duel, a_model_of_great_weight_decides)
{
    static struct outcome outcome;
    for (size_t model = 0; model < MODELS; model += MODELS - 1)
        for (uint64_t seed = 0; seed < 2; seed++) {
            double weights[MODELS] = {1, 1, 1, 1};
            struct machine machine = make_machine(seed);
            struct rue_strategy_setup setup = make_setup(&machine, 0.3 * exhaustive_s(&machine), 0.005);
            weights[model] = 1000;
            setup.aim.weights = weights;
            play_setup(&machine, &setup, &outcome);
            cr_assert(outcome.claimed && outcome.claim.verified, "seed %d", (int)seed);
            cr_assert_lt(compute_regret(&machine, model, outcome.claim.config), 0.025,
                         "seed %d model %d: %.3f bound %.3f", (int)seed, (int)model,
                         compute_regret(&machine, model, outcome.claim.config), outcome.claim.bound_ratio);
        }
}

Test(strategy_duel, a_budget_below_the_probes_gives_no_bound)
{
    static struct outcome outcome;
    struct machine machine = make_machine(1);
    play(&machine, 1, 0.005, &outcome);
    cr_assert(!outcome.claimed || !outcome.claim.verified);
}

Test(strategy_duel, a_space_of_one_point_is_measured_on_every_model)
{
    static struct outcome outcome;
    struct machine machine = make_machine(1);
    struct rue_strategy_setup setup =
        rue_strategy_setup_default((struct rue_setup_grid){MODELS, 1, machine.configs + 9}, JOB);
    setup.runner = (struct rue_setup_runner){.measures = {true, true, true}, .cpus = 4};
    void *state;
    cr_assert_eq(rue_strategy_duel.open(&setup, &state, NULL), RUE_OK);
    for (outcome.asks = 0; rue_strategy_duel.ask(state, 0, &outcome.log[0]); outcome.asks++) {
        cr_assert_lt(outcome.asks, 100, "it must come to an end");
        struct rue_question ask = outcome.log[0];
        ask.config = 9;
        struct rue_trial_result result = perform(&machine, &ask);
        rue_strategy_duel.observe(state, &outcome.log[0], &result);
    }
    cr_assert(rue_strategy_duel.claim(state, SIZE_MAX, &outcome.claim) && outcome.claim.verified);
    cr_assert_eq(outcome.claim.bound_ratio, 0);
    rue_strategy_duel.close(state);
    setup.grid.config_count = 0;
    cr_assert_eq(rue_strategy_duel.open(&setup, &state, NULL), RUE_USAGE);
}
