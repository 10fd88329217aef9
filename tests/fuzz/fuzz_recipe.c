/* Recipes of augmentation, as JSON and as text: what is accepted draws valid parameters, augments a small
 * image, and its text gives the same recipes. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "pixels.h"
#include "recipe.h"
#include "recipe_json.h"

static void check_recipe(const struct rue_recipe *recipe)
{
    static const struct rue_augmentation_key key = {.seed = 1};
    static const struct rue_frame frame = {5, 3, RUE_SAMPLING_RANDOM, {1, 2, 3}};
    struct rue_augmentation sets[20];
    rue_augmentation_draw(recipe, &key, 0, 1, sets, 20);
    for (int i = 0; i < 20; i++) {
        const struct rue_augmentation *set = &sets[i];
        assert(set->area > 0 && set->area <= 1.0001F && set->ratio > 0.0099F && set->ratio < 101);
        assert(set->x >= 0 && set->x < 1 && set->y >= 0 && set->y < 1 && set->flip <= 1);
        assert(set->rotation >= -180 && set->rotation <= 180 && set->brightness >= 0 &&
               set->brightness <= 10);
        assert(set->contrast >= 0 && set->contrast <= 10 && set->noise >= 0 && set->noise <= 1);
        assert(set->scale >= 0.0999F && set->scale <= 10);
        uint32_t pixels[5 * 3] = {0xFFFFFF, 0xFF, 0x123456}, scratch[5 * 3];
        if (i < 2) rue_pixels_augment(recipe, set, &key, &frame, (uint8_t *)pixels, (uint8_t *)scratch);
        struct rue_crop crop = rue_augmentation_crop(recipe, &key, set, 1 + (uint32_t)i * 31, 100);
        assert(crop.width && crop.height && crop.left + crop.width <= 1 + (uint32_t)i * 31 &&
               crop.top + crop.height <= 100);
    }
}

static void check_views(const struct rue_views *views)
{
    char text[RUE_VIEWS_TEXT_BYTES];
    struct rue_views again;
    assert(views->count >= 1 && views->count <= RUE_VIEWS_MAX);
    for (uint32_t v = 0; v < views->count; v++) check_recipe(&views->at[v].recipe);
    if (rue_views_format(views, text, NULL) != RUE_OK) return;
    assert(rue_views_parse(text, &again, NULL) == RUE_OK && again.count == views->count &&
           memcmp(views->at, again.at, views->count * sizeof *again.at) == 0);
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
    struct rue_views views;
    rue_error error = {0};
    char text[4096];
    json_t *root = json_loadb((const char *)data, bytes, JSON_REJECT_DUPLICATES, NULL);
    snprintf(text, sizeof text, "%.*s", (int)(bytes < 4095 ? bytes : 4095), (const char *)data);
    rue_status status = root ? rue_views_read(root, &views, &error) : rue_views_parse(text, &views, &error);
    assert(status == RUE_OK || (status == RUE_USAGE && error.message[0]));
    if (status == RUE_OK) check_views(&views);
    json_decref(root);
    return 0;
}
