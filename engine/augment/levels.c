#include <string.h>

#include "image.h"

enum { LEVELS = 256, CHANNELS = 3 };

typedef uint8_t maps[CHANNELS][LEVELS];

static void apply_maps(const struct rue_image *image, maps map)
{
    uint8_t *levels = (uint8_t *)image->pixels;
    for (size_t i = 0; i < image->count; i++, levels += 4) {
        levels[0] = map[0][levels[0]];
        levels[1] = map[1][levels[1]];
        levels[2] = map[2][levels[2]];
    }
}

/* The mean of the grey levels, rounded. Pillow, ImageEnhance.Contrast. */
RUE_WIDE static uint32_t mean_grey(const struct rue_image *image)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < image->count; i++) sum += rue_pixel_grey(image->pixels[i]);
    return (uint32_t)((double)sum / (double)image->count + 0.5);
}

static void count_levels(const struct rue_image *image, uint32_t counts[CHANNELS][LEVELS])
{
    const uint8_t *levels = (const uint8_t *)image->pixels;
    memset(counts, 0, CHANNELS * sizeof *counts);
    for (size_t i = 0; i < image->count; i++, levels += 4) {
        counts[0][levels[0]]++;
        counts[1][levels[1]]++;
        counts[2][levels[2]]++;
    }
}

static void keep_levels(uint8_t map[LEVELS])
{
    for (int i = 0; i < LEVELS; i++) map[i] = (uint8_t)i;
}

/* Pillow, ImageOps.autocontrast. */
static void stretch_levels(const uint32_t counts[LEVELS], uint8_t map[LEVELS])
{
    int low = 0, high = LEVELS - 1;
    while (low < LEVELS - 1 && !counts[low]) low++;
    while (high > 0 && !counts[high]) high--;
    keep_levels(map);
    if (high <= low) return;
    double scale = 255.0 / (high - low), offset = -low * scale;
    for (int i = 0; i < LEVELS; i++) {
        int level = (int)(i * scale + offset);
        map[i] = level < 0 ? 0 : level > 255 ? 255 : (uint8_t)level;
    }
}

/* Pillow, ImageOps.equalize. */
static void equalize_levels(const uint32_t counts[LEVELS], uint8_t map[LEVELS])
{
    uint64_t total = 0, last = 0;
    for (int i = 0; i < LEVELS; i++) {
        total += counts[i];
        if (counts[i]) last = counts[i];
    }
    uint64_t step = (total - last) / 255, sum = step / 2;
    keep_levels(map);
    for (int i = 0; step && i < LEVELS; sum += counts[i++])
        map[i] = sum / step > 255 ? 255 : (uint8_t)(sum / step);
}

static uint8_t map_level(enum rue_operation_kind kind, float value, int level, uint32_t grey)
{
    switch (kind) {
    case RUE_OPERATION_BRIGHTNESS:
        return (uint8_t)rue_blend(0, (uint32_t)level, value);
    case RUE_OPERATION_CONTRAST:
        return (uint8_t)rue_blend(grey, (uint32_t)level, value);
    case RUE_OPERATION_SOLARIZE:
        return (uint8_t)((float)level < value ? level : 255 - level);
    case RUE_OPERATION_SOLARIZE_ADD:
        return (uint8_t)(level >= 128 ? level : level + (int)value > 255 ? 255 : level + (int)value);
    case RUE_OPERATION_POSTERIZE:
        return (uint8_t)(level & ~((1 << (8 - (int)value)) - 1));
    default:
        return (uint8_t)(255 - level);
    }
}

void rue_image_map_levels(const struct rue_image *image, const struct rue_operation *operation)
{
    maps map;
    uint32_t counts[CHANNELS][LEVELS], grey = 0;
    if (operation->kind == RUE_OPERATION_AUTOCONTRAST || operation->kind == RUE_OPERATION_EQUALIZE) {
        count_levels(image, counts);
        for (int c = 0; c < CHANNELS; c++)
            (operation->kind == RUE_OPERATION_EQUALIZE ? equalize_levels : stretch_levels)(counts[c], map[c]);
    } else {
        if (operation->kind == RUE_OPERATION_CONTRAST) grey = mean_grey(image);
        for (int i = 0; i < LEVELS; i++) map[0][i] = map_level(operation->kind, operation->value, i, grey);
        for (int c = 1; c < CHANNELS; c++) memcpy(map[c], map[0], LEVELS);
    }
    apply_maps(image, map);
}
