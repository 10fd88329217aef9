#include "recipe.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suggest.h"

#define PART(member, count, least, most)                                 \
    {                                                                    \
#        member, offsetof(struct rue_recipe, member), count, least, most \
    }

const struct rue_recipe_part rue_recipe_parts[RUE_RECIPE_PARTS] = {
    PART(area, 2, 1e-6F, 1),      PART(ratio, 2, 0.01F, 100), PART(flip, 1, 0, 1),
    PART(rotation, 3, -180, 180), PART(brightness, 3, 0, 10), PART(contrast, 3, 0, 10),
    PART(noise, 3, 0, 1),         PART(scale, 3, 0.1F, 10)};

#define CROP .area = {0.08F, 1}, .ratio = {0.75F, 1.33333F}, .flip = 0.5F

const char *const rue_recipe_presets[] = {"mild", "moderate", "aggressive", NULL};

static const struct rue_recipe presets[] = {
    {CROP},
    {CROP, .rotation = {0.25F, -10, 10}, .brightness = {0.5F, 0.8F, 1.2F}, .contrast = {0.5F, 0.8F, 1.2F}},
    {CROP, .rotation = {0.5F, -30, 30}, .brightness = {0.8F, 0.6F, 1.4F}, .contrast = {0.8F, 0.6F, 1.4F},
     .noise = {0.5F, 0, 0.1F}, .scale = {0.5F, 0.8F, 1.25F}},
};

struct rue_recipe rue_recipe_default(void)
{
    return presets[0];
}

rue_status rue_recipe_preset(const char *name, struct rue_recipe *out, rue_error *error)
{
    size_t count = sizeof presets / sizeof *presets;
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, rue_recipe_presets[i]) == 0) return *out = presets[i], RUE_OK;
    char near[RUE_SUGGESTION_BYTES];
    rue_did_you_mean(name, rue_recipe_presets, count, "", near);
    return rue_fail(error, RUE_USAGE, "unknown preset '%.80s'%s", name,
                    *near ? near : "; the presets are mild, moderate and aggressive");
}

float *rue_recipe_numbers(struct rue_recipe *recipe, const struct rue_recipe_part *part)
{
    return (float *)(void *)((char *)recipe + part->offset);
}

static rue_status check_number(const char *part, const char *what, float *number, float least, float most,
                               rue_error *error)
{
    char text[32];
    snprintf(text, sizeof text, "%.6g", (double)*number);
    *number = strtof(text, NULL);
    if (*number >= least && *number <= most) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "%s: the %s %s is not between %g and %g", part, what, text,
                    (double)least, (double)most);
}

static rue_status check_part(const struct rue_recipe_part *part, float *numbers, rue_error *error)
{
    static const char *const words[] = {"probability", "minimum", "maximum"};
    rue_status status = RUE_OK;
    if (part->count == 3 && numbers[0] == 0 && numbers[1] == 0 && numbers[2] == 0) {
        memset(numbers, 0, 3 * sizeof *numbers); /* not given; also for -0 */
        return RUE_OK;
    }
    for (int i = 0; i < part->count && status == RUE_OK; i++) {
        bool probability = part->count != 2 && i == 0;
        status = check_number(part->name, words[part->count == 2 ? i + 1 : i], &numbers[i],
                              probability ? 0 : part->least, probability ? 1 : part->most, error);
    }
    const float *range = numbers + part->count - 2;
    if (status == RUE_OK && part->count >= 2 && range[0] > range[1])
        return rue_fail(error, RUE_USAGE, "%s: the minimum %g is greater than the maximum %g", part->name,
                        (double)range[0], (double)range[1]);
    /* Random numbers are multiples of 2^-24. An operation that is never applied has one form. */
    if (status == RUE_OK && part->count == 3 && numbers[0] < 0x1p-24F)
        memset(numbers, 0, 3 * sizeof *numbers);
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
        if (part->count == 3 && numbers[0] == 0) continue;
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
