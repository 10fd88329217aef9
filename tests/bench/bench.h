/* What the benchmarks share: sides that run in turn, so that a drift of the machine's speed hits all alike;
 * their medians; and one line a measurement, tabs between its fields, which run.py makes a table of. */
#ifndef RUE_BENCH_H
#define RUE_BENCH_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "error.h"

enum { BENCH_SIDES_MAX = 32, BENCH_REPEATS_MAX = 99 };

struct bench_side {
    const char *name;
    double (*run)(void *context);
    void *context;
};

static inline double bench_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static inline double bench_now(void)
{
    return bench_clock(CLOCK_MONOTONIC);
}

static inline int bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline double bench_median(double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, bench_compare);
    return count % 2 ? values[count / 2] : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Runs each side once unmeasured, then all of them in turn; `medians` [count]. */
static inline void bench_run(const struct bench_side *sides, int count, int repeats, double *medians)
{
    static double values[BENCH_SIDES_MAX][BENCH_REPEATS_MAX];
    for (int s = 0; s < count; s++) sides[s].run(sides[s].context);
    for (int r = 0; r < repeats; r++)
        for (int s = 0; s < count; s++) values[s][r] = sides[s].run(sides[s].context);
    for (int s = 0; s < count; s++) medians[s] = bench_median(values[s], repeats);
}

/* `goal` is about value / limit: ">= 0.97", or "" where there is none. */
static inline void bench_row(const char *what, const char *unit, double value, const char *limit_name,
                             double limit, const char *goal)
{
    printf("%s\t%s\t%.4g\t%s\t%.4g\t%.3f\t%s\n", what, unit, value, limit_name, limit, value / limit, goal);
    fflush(stdout);
}

static inline void bench_check(rue_status status, const rue_error *error)
{
    if (status == RUE_OK) return;
    fprintf(stderr, "%s\n", error->message);
    exit(1);
}

#endif
