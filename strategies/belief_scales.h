/* How far predictions may be off, and how noisy trials may be, relative to what is usual: a grid of
 * hypotheses. */
#ifndef RUE_BELIEF_SCALES_H
#define RUE_BELIEF_SCALES_H

#include "belief_fields.h"

struct rue_belief_scales {
    double of_fields[RUE_SCALE_COUNT], noise;
};

enum { RUE_BELIEF_HYPOTHESES = 2 * 3 * 4 * 4 };

struct rue_belief_scales rue_belief_scales_of(size_t hypothesis);

/* The logarithm of how probable they are before any trial, but for a constant. */
double rue_belief_scales_log_prior(const struct rue_belief_scales *scales);

/* The weighted geometric mean of all of them; weights sum to 1. */
struct rue_belief_scales rue_belief_scales_mean(const double weights[RUE_BELIEF_HYPOTHESES]);

#endif
