/* Augmentation of a whole image: flip, rotation and scale, brightness, contrast, noise, in this order. All
 * but noise give the levels of torchvision's functions for a PIL image. */
#ifndef RUE_PIXELS_H
#define RUE_PIXELS_H

#include "augmentation.h"

enum { RUE_PIXELS_SIDE = 224, RUE_PIXELS_BYTES = RUE_PIXELS_SIDE * RUE_PIXELS_SIDE * 4 };

/* `pixels` [RUE_PIXELS_BYTES]: rows of R, G, B and an unused byte. `scratch` has the same size. */
void rue_pixels_augment(const struct rue_augmentation *one, const struct rue_augmentation_key *key,
                        uint8_t *pixels, uint8_t *scratch);

#endif
