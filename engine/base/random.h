/* Deterministic random numbers from seeds: the same on every machine, without shared state. */
#ifndef RUE_RANDOM_H
#define RUE_RANDOM_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014): a bijection of 64-bit words that mixes all bits. */
static inline uint64_t rue_mix64(uint64_t x)
{
    x += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* The next number of the stream; advances `*state`. */
static inline uint64_t rue_random_next(uint64_t *state)
{
    uint64_t word = rue_mix64(*state);
    *state += UINT64_C(0x9E3779B97F4A7C15);
    return word;
}

/* An integer in [0, bound); bound > 0. The bias is below bound / 2^64. */
static inline uint64_t rue_random_below(uint64_t *state, uint64_t bound)
{
    return (uint64_t)(((unsigned __int128)rue_random_next(state) * bound) >> 64);
}

/* A real in [0, 1). */
static inline double rue_random_unit(uint64_t *state)
{
    return (double)(rue_random_next(state) >> 11) * 0x1p-53;
}

/* A standard normal number (Box, Muller 1958). */
static inline double rue_random_normal(uint64_t *state)
{
    double radius = sqrt(-2 * log(1 - rue_random_unit(state)));
    return radius * cos(2 * M_PI * rue_random_unit(state));
}

/* Writes `count` standard normal numbers to `out` at half the cost. */
static inline void rue_random_normals(uint64_t *state, double *out, size_t count)
{
    for (size_t i = 0; i < count; i += 2) {
        double radius = sqrt(-2 * log(1 - rue_random_unit(state))), angle = 2 * M_PI * rue_random_unit(state);
        out[i] = radius * cos(angle);
        if (i + 1 < count) out[i + 1] = radius * sin(angle);
    }
}

/* Writes 0, 1, ..., `count` - 1 in random order to `out` [count]. */
static inline void rue_random_order(size_t *out, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) out[i] = i;
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)rue_random_below(&seed, i), item = out[i - 1];
        out[i - 1] = out[other];
        out[other] = item;
    }
}

#endif
