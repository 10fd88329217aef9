#include "first_batch.h"

#include <math.h>

#include "disturbance.h"

static const double common_sd = 0.3, group_sd = 0.1;   /* of the effects, prior */
static const double trial_sd = 0.05, trial_weight = 3; /* prior guess; trials that it is worth */

static const double error_sd = 0.05, error_weight = 2; /* of predicted starts; groups that it is worth */

enum { ROUNDS = 4 };

/* A normal distribution of known precision, the inverse of its variance; 0: unknown. */
struct normal {
    double precision, mean;
};

static struct normal combine(struct normal a, struct normal b)
{
    double precision = a.precision + b.precision;
    return (struct normal){precision,
                           precision > 0 ? (a.precision * a.mean + b.precision * b.mean) / precision : 0};
}

static struct normal widen(struct normal value, double variance)
{
    return (struct normal){value.precision > 0 ? 1 / (1 / value.precision + variance) : 0, value.mean};
}

static bool is_known(const struct rue_start *start)
{
    return isfinite(start->log_ratio);
}

static bool is_group(const struct rue_start *starts, size_t index)
{
    return starts[index].first == index && isfinite(starts[index].mean);
}

static struct normal start_itself(const struct rue_start *start, double trial_variance)
{
    return (struct normal){1 / rue_disturbance_variance(start->disturbed, trial_variance), start->log_ratio};
}

static struct normal group_mean(const struct rue_start *start)
{
    return (struct normal){1 / start->variance, start->mean};
}

static void find_groups(struct rue_start *starts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        starts[i].first = 0;
        while (starts[starts[i].first].group != starts[i].group) starts[i].first++;
        starts[i].disturbed = starts[i].next = 0;
    }
}

static void average_groups(struct rue_start *starts, size_t count, double trial_variance)
{
    for (size_t i = 0; i < count; i++) starts[i].mean = starts[i].variance = NAN;
    for (size_t i = 0; i < count; i++) {
        if (!is_known(&starts[i])) continue;
        struct rue_start *group = &starts[starts[i].first];
        struct normal before = isnan(group->mean) ? (struct normal){0, 0} : group_mean(group);
        struct normal mean = combine(before, start_itself(&starts[i], trial_variance));
        group->mean = mean.mean;
        group->variance = 1 / mean.precision;
    }
}

/* What is expected of a start without itself: by the others of its group, and by the other groups. */
static struct normal expect_start(const struct rue_start *starts, size_t count, size_t index,
                                  double trial_variance)
{
    const struct rue_start *group = &starts[starts[index].first];
    struct normal common = {1 / (common_sd * common_sd), 0}, own = group_mean(group),
                  removed = start_itself(&starts[index], trial_variance);
    for (size_t i = 0; i < count; i++)
        if (is_group(starts, i) && &starts[i] != group)
            common = combine(common, widen(group_mean(&starts[i]), group_sd * group_sd));
    removed.precision = -removed.precision;
    struct normal others = {own.precision + removed.precision, 0};
    bool any = others.precision > 1e-6 * own.precision;
    return combine(widen(common, group_sd * group_sd), any ? combine(own, removed) : (struct normal){0, 0});
}

struct rue_start_pool rue_first_batch_pool(struct rue_start *starts, size_t count)
{
    double variance = trial_sd * trial_sd, errors = error_weight * error_sd * error_sd, groups = error_weight;
    find_groups(starts, count);
    for (int round = 0; round < ROUNDS; round++) {
        double squares = trial_weight * trial_sd * trial_sd, weight = trial_weight;
        average_groups(starts, count, variance);
        for (size_t i = 0; i < count; i++) {
            if (!is_known(&starts[i])) continue;
            struct normal others = expect_start(starts, count, i, variance);
            double error = starts[i].log_ratio - others.mean, total = variance + 1 / others.precision;
            double disturbed = rue_disturbance_probability(error, sqrt(total));
            weight += 1 - disturbed;
            squares += (1 - disturbed) * error * error * variance / total;
            starts[i].next = disturbed;
        }
        for (size_t i = 0; i < count; i++) starts[i].disturbed = starts[i].next;
        variance = squares / weight;
    }
    average_groups(starts, count, variance);
    for (size_t i = 0; i < count; i++) {
        if (!is_group(starts, i)) continue;
        errors += fmax(0, starts[i].mean * starts[i].mean - starts[i].variance);
        groups++;
    }
    return (struct rue_start_pool){fmax(1, sqrt(errors / groups) / error_sd), variance};
}
