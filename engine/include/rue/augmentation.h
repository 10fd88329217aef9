/* Random parameters of the augmentation of images for training. The parameters of an item are a pure function
 * of recipe, seed, epoch and item: any thread or rank computes them in any order, without state.
 * docs/augmentation.md has the formulas. All functions are thread-safe.
 *
 *   struct rue_recipe recipe;
 *   struct rue_augmentation one;
 *   struct rue_augmentation_key key = {.seed = 1, .epoch = 7};
 *   if (rue_recipe_preset("moderate", &recipe, NULL) != RUE_OK) return 1;
 *   rue_augmentation_draw(&recipe, &key, 123456, 1, &one, 1);
 *   struct rue_crop crop = rue_augmentation_crop(&recipe, &key, &one, 500, 375); */
#ifndef RUE_AUGMENTATION_H
#define RUE_AUGMENTATION_H

#include <stdint.h>

#include "error.h"

/* An operation that is applied with a probability, with a value that is uniform in [least, most]. */
struct rue_chance {
    float probability, least, most;
};

/* What the random parameters are. Numbers have at most 6 significant digits (rue_recipe_check rounds). */
struct rue_recipe {
    float area[2];                /* of the crop, relative to the image: least and most, in (0, 1] */
    float ratio[2];               /* width / height of the crop: least and most, in [0.01, 100] */
    float flip;                   /* probability of a horizontal flip */
    struct rue_chance rotation;   /* degrees clockwise, in [-180, 180] */
    struct rue_chance brightness; /* factor, in [0, 10] */
    struct rue_chance contrast;   /* factor, in [0, 10] */
    struct rue_chance noise;      /* standard deviation, where 1 is the full range of levels, in [0, 1] */
    struct rue_chance scale;      /* factor, in [0.1, 10] */
};

extern const char *const rue_recipe_presets[]; /* "mild", "moderate", "aggressive", NULL */

/* RUE_USAGE, with a similar name: the preset is unknown. */
rue_status rue_recipe_preset(const char *name, struct rue_recipe *out, rue_error *error) RUE_MUST_CHECK;

/* Rounds all numbers to 6 significant digits. RUE_USAGE names the number that is out of range. */
rue_status rue_recipe_check(struct rue_recipe *recipe, rue_error *error) RUE_MUST_CHECK;

enum { RUE_RECIPE_TEXT_BYTES = 320 };

/* Writes "area 0.08 1 ratio 0.75 1.33333 flip 0.5 rotation 0.5 -10 10", without operations that are never
 * applied. Equal recipes that passed rue_recipe_check give equal texts. */
void rue_recipe_format(const struct rue_recipe *recipe, char out[RUE_RECIPE_TEXT_BYTES]);

/* Reads such a text, and checks the recipe. RUE_USAGE. */
rue_status rue_recipe_parse(const char *text, struct rue_recipe *out, rue_error *error) RUE_MUST_CHECK;

struct rue_augmentation_key {
    uint64_t seed;
    uint32_t epoch;
    uint32_t stream; /* different streams give different parameters for the same item; up to 2^24 - 1 */
};

/* The parameters of one item. An operation that is not applied has rotation 0, brightness 1, contrast 1,
 * noise 0, scale 1, flip 0. */
struct rue_augmentation {
    uint64_t item;
    float area, ratio; /* of the crop, first attempt */
    float x, y;        /* place of the crop: 0 is left or top; below 1 */
    float rotation, brightness, contrast, noise, scale;
    uint32_t flip; /* 0 or 1 */
};

/* Writes the parameters of the items `first`, `first` + `stride`, ... to `out` [count]. The recipe must have
 * passed rue_recipe_check or come from rue_recipe_preset. */
void rue_augmentation_draw(const struct rue_recipe *recipe, const struct rue_augmentation_key *key,
                           uint64_t first, uint64_t stride, struct rue_augmentation *out, uint64_t count);

/* In pixels of the image. */
struct rue_crop {
    uint32_t left, top, width, height;
};

/* The crop of RandomResizedCrop in an image of this size, as in torchvision (transforms.RandomResizedCrop.
 * get_params): the first of 10 attempts that fits, else the largest centred crop with a ratio in the range.
 */
struct rue_crop rue_augmentation_crop(const struct rue_recipe *recipe, const struct rue_augmentation_key *key,
                                      const struct rue_augmentation *one, uint32_t width, uint32_t height);

#endif
