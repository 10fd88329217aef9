/* The parts of a recipe as data. Its text and its JSON use the same names. */
#ifndef RUE_RECIPE_H
#define RUE_RECIPE_H

#include <stddef.h>

#include "augmentation.h"

/* A number has bounds; with a step it is one of least, least + step, least + 2 step, ... "minimum" stands
 * before "maximum": together they are a range. */
struct rue_recipe_number {
    const char *name;
    float least, most, step;
};

/* `count` floats from `offset`. A part whose numbers are all 0 is not applied; area, ratio and flip always
 * are. */
struct rue_recipe_part {
    const char *name;
    size_t offset;
    int count;
    const struct rue_recipe_number *numbers;
};

enum { RUE_RECIPE_PARTS = 26 };

extern const struct rue_recipe_part rue_recipe_parts[RUE_RECIPE_PARTS];

float *rue_recipe_numbers(struct rue_recipe *recipe, const struct rue_recipe_part *part);

/* The random crop and flip of torchvision's training references: area 0.08 to 1, ratio 3/4 to 4/3, half of
 * the images are flipped, and nothing else. */
struct rue_recipe rue_recipe_default(void);

#endif
