/* The front of time and memory: the configurations that no other beats in the one without losing in the
 * other. */
#ifndef RUE_PARETO_H
#define RUE_PARETO_H

#include <stddef.h>

#include "error.h"

/* Finds the front of `count` points, `costs` [count] and `bytes` [count], each the better the less; a point
 * with a NaN of either is none. Of equal points the first is taken. `out` [count] is filled with their
 * numbers, the least cost first, `*out_count` says how many. RUE_MEMORY. */
rue_status rue_pareto_front(const double *costs, const double *bytes, size_t count, size_t *out,
                            size_t *out_count, rue_error *error) RUE_MUST_CHECK;

#endif
