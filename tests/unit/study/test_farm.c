/* Searches on several simulated machines at the same time. */
#include "scripted_study.h"

enum { MACHINES = 16 };
static const double epsilon = 0.005, like = 0.02;

static struct scripted_study *own;
static double regrets[CONFIGS], least, budget_s; /* of the study that was opened last */

TestSuite(farm, .init = folder_make, .fini = folder_remove, .timeout = 300);

static void scale_machine(struct machine *machine, double load, double compute)
{
    static const enum rue_pipeline_parameter times[] = {RUE_PIPELINE_start_s,   RUE_PIPELINE_start_worker_s,
                                                        RUE_PIPELINE_batch_s,   RUE_PIPELINE_item_s,
                                                        RUE_PIPELINE_storage_s, RUE_PIPELINE_stop_worker_s};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) machine->loader.value[times[i]] *= load;
    for (size_t m = 0; m < MODELS; m++) {
        machine->models[m].batch_s *= compute;
        machine->models[m].image_s *= compute;
    }
}

/* Nodes that are like machine `number`, with times that differ by `like` (a standard deviation), for `share`
 * of the time of all cells. */
static void farm_open(uint64_t number, size_t lanes, double share, double epsilon_ratio)
{
    static unsigned count;
    struct machine machine = make_machine(number);
    uint64_t seed = rue_mix64(machine.seed);
    budget_s = share * exhaustive_s(&machine);
    least = compute_regrets(&machine, regrets);
    snprintf(path, sizeof path, "%s/%u.db", folder, ++count);
    own = scripted_open(lanes, &rue_strategy_duel, budget_s, 0);
    own->study.setup.goal.search.epsilon_ratio = epsilon_ratio;
    for (size_t l = 0; l < lanes; l++) {
        struct machine *node = &own->scripts[l].machine;
        *node = machine;
        node->seed = rue_mix64(machine.seed + l + 1);
        scale_machine(node, exp(like * normal(&seed)), exp(like * normal(&seed)));
    }
}

static const struct rue_study_ledger *ledger(void)
{
    return &own->study.ledger;
}

/* Runs the study; its verified claim. */
static const struct rue_claim *farm_play(void)
{
    rue_error error = {0};
    cr_assert_eq(rue_study_run(&own->study, &error), RUE_OK, "%s", error.message);
    const struct rue_outcome_variant *out = &own->study.outcome.variants[0];
    cr_assert(out->claimed && out->claim.verified);
    return &out->claim;
}

struct summary {
    double excess, bound, latest; /* means, the longest over its budget */
    int held;
    size_t dropped;
};

static struct summary play_farms(size_t lanes, double share)
{
    struct summary sum = {0};
    for (uint64_t number = 100; number < 100 + MACHINES; number++) {
        farm_open(number, lanes, share, epsilon);
        const struct rue_claim *claim = farm_play();
        double excess = regrets[claim->config] - least;
        sum.excess += excess / MACHINES;
        sum.bound += claim->bound_ratio / MACHINES;
        sum.held += excess <= claim->bound_ratio;
        for (size_t l = 0; l < lanes; l++) sum.latest = fmax(sum.latest, own->scripts[l].clock_s / budget_s);
        sum.dropped += ledger()->dropped_count;
        scripted_close(own);
    }
    return sum;
}

/* The same regret and coverage in a third of the time. */
Test(farm, four_like_nodes_are_three_times_as_fast)
{
    struct summary one = play_farms(1, 0.06), four = play_farms(4, 0.02);
    cr_assert_leq(four.excess, one.excess + 0.0002, "%.3f and %.3f points", 100 * four.excess,
                  100 * one.excess);
    cr_assert_leq(four.bound, one.bound + 0.0005, "%.2f and %.2f points", 100 * four.bound, 100 * one.bound);
    cr_assert_geq(four.held, MACHINES - 1);
    cr_assert_lt(four.latest, 1.05);
    cr_assert_eq(four.dropped, 0);
}

/* Node 1 of some is spoilt. */
static void play_one(uint64_t number, size_t lanes, void (*spoil)(struct scripted_runner *node))
{
    farm_open(number, lanes, 0.03, epsilon);
    spoil(&own->scripts[1]);
    const struct rue_claim *claim = farm_play();
    double excess = regrets[claim->config] - least;
    cr_assert_lt(excess, 0.01, "machine %d", (int)number);
    cr_assert_leq(excess, claim->bound_ratio, "machine %d", (int)number);
    cr_assert_eq(ledger()->dropped_count, 1, "machine %d: %zu dropped", (int)number, ledger()->dropped_count);
    cr_assert_str_eq(ledger()->dropped[0].node, "n1", "machine %d", (int)number);
    scripted_close(own);
}

static void slow_loading(struct scripted_runner *node)
{
    scale_machine(&node->machine, 1.25, 1);
}

static void slow_computing(struct scripted_runner *node)
{
    scale_machine(&node->machine, 1, 1.25);
}

static void slow_down(struct scripted_runner *node)
{
    node->slow = 1.25;
    node->slows = (struct span){12, 10000};
}

static void vary(struct scripted_runner *node)
{
    node->machine.noise = 0.5;
}

static void die(struct scripted_runner *node)
{
    node->dies = 12;
}

Test(farm, drops_only_the_node_that_differs_or_dies)
{
    static void (*const spoils[])(struct scripted_runner *) = {slow_loading, slow_computing, slow_down, vary,
                                                               die};
    for (uint64_t number = 0; number < 3; number++)
        for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) play_one(number, 4, spoils[i]);
}

Test(farm, of_two_nodes_the_slower_one_is_dropped)
{
    play_one(1, 2, slow_loading);
}

/* Whether `node` ran whole jobs of the configuration with the model. */
static bool ran_whole(size_t node, size_t model, size_t config)
{
    for (size_t i = 0; i < ledger()->row_count; i++) {
        const struct rue_ledger_row *row = &ledger()->rows[i];
        if (row->node == node && row->model == model && row->config == config &&
            row->trial.measure == RUE_JOINT && row->trial.images >= JOB)
            return true;
    }
    return false;
}

/* The other configurations that ran whole jobs on the same node as this one, on every model. */
static size_t count_pairs(size_t config)
{
    size_t pairs = 0;
    for (size_t c = 0; c < CONFIGS; c++) {
        size_t models = 0;
        for (size_t m = 0; c != config && m < MODELS; m++) {
            bool paired = false;
            for (size_t n = 1; n <= own->runners.count; n++)
                paired |= ran_whole(n, m, config) && ran_whole(n, m, c);
            models += paired;
        }
        pairs += models == MODELS;
    }
    return pairs;
}

Test(farm, the_best_run_on_the_same_node_before_the_end_of_the_budget)
{
    farm_open(300, 3, 0.35, 0);
    cr_assert_geq(count_pairs(farm_play()->config), 2);
    scripted_close(own);
}

Test(farm, asks_the_same_questions_for_the_same_answers)
{
    size_t trials[2], configs[2];
    double bounds[2];
    for (int i = 0; i < 2; i++) {
        farm_open(5, 3, 0.02, epsilon);
        const struct rue_claim *claim = farm_play();
        trials[i] = ledger()->row_count, configs[i] = claim->config, bounds[i] = claim->bound_ratio;
        scripted_close(own);
    }
    cr_assert(trials[0] == trials[1] && configs[0] == configs[1] && bounds[0] == bounds[1]);
}

/* The questions of a node that is dropped are asked again. */
Test(farm, the_last_node_finishes_alone)
{
    farm_open(4, 3, 0.06, epsilon);
    own->scripts[0].dies = 8;
    own->scripts[2].dies = 15;
    farm_play();
    cr_assert_eq(ledger()->dropped_count, 2);
    scripted_close(own);
}
