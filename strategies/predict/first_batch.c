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

/* The mean of a group's starts, without start `left_out`. */
static struct normal group_mean(const struct rue_start *starts, size_t count, uint64_t group, size_t left_out,
                                double trial_variance)
{
    struct normal mean = {0, 0};
    for (size_t i = 0; i < count; i++) {
        if (starts[i].group != group || i == left_out || isnan(starts[i].log_ratio)) continue;
        double variance = rue_disturbance_variance(starts[i].disturbed, trial_variance);
        mean = combine(mean, (struct normal){1 / variance, starts[i].log_ratio});
    }
    return mean;
}

/* What is expected of a group: from its starts without `left_out`, and from the other groups. */
static struct normal expect_group(const struct rue_start *starts, size_t count, uint64_t group,
                                  size_t left_out, double trial_variance)
{
    struct normal common = {1 / (common_sd * common_sd), 0};
    for (size_t i = 0; i < count; i++) {
        if (starts[i].group == group || !rue_start_is_first(starts, i)) continue;
        struct normal other = group_mean(starts, count, starts[i].group, SIZE_MAX, trial_variance);
        common = combine(common, widen(other, group_sd * group_sd));
    }
    return combine(widen(common, group_sd * group_sd),
                   group_mean(starts, count, group, left_out, trial_variance));
}

double rue_first_batch_pool(struct rue_start *starts, size_t count)
{
    double variance = trial_sd * trial_sd;
    for (size_t i = 0; i < count; i++) starts[i].disturbed = 0;
    for (int round = 0; round < ROUNDS; round++) {
        double squares = trial_weight * trial_sd * trial_sd, weight = trial_weight;
        for (size_t i = 0; i < count; i++) {
            struct normal others = expect_group(starts, count, starts[i].group, i, variance);
            double error = starts[i].log_ratio - others.mean, total = variance + 1 / others.precision;
            if (isnan(error)) continue;
            starts[i].disturbed = rue_disturbance_probability(error, sqrt(total));
            weight += 1 - starts[i].disturbed;
            squares += (1 - starts[i].disturbed) * error * error * variance / total;
        }
        variance = squares / weight;
    }
    double squares = error_weight * error_sd * error_sd, weight = error_weight;
    for (size_t i = 0; i < count; i++) {
        struct normal mean = group_mean(starts, count, starts[i].group, SIZE_MAX, variance);
        starts[i].mean = mean.precision > 0 ? mean.mean : NAN;
        starts[i].variance = 1 / mean.precision;
        if (!(mean.precision > 0) || !rue_start_is_first(starts, i)) continue;
        squares += fmax(0, mean.mean * mean.mean - starts[i].variance);
        weight++;
    }
    return fmax(1, sqrt(squares / weight) / error_sd);
}
