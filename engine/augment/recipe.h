/* The parts of a recipe as data. Its text and its JSON use the same names. */
#ifndef RUE_RECIPE_H
#define RUE_RECIPE_H

#include <stddef.h>

#include "augmentation.h"

/* `count` floats from `offset`: 1 is a probability; 2 are least and most; 3 are probability, least, most. */
struct rue_recipe_part {
    const char *name;
    size_t offset;
    int count;
    float least, most; /* bounds of a value; those of a probability are 0 and 1 */
};

enum { RUE_RECIPE_PARTS = 8 };

extern const struct rue_recipe_part rue_recipe_parts[RUE_RECIPE_PARTS];

float *rue_recipe_numbers(struct rue_recipe *recipe, const struct rue_recipe_part *part);

/* The random crop and flip of torchvision's training references: area 0.08 to 1, ratio 3/4 to 4/3, half of
 * the images are flipped, and nothing else. */
struct rue_recipe rue_recipe_default(void);

#endif
