#include "augmentation.h"

#include <math.h>
#include <stddef.h>

#include "item_random.h"
#include "policies.h"

const char *const rue_operation_names[RUE_OPERATION_KINDS] = {
    [RUE_OPERATION_FLIP] = "flip",
    [RUE_OPERATION_VERTICAL_FLIP] = "vertical_flip",
    [RUE_OPERATION_SHEAR_X] = "shear_x",
    [RUE_OPERATION_SHEAR_Y] = "shear_y",
    [RUE_OPERATION_TRANSLATE_X] = "translate_x",
    [RUE_OPERATION_TRANSLATE_Y] = "translate_y",
    [RUE_OPERATION_ROTATE] = "rotate",
    [RUE_OPERATION_AFFINE] = "affine",
    [RUE_OPERATION_BRIGHTNESS] = "brightness",
    [RUE_OPERATION_CONTRAST] = "contrast",
    [RUE_OPERATION_SATURATION] = "saturation",
    [RUE_OPERATION_HUE] = "hue",
    [RUE_OPERATION_GRAYSCALE] = "grayscale",
    [RUE_OPERATION_BLUR] = "blur",
    [RUE_OPERATION_GAUSSIAN_BLUR] = "gaussian_blur",
    [RUE_OPERATION_SOLARIZE] = "solarize",
    [RUE_OPERATION_SOLARIZE_ADD] = "solarize_add",
    [RUE_OPERATION_POSTERIZE] = "posterize",
    [RUE_OPERATION_EQUALIZE] = "equalize",
    [RUE_OPERATION_AUTOCONTRAST] = "autocontrast",
    [RUE_OPERATION_INVERT] = "invert",
    [RUE_OPERATION_SHARPNESS] = "sharpness",
    [RUE_OPERATION_NOISE] = "noise",
};

/* Words 0, 1, 2 ... of the blocks 16, 17 ... of the item, four each. */
enum {
    BLOCK_WORDS = 16,
    WORD_VERTICAL_FLIP = 0,
    WORD_SATURATION,
    WORD_HUE,
    WORD_GRAYSCALE,
    WORD_JITTER, /* whether, three factors, hue, order */
    WORD_BLUR = 10,
    WORD_GAUSSIAN_BLUR,
    WORD_SOLARIZE,
    WORD_POSTERIZE,
    WORD_EQUALIZE,
    WORD_AUTOCONTRAST,
    WORD_INVERT,
    WORD_SHARPNESS
};

static float uniform(const struct rue_philox *words, int index)
{
    return rue_unit(words->word[index % 4][index / 4]);
}

static void draw_flag(struct rue_operations *list, enum rue_operation_kind kind, float probability, float u)
{
    if (u < probability) rue_operations_add(list, kind, 0, 0);
}

static void draw_chance(struct rue_operations *list, enum rue_operation_kind kind, struct rue_chance chance,
                        float u, float more)
{
    if (!(u < chance.probability)) return;
    float value = chance.least + u * ((chance.most - chance.least) / chance.probability);
    rue_operations_add(list, kind, value < chance.most ? value : chance.most, more);
}

static void draw_bits(struct rue_operations *list, struct rue_chance bits, float u)
{
    if (!(u < bits.probability)) return;
    float value = floorf(bits.least + (u / bits.probability) * (bits.most - bits.least + 1));
    rue_operations_add(list, RUE_OPERATION_POSTERIZE, value < bits.most ? value : bits.most, 0);
}

/* ColorJitter.get_params: an operation without strength is left out. The order is one of 24. */
static void draw_jitter(struct rue_operations *list, const struct rue_jitter *jitter,
                        const struct rue_philox *words)
{
    static const enum rue_operation_kind kinds[] = {RUE_OPERATION_BRIGHTNESS, RUE_OPERATION_CONTRAST,
                                                    RUE_OPERATION_SATURATION, RUE_OPERATION_HUE};
    const float strengths[] = {jitter->brightness, jitter->contrast, jitter->saturation, jitter->hue};
    int rest[] = {0, 1, 2, 3}, order = (int)(uniform(words, WORD_JITTER + 5) * 24);
    if (!(uniform(words, WORD_JITTER) < jitter->probability)) return;
    for (int left = 4; left > 0; order /= left, left--) {
        int at = order % left, i = rest[at];
        rest[at] = rest[left - 1];
        float strength = strengths[i], u = uniform(words, WORD_JITTER + 1 + i), centre = i < 3 ? 1 : 0;
        float least = i < 3 && strength > 1 ? 0 : centre - strength;
        if (strength > 0) rue_operations_add(list, kinds[i], least + u * (centre + strength - least), 0);
    }
}

static void draw_filters(struct rue_operations *list, const struct rue_filters *filters,
                         const struct rue_philox *words)
{
    const struct rue_kernel_blur *blur = &filters->gaussian_blur;
    const struct rue_chance sigma = {blur->probability, blur->least, blur->most};
    draw_flag(list, RUE_OPERATION_GRAYSCALE, filters->grayscale, uniform(words, WORD_GRAYSCALE));
    draw_chance(list, RUE_OPERATION_BLUR, filters->blur, uniform(words, WORD_BLUR), 0);
    draw_chance(list, RUE_OPERATION_GAUSSIAN_BLUR, sigma, uniform(words, WORD_GAUSSIAN_BLUR), blur->kernel);
    draw_chance(list, RUE_OPERATION_SOLARIZE, filters->solarize, uniform(words, WORD_SOLARIZE), 0);
    draw_bits(list, filters->posterize, uniform(words, WORD_POSTERIZE));
    draw_flag(list, RUE_OPERATION_EQUALIZE, filters->equalize, uniform(words, WORD_EQUALIZE));
    draw_flag(list, RUE_OPERATION_AUTOCONTRAST, filters->autocontrast, uniform(words, WORD_AUTOCONTRAST));
    draw_flag(list, RUE_OPERATION_INVERT, filters->invert, uniform(words, WORD_INVERT));
    draw_chance(list, RUE_OPERATION_SHARPNESS, filters->sharpness, uniform(words, WORD_SHARPNESS), 0);
}

bool rue_recipe_has_operations(const struct rue_recipe *recipe)
{
    enum { FIRST = offsetof(struct rue_recipe, vertical_flip) / sizeof(float) };
    const float *numbers = (const float *)(const void *)recipe;
    for (size_t i = FIRST; i < sizeof *recipe / sizeof *numbers; i++)
        if (numbers[i] != 0) return true;
    return false;
}

void rue_operations_draw(const struct rue_recipe *recipe, const struct rue_augmentation_key *key,
                         const struct rue_augmentation *one, const struct rue_frame *frame,
                         struct rue_operations *out)
{
    bool more = rue_recipe_has_operations(recipe);
    struct rue_philox words;
    if (more) words = rue_item_blocks(key, one->item, BLOCK_WORDS);
    out->count = 0;
    if (one->flip) rue_operations_add(out, RUE_OPERATION_FLIP, 0, 0);
    if (more) {
        draw_flag(out, RUE_OPERATION_VERTICAL_FLIP, recipe->vertical_flip,
                  uniform(&words, WORD_VERTICAL_FLIP));
        rue_policies_draw(&recipe->policies, key, one->item, frame, out);
    }
    if (one->rotation != 0 || one->scale != 1)
        rue_operations_add(out, RUE_OPERATION_AFFINE, one->rotation, one->scale);
    if (one->brightness != 1) rue_operations_add(out, RUE_OPERATION_BRIGHTNESS, one->brightness, 0);
    if (one->contrast != 1) rue_operations_add(out, RUE_OPERATION_CONTRAST, one->contrast, 0);
    if (more) {
        draw_chance(out, RUE_OPERATION_SATURATION, recipe->saturation, uniform(&words, WORD_SATURATION), 0);
        draw_chance(out, RUE_OPERATION_HUE, recipe->hue, uniform(&words, WORD_HUE), 0);
        draw_jitter(out, &recipe->jitter, &words);
        draw_filters(out, &recipe->filters, &words);
    }
    if (one->noise > 0) rue_operations_add(out, RUE_OPERATION_NOISE, one->noise, 0);
}
