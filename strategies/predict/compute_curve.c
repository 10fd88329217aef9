#include "compute_curve.h"

#include <math.h>
#include <string.h>

/* The point of that size, made where there is none and room for it; else NULL. */
static struct rue_compute_point *point_of(struct rue_compute_curve *curve, int batch_size)
{
    size_t at = 0;
    while (at < curve->count && curve->points[at].batch_size < batch_size) at++;
    struct rue_compute_point *point = &curve->points[at];
    if (at < curve->count && point->batch_size == batch_size) return point;
    if (curve->count == RUE_COMPUTE_CURVE_MAX) return NULL;
    memmove(point + 1, point, (curve->count++ - at) * sizeof *point);
    *point = (struct rue_compute_point){.batch_size = batch_size};
    return point;
}

void rue_compute_curve_add(struct rue_compute_curve *curve, int batch_size, double batch_s, double cpu_ratio)
{
    if (cpu_ratio >= 0) curve->cpu_ratio += (cpu_ratio - curve->cpu_ratio) / ++curve->trials;
    struct rue_compute_point *point = point_of(curve, batch_size);
    if (point) point->batch_s += (batch_s - point->batch_s) / ++point->trials;
}

void rue_compute_curve_believe(struct rue_compute_curve *curve, const struct rue_compute_curve *known)
{
    if (curve->trials == 0) curve->cpu_ratio = known->cpu_ratio;
    for (size_t i = 0; i < known->count; i++) {
        struct rue_compute_point *point = point_of(curve, known->points[i].batch_size);
        if (point && point->trials == 0) point->batch_s = known->points[i].batch_s;
    }
}

const struct rue_compute_point *rue_compute_curve_find(const struct rue_compute_curve *curve, int batch_size)
{
    for (size_t i = 0; i < curve->count; i++)
        if (curve->points[i].batch_size == batch_size) return &curve->points[i];
    return NULL;
}

struct rue_pipeline_consumer rue_compute_curve_at(const struct rue_compute_curve *curve, int batch_size)
{
    const struct rue_compute_point *points = curve->points;
    if (curve->count == 0) return (struct rue_pipeline_consumer){0};
    if (curve->count == 1)
        return (struct rue_pipeline_consumer){0, points[0].batch_s / points[0].batch_size, curve->cpu_ratio,
                                              true};
    size_t right = 1;
    while (right + 1 < curve->count && points[right].batch_size < batch_size) right++;
    const struct rue_compute_point *a = &points[right - 1], *b = &points[right];
    double image_s = fmax(0, (b->batch_s - a->batch_s) / (b->batch_size - a->batch_size));
    double whole_s = fmax(0, a->batch_s + image_s * (batch_size - a->batch_size));
    /* A line that falls below nothing for short batches is one through nothing. */
    if (whole_s < image_s * batch_size) image_s = whole_s / batch_size;
    return (struct rue_pipeline_consumer){fmax(0, whole_s - image_s * batch_size), image_s, curve->cpu_ratio,
                                          true};
}
