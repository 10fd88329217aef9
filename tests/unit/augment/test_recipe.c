#include "recipe.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "recipe_json.h"

Test(recipe, presets_are_valid_and_have_texts)
{
#define CROP " ratio 0.75 1.33333 flip 0.5"
#define BYOL CROP " jitter 0.8 0.4 0.4 0.2 0.1 grayscale 0.2"
    static const char *const texts[] = {
        "area 0.08 1" CROP,
        "area 0.08 1" CROP " rotation 0.25 -10 10 brightness 0.5 0.8 1.2 contrast 0.5 0.8 1.2",
        "area 0.08 1" CROP " rotation 0.5 -30 30 brightness 0.8 0.6 1.4 contrast 0.8 0.6 1.4 "
        "noise 0.5 0 0.1 scale 0.5 0.8 1.25",
        "area 0.08 1" CROP " jitter 1 0.4 0.4 0.4 0",
        "area 0.08 1" CROP " timm_randaugment 9 0.5",
        "area 0.08 1" CROP " three_augment 1 jitter 1 0.3 0.3 0.3 0",
        "area 0.2 1" CROP,
        "area 0.08 1" CROP " jitter 0.8 0.8 0.8 0.8 0.2 grayscale 0.2 blur 0.5 0.1 2",
        "area 0.2 1" CROP " jitter 0.8 0.4 0.4 0.4 0.1 grayscale 0.2",
        "area 0.14 1" CROP " jitter 0.8 0.8 0.8 0.8 0.2 grayscale 0.2 blur 0.5 0.1 2",
        "area 0.05 0.14" CROP " jitter 0.8 0.8 0.8 0.8 0.2 grayscale 0.2 blur 0.5 0.1 2",
        "area 0.08 1" BYOL " blur 1 0.1 2",
        "area 0.08 1" BYOL " blur 0.1 0.1 2 solarize 0.2 128 128",
        "area 0.4 1" BYOL " blur 1 0.1 2",
        "area 0.4 1" BYOL " blur 0.1 0.1 2 solarize 0.2 128 128",
        "area 0.05 0.4" BYOL " blur 0.5 0.1 2",
        "area 0.32 1" BYOL,
        "area 0.32 1" BYOL " gaussian_blur 0.9 9 0.1 2 solarize 0.2 128 128",
        "area 0.05 0.32" BYOL " gaussian_blur 0.5 9 0.1 2"};
    for (int p = 0; rue_recipe_presets[p]; p++) {
        struct rue_recipe recipe, again;
        char text[RUE_RECIPE_TEXT_BYTES];
        cr_assert_eq(rue_recipe_preset(rue_recipe_presets[p], &recipe, NULL), RUE_OK);
        cr_assert_eq(rue_recipe_check(&recipe, NULL), RUE_OK);
        rue_recipe_format(&recipe, text);
        cr_assert_str_eq(text, texts[p]);
        cr_assert_eq(rue_recipe_parse(text, &again, NULL), RUE_OK);
        cr_assert_eq(memcmp(&recipe, &again, sizeof recipe), 0);
    }
}

Test(recipe, the_longest_text_fits)
{
    struct rue_recipe recipe, again;
    char text[RUE_RECIPE_TEXT_BYTES];
    for (int p = 0; p < RUE_RECIPE_PARTS; p++)
        for (int i = 0; i < rue_recipe_parts[p].count; i++) {
            const struct rue_recipe_number *kind = &rue_recipe_parts[p].numbers[i];
            rue_recipe_numbers(&recipe, &rue_recipe_parts[p])[i] = kind->step > 0 || kind->least == kind->most
                                                                       ? kind->most
                                                                   : kind->least < 0 ? -1.23456e-05F
                                                                   : kind->least < 1.23456e-05F ? 1.23456e-05F
                                                                                                : 0.123456F;
        }
    cr_assert_eq(rue_recipe_check(&recipe, NULL), RUE_OK);
    rue_recipe_format(&recipe, text);
    cr_assert_lt(strlen(text), sizeof text - 1);
    cr_assert_eq(rue_recipe_parse(text, &again, NULL), RUE_OK);
    cr_assert_eq(memcmp(&recipe, &again, sizeof recipe), 0);
}

/* The text of a recipe gives the same recipe. */
static void read_json(const char *text, const char *expected)
{
    struct rue_views views, again;
    char found[RUE_VIEWS_TEXT_BYTES];
    rue_error error = {0};
    json_t *root = json_loads(text, JSON_DECODE_ANY, NULL);
    rue_status status = rue_views_read(root, &views, &error);
    if (status == RUE_OK) status = rue_views_format(&views, found, &error);
    cr_assert(status == RUE_OK || status == RUE_USAGE);
    cr_assert_str_eq(status == RUE_OK ? found : error.message, expected, "%s: %s", text,
                     status == RUE_OK ? found : error.message);
    cr_assert(status != RUE_OK ||
                  (rue_views_parse(found, &again, NULL) == RUE_OK && again.count == views.count &&
                   memcmp(views.at, again.at, views.count * sizeof *again.at) == 0),
              "%s", text);
    json_decref(root);
}

Test(recipe, json_gives_the_recipe_or_one_clear_line)
{
    static const char usual[] = "area 0.08 1 ratio 0.75 1.33333 flip 0.5";
    read_json("{}", usual);
    read_json("{\"area\": [0.25, 0.25], \"flip\": 0}", "area 0.25 0.25 ratio 0.75 1.33333 flip 0");
    read_json("{\"rotation\": {\"probability\": 1, \"range\": [-5, 5]}}",
              "area 0.08 1 ratio 0.75 1.33333 flip 0.5 rotation 1 -5 5");
    read_json("{\"rotation\": {\"probability\": 0, \"range\": [-5, 5]}}", usual);
    read_json("{\"rotation\": {\"probability\": -0, \"range\": [0, -0.0]}}", usual);
    read_json("[]", "expected an object, such as {\"flip\": 0.5}, or a list of objects and presets");
    read_json("{\"rotatoin\": 1}", "unknown key 'rotatoin': did you mean 'rotation'?");
    read_json("{\"gamma\": 1}", "unknown key 'gamma'; docs/augmentation.md lists the keys");
    read_json("{\"flip\": 1.5}", "flip: the probability 1.5 is not between 0 and 1");
    read_json("{\"flip\": -0.1}", "flip: the probability -0.1 is not between 0 and 1");
    read_json("{\"flip\": \"often\"}", "flip: expected a probability, such as 0.5");
    read_json("{\"area\": [0.9, 0.5]}", "area: the minimum 0.9 is greater than the maximum 0.5");
    read_json("{\"area\": [0, 1]}", "area: the minimum 0 is not between 1e-06 and 1");
    read_json("{\"area\": [0.1]}", "area: expected [minimum, maximum]");
    read_json("{\"scale\": {\"probability\": 1.01, \"range\": [1, 2]}}",
              "scale: the probability 1.01 is not between 0 and 1");
    read_json("{\"scale\": {\"probability\": 1, \"range\": [1, 1e40]}}",
              "scale: the maximum inf is not between 0.1 and 10");
    read_json("{\"noise\": 0.5}", "noise: expected {\"probability\": P, \"range\": [minimum, maximum]}");
}

Test(recipe, json_of_other_operations_gives_the_recipe_or_one_clear_line)
{
    static const char usual[] = "area 0.08 1 ratio 0.75 1.33333 flip 0.5";
    read_json(
        "{\"jitter\": {\"probability\": 0.8, \"brightness\": 0.4, \"contrast\": 0.4, \"saturation\": 0.2, "
        "\"hue\": 0.1}, \"grayscale\": 0.2, \"solarize\": {\"probability\": 0.2, \"range\": [128, 128]}}",
        "area 0.08 1 ratio 0.75 1.33333 flip 0.5 jitter 0.8 0.4 0.4 0.2 0.1 grayscale 0.2 solarize 0.2 128 "
        "128");
    read_json("{\"gaussian_blur\": {\"probability\": 0.5, \"kernel\": 23, \"range\": [0.1, 2]}}",
              "area 0.08 1 ratio 0.75 1.33333 flip 0.5 gaussian_blur 0.5 23 0.1 2");
    read_json("{\"randaugment\": {\"operations\": 2, \"magnitude\": 9}}",
              "area 0.08 1 ratio 0.75 1.33333 flip 0.5 randaugment 2 9");
    read_json("{\"grayscale\": 0, \"jitter\": {\"probability\": 0, \"brightness\": 1, \"contrast\": 1, "
              "\"saturation\": 1, "
              "\"hue\": 0}}",
              usual);
    read_json("{\"hue\": {\"probability\": 1, \"range\": [-0.6, 0]}}",
              "hue: the minimum -0.6 is not between -0.5 and 0.5");
    read_json("{\"jitter\": 0.8}",
              "jitter: expected {\"probability\": P, \"brightness\": N, \"contrast\": N, "
              "\"saturation\": N, \"hue\": N}");
    read_json("{\"gaussian_blur\": {\"probability\": 0.5, \"kernel\": 23}}",
              "gaussian_blur: expected {\"probability\": P, \"kernel\": N, \"range\": [minimum, maximum]}");
    read_json("{\"gaussian_blur\": {\"probability\": 0.5, \"kernel\": 22, \"range\": [0.1, 2]}}",
              "gaussian_blur: the kernel 22 is not one of 1, 3, 5 ... 255");
    read_json("{\"gaussian_blur\": {\"probability\": 0.5, \"kernel\": 9, \"range\": [0, 2]}}",
              "gaussian_blur: the minimum 0 is not between 0.01 and 100");
    read_json("{\"randaugment\": {\"operations\": 2, \"magnitude\": 31}}",
              "randaugment: the magnitude 31 is not between 0 and 30");
    read_json("{\"randaugment\": {\"operations\": 1.5, \"magnitude\": 3}}",
              "randaugment: the operations 1.5 is not one of 1, 2, 3 ... 10");
    read_json("{\"posterize\": {\"probability\": 1, \"range\": [4, 2]}}",
              "posterize: the minimum 4 is greater than the maximum 2");
}

Test(recipe, an_invalid_text_is_refused)
{
    static const char *const texts[] = {"area",     "area 0.5",   "tilt 1",   "flip 2",
                                        "flip nan", "area 1 0.5", "flip 0.5x"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct rue_recipe recipe;
        rue_error error = {0};
        cr_assert_eq(rue_recipe_parse(texts[i], &recipe, &error), RUE_USAGE, "%s", texts[i]);
        cr_assert(error.message[0]);
    }
}
