#include "recipe.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PART(name, member, ...)                                                                             \
    {                                                                                                       \
        name, offsetof(struct rue_recipe, member),                                                          \
            sizeof(((struct rue_recipe *)NULL)->member) / sizeof(float), (const struct rue_recipe_number[]) \
        {                                                                                                   \
            __VA_ARGS__                                                                                     \
        }                                                                                                   \
    }
#define PROBABILITY            \
    {                          \
        "probability", 0, 1, 0 \
    }
#define RANGE(least, most)        \
    {"minimum", least, most, 0},  \
    {                             \
        "maximum", least, most, 0 \
    }
#define CHANCE(name, member, least, most) PART(name, member, PROBABILITY, RANGE(least, most))
#define FLAG(name, member)                PART(name, member, PROBABILITY)

const struct rue_recipe_part rue_recipe_parts[RUE_RECIPE_PARTS] = {
    PART("area", area, RANGE(1e-6F, 1)),
    PART("ratio", ratio, RANGE(0.01F, 100)),
    FLAG("flip", flip),
    CHANCE("rotation", rotation, -180, 180),
    CHANCE("brightness", brightness, 0, 10),
    CHANCE("contrast", contrast, 0, 10),
    CHANCE("noise", noise, 0, 1),
    CHANCE("scale", scale, 0.1F, 10),
    PART("random_crop", random_crop, {"probability", 1, 1, 0}, {"padding", 0, 4096, 1}),
    FLAG("vertical_flip", vertical_flip),
    PART("randaugment", policies.randaugment, {"operations", 1, 10, 1}, {"magnitude", 0, 30, 1}),
    FLAG("trivialaugment", policies.trivialaugment),
    PART("timm_randaugment", policies.timm_randaugment, {"magnitude", 0, 10, 1}, {"deviation", 0, 100, 0}),
    FLAG("three_augment", policies.three_augment),
    CHANCE("saturation", saturation, 0, 10),
    CHANCE("hue", hue, -0.5F, 0.5F),
    PART("jitter", jitter, PROBABILITY, {"brightness", 0, 10, 0}, {"contrast", 0, 10, 0},
         {"saturation", 0, 10, 0}, {"hue", 0, 0.5F, 0}),
    FLAG("grayscale", filters.grayscale),
    CHANCE("blur", filters.blur, 0, 100),
    PART("gaussian_blur", filters.gaussian_blur, PROBABILITY, {"kernel", 1, 255, 2}, RANGE(0.01F, 100)),
    CHANCE("solarize", filters.solarize, 0, 256),
    PART("posterize", filters.posterize, PROBABILITY, {"minimum", 0, 8, 1}, {"maximum", 0, 8, 1}),
    FLAG("equalize", filters.equalize),
    FLAG("autocontrast", filters.autocontrast),
    FLAG("invert", filters.invert),
    CHANCE("sharpness", filters.sharpness, 0, 10),
};

float *rue_recipe_numbers(struct rue_recipe *recipe, const struct rue_recipe_part *part)
{
    return (float *)(void *)((char *)recipe + part->offset);
}

static rue_status check_number(const char *part, const struct rue_recipe_number *kind, float *number,
                               rue_error *error)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", (double)*number);
    *number = strtof(text, NULL);
    if (!(*number >= kind->least && *number <= kind->most))
        return rue_fail(error, RUE_USAGE, "%s: the %s %s is not between %g and %g", part, kind->name, text,
                        (double)kind->least, (double)kind->most);
    if (kind->step > 0 && fmodf(*number - kind->least, kind->step) != 0)
        return rue_fail(error, RUE_USAGE, "%s: the %s %s is not one of %g, %g, %g ... %g", part, kind->name,
                        text, (double)kind->least, (double)(kind->least + kind->step),
                        (double)(kind->least + 2 * kind->step), (double)kind->most);
    return RUE_OK;
}

/* An operation that is never applied has one form. Random numbers are multiples of 2^-24. */
static bool is_applied(const struct rue_recipe_part *part, const float *numbers)
{
    if (strcmp(part->numbers->name, "probability") == 0) return !(numbers[0] < 0x1p-24F);
    for (int i = 0; i < part->count; i++)
        if (numbers[i] != 0) return true;
    return false;
}

static bool is_crop(const struct rue_recipe_part *part)
{
    return part->offset < offsetof(struct rue_recipe, random_crop);
}

static rue_status check_part(const struct rue_recipe_part *part, float *numbers, rue_error *error)
{
    rue_status status = RUE_OK;
    bool given = false;
    for (int i = 0; i < part->count; i++) given = given || numbers[i] != 0;
    for (int i = 0; (given || is_crop(part)) && i < part->count && status == RUE_OK; i++) {
        status = check_number(part->name, &part->numbers[i], &numbers[i], error);
        if (status == RUE_OK && i && strcmp(part->numbers[i].name, "maximum") == 0 &&
            numbers[i - 1] > numbers[i])
            return rue_fail(error, RUE_USAGE, "%s: the minimum %g is greater than the maximum %g", part->name,
                            (double)numbers[i - 1], (double)numbers[i]);
    }
    if (status == RUE_OK && !is_crop(part) && !is_applied(part, numbers))
        memset(numbers, 0, (size_t)part->count * sizeof *numbers); /* also for -0 */
    return status;
}

rue_status rue_recipe_check(struct rue_recipe *recipe, rue_error *error)
{
    rue_status status = RUE_OK;
    for (int p = 0; p < RUE_RECIPE_PARTS && status == RUE_OK; p++)
        status = check_part(&rue_recipe_parts[p], rue_recipe_numbers(recipe, &rue_recipe_parts[p]), error);
    return status;
}

void rue_recipe_format(const struct rue_recipe *recipe, char out[RUE_RECIPE_TEXT_BYTES])
{
    struct rue_recipe copy = *recipe;
    size_t length = 0;
    for (const struct rue_recipe_part *part = rue_recipe_parts; part < rue_recipe_parts + RUE_RECIPE_PARTS;
         part++) {
        const float *numbers = rue_recipe_numbers(&copy, part);
        if (!is_crop(part) && !is_applied(part, numbers)) continue;
        length += (size_t)snprintf(out + length, RUE_RECIPE_TEXT_BYTES - length, "%s%s", length ? " " : "",
                                   part->name);
        for (int i = 0; i < part->count; i++)
            length +=
                (size_t)snprintf(out + length, RUE_RECIPE_TEXT_BYTES - length, " %.6g", (double)numbers[i]);
    }
}

static const struct rue_recipe_part *find_part(const char *name, size_t length)
{
    for (int p = 0; p < RUE_RECIPE_PARTS; p++)
        if (strlen(rue_recipe_parts[p].name) == length && memcmp(rue_recipe_parts[p].name, name, length) == 0)
            return &rue_recipe_parts[p];
    return NULL;
}

rue_status rue_recipe_parse(const char *text, struct rue_recipe *out, rue_error *error)
{
    *out = rue_recipe_default();
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        const struct rue_recipe_part *part = find_part(at, length);
        if (!part)
            return rue_fail(error, RUE_USAGE, "'%.*s' is not a part of a recipe",
                            (int)(length < 40 ? length : 40), at);
        at += length;
        for (int i = 0; i < part->count; i++) {
            char *end;
            rue_recipe_numbers(out, part)[i] = strtof(at, &end);
            if (end == at)
                return rue_fail(error, RUE_USAGE, "%s: expected %d numbers", part->name, part->count);
            at = end;
        }
    }
    return rue_recipe_check(out, error);
}
