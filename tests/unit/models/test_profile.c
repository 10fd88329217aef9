#include "profile.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>

static const struct rue_profile measured = {
    .points = 3, .batch_size = {32, 128, 256}, .batch_ns = {1000, 3000, 7000}};

Test(profile, measured_points_are_exact)
{
    for (size_t i = 0; i < 3; i++)
        cr_assert_eq(rue_profile_batch_ns(&measured, measured.batch_size[i]), (uint64_t)measured.batch_ns[i]);
}

Test(profile, times_between_points_are_on_a_line)
{
    cr_assert_eq(rue_profile_batch_ns(&measured, 80), 2000);
    cr_assert_eq(rue_profile_batch_ns(&measured, 192), 5000);
}

Test(profile, outside_the_nearest_two_points_go_on)
{
    cr_assert_eq(rue_profile_batch_ns(&measured, 512), 15000);
    cr_assert_eq(rue_profile_batch_ns(&measured, 20), 750);
}

Test(profile, no_time_is_negative)
{
    struct rue_profile steep = {.points = 2, .batch_size = {100, 200}, .batch_ns = {10, 1000}};
    cr_assert_eq(rue_profile_batch_ns(&steep, 1), 0);
}

Test(profile, a_larger_batch_costs_at_least_the_largest_measured_one)
{
    struct rue_profile noisy = {.points = 2, .batch_size = {1, 8}, .batch_ns = {1010, 1000}};
    cr_assert_eq(rue_profile_batch_ns(&noisy, 65536), 1000);
    cr_assert_eq(rue_profile_batch_ns(&noisy, 8), 1000);
}

Test(profile, one_point_is_a_line_through_the_origin)
{
    struct rue_profile one = {.points = 1, .batch_size = {64}, .batch_ns = {6400}};
    cr_assert_eq(rue_profile_batch_ns(&one, 10), 1000);
    cr_assert_eq(rue_profile_batch_ns(&one, 128), 12800);
}

Test(profile, a_batch_costs_its_share_and_its_images_without_points)
{
    struct rue_profile line = {.per_batch_ns = 500, .per_image_ns = 20};
    cr_assert_eq(rue_profile_batch_ns(&line, 10), 700);
    cr_assert_eq(rue_profile_batch_ns(&(struct rue_profile){0}, 1000), 0, "the model none");
}

Test(profile, endless_times_are_cut)
{
    struct rue_profile endless = {.per_image_ns = 9e18};
    cr_assert_eq(rue_profile_batch_ns(&endless, 65536), RUE_PROFILE_NS_MAX);
}

Test(profile, json_describes_the_profile)
{
    char text[RUE_PROFILE_JSON_BYTES];
    rue_profile_json(&measured, text);
    cr_assert_str_eq(text, "{\"batch_size\":[32,128,256],\"batch_ns\":[1000,3000,7000]}");
    rue_profile_json(&(struct rue_profile){.per_batch_ns = 2e6, .per_image_ns = 1500}, text);
    cr_assert_str_eq(text, "{\"per_batch_ns\":2000000,\"per_image_ns\":1500}");
}

Test(profile, the_largest_profile_fits_its_json)
{
    struct rue_profile full = {.points = RUE_PROFILE_POINTS_MAX, .largest_batch = UINT32_MAX};
    char text[RUE_PROFILE_JSON_BYTES];
    for (size_t i = 0; i < full.points; i++) {
        full.batch_size[i] = UINT32_MAX - 16 + (uint32_t)i;
        full.batch_ns[i] = (double)RUE_PROFILE_NS_MAX;
    }
    rue_profile_json(&full, text);
    json_t *object = json_loads(text, 0, NULL);
    cr_assert_not_null(object, "%s", text);
    cr_assert_eq(json_array_size(json_object_get(object, "batch_ns")), RUE_PROFILE_POINTS_MAX);
    json_decref(object);
}

Test(profile, json_of_computed_models_describes_the_work_without_estimates)
{
    char text[RUE_PROFILE_JSON_BYTES];
    struct rue_profile real = {.consumer = RUE_CONSUMER_HOST,
                               .cores = 2,
                               .products = "OpenBLAS 0.3.21",
                               .points = 1,
                               .batch_size = {1},
                               .batch_ns = {5}};
    rue_profile_json(&real, text);
    cr_assert_str_eq(text, "{\"consumer\":\"host\",\"cores\":2,\"products\":\"OpenBLAS 0.3.21\"}");
}
