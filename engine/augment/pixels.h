/* Augmentation of a whole image: the operations of an item, in their order (docs/augmentation.md). All but
 * noise give the levels of torchvision's functions for a PIL image. */
#ifndef RUE_PIXELS_H
#define RUE_PIXELS_H

#include "augmentation.h"

/* `pixels`: the rows of the frame, of pixels of R, G, B and an unused byte, aligned to 4 bytes, without gaps.
 * `scratch` has the same size. */
void rue_pixels_augment(const struct rue_recipe *recipe, const struct rue_augmentation *one,
                        const struct rue_augmentation_key *key, const struct rue_frame *frame,
                        uint8_t *pixels, uint8_t *scratch);

#endif
