#include <string.h>

#include "recipe.h"

#define CROP_OF(least, most) .area = {least, most}, .ratio = {0.75F, 1.33333F}, .flip = 0.5F
#define CROP                 CROP_OF(0.08F, 1)
#define JITTER(probability, brightness, contrast, saturation, hue) \
    .jitter = {probability, brightness, contrast, saturation, hue}
#define SIMCLR      JITTER(0.8F, 0.8F, 0.8F, 0.8F, 0.2F), .filters = {.grayscale = 0.2F, .blur = {0.5F, 0.1F, 2}}
#define BYOL_JITTER JITTER(0.8F, 0.4F, 0.4F, 0.2F, 0.1F)
#define FIRST_VIEW  BYOL_JITTER, .filters = {.grayscale = 0.2F, .blur = {1, 0.1F, 2}}
#define SECOND_VIEW \
    BYOL_JITTER, .filters = {.grayscale = 0.2F, .blur = {0.1F, 0.1F, 2}, .solarize = {0.2F, 128, 128}}
/* Name and recipe. docs/augmentation.md has the sources of the constants. The first preset is the default. */
#define PRESETS(X)                                                                                       \
    X("mild", CROP)                                                                                      \
    X("moderate", CROP, .rotation = {0.25F, -10, 10}, .brightness = {0.5F, 0.8F, 1.2F},                  \
      .contrast = {0.5F, 0.8F, 1.2F})                                                                    \
    X("aggressive", CROP, .rotation = {0.5F, -30, 30}, .brightness = {0.8F, 0.6F, 1.4F},                 \
      .contrast = {0.8F, 0.6F, 1.4F}, .noise = {0.5F, 0, 0.1F}, .scale = {0.5F, 0.8F, 1.25F})            \
    X("timm", CROP, JITTER(1, 0.4F, 0.4F, 0.4F, 0))                                                      \
    X("deit", CROP, .policies = {.timm_randaugment = {9, 0.5F}})                                         \
    X("deit-3", CROP, .policies = {.three_augment = 1}, JITTER(1, 0.3F, 0.3F, 0.3F, 0))                  \
    X("mae", CROP_OF(0.2F, 1))                                                                           \
    X("simclr", CROP, SIMCLR)                                                                            \
    X("supcon", CROP_OF(0.2F, 1), JITTER(0.8F, 0.4F, 0.4F, 0.4F, 0.1F), .filters = {.grayscale = 0.2F})  \
    X("swav-global", CROP_OF(0.14F, 1), SIMCLR)                                                          \
    X("swav-local", CROP_OF(0.05F, 0.14F), SIMCLR)                                                       \
    X("moco-v3-1", CROP, FIRST_VIEW)                                                                     \
    X("moco-v3-2", CROP, SECOND_VIEW)                                                                    \
    X("dino-global-1", CROP_OF(0.4F, 1), FIRST_VIEW)                                                     \
    X("dino-global-2", CROP_OF(0.4F, 1), SECOND_VIEW)                                                    \
    X("dino-local", CROP_OF(0.05F, 0.4F), BYOL_JITTER,                                                   \
      .filters = {.grayscale = 0.2F, .blur = {0.5F, 0.1F, 2}})                                           \
    X("dinov2-global-1", CROP_OF(0.32F, 1), BYOL_JITTER, .filters = {.grayscale = 0.2F})                 \
    X("dinov2-global-2", CROP_OF(0.32F, 1), BYOL_JITTER,                                                 \
      .filters = {.grayscale = 0.2F, .gaussian_blur = {0.9F, 9, 0.1F, 2}, .solarize = {0.2F, 128, 128}}) \
    X("dinov2-local", CROP_OF(0.05F, 0.32F), BYOL_JITTER,                                                \
      .filters = {.grayscale = 0.2F, .gaussian_blur = {0.5F, 9, 0.1F, 2}})

#define NAME(name, ...)   name,
#define RECIPE(name, ...) {__VA_ARGS__},

const char *const rue_recipe_presets[] = {PRESETS(NAME) NULL};
static const struct rue_recipe presets[] = {PRESETS(RECIPE)};

struct rue_recipe rue_recipe_default(void)
{
    return presets[0];
}

rue_status rue_recipe_preset(const char *name, struct rue_recipe *out, rue_error *error)
{
    size_t count = sizeof presets / sizeof *presets;
    for (size_t i = 0; i < count; i++)
        if (strcmp(name, rue_recipe_presets[i]) == 0) return *out = presets[i], RUE_OK;
    return rue_fail(error, RUE_USAGE, "unknown preset '%.80s'", name);
}
