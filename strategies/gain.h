/* How many times as fast one configuration is as another, from pairs of their trials that were made one after
 * the other. Pure. With the logarithms x of (the other's time / the one's time), n(m) of them for model m:
 *
 *   d(m)  = their mean for model m
 *   g     = sum of w(m) d(m) / sum of w(m), of the models' weights w
 *   s^2   = (4 * s0^2 + q + sum of (x - d(m))^2) / f,  f = 4 + k + sum of (n(m) - 1)
 *   g +/- t(f) * s * sqrt(sum of (w(m) / sum of w)^2 / n(m))
 *
 * q is the sum of squares of k other x that have nothing but noise in them. Before all of that, the noise
 * counts as if 4 values had shown s0 = 0.057 (two times that differ by 4 % each, as usual). The interval is
 * about the noise of the trials, not about other models. */
#ifndef RUE_GAIN_H
#define RUE_GAIN_H

#include <stdbool.h>
#include <stddef.h>

struct rue_gain_pair {
    size_t model;
    double log_ratio;
};

/* q and k above. */
struct rue_gain_noise {
    double squares, count;
};

struct rue_gain {
    size_t pairs; /* 0: not known */
    double confidence;
    double ratio, low, high; /* times as fast; more than 1: faster */
};

/* `weights` [model_count]; NULL: all alike. False, with no pairs in `*out`, where a model has none. */
bool rue_gain_find(const struct rue_gain_pair *pairs, size_t count, size_t model_count, const double *weights,
                   struct rue_gain_noise noise, double confidence, struct rue_gain *out);

/* Whether the gain is more than noise. */
bool rue_gain_is_proven(const struct rue_gain *gain);

#endif
