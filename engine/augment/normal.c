#include "normal.h"

#include <math.h>

/* Wichura, "Algorithm AS 241", 1988, PPND7. */
double rue_normal_quantile(double p)
{
    double q = p - 0.5, r = 0.180625 - q * q;
    if (fabs(q) <= 0.425)
        return q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
               (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0);
    r = sqrt(-log(q < 0 ? p : 1 - p)) - 1.6;
    double tail = (((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
                  ((0.12021132975 * r + 0.73700164250) * r + 1.0);
    return q < 0 ? -tail : tail;
}
