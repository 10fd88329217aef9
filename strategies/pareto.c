#include "pareto.h"

#include <math.h>
#include <stdlib.h>

struct point {
    double cost, bytes;
    size_t number;
};

static int compare(const void *left, const void *right)
{
    const struct point *a = left, *b = right;
    if (a->cost != b->cost) return a->cost < b->cost ? -1 : 1;
    if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
    return a->number < b->number ? -1 : a->number > b->number;
}

rue_status rue_pareto_front(const double *costs, const double *bytes, size_t count, size_t *out,
                            size_t *out_count, rue_error *error)
{
    size_t known = 0;
    double least = INFINITY;
    struct point *points = malloc((count + 1) * sizeof *points);
    if (!points) return rue_fail_memory(error, "the front of time and memory", count * sizeof *points);
    for (size_t i = 0; i < count; i++)
        if (!isnan(costs[i]) && !isnan(bytes[i])) points[known++] = (struct point){costs[i], bytes[i], i};
    qsort(points, known, sizeof *points, compare);
    *out_count = 0;
    for (size_t i = 0; i < known; i++) {
        if (points[i].bytes >= least) continue;
        least = points[i].bytes;
        out[(*out_count)++] = points[i].number;
    }
    free(points);
    return RUE_OK;
}
