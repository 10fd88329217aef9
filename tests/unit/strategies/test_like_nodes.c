/* Nodes of a farm, by the times of their references. */
#include <criterion/criterion.h>

#include "like_nodes.h"

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

Test(like_nodes, a_node_whose_references_fail_is_found)
{
    for (size_t kind = 0; kind < 2; kind++) {
        struct rue_like_nodes nodes = refer(3, 3, kind);
        struct rue_node_difference found = rue_like_nodes_find(&nodes);
        cr_assert(found.node == 3 && found.failed && found.kind == kind && nodes.kinds == 2);
        nodes.nodes[3].dropped = true;
        cr_assert_eq(rue_like_nodes_find(&nodes).node, 0);
    }
}

Test(like_nodes, a_usual_reference_of_one_kind_says_nothing_of_the_other)
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

Test(like_nodes, references_that_fail_on_all_nodes_are_not_made)
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
