/* How many times as fast one configuration is as another, as far as noise leaves it open. Pure. With t(m,c)
 * and its variance v(m,c), of logarithms, and the models' weights w(m):
 *
 *   g = sum of w(m) (log t(m,other) - log t(m,one)) / sum of w(m)
 *   u = sum of w(m)^2 (v(m,other) + v(m,one)) / (sum of w(m))^2
 *   from g - q(1 - (1 - confidence) / 2k) sqrt(u) to g + q(1 - (1 - confidence) / 2) sqrt(u)
 *
 * Of cells that a strategy believes in, v is what it believes, q the normal quantile, and k = 1. Of cells
 * with measured times v is that of their median (time_scatter.h), as if 4 values had shown a standard
 * deviation of 0.04 beforehand; q is Student's, and k counts the rivals that `one` was chosen
 * among: the best of many is likely to have been lucky. The interval is about these models, not others. */
#ifndef RUE_GAIN_H
#define RUE_GAIN_H

#include "selection.h"

struct rue_gain {
    double confidence;       /* 0: not known */
    double ratio, low, high; /* times as fast; more than 1: faster */
};

/* Of `selection`, which is of this matrix. False, with nothing known in `*out`, where a cell of one of them
 * was neither measured nor predicted with a known uncertainty. */
bool rue_gain_find(const struct rue_cost_matrix *matrix, const struct rue_selection *selection, size_t one,
                   size_t other, double confidence, struct rue_gain *out);

/* Whether the gain is more than noise. */
bool rue_gain_is_proven(const struct rue_gain *gain);

#endif
