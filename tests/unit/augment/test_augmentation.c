#include "augmentation.h"

#include <criterion/criterion.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS = 100000, THREADS = 4 };

static struct rue_augmentation sets[ITEMS], others[ITEMS];
static const struct rue_augmentation_key key = {.seed = 20, .epoch = 3};

static struct rue_recipe preset(const char *name)
{
    struct rue_recipe recipe;
    cr_assert_eq(rue_recipe_preset(name, &recipe, NULL), RUE_OK);
    return recipe;
}

static int compare_reals(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The Kolmogorov-Smirnov distance of values to the uniform distribution on [0, 1], times sqrt(count). */
static double uniform_distance(double *values, size_t count)
{
    double most = 0;
    qsort(values, count, sizeof *values, compare_reals);
    for (size_t i = 0; i < count; i++) {
        double below = values[i] - (double)i / (double)count,
               above = (double)(i + 1) / (double)count - values[i];
        most = fmax(most, fmax(below, above));
    }
    return most * sqrt((double)count);
}

/* Larger distances have a probability of 0.1 %; the seed is fixed. */
#define CRITICAL 1.95

/* Checks that the values that differ from `neutral` are uniform in [least, most] and as frequent as asked. */
static void check_chance(size_t offset, struct rue_chance chance, double neutral)
{
    static double values[ITEMS];
    size_t count = 0;
    for (int i = 0; i < ITEMS; i++) {
        double value = (double)*(const float *)(const void *)((const char *)&sets[i] + offset);
        if (value != neutral)
            values[count++] = (value - (double)chance.least) / ((double)chance.most - (double)chance.least);
    }
    double p = (double)chance.probability, error = sqrt(p * (1 - p) * ITEMS);
    cr_assert_lt(fabs((double)count - p * ITEMS), 4 * error + 1, "%zu of %d at %g", count, ITEMS, p);
    if (count) cr_assert_lt(uniform_distance(values, count), CRITICAL);
}

Test(augmentation, parameters_have_the_documented_distributions)
{
    static double area[ITEMS], ratio[ITEMS], x[ITEMS], y[ITEMS];
    for (int p = 0; rue_recipe_presets[p]; p++) {
        const struct rue_recipe recipe = preset(rue_recipe_presets[p]);
        rue_augmentation_draw(&recipe, &key, 0, 1, sets, ITEMS);
        double flips = 0, log_least = log((double)recipe.ratio[0]), log_most = log((double)recipe.ratio[1]);
        for (int i = 0; i < ITEMS; i++) {
            area[i] = ((double)sets[i].area - (double)recipe.area[0]) /
                      ((double)recipe.area[1] - (double)recipe.area[0]);
            ratio[i] = (log((double)sets[i].ratio) - log_least) / (log_most - log_least);
            x[i] = (double)sets[i].x;
            y[i] = (double)sets[i].y;
            flips += sets[i].flip;
        }
        cr_assert_lt(uniform_distance(area, ITEMS), CRITICAL);
        cr_assert_lt(uniform_distance(ratio, ITEMS), CRITICAL);
        cr_assert_lt(uniform_distance(x, ITEMS), CRITICAL);
        cr_assert_lt(uniform_distance(y, ITEMS), CRITICAL);
        cr_assert_lt(fabs(flips - 0.5 * ITEMS), 4 * sqrt(0.25 * ITEMS));
        check_chance(offsetof(struct rue_augmentation, rotation), recipe.rotation, 0);
        check_chance(offsetof(struct rue_augmentation, brightness), recipe.brightness, 1);
        check_chance(offsetof(struct rue_augmentation, contrast), recipe.contrast, 1);
        check_chance(offsetof(struct rue_augmentation, noise), recipe.noise, 0);
        check_chance(offsetof(struct rue_augmentation, scale), recipe.scale, 1);
    }
}

Test(augmentation, neighbours_and_parameters_are_not_correlated)
{
    const struct rue_recipe recipe = preset("mild");
    rue_augmentation_draw(&recipe, &key, 0, 1, sets, ITEMS);
    double next = 0, other = 0;
    for (int i = 0; i + 1 < ITEMS; i++) {
        next += ((double)sets[i].x - 0.5) * ((double)sets[i + 1].x - 0.5);
        other += ((double)sets[i].x - 0.5) * ((double)sets[i].y - 0.5);
    }
    double error = sqrt((double)ITEMS) / 12;
    cr_assert_lt(fabs(next), 4 * error);
    cr_assert_lt(fabs(other), 4 * error);
}

Test(augmentation, any_split_into_calls_and_ranks_gives_the_same_parameters)
{
    const struct rue_recipe recipe = preset("aggressive");
    rue_augmentation_draw(&recipe, &key, 0, 1, sets, ITEMS);
    for (uint64_t world = 1; world <= 8; world++)
        for (uint64_t rank = 0; rank < world; rank++) {
            uint64_t count = 1 + (rank * 37 + world * 11) % 100;
            rue_augmentation_draw(&recipe, &key, rank, world, others, count);
            for (uint64_t i = 0; i < count; i++)
                cr_assert_eq(memcmp(&others[i], &sets[rank + i * world], sizeof *sets), 0);
        }
    for (uint64_t i = 0; i < 100; i++) {
        rue_augmentation_draw(&recipe, &key, i * 997, 1, others, 1);
        cr_assert_eq(memcmp(others, &sets[i * 997], sizeof *sets), 0);
    }
}

static void *draw_quarter(void *argument)
{
    const struct rue_recipe recipe = preset("aggressive");
    size_t first = (size_t)(uintptr_t)argument * (ITEMS / THREADS);
    rue_augmentation_draw(&recipe, &key, first, 1, others + first, ITEMS / THREADS);
    return NULL;
}

Test(augmentation, any_number_of_threads_gives_the_same_parameters)
{
    const struct rue_recipe recipe = preset("aggressive");
    pthread_t threads[THREADS];
    rue_augmentation_draw(&recipe, &key, 0, 1, sets, ITEMS);
    for (uintptr_t t = 0; t < THREADS; t++)
        cr_assert_eq(pthread_create(&threads[t], NULL, draw_quarter, (void *)t), 0);
    for (int t = 0; t < THREADS; t++) pthread_join(threads[t], NULL);
    cr_assert_eq(memcmp(sets, others, sizeof sets), 0);
}

Test(augmentation, seed_epoch_and_stream_change_the_parameters)
{
    const struct rue_recipe recipe = preset("mild");
    static const struct rue_augmentation_key keys[] = {
        {20, 3, 0}, {21, 3, 0}, {20, 4, 0}, {20, 3, 1}, {UINT64_C(20) << 32, 3, 0}};
    enum { KEYS = sizeof keys / sizeof *keys };
    struct rue_augmentation one[KEYS];
    for (int k = 0; k < KEYS; k++) rue_augmentation_draw(&recipe, &keys[k], UINT64_MAX, 1, &one[k], 1);
    for (int k = 0; k < KEYS; k++)
        for (int j = 0; j < k; j++) cr_assert_neq(one[k].x, one[j].x);
}

/* These values are part of the contract: other versions and machines give them too. */
Test(augmentation, parameters_are_the_same_on_every_machine)
{
    const struct rue_recipe recipe = preset("aggressive");
    static const struct rue_augmentation_key first = {.seed = 1};
    struct rue_augmentation one;
    rue_augmentation_draw(&recipe, &first, 1, 1, &one, 1);
    cr_assert_eq(one.item, 1);
    cr_assert_float_eq(one.area, 0.698238, 1e-6);
    cr_assert_float_eq(one.ratio, 1.240170, 1e-6);
    cr_assert_float_eq(one.brightness, 0.869633, 1e-6);
    cr_assert_float_eq(one.noise, 0.034878, 1e-6);
    cr_assert_eq(one.flip, 1);
}

Test(augmentation, crops_lie_in_the_image_and_have_area_and_ratio)
{
    static const uint32_t sizes[][2] = {{500, 375}, {224, 224}, {1, 1},     {1, 2},
                                        {3, 1},     {65500, 1}, {40, 3000}, {9, 7}};
    const struct rue_recipe recipe = preset("mild");
    rue_augmentation_draw(&recipe, &key, 0, 1, sets, 5000);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int i = 0; i < 5000; i++) {
            uint32_t width = sizes[s][0], height = sizes[s][1];
            struct rue_crop crop = rue_augmentation_crop(&recipe, &key, &sets[i], width, height);
            cr_assert(crop.width >= 1 && crop.height >= 1 && crop.left + crop.width <= width &&
                      crop.top + crop.height <= height);
            if (s > 1) continue;
            double area = (double)crop.width * crop.height / ((double)width * height),
                   ratio = (double)crop.width / crop.height;
            cr_assert(area > 0.07 && ratio > 0.73 && ratio < 1.36, "%g %g", area, ratio);
        }
}

Test(augmentation, an_image_without_room_gets_the_centred_crop)
{
    const struct rue_recipe recipe = preset("mild");
    rue_augmentation_draw(&recipe, &key, 0, 1, sets, 1);
    struct rue_crop wide = rue_augmentation_crop(&recipe, &key, sets, 1000, 10),
                    tall = rue_augmentation_crop(&recipe, &key, sets, 9, 1000);
    cr_assert(wide.width == 13 && wide.height == 10 && wide.left == 493 && wide.top == 0);
    cr_assert(tall.width == 9 && tall.height == 12 && tall.left == 0 && tall.top == 494);
}
