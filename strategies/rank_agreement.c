#include "rank_agreement.h"

#include <math.h>

static int sign(double x)
{
    return (x > 0) - (x < 0);
}

double rue_rank_agreement(const double *a, const double *b, size_t count)
{
    double agreeing = 0, told_a = 0, told_b = 0; /* pairs of pairs: in order less reversed, without ties */
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) {
            int of_a = sign(a[i] - a[j]), of_b = sign(b[i] - b[j]);
            agreeing += of_a * of_b;
            told_a += of_a != 0;
            told_b += of_b != 0;
        }
    return told_a > 0 && told_b > 0 ? agreeing / sqrt(told_a * told_b) : NAN;
}
