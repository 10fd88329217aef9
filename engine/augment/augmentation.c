#include "augmentation.h"

#include <math.h>
#include <stdbool.h>

#include "item_random.h"

/* The random words of an item: block 0 places the first attempt of the crop, blocks 1 and 2 are for the other
 * operations, blocks 3 to 11 for further attempts. */
enum {
    LANES = RUE_PHILOX_LANES,
    BLOCK_CROP = 0,
    BLOCK_PIXELS = 1,
    BLOCK_MORE = 2,
    BLOCK_ATTEMPT = 2,
    BLOCK_INTERPOLATION = 21,
    ATTEMPTS = 10
};

typedef float lanes[LANES];

/* A chance as the loops need it: value = least + u * slope if u < probability, for a uniform u. */
struct gate {
    float probability, least, most, slope, neutral;
};

struct plan {
    float area[2], log_ratio[2], flip;
    struct gate rotation, brightness, contrast, noise, scale;
};

static struct gate plan_gate(struct rue_chance chance, float neutral)
{
    float slope = chance.probability > 0 ? (chance.most - chance.least) / chance.probability : 0;
    return (struct gate){chance.probability, chance.least, chance.most, slope, neutral};
}

static struct plan plan_recipe(const struct rue_recipe *recipe)
{
    return (struct plan){
        .area = {recipe->area[0], recipe->area[1] - recipe->area[0]},
        .log_ratio = {(float)log2((double)recipe->ratio[0]),
                      (float)(log2((double)recipe->ratio[1]) - log2((double)recipe->ratio[0]))},
        .flip = recipe->flip,
        .rotation = plan_gate(recipe->rotation, 0),
        .brightness = plan_gate(recipe->brightness, 1),
        .contrast = plan_gate(recipe->contrast, 1),
        .noise = plan_gate(recipe->noise, 0),
        .scale = plan_gate(recipe->scale, 1),
    };
}

#define INLINE static inline __attribute__((always_inline))

INLINE struct rue_philox random_block(const struct rue_augmentation_key *key, uint64_t first, uint64_t stride,
                                      uint32_t block)
{
    struct rue_philox out;
    for (int i = 0; i < LANES; i++) {
        uint64_t item = first + (uint64_t)i * stride;
        out.word[0][i] = (uint32_t)item;
        out.word[1][i] = (uint32_t)(item >> 32);
        out.word[2][i] = key->epoch;
        out.word[3][i] = key->stream << 8 | block;
    }
    rue_philox_mix(&out, key->seed);
    return out;
}

/* 2^x for |x| < 8; relative error below 2e-7. */
INLINE float power_of_two(float x)
{
    int32_t whole = (int32_t)(x + 128.5F) - 128;
    float f = (x - (float)whole) * 0.69314718F, sum = 1.0F / 5040;
    union {
        int32_t bits;
        float value;
    } scale = {.bits = (whole + 127) << 23};
    sum = sum * f + 1.0F / 720;
    sum = sum * f + 1.0F / 120;
    sum = sum * f + 1.0F / 24;
    sum = sum * f + 1.0F / 6;
    sum = sum * f + 0.5F;
    sum = sum * f + 1.0F;
    sum = sum * f + 1.0F;
    return sum * scale.value;
}

INLINE float crop_area(const struct plan *plan, uint32_t word)
{
    return plan->area[0] + rue_unit(word) * plan->area[1];
}

INLINE float crop_ratio(const struct plan *plan, uint32_t word)
{
    return power_of_two(plan->log_ratio[0] + rue_unit(word) * plan->log_ratio[1]);
}

INLINE float pass_gate(struct gate gate, uint32_t word)
{
    float u = rue_unit(word), value = gate.least + u * gate.slope;
    value = value < gate.most ? value : gate.most;
    return u < gate.probability ? value : gate.neutral;
}

/* Parameters of LANES items. */
INLINE void draw_lanes(const struct plan *plan, const struct rue_augmentation_key *key, uint64_t first,
                       uint64_t stride, struct rue_augmentation *out)
{
    struct rue_philox crop = random_block(key, first, stride, BLOCK_CROP),
                      pixels = random_block(key, first, stride, BLOCK_PIXELS),
                      more = random_block(key, first, stride, BLOCK_MORE);
    lanes area, ratio, x, y, rotation, brightness, contrast, noise, scale;
    uint32_t flip[LANES];
    for (int i = 0; i < LANES; i++) {
        area[i] = crop_area(plan, crop.word[0][i]);
        ratio[i] = crop_ratio(plan, crop.word[1][i]);
        x[i] = rue_unit(crop.word[2][i]);
        y[i] = rue_unit(crop.word[3][i]);
        flip[i] = rue_unit(pixels.word[0][i]) < plan->flip;
        rotation[i] = pass_gate(plan->rotation, pixels.word[1][i]);
        brightness[i] = pass_gate(plan->brightness, pixels.word[2][i]);
        contrast[i] = pass_gate(plan->contrast, pixels.word[3][i]);
        noise[i] = pass_gate(plan->noise, more.word[0][i]);
        scale[i] = pass_gate(plan->scale, more.word[1][i]);
    }
    for (int i = 0; i < LANES; i++)
        out[i] = (struct rue_augmentation){first + (uint64_t)i * stride,
                                           area[i],
                                           ratio[i],
                                           x[i],
                                           y[i],
                                           rotation[i],
                                           brightness[i],
                                           contrast[i],
                                           noise[i],
                                           scale[i],
                                           flip[i]};
}

void rue_augmentation_draw(const struct rue_recipe *recipe, const struct rue_augmentation_key *key,
                           uint64_t first, uint64_t stride, struct rue_augmentation *out, uint64_t count)
{
    const struct plan plan = plan_recipe(recipe);
    const struct rue_augmentation_key same = *key;
    uint64_t done = 0;
    for (; count - done >= LANES; done += LANES)
        draw_lanes(&plan, &same, first + done * stride, stride, out + done);
    if (done == count) return;
    struct rue_augmentation last[LANES];
    draw_lanes(&plan, &same, first + done * stride, stride, last);
    for (uint64_t i = 0; done + i < count; i++) out[done + i] = last[i];
}

/* Whether the attempt fits the image. */
static bool place_crop(double area, double ratio, double x, double y, uint32_t width, uint32_t height,
                       struct rue_crop *out)
{
    double pixels = (double)width * height * area;
    double w = rint(sqrt(pixels * ratio)), h = rint(sqrt(pixels / ratio));
    if (!(w >= 1 && w <= width && h >= 1 && h <= height)) return false;
    out->width = (uint32_t)w;
    out->height = (uint32_t)h;
    out->left = (uint32_t)(x * (width - out->width + 1));
    out->top = (uint32_t)(y * (height - out->height + 1));
    return true;
}

enum rue_interpolation rue_augmentation_interpolation(const struct rue_augmentation_key *key, uint64_t item)
{
    struct rue_philox random = random_block(key, item, 0, BLOCK_INTERPOLATION);
    return rue_unit(random.word[0][0]) < 0.5F ? RUE_BILINEAR : RUE_BICUBIC;
}

static struct rue_crop centre_crop(const struct rue_recipe *recipe, uint32_t width, uint32_t height)
{
    double ratio = (double)width / height, least = (double)recipe->ratio[0], most = (double)recipe->ratio[1];
    double w = ratio > most ? rint(height * most) : width, h = ratio < least ? rint(width / least) : height;
    struct rue_crop crop = {.width = w < 1 ? 1 : (uint32_t)w, .height = h < 1 ? 1 : (uint32_t)h};
    crop.left = (width - crop.width) / 2;
    crop.top = (height - crop.height) / 2;
    return crop;
}

struct rue_crop rue_augmentation_crop(const struct rue_recipe *recipe, const struct rue_augmentation_key *key,
                                      const struct rue_augmentation *one, uint32_t width, uint32_t height)
{
    const struct plan plan = plan_recipe(recipe);
    struct rue_crop crop;
    if (place_crop((double)one->area, (double)one->ratio, (double)one->x, (double)one->y, width, height,
                   &crop))
        return crop;
    for (uint32_t attempt = 1; attempt < ATTEMPTS; attempt++) {
        struct rue_philox random = random_block(key, one->item, 0, BLOCK_ATTEMPT + attempt);
        if (place_crop((double)crop_area(&plan, random.word[0][0]),
                       (double)crop_ratio(&plan, random.word[1][0]), (double)rue_unit(random.word[2][0]),
                       (double)rue_unit(random.word[3][0]), width, height, &crop))
            return crop;
    }
    return centre_crop(recipe, width, height);
}
