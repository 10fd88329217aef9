/* What the benchmarks share: sides that run interleaved, so that a drift of the machine's speed hits all
 * alike; their medians; and one line a measurement, tabs between its fields, which run.py makes a table of.
 */
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

static inline void bench_shuffle(int *order, int count, unsigned *seed)
{
    for (int i = count; i-- > 1;) {
        int j = rand_r(seed) % (i + 1), other = order[j];
        order[j] = order[i];
        order[i] = other;
    }
}

/* Runs each side once unmeasured, then all of them again and again, each time in another order, so that none
 * always has the same one before it; `medians` [count]. */
static inline void bench_run(const struct bench_side *sides, int count, int repeats, double *medians)
{
    static double values[BENCH_SIDES_MAX][BENCH_REPEATS_MAX];
    int order[BENCH_SIDES_MAX];
    unsigned seed = 1;
    for (int s = 0; s < count; s++) {
        sides[s].run(sides[s].context);
        order[s] = s;
    }
    for (int r = 0; r < repeats; r++) {
        bench_shuffle(order, count, &seed);
        for (int s = 0; s < count; s++) values[order[s]][r] = sides[order[s]].run(sides[order[s]].context);
    }
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
