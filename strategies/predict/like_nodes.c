#include "like_nodes.h"

#include <math.h>
#include <string.h>

#include "slowdown.h"

static const double certainty_sds = 3, median_sd_ratio = 1.25; /* sd of a median over that of a mean */
static const double level_most = 0.14;                         /* difference of like nodes, a logarithm */
static const double scatter_most = 0.1;                        /* of the times of like nodes */
static const double scatter_ratio = 4;                         /* to that of the others */

static double level(const struct rue_node_times *times)
{
    double values[RUE_NODE_TIMES];
    for (size_t i = 0; i < times->count; i++) values[i] = times->recent[i];
    return rue_median(values, times->count);
}

/* The median absolute deviation, as a standard deviation. */
static double scatter(const struct rue_node_times *times)
{
    double values[RUE_NODE_TIMES], middle = level(times);
    for (size_t i = 0; i < times->count; i++) values[i] = fabs(times->recent[i] - middle);
    return 1.4826 * rue_median(values, times->count);
}

/* The median over the other nodes; false: there is none, or one has too few times. */
static bool find_usual(const struct rue_like_nodes *nodes, size_t node, size_t kind,
                       double (*figure)(const struct rue_node_times *times), double *out)
{
    double values[RUE_NODES_MAX];
    size_t count = 0;
    for (size_t n = 1; n <= nodes->count; n++) {
        const struct rue_node_times *times = &nodes->nodes[n].times[kind];
        if (n == node || nodes->nodes[n].dropped) continue;
        if (times->count < RUE_NODE_TIMES_MIN) return false;
        values[count++] = figure(times);
    }
    if (count) *out = rue_median(values, count);
    return count > 0;
}

/* Times that vary are more at first. */
static bool is_begun(const struct rue_node_times *times)
{
    return times->count == RUE_NODE_TIMES ||
           (times->count >= RUE_NODE_TIMES_MIN && scatter(times) <= scatter_most);
}

static bool has_failed(const struct rue_like_node *node, size_t kind)
{
    return node->failures[kind] >= RUE_NODE_FAILURES;
}

bool rue_like_nodes_is_due(const struct rue_like_nodes *nodes, size_t node, size_t *kind)
{
    const struct rue_like_node *own = &nodes->nodes[node];
    *kind = own->kind;
    if (own->kind >= nodes->kinds || has_failed(own, own->kind)) return false;
    return own->failures[own->kind] || own->suspected || own->trials >= RUE_NODE_PERIOD || !own->begun;
}

void rue_like_nodes_count(struct rue_like_nodes *nodes, size_t node)
{
    nodes->nodes[node].trials++;
}

void rue_like_nodes_add(struct rue_like_nodes *nodes, size_t node, size_t kind, double seconds, size_t trial)
{
    struct rue_like_node *own = &nodes->nodes[node];
    struct rue_node_times *times = &own->times[kind];
    double usual;
    if (kind >= nodes->kinds) return;
    own->failures[kind] = 0;
    times->recent[times->next] = log(seconds);
    times->next = (times->next + 1) % RUE_NODE_TIMES;
    if (times->count < RUE_NODE_TIMES) times->count++;
    if (kind != own->kind) return; /* not the one that was due */
    bool known = own->begun && find_usual(nodes, node, kind, level, &usual);
    own->suspected = known && fabs(log(seconds) - usual) > level_most;
    own->trials = 0;
    if (known && !own->suspected) own->good[kind] = trial;
    if (own->begun ? own->suspected : !is_begun(times)) return;
    own->kind = (kind + 1) % nodes->kinds;
    own->begun |= own->kind == 0;
}

void rue_like_nodes_fail(struct rue_like_nodes *nodes, size_t node, size_t kind)
{
    nodes->nodes[node].failures[kind]++;
    for (size_t n = 1; n <= nodes->count; n++)
        if (!nodes->nodes[n].dropped && !has_failed(&nodes->nodes[n], kind)) return;
    nodes->kinds = kind;
    for (size_t n = 1; n <= nodes->count; n++)
        if (nodes->nodes[n].kind >= kind) nodes->nodes[n].kind = 0, nodes->nodes[n].begun = true;
}

void rue_like_nodes_restart(struct rue_like_nodes *nodes)
{
    for (size_t n = 1; n <= nodes->count; n++) {
        struct rue_like_node *node = &nodes->nodes[n], before = *node;
        *node = (struct rue_like_node){.dropped = before.dropped};
        memcpy(node->good, before.good, sizeof node->good);
    }
}

static bool has_changed(const struct rue_node_times *times)
{
    size_t first = times->count < RUE_NODE_TIMES ? 0 : times->next,
           last = (times->next + RUE_NODE_TIMES - 1) % RUE_NODE_TIMES;
    return fabs(times->recent[last] - times->recent[first]) > level_most;
}

/* Slower nodes before faster ones before noisy ones; 0: like the others. */
static double judge(const struct rue_like_nodes *nodes, size_t node, size_t kind,
                    struct rue_node_difference *out)
{
    const struct rue_node_times *times = &nodes->nodes[node].times[kind];
    double usual;
    *out =
        (struct rue_node_difference){.node = node, .kind = kind, .since = nodes->nodes[node].good[kind] + 1};
    if (times->count < RUE_NODE_TIMES_MIN || !find_usual(nodes, node, kind, level, &usual)) return 0;
    double difference = level(times) - usual, own = scatter(times);
    out->changed = has_changed(times);
    (void)find_usual(nodes, node, kind, scatter, &usual);
    double error = median_sd_ratio * hypot(own, usual) / sqrt((double)times->count);
    out->ratio = exp(difference);
    if (fabs(difference) > fmax(level_most, certainty_sds * error))
        return difference > 0 ? 2 + difference : 2 - out->ratio;
    out->noisy = true;
    out->scatter = own;
    out->usual_scatter = usual;
    bool differs = times->count == RUE_NODE_TIMES && own > fmax(scatter_most, scatter_ratio * usual);
    return differs ? 1 - usual / own : 0;
}

/* A node whose references fail, but not those of all nodes. */
static struct rue_node_difference find_failed(const struct rue_like_nodes *nodes)
{
    for (size_t i = 0; i < nodes->count * nodes->kinds; i++) {
        size_t node = 1 + i / nodes->kinds, kind = i % nodes->kinds, succeeded = 0;
        if (nodes->nodes[node].dropped || !has_failed(&nodes->nodes[node], kind)) continue;
        for (size_t n = 1; n <= nodes->count; n++) {
            const struct rue_like_node *other = &nodes->nodes[n];
            succeeded += !other->dropped && other->times[kind].count && !has_failed(other, kind);
        }
        if (succeeded)
            return (struct rue_node_difference){
                .node = node, .kind = kind, .failed = true, .since = nodes->nodes[node].good[kind] + 1};
    }
    return (struct rue_node_difference){0};
}

struct rue_node_difference rue_like_nodes_find(const struct rue_like_nodes *nodes)
{
    struct rue_node_difference found = find_failed(nodes), one;
    double most = found.node ? INFINITY : 0;
    for (size_t i = 0; i < nodes->count * nodes->kinds; i++) {
        size_t node = 1 + i / nodes->kinds;
        double difference = nodes->nodes[node].dropped ? 0 : judge(nodes, node, i % nodes->kinds, &one);
        if (difference <= most) continue;
        most = difference;
        found = one;
    }
    return found;
}
