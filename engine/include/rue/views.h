/* The views of an image for training: random crops of it, each with a recipe, a size and random numbers of
 * its own, all from one decode. Most training has one view, contrastive training several. */
#ifndef RUE_VIEWS_H
#define RUE_VIEWS_H

#include "augmentation.h"

enum { RUE_VIEWS_MAX = 32, RUE_VIEWS_TEXT_BYTES = 2048 };

struct rue_view {
    uint32_t height, width; /* 0: those of the geometry */
    struct rue_recipe recipe;
};

struct rue_views {
    uint32_t count; /* 1 to RUE_VIEWS_MAX */
    struct rue_view at[RUE_VIEWS_MAX];
};

/* "96", or "64x96" for height x width. RUE_USAGE. */
rue_status rue_view_set_size(struct rue_view *view, const char *image_size, rue_error *error) RUE_MUST_CHECK;

/* Adds `times` views. The recipe must have passed rue_recipe_check. RUE_USAGE: they are too many. */
rue_status rue_views_add(struct rue_views *views, const struct rue_view *view, uint64_t times,
                         rue_error *error) RUE_MUST_CHECK;

/* Reads views between commas or semicolons, each a preset, "simclr", "8*dino-local@96" for 8 of 96 x 96
 * pixels, or "dino" for all of DINO's; or the text of a recipe, "views 8 image_size 96 area 0.05 0.4 ...".
 * RUE_USAGE. */
rue_status rue_views_parse(const char *text, struct rue_views *out, rue_error *error) RUE_MUST_CHECK;

/* Writes such a text. Equal views give equal texts. RUE_USAGE: it is too long. */
rue_status rue_views_format(const struct rue_views *views, char out[RUE_VIEWS_TEXT_BYTES],
                            rue_error *error) RUE_MUST_CHECK;

/* The geometry of a view: `geometry` with the size of the view. */
struct rue_geometry rue_view_geometry(const struct rue_view *view, const struct rue_geometry *geometry);

#endif
