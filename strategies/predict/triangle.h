/* Positive matrices by their lower triangles, L L' = matrix, in rows that lie `stride` numbers apart. */
#ifndef RUE_TRIANGLE_H
#define RUE_TRIANGLE_H

#include <stdbool.h>
#include <stddef.h>

double rue_dot(const double *a, const double *b, size_t count);

/* L of `matrix` [count][stride], of which the lower triangle is read, in its place; false where there is
 * none. */
bool rue_triangle_factorise(double *matrix, size_t stride, size_t count);

/* L^-1 `values` [count], in their place. */
void rue_triangle_solve_lower(const double *lower, size_t stride, size_t count, double *values);

/* (L L')^-1 `values` [count], in their place. */
void rue_triangle_solve(const double *lower, size_t stride, size_t count, double *values);

/* (L L')^-1 into `out` [count][stride]. */
void rue_triangle_invert(const double *lower, size_t stride, size_t count, double *out);

#endif
