#include "pixels.h"

#include "image.h"

RUE_WIDE static void flip_row(uint32_t *restrict left, uint32_t *restrict right, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t pixel = left[i];
        left[i] = right[count - 1 - i];
        right[count - 1 - i] = pixel;
    }
}

static void flip_columns(const struct rue_image *image, const struct rue_operation *operation)
{
    (void)operation;
    uint32_t *row = image->pixels, half = image->width / 2;
    for (uint32_t y = 0; y < image->height; y++, row += image->width)
        flip_row(row, row + image->width - half, half);
}

static void flip_rows(const struct rue_image *image, const struct rue_operation *operation)
{
    (void)operation;
    uint32_t *top = image->pixels, *bottom = top + image->count - image->width;
    for (; top < bottom; top += image->width, bottom -= image->width)
        for (uint32_t i = 0; i < image->width; i++) {
            uint32_t upper = top[i];
            top[i] = bottom[i];
            bottom[i] = upper;
        }
}

static void (*const operations[RUE_OPERATION_KINDS])(const struct rue_image *,
                                                     const struct rue_operation *) = {
    [RUE_OPERATION_FLIP] = flip_columns,
    [RUE_OPERATION_VERTICAL_FLIP] = flip_rows,
    [RUE_OPERATION_SHEAR_X] = rue_image_map,
    [RUE_OPERATION_SHEAR_Y] = rue_image_map,
    [RUE_OPERATION_TRANSLATE_X] = rue_image_map,
    [RUE_OPERATION_TRANSLATE_Y] = rue_image_map,
    [RUE_OPERATION_ROTATE] = rue_image_map,
    [RUE_OPERATION_AFFINE] = rue_image_map,
    [RUE_OPERATION_BRIGHTNESS] = rue_image_map_levels,
    [RUE_OPERATION_CONTRAST] = rue_image_map_levels,
    [RUE_OPERATION_SATURATION] = rue_image_saturate,
    [RUE_OPERATION_HUE] = rue_image_shift_hue,
    [RUE_OPERATION_GRAYSCALE] = rue_image_grayscale,
    [RUE_OPERATION_BLUR] = rue_image_blur,
    [RUE_OPERATION_GAUSSIAN_BLUR] = rue_image_gaussian_blur,
    [RUE_OPERATION_SOLARIZE] = rue_image_map_levels,
    [RUE_OPERATION_SOLARIZE_ADD] = rue_image_map_levels,
    [RUE_OPERATION_POSTERIZE] = rue_image_map_levels,
    [RUE_OPERATION_EQUALIZE] = rue_image_map_levels,
    [RUE_OPERATION_AUTOCONTRAST] = rue_image_map_levels,
    [RUE_OPERATION_INVERT] = rue_image_map_levels,
    [RUE_OPERATION_SHARPNESS] = rue_image_sharpen,
};

void rue_pixels_augment(const struct rue_recipe *recipe, const struct rue_augmentation *one,
                        const struct rue_augmentation_key *key, const struct rue_frame *frame,
                        uint8_t *pixels, uint8_t *scratch)
{
    struct rue_operations list;
    const uint32_t fill = frame->fill[0] | (uint32_t)frame->fill[1] << 8 | (uint32_t)frame->fill[2] << 16;
    const struct rue_image image = {.width = frame->width,
                                    .height = frame->height,
                                    .count = (size_t)frame->width * frame->height,
                                    .pixels = (uint32_t *)(void *)pixels,
                                    .scratch = (uint32_t *)(void *)scratch,
                                    .fill = fill};
    rue_operations_draw(recipe, key, one, frame, &list);
    for (uint32_t i = 0; i < list.count; i++)
        if (list.at[i].kind == RUE_OPERATION_NOISE)
            rue_image_add_noise(&image, list.at[i].value, key, one->item);
        else
            operations[list.at[i].kind](&image, &list.at[i]);
}
