#include "triangle.h"

#include <math.h>

double rue_dot(const double *a, const double *b, size_t count)
{
    double sums[4] = {0}; /* apart from each other, so that they may go on at the same time */
    size_t i = 0;
    for (; i + 4 <= count; i += 4)
        for (size_t k = 0; k < 4; k++) sums[k] += a[i + k] * b[i + k];
    for (; i < count; i++) sums[0] += a[i] * b[i];
    return sums[0] + sums[1] + sums[2] + sums[3];
}

bool rue_triangle_factorise(double *matrix, size_t stride, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j <= i; j++) {
            double *row = matrix + i * stride, left = row[j] - rue_dot(row, matrix + j * stride, j);
            if (i == j && !(left > 0)) return false;
            row[j] = i == j ? sqrt(left) : left / matrix[j * stride + j];
        }
    return true;
}

void rue_triangle_solve_lower(const double *lower, size_t stride, size_t count, double *values)
{
    for (size_t i = 0; i < count; i++)
        values[i] = (values[i] - rue_dot(lower + i * stride, values, i)) / lower[i * stride + i];
}

void rue_triangle_solve(const double *lower, size_t stride, size_t count, double *values)
{
    rue_triangle_solve_lower(lower, stride, count, values);
    for (size_t i = count; i-- > 0;) {
        values[i] /= lower[i * stride + i];
        for (size_t j = 0; j < i; j++) values[j] -= lower[i * stride + j] * values[i];
    }
}

void rue_triangle_invert(const double *lower, size_t stride, size_t count, double *out)
{
    for (size_t j = 0; j < count; j++) { /* row j of (L^-1)', that is column j of L^-1 */
        double *column = out + j * stride;
        column[j] = 1 / lower[j * stride + j];
        for (size_t i = j + 1; i < count; i++)
            column[i] = -rue_dot(lower + i * stride + j, column + j, i - j) / lower[i * stride + i];
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = i; j < count; j++)
            out[i * stride + j] = rue_dot(out + i * stride + j, out + j * stride + j, count - j);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) out[i * stride + j] = out[j * stride + i];
}
