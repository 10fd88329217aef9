#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "pixels.h"
#include "recipe.h"

enum { ITEMS = 8000 };

static const struct rue_augmentation_key key = {.seed = 1};
static const struct rue_frame frame = {224, 224, RUE_SAMPLING_BICUBIC, {124, 116, 104}};

static struct rue_operations draw(const struct rue_recipe *recipe, uint64_t item)
{
    struct rue_augmentation one;
    struct rue_operations list;
    rue_augmentation_draw(recipe, &key, item, 1, &one, 1);
    rue_operations_draw(recipe, &key, &one, &frame, &list);
    return list;
}

static struct rue_recipe read_recipe(const char *text)
{
    struct rue_recipe recipe;
    rue_error error = {0};
    rue_status status = strchr(text, ' ') ? rue_recipe_parse(text, &recipe, &error)
                                          : rue_recipe_preset(text, &recipe, &error);
    cr_assert_eq(status, RUE_OK, "%s", error.message);
    return recipe;
}

/* These values are part of the contract: other versions and machines give them too. */
Test(operations, they_are_the_same_on_every_machine)
{
    static const struct rue_operation simclr[] = {{RUE_OPERATION_FLIP, 0, 0},
                                                  {RUE_OPERATION_SATURATION, 0.473288F, 0},
                                                  {RUE_OPERATION_BRIGHTNESS, 1.532805F, 0},
                                                  {RUE_OPERATION_CONTRAST, 1.254278F, 0},
                                                  {RUE_OPERATION_HUE, 0.112085F, 0},
                                                  {RUE_OPERATION_GRAYSCALE, 0, 0}};
    static const struct rue_operation deit[] = {{RUE_OPERATION_FLIP, 0, 0},
                                                {RUE_OPERATION_BRIGHTNESS, 1.787538F, 0},
                                                {RUE_OPERATION_ROTATE, 27.474253F, RUE_SAMPLING_BICUBIC}};
    const struct rue_recipe recipes[] = {read_recipe("simclr"), read_recipe("deit")};
    const struct rue_operations lists[] = {draw(&recipes[0], 1), draw(&recipes[1], 2)};
    cr_assert_eq(lists[0].count, sizeof simclr / sizeof *simclr);
    cr_assert_eq(lists[1].count, sizeof deit / sizeof *deit);
    for (int l = 0; l < 2; l++)
        for (uint32_t i = 0; i < lists[l].count; i++) {
            const struct rue_operation *known = l ? &deit[i] : &simclr[i], *found = &lists[l].at[i];
            cr_assert_eq(found->kind, known->kind);
            cr_assert_float_eq(found->value, known->value, 2e-6);
            cr_assert_eq(found->more, known->more);
        }
}

Test(operations, recipes_of_the_first_parts_have_no_more)
{
    for (int p = 0; rue_recipe_presets[p]; p++) {
        const struct rue_recipe recipe = read_recipe(rue_recipe_presets[p]);
        cr_assert_eq(rue_recipe_has_operations(&recipe), p > 2 && strcmp(rue_recipe_presets[p], "mae") != 0);
    }
}

/* Checks how often an operation of `kind` is drawn, and the mean of its values. */
static void check_kind(const char *text, enum rue_operation_kind kind, double probability, double mean)
{
    const struct rue_recipe recipe = read_recipe(text);
    double count = 0, sum = 0;
    for (uint64_t item = 0; item < ITEMS; item++) {
        const struct rue_operations list = draw(&recipe, item);
        for (uint32_t i = 0; i < list.count; i++) {
            count += list.at[i].kind == kind;
            sum += list.at[i].kind == kind ? (double)list.at[i].value : 0;
        }
    }
    cr_assert_float_eq(count / ITEMS, probability, 4 * sqrt(0.25 / ITEMS), "%s %d: %g", text, kind,
                       count / ITEMS);
    cr_assert_float_eq(sum / count, mean, 0.05 * (1 + fabs(mean)), "%s %d: %g", text, kind, sum / count);
}

Test(operations, they_have_the_documented_distributions)
{
    check_kind("moco-v3-2", RUE_OPERATION_HUE, 0.8, 0);
    check_kind("moco-v3-2", RUE_OPERATION_GRAYSCALE, 0.2, 0);
    check_kind("moco-v3-2", RUE_OPERATION_BLUR, 0.1, 1.05);
    check_kind("moco-v3-2", RUE_OPERATION_SOLARIZE, 0.2, 128);
    check_kind("dinov2-local", RUE_OPERATION_GAUSSIAN_BLUR, 0.5, 1.05);
    check_kind("deit-3", RUE_OPERATION_BLUR, 1 / 3.0, 1.05);
    check_kind("deit", RUE_OPERATION_SOLARIZE_ADD, 1 / 15.0, 98);
    check_kind("deit", RUE_OPERATION_SHEAR_X, 1 / 15.0, 0);
    check_kind("flip 0 posterize 0.5 2 5", RUE_OPERATION_POSTERIZE, 0.5, 3.5);
    check_kind("flip 0 randaugment 2 9", RUE_OPERATION_SOLARIZE, 2 / 14.0, 255 * 21 / 30.0);
    check_kind("flip 0 trivialaugment 0.5", RUE_OPERATION_EQUALIZE, 0.5 / 14, 0);
}

Test(operations, the_four_of_a_jitter_come_in_any_order)
{
    const struct rue_recipe recipe = read_recipe("flip 0 jitter 1 0.4 0.4 0.4 0.1");
    int first[4][4] = {{0}};
    for (uint64_t item = 0; item < ITEMS; item++) {
        const struct rue_operations list = draw(&recipe, item);
        cr_assert_eq(list.count, 4);
        for (int i = 0; i < 4; i++) first[i][list.at[i].kind - RUE_OPERATION_BRIGHTNESS]++;
    }
    for (int i = 0; i < 16; i++)
        cr_assert_float_eq(first[i / 4][i % 4], ITEMS / 4.0, 4 * sqrt(ITEMS * 3 / 16.0));
}

/* Of an image of one pixel, and of one without room for a filter. */
Test(operations, all_parts_together_fit_the_list_and_a_small_image)
{
    struct rue_recipe recipe;
    for (int p = 0; p < RUE_RECIPE_PARTS; p++)
        for (int i = 0; i < rue_recipe_parts[p].count; i++)
            rue_recipe_numbers(&recipe, &rue_recipe_parts[p])[i] = rue_recipe_parts[p].numbers[i].most;
    cr_assert_eq(rue_recipe_check(&recipe, NULL), RUE_OK);
    for (uint64_t item = 0; item < 50; item++) {
        uint32_t pixels[2 * 3] = {0x123456, 0xFFFFFF, 0, 0xFF, 0xFF00, 0xFF0000}, scratch[2 * 3];
        const struct rue_frame small = {1 + item % 2, 1 + item % 3, RUE_SAMPLING_RANDOM, {0}};
        struct rue_augmentation one;
        rue_augmentation_draw(&recipe, &key, item, 1, &one, 1);
        rue_pixels_augment(&recipe, &one, &key, &small, (uint8_t *)pixels, (uint8_t *)scratch);
        cr_assert_leq(draw(&recipe, item).count, RUE_OPERATIONS_MAX);
    }
}
