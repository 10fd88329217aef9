/* A strategy on several simulated nodes at the same time. */
#include <criterion/criterion.h>

#include "simulated_farm.h"

TestSuite(farm, .timeout = 120);

enum { MACHINES = 24 };
static const double epsilon = 0.005, like = 0.02;

struct summary {
    double excess, bound, latest; /* means, the longest over its budget */
    int held, dropped;
};

/* Studies on `count` nodes for `share` of the time of all cells. */
static struct summary play_farms(size_t count, double share, double spread)
{
    static struct farm farm;
    struct summary sum = {0};
    for (uint64_t seed = 100; seed < 100 + MACHINES; seed++) {
        struct machine machine = make_machine(seed);
        double regrets[CONFIGS], least = compute_regrets(&machine, regrets),
                                 budget_s = share * exhaustive_s(&machine);
        farm_open(&farm, &machine, count, budget_s, epsilon, spread);
        farm_play(&farm);
        cr_assert(farm.claimed && farm.claim.verified, "seed %d", (int)seed);
        double excess = regrets[farm.claim.config] - least;
        sum.excess += excess / MACHINES;
        sum.bound += farm.claim.bound_ratio / MACHINES;
        sum.latest = fmax(sum.latest, farm.end_s / budget_s);
        sum.held += excess <= farm.claim.bound_ratio;
        sum.dropped += (int)farm.dropped_count;
        farm_close(&farm);
    }
    return sum;
}

/* The same regret and coverage in a third of the time. */
Test(farm, four_like_nodes_are_three_times_as_fast)
{
    struct summary one = play_farms(1, 0.06, like), four = play_farms(4, 0.02, like);
    cr_assert_leq(four.excess, one.excess + 0.0002, "%.3f and %.3f points", 100 * four.excess,
                  100 * one.excess);
    cr_assert_leq(four.bound, one.bound + 0.0005, "%.2f and %.2f points", 100 * four.bound, 100 * one.bound);
    cr_assert_geq(four.held, MACHINES - 1);
    cr_assert_lt(four.latest, 1.05);
    cr_assert_eq(four.dropped, 0);
}

static void play_one(struct farm *farm, uint64_t seed, size_t count, void (*spoil)(struct farm_node *node))
{
    struct machine machine = make_machine(seed);
    double regrets[CONFIGS], least = compute_regrets(&machine, regrets);
    farm_open(farm, &machine, count, 0.03 * exhaustive_s(&machine), epsilon, like);
    spoil(&farm->nodes[2]);
    farm_play(farm);
    cr_assert(farm->claimed && farm->claim.verified, "seed %d", (int)seed);
    double excess = regrets[farm->claim.config] - least;
    cr_assert_lt(excess, 0.01, "seed %d", (int)seed);
    cr_assert_leq(excess, farm->claim.bound_ratio, "seed %d", (int)seed);
    farm_close(farm);
}

static void slow_loading(struct farm_node *node)
{
    scale_machine(&node->machine, 1.25, 1);
}

static void slow_computing(struct farm_node *node)
{
    scale_machine(&node->machine, 1, 1.25);
}

static void slow_down(struct farm_node *node)
{
    node->slows_s = 30;
    node->slow = 1.25;
}

static void vary(struct farm_node *node)
{
    node->machine.noise = 0.5;
}

static void die(struct farm_node *node)
{
    node->dies_s = 20;
}

Test(farm, drops_only_the_node_that_differs_or_dies)
{
    static void (*const spoils[])(struct farm_node * node) = {slow_loading, slow_computing, slow_down, vary,
                                                              die};
    static struct farm farm;
    for (uint64_t seed = 0; seed < 3; seed++)
        for (size_t i = 0; i < sizeof spoils / sizeof *spoils; i++) {
            play_one(&farm, seed, 4, spoils[i]);
            cr_assert_eq(farm.dropped_count, 1, "seed %d: %zu dropped", (int)seed, farm.dropped_count);
            cr_assert_eq(farm.dropped[0], 2, "seed %d", (int)seed);
        }
}

Test(farm, of_two_nodes_the_slower_one_is_dropped)
{
    static struct farm farm;
    play_one(&farm, 1, 2, slow_loading);
    cr_assert(farm.dropped_count == 1 && farm.dropped[0] == 2);
}

/* The other configurations that ran whole jobs on the same node as this one, on every model. */
static size_t count_pairs(const struct farm *farm, size_t config)
{
    size_t pairs = 0;
    for (size_t c = 0; c < CONFIGS; c++) {
        size_t models = 0;
        for (size_t m = 0; c != config && m < MODELS; m++) {
            bool paired = false;
            for (size_t n = 1; n <= farm->count; n++)
                paired |= farm->whole[n][m][config] && farm->whole[n][m][c];
            models += paired;
        }
        pairs += models == MODELS;
    }
    return pairs;
}

Test(farm, the_best_run_on_the_same_node_before_the_end_of_the_budget)
{
    static struct farm farm;
    for (uint64_t seed = 300; seed < 302; seed++) {
        struct machine machine = make_machine(seed);
        farm_open(&farm, &machine, 3, 0.35 * exhaustive_s(&machine), 0, like);
        farm_play(&farm);
        cr_assert(farm.claimed && farm.claim.verified);
        cr_expect_geq(count_pairs(&farm, farm.claim.config), 2, "seed %d", (int)seed);
        farm_close(&farm);
    }
}

/* A node that is found to differ after the end: the others measure again what it measured. */
Test(farm, a_late_drop_continues_the_search)
{
    static struct farm farm;
    struct machine machine = make_machine(7);
    struct rue_claim claim;
    farm_open(&farm, &machine, 2, 0.5 * exhaustive_s(&machine), 0.02, like);
    farm_play(&farm);
    cr_assert(farm.claimed && farm.claim.verified && farm.claim.bound_ratio <= 0.02);
    size_t trials = farm.trials;
    double bound = farm.claim.bound_ratio;
    farm_drop(&farm, 2, 1);
    cr_assert(rue_strategy_duel.claim(farm.state, SIZE_MAX, &claim));
    cr_assert(!claim.verified || claim.bound_ratio > bound);
    farm_play(&farm);
    cr_assert_gt(farm.trials, trials + 5);
    cr_assert(farm.claimed && farm.claim.verified && farm.claim.bound_ratio <= 0.02);
    farm_close(&farm);
}

/* References of both kinds on all nodes; those of `kind` fail on the nodes from `failing` on. */
static struct rue_like_nodes refer(size_t count, size_t failing, size_t failing_kind)
{
    struct rue_like_nodes nodes = {.count = count, .kinds = 2};
    for (size_t i = 0; i < 8 * count; i++) {
        size_t node = 1 + i % count, kind;
        if (!rue_like_nodes_is_due(&nodes, node, &kind)) continue;
        if (node >= failing && kind == failing_kind)
            rue_like_nodes_fail(&nodes, node, kind);
        else
            rue_like_nodes_add(&nodes, node, kind, 1, i);
    }
    return nodes;
}

Test(farm, a_node_whose_references_fail_is_found)
{
    for (size_t kind = 0; kind < 2; kind++) {
        struct rue_like_nodes nodes = refer(3, 3, kind);
        struct rue_node_difference found = rue_like_nodes_find(&nodes);
        cr_assert(found.node == 3 && found.failed && found.kind == kind && nodes.kinds == 2);
        nodes.nodes[3].dropped = true;
        cr_assert_eq(rue_like_nodes_find(&nodes).node, 0);
    }
}

Test(farm, a_usual_reference_of_one_kind_says_nothing_of_the_other)
{
    struct rue_like_nodes nodes = {.count = 3, .kinds = 2};
    struct rue_node_difference found = {0};
    size_t slow_from = 0,
           usual = 0; /* trials: node 1 computes slowly from here on; its last usual compute reference */
    for (size_t trial = 1; trial < 400 && !found.node; trial++) {
        size_t node = 1 + trial % 3, kind;
        if (!rue_like_nodes_is_due(&nodes, node, &kind)) {
            rue_like_nodes_count(&nodes, node);
            continue;
        }
        bool slow = node == 1 && kind == 1 && slow_from;
        rue_like_nodes_add(&nodes, node, kind, slow ? 1.5 : 1 + 0.001 * (double)(trial % 3), trial - 1);
        found = rue_like_nodes_find(&nodes);
        if (node != 1 || kind != 1 || slow || trial < 60) continue;
        usual = trial - 1;
        slow_from = trial;
    }
    cr_assert(found.node == 1 && found.kind == 1);
    cr_assert_eq(found.since, usual + 1, "since %zu, slow from %zu", found.since, slow_from);
}

Test(farm, references_that_fail_on_all_nodes_are_not_made)
{
    for (size_t kind = 0; kind < 2; kind++) {
        struct rue_like_nodes nodes = refer(3, 1, kind);
        cr_assert_eq(nodes.kinds, kind);
        cr_assert_eq(rue_like_nodes_find(&nodes).node, 0);
        rue_like_nodes_add(&nodes, 1, kind, 1, 100); /* the answer comes late */
        for (size_t i = 0; i < RUE_NODE_PERIOD; i++) rue_like_nodes_count(&nodes, 1);
        cr_assert_eq(rue_like_nodes_is_due(&nodes, 1, &(size_t){0}), kind > 0);
    }
}

Test(farm, asks_the_same_questions_for_the_same_answers)
{
    static struct farm one, other;
    struct machine machine = make_machine(5);
    farm_open(&one, &machine, 3, 60, epsilon, like);
    farm_open(&other, &machine, 3, 60, epsilon, like);
    farm_play(&one);
    farm_play(&other);
    cr_assert(one.trials == other.trials && one.end_s == other.end_s &&
              one.claim.config == other.claim.config && one.claim.bound_ratio == other.claim.bound_ratio);
    farm_close(&one);
    farm_close(&other);
}

/* The questions of a node that is dropped are asked again. */
Test(farm, the_last_node_finishes_alone)
{
    static struct farm farm;
    struct machine machine = make_machine(4);
    farm_open(&farm, &machine, 3, 0.06 * exhaustive_s(&machine), epsilon, like);
    farm.nodes[1].dies_s = 5;
    farm.nodes[3].dies_s = 12;
    farm_play(&farm);
    cr_assert(farm.claimed && farm.claim.verified && farm.dropped_count == 2);
    farm_close(&farm);
}
