/* How far two measurements agree about the order of the same things. */
#ifndef RUE_RANK_AGREEMENT_H
#define RUE_RANK_AGREEMENT_H

#include <stddef.h>

/* Kendall's tau-b of the pairs (a[i], b[i]): 1 where both have the same order, -1 where one has the reverse
 * of the other's, around 0 where neither tells anything of the other; ties count for neither (Kendall, The
 * treatment of ties in ranking problems, Biometrika 33, 1945). NaN for fewer than two pairs, and where all of
 * a or of b are equal. Takes count^2 steps. */
double rue_rank_agreement(const double *a, const double *b, size_t count);

#endif
