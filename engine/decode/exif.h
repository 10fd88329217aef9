/* How an image is to be turned before it is shown: its EXIF data, and the pixels. */
#ifndef RUE_EXIF_H
#define RUE_EXIF_H

#include "whole.h"

/* The EXIF data of a JPEG, without their name; none: NULL. */
struct rue_bytes rue_exif_find_in_jpeg(struct rue_bytes data);

/* The orientation, 1 to 8. 1, as it is: also if the data have none, or are damaged. */
unsigned rue_exif_orientation(struct rue_bytes exif);

/* Whether the sides are exchanged. */
static inline bool rue_exif_swaps_sides(unsigned orientation)
{
    return orientation > 4;
}

/* Writes the pixels of `from`, of this size, to `to` as PIL's ImageOps.exif_transpose turns them. */
void rue_exif_turn(unsigned orientation, uint32_t width, uint32_t height, const uint8_t *from, uint8_t *to);

#endif
