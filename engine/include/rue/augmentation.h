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

#include <stdbool.h>
#include <stdint.h>

#include "error.h"
#include "geometry.h"

/* An operation that is applied with a probability, with a value that is uniform in [least, most]. */
struct rue_chance {
    float probability, least, most;
};

/* ColorJitter of torchvision: factors of brightness, contrast and saturation in [max(0, 1 - x), 1 + x], a
 * shift of hue in [-hue, hue], in random order. */
struct rue_jitter {
    float probability, brightness, contrast, saturation, hue;
};

/* GaussianBlur of torchvision: its kernel has `kernel` x `kernel` numbers, with sigma in [least, most]. */
struct rue_kernel_blur {
    float probability, kernel, least, most;
};

/* Operations that are chosen at random. */
struct rue_policies {
    float randaugment[2];      /* of torchvision: number of operations and magnitude */
    float trivialaugment;      /* TrivialAugmentWide of torchvision: probability */
    float timm_randaugment[2]; /* "rand-mM-mstdS-inc1" of timm: magnitude M and standard deviation S */
    float three_augment;       /* one of grayscale, solarize and blur, as in DeiT III: probability */
};

/* Maps of levels and filters. Numbers without a range are probabilities. */
struct rue_filters {
    float grayscale;
    struct rue_chance blur; /* Pillow's ImageFilter.GaussianBlur: radius */
    struct rue_kernel_blur gaussian_blur;
    struct rue_chance solarize;  /* threshold, in [0, 256] */
    struct rue_chance posterize; /* bits, whole numbers from 0 to 8 */
    float equalize, autocontrast, invert;
    struct rue_chance sharpness; /* factor, in [0, 10] */
};

/* What the random parameters are. Numbers have at most 6 significant digits (rue_recipe_check rounds). */
struct rue_recipe {
    float area[2];  /* of the crop, relative to the image: least and most, in (0, 1] */
    float ratio[2]; /* width / height of the crop: least and most, in [0.01, 100] */
    float flip;     /* probability of a horizontal flip */
    /* RandomCrop instead, of an image with a black border of so many pixels: 1, and the border. */
    float random_crop[2];
    struct rue_chance rotation;   /* degrees clockwise, in [-180, 180] */
    struct rue_chance brightness; /* factor, in [0, 10] */
    struct rue_chance contrast;   /* factor, in [0, 10] */
    struct rue_chance noise;      /* standard deviation, where 1 is the full range of levels, in [0, 1] */
    struct rue_chance scale;      /* factor, in [0.1, 10] */
    float vertical_flip;          /* probability */
    struct rue_policies policies;
    struct rue_chance saturation; /* factor, in [0, 10] */
    struct rue_chance hue;        /* shift, in [-0.5, 0.5], where 1 is the whole circle */
    struct rue_jitter jitter;
    struct rue_filters filters;
};

extern const char *const rue_recipe_presets[]; /* "mild", "moderate", "aggressive", "timm", ..., NULL */

/* RUE_USAGE: the preset is unknown. */
rue_status rue_recipe_preset(const char *name, struct rue_recipe *out, rue_error *error) RUE_MUST_CHECK;

/* Rounds all numbers to 6 significant digits. RUE_USAGE names the number that is out of range. */
rue_status rue_recipe_check(struct rue_recipe *recipe, rue_error *error) RUE_MUST_CHECK;

enum { RUE_RECIPE_TEXT_BYTES = 1024 };

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

/* What is done to the pixels of a crop. Values are in `value`, unless the comment says otherwise. */
enum rue_operation_kind {
    RUE_OPERATION_FLIP,
    RUE_OPERATION_VERTICAL_FLIP,
    RUE_OPERATION_SHEAR_X, /* tangent of the angle; `more`: RUE_SAMPLING_... */
    RUE_OPERATION_SHEAR_Y,
    RUE_OPERATION_TRANSLATE_X, /* pixels to the left; `more`: RUE_SAMPLING_... */
    RUE_OPERATION_TRANSLATE_Y,
    RUE_OPERATION_ROTATE, /* degrees anticlockwise; `more`: RUE_SAMPLING_... */
    RUE_OPERATION_AFFINE, /* degrees clockwise; `more`: factor of size */
    RUE_OPERATION_BRIGHTNESS,
    RUE_OPERATION_CONTRAST,
    RUE_OPERATION_SATURATION,
    RUE_OPERATION_HUE,
    RUE_OPERATION_GRAYSCALE,
    RUE_OPERATION_BLUR,          /* radius */
    RUE_OPERATION_GAUSSIAN_BLUR, /* sigma; `more`: size of the kernel */
    RUE_OPERATION_SOLARIZE,      /* threshold */
    RUE_OPERATION_SOLARIZE_ADD,  /* what is added to levels below 128 */
    RUE_OPERATION_POSTERIZE,     /* bits */
    RUE_OPERATION_EQUALIZE,
    RUE_OPERATION_AUTOCONTRAST,
    RUE_OPERATION_INVERT,
    RUE_OPERATION_SHARPNESS,
    RUE_OPERATION_NOISE,
    RUE_OPERATION_KINDS
};

/* NEAREST is as torchvision's policies: black outside. The others are as timm's: `fill` outside, and
 * translations are relative to the size. RANDOM is one of the two, drawn for each operation. */
enum rue_sampling { RUE_SAMPLING_NEAREST, RUE_SAMPLING_BILINEAR, RUE_SAMPLING_BICUBIC, RUE_SAMPLING_RANDOM };

/* The image after its crop, for the operations. */
struct rue_frame {
    uint32_t width, height;
    enum rue_sampling sampling; /* of timm_randaugment: not NEAREST. timm has that of the crop */
    uint8_t fill[3];            /* of timm_randaugment. timm has the mean of the normalisation */
};

struct rue_operation {
    enum rue_operation_kind kind;
    float value, more;
};

enum { RUE_OPERATIONS_MAX = 40 };

struct rue_operations {
    uint32_t count;
    struct rue_operation at[RUE_OPERATIONS_MAX]; /* in the order in which they are applied */
};

extern const char *const rue_operation_names[RUE_OPERATION_KINDS];

/* Whether a recipe has parts that struct rue_augmentation has no number for. */
bool rue_recipe_has_operations(const struct rue_recipe *recipe);

/* The operations of an item whose parameters were drawn. */
void rue_operations_draw(const struct rue_recipe *recipe, const struct rue_augmentation_key *key,
                         const struct rue_augmentation *one, const struct rue_frame *frame,
                         struct rue_operations *out);

/* Bilinear or bicubic, for each item at random, as in timm. */
enum rue_interpolation rue_augmentation_interpolation(const struct rue_augmentation_key *key, uint64_t item);

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
