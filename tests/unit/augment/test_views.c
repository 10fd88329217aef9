#include "views.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "recipe_json.h"

#define CROP   " ratio 0.75 1.33333 flip 0.5"
#define MILD   "area 0.08 1" CROP
#define LOCAL  "area 0.05 0.14" CROP " jitter 0.8 0.8 0.8 0.8 0.2 grayscale 0.2 blur 0.5 0.1 2"
#define GLOBAL "area 0.14 1" CROP " jitter 0.8 0.8 0.8 0.8 0.2 grayscale 0.2 blur 0.5 0.1 2"

/* Both forms give the same views, whose text gives them again. */
static void expect(rue_status status, const struct rue_views *views, const rue_error *error, const char *from,
                   const char *expected)
{
    struct rue_views again;
    char text[RUE_VIEWS_TEXT_BYTES] = "";
    if (status == RUE_OK) cr_assert_eq(rue_views_format(views, text, NULL), RUE_OK);
    cr_assert_str_eq(status == RUE_OK ? text : error->message, expected, "%s: %s", from,
                     status == RUE_OK ? text : error->message);
    if (status != RUE_OK) return;
    cr_assert_eq(rue_views_parse(text, &again, NULL), RUE_OK);
    cr_assert(again.count == views->count &&
              memcmp(again.at, views->at, again.count * sizeof *again.at) == 0);
}

static void expect_text(const char *text, const char *expected)
{
    struct rue_views views;
    rue_error error = {0};
    rue_status status = rue_views_parse(text, &views, &error);
    expect(status, &views, &error, text, expected);
}

static void expect_json(const char *text, const char *expected)
{
    struct rue_views views;
    rue_error error = {0};
    json_t *root = json_loads(text, JSON_DECODE_ANY, NULL);
    rue_status status = rue_views_read(root, &views, &error);
    expect(status, &views, &error, text, expected);
    json_decref(root);
}

Test(views, presets_have_their_number_of_views)
{
    static const struct {
        const char *name;
        uint32_t count;
    } presets[] = {{"moco-v3", 2}, {"swav", 8}, {"dino", 10}, {"dinov2", 10}};
    for (size_t p = 0; p < sizeof presets / sizeof *presets; p++) {
        struct rue_views views;
        char text[RUE_VIEWS_TEXT_BYTES];
        cr_assert_eq(rue_views_parse(presets[p].name, &views, NULL), RUE_OK);
        cr_assert_eq(rue_views_format(&views, text, NULL), RUE_OK);
        cr_assert_eq(views.count, presets[p].count, "%s", presets[p].name);
    }
}

Test(views, texts)
{
    expect_text("mild", MILD);
    expect_text(MILD, MILD);
    expect_text("mild,mild", "views 2 " MILD);
    expect_text("swav", "views 2 " GLOBAL "; views 6 image_size 96x96 " LOCAL);
    expect_text("2*swav-global, 6*swav-local@96", "views 2 " GLOBAL "; views 6 image_size 96x96 " LOCAL);
    expect_text("mild;swav-local@31x5 ;mild", MILD "; image_size 31x5 " LOCAL "; " MILD);
    expect_text("32*mild", "views 32 " MILD);
}

Test(views, wrong_texts_are_one_clear_line)
{
    expect_text("", "the name of a preset is missing");
    expect_text("mild,", "the name of a preset is missing");
    expect_text("3*", "the name of a preset is missing");
    expect_text("dinno", "unknown preset 'dinno': did you mean 'dino'?");
    expect_text("8*dino-locl@96", "unknown preset 'dino-locl': did you mean 'dino-local'?");
    expect_text("xyzzy",
                "unknown preset 'xyzzy'; presets are mild, simclr and those that docs/augmentation.md lists");
    expect_text("dino@32", "dino is several views, which have their own number and size");
    expect_text("33*mild", "33 views: the limit is 32 in all");
    expect_text("0*mild", "0 views: expected at least 1");
    expect_text("31*mild,2*mild", "33 views: the limit is 32 in all");
    expect_text("99999999999*mild", "unknown preset '99999999999*mild'; presets are mild, simclr and those "
                                    "that docs/augmentation.md lists");
    expect_text("mild@0",
                "image_size '0': expected a side, or height x width such as 160x224, each from 1 to 16384");
    expect_text("views x " MILD, "views x: expected a whole number");
    expect_text("views 2 image_size 9 area 2 3", "area: the minimum 2 is not between 1e-06 and 1");
}

Test(views, json)
{
    expect_json("[\"mild\"]", MILD);
    expect_json("\"mild,mild\"", "views 2 " MILD);
    expect_json("{\"views\": 3, \"image_size\": 96}", "views 3 image_size 96x96 " MILD);
    expect_json("[{}, \"swav-global\", {\"image_size\": \"31x5\", \"flip\": 0}]",
                MILD "; " GLOBAL "; image_size 31x5 area 0.08 1 ratio 0.75 1.33333 flip 0");
    expect_json("[]", "expected an object, such as {\"flip\": 0.5}, or a list of objects and presets");
    expect_json("[{}, 3]", "expected an object, such as {\"flip\": 0.5}, or a list of objects and presets");
    expect_json("[{}, {\"views\": 0}]", "views: expected a whole number from 1 to 32");
    expect_json("{\"views\": \"x\"}", "views: expected a whole number from 1 to 32");
    expect_json("{\"views\": 33}", "33 views: the limit is 32 in all");
    expect_json("{\"image_size\": [31, 5]}", "image_size 31x5 " MILD);
    expect_json("{\"image_size\": -3}",
                "image_size '-3': expected a side, or height x width such as 160x224, each from 1 to 16384");
    expect_json("{\"veiws\": 2}", "unknown key 'veiws'; docs/augmentation.md lists the keys");
}

Test(views, a_text_that_is_too_long_is_refused)
{
    struct rue_views views = {0};
    rue_error error = {0};
    char text[RUE_VIEWS_TEXT_BYTES];
    for (uint32_t v = 0; v < RUE_VIEWS_MAX; v++) {
        struct rue_view view = {.height = 32 + v, .width = 32};
        cr_assert_eq(rue_recipe_preset("simclr", &view.recipe, NULL), RUE_OK);
        cr_assert_eq(rue_views_add(&views, &view, 1, NULL), RUE_OK);
    }
    cr_assert_eq(rue_views_format(&views, text, &error), RUE_USAGE);
    cr_assert_str_eq(
        error.message,
        "the recipes of 32 views are longer than 2047 characters: put equal views together, or use fewer");
}
