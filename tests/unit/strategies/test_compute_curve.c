#include <criterion/criterion.h>
#include <math.h>

#include "knowledge.h"

static double batch_s(const struct rue_compute_curve *curve, int batch_size, int images)
{
    struct rue_pipeline_consumer consumer = rue_compute_curve_at(curve, batch_size);
    return consumer.batch_s + images * consumer.image_s;
}

Test(compute_curve, interpolates_linearly_between_measured_sizes)
{
    struct rue_compute_curve curve = {0};
    rue_compute_curve_add(&curve, 512, 8, NAN);
    rue_compute_curve_add(&curve, 32, 1, NAN);
    rue_compute_curve_add(&curve, 128, 2.5, NAN);
    rue_compute_curve_add(&curve, 128, 1.5, NAN);
    cr_assert(rue_compute_curve_find(&curve, 128) && !rue_compute_curve_find(&curve, 64));
    cr_assert_float_eq(batch_s(&curve, 32, 32), 1, 1e-12);
    cr_assert_float_eq(batch_s(&curve, 128, 128), 2, 1e-12);
    cr_assert_float_eq(batch_s(&curve, 80, 80), 1.5, 1e-12);
    cr_assert_float_eq(batch_s(&curve, 1024, 1024), 16, 1e-12);
    cr_assert_float_eq(batch_s(&curve, 128, 32), 1, 1e-12, "a short last batch");
    cr_assert_float_eq(batch_s(&curve, 16, 16), 1 - 16 / 96.0, 1e-12);
}

Test(compute_curve, is_never_negative)
{
    struct rue_compute_curve curve = {0};
    cr_assert_eq(batch_s(&curve, 64, 64), 0);
    rue_compute_curve_add(&curve, 128, 4, NAN);
    cr_assert_float_eq(batch_s(&curve, 64, 64), 2, 1e-12);
    rue_compute_curve_add(&curve, 64, 1, NAN);
    cr_assert_geq(batch_s(&curve, 8, 8), 0, "steeper than proportional");
    cr_assert_geq(batch_s(&curve, 64, 1), 0);
    rue_compute_curve_add(&curve, 256, 1, NAN);
    cr_assert_float_eq(batch_s(&curve, 256, 256), 4, 1e-9, "less work for more images is noise");
}

Test(compute_curve, measured_sizes_replace_prior_ones)
{
    struct rue_compute_curve curve = {0}, known = {.cpu_ratio = 3}, other = {0}, many = {0};
    rue_compute_curve_add(&known, 32, 0.1, NAN);
    rue_compute_curve_add(&known, 64, 0.2, NAN);
    rue_compute_curve_add_prior(&curve, &known);
    cr_assert_null(rue_compute_curve_find(&curve, 16));
    cr_assert_eq(rue_compute_curve_find(&curve, 32)->trials, 0);
    cr_assert_float_eq(rue_compute_curve_at(&curve, 48).cpu_ratio, 3, 1e-12);
    cr_assert_float_eq(
        rue_compute_curve_at(&curve, 48).batch_s + 48 * rue_compute_curve_at(&curve, 48).image_s, 0.15, 1e-9);
    rue_compute_curve_add(&curve, 32, 0.12, 1);
    rue_compute_curve_add(&other, 32, 0.5, NAN);
    rue_compute_curve_add_prior(&curve, &other);
    cr_assert(rue_compute_curve_find(&curve, 32)->trials == 1 && curve.count == 2);
    cr_assert_float_eq(curve.points[0].batch_s, 0.12, 1e-12);
    cr_assert_float_eq(curve.cpu_ratio, 1, 1e-12, "measured");
    for (int size = 100; size < 200; size++) rue_compute_curve_add(&many, size, 1, NAN);
    cr_assert_eq(many.count, RUE_COMPUTE_CURVE_MAX);
    rue_compute_curve_add_prior(&curve, &many);
    cr_assert_eq(curve.count, RUE_COMPUTE_CURVE_MAX);
}

Test(compute_curve, prior_sizes_are_scaled_by_measured_ones)
{
    struct rue_compute_curve curve = {0}, known = {0};
    for (int size = 32; size <= 128; size *= 2) rue_compute_curve_add(&known, size, 1 + 0.01 * size, NAN);
    rue_compute_curve_add(&curve, 32, 2 * 1.32, NAN);
    rue_compute_curve_add_prior(&curve, &known);
    cr_assert_float_eq(batch_s(&curve, 128, 128), 2 * 2.28, 1e-9);
    cr_assert_eq(rue_compute_curve_find(&curve, 128)->trials, 0);
}

Test(compute_curve, a_model_on_several_cpus_occupies_all_of_them)
{
    struct rue_compute_curve curve = {0};
    rue_compute_curve_add(&curve, 8, 1, 1.5);
    rue_compute_curve_add(&curve, 16, 2, 2.5);
    rue_compute_curve_add(&curve, 32, 4, NAN);
    cr_assert_float_eq(rue_compute_curve_at(&curve, 8).cpu_ratio, 2, 1e-12);
}
