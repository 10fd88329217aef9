/* The quantile of the standard normal distribution. */
#ifndef RUE_NORMAL_H
#define RUE_NORMAL_H

/* Its error is below 1e-6 for 1e-10 < p < 1 - 1e-10. */
double rue_normal_quantile(double p);

#endif
