/* Finds the node of a farm that differs from the others. All nodes make the same short reference trials, at
 * first and at intervals. A node's level is the median of its last times of one kind. A node differs if its
 * level, or the scatter of its times, is too far from the median of the other nodes. If as many nodes are
 * slower as faster, the slower ones differ. Pure: no clock, no I/O. */
#ifndef RUE_LIKE_NODES_H
#define RUE_LIKE_NODES_H

#include <stdbool.h>
#include <stddef.h>

#include "question.h"

enum {
    RUE_NODE_FAILURES = 2,
    RUE_NODE_TIMES = 7,
    RUE_NODE_TIMES_MIN = 3,
    RUE_NODE_KINDS = 2,
    RUE_NODE_PERIOD = 5
};

struct rue_node_times {
    size_t count, next;
    double recent[RUE_NODE_TIMES]; /* logarithms, a ring */
};

struct rue_like_nodes {
    size_t count; /* nodes, numbered from 1 */
    size_t kinds; /* of reference trials, at most RUE_NODE_KINDS */
    struct rue_like_node {
        bool dropped, begun, suspected;  /* begun: has enough times of each kind */
        size_t kind;                     /* of its next reference */
        size_t failures[RUE_NODE_KINDS]; /* since the last one of that kind that succeeded */
        size_t trials;                   /* since its last reference */
        /* For each kind: the last trial before a reference that was like those of the others; 0: none. */
        size_t good[RUE_NODE_KINDS];
        struct rue_node_times times[RUE_NODE_KINDS];
    } nodes[RUE_NODES_MAX + 1];
};

/* Whether the node's next trial is a reference, and its `*kind`. References are due at first, after some
 * trials, and after an unexpected one. */
bool rue_like_nodes_is_due(const struct rue_like_nodes *nodes, size_t node, size_t *kind);

/* Counts another trial of the node. */
void rue_like_nodes_count(struct rue_like_nodes *nodes, size_t node);

/* Adds the time of a reference of `kind`. `trial`: the number of the last trial before it. */
void rue_like_nodes_add(struct rue_like_nodes *nodes, size_t node, size_t kind, double seconds, size_t trial);

/* Records a failed reference, which is repeated once. If it fails again, the node differs as soon as another
 * node's reference succeeds. If it fails twice on all nodes, this kind and later kinds end. */
void rue_like_nodes_fail(struct rue_like_nodes *nodes, size_t node, size_t kind);

/* Discards all times, because all nodes have changed: only new times are compared. */
void rue_like_nodes_restart(struct rue_like_nodes *nodes);

struct rue_node_difference {
    size_t node;                   /* 0: none differs */
    size_t kind;                   /* of the references that show it */
    bool failed;                   /* its references fail */
    bool noisy;                    /* its times vary more */
    bool changed;                  /* its last time differs from its earlier ones */
    double ratio;                  /* of its time to that of the others */
    double scatter, usual_scatter; /* of its times, and of those of the others: standard deviations */
    size_t since;                  /* the first of its trials that may be unlike those of the others */
};

/* The most different node. The caller drops it: nodes[node].dropped. */
struct rue_node_difference rue_like_nodes_find(const struct rue_like_nodes *nodes);

#endif
