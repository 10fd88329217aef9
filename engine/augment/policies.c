#include "policies.h"

#include <math.h>
#include <stdbool.h>

#include "item_random.h"
#include "normal.h"

/* Blocks of the item: one each for up to 10 operations of RandAugment, for TrivialAugmentWide, for 2 of
 * timm's RandAugment, for 3-Augment. */
enum {
    BLOCK_POLICIES = 32,
    LANE_TRIVIAL = 10,
    LANE_TIMM = 11,
    LANE_THREE = 13,
    LANE_GEOMETRY = 14,
    BINS = 31,
    NOTHING = -1
};

/* torchvision, transforms/autoaugment.py, RandAugment and TrivialAugmentWide._augmentation_space: the largest
 * magnitudes. */
static const struct {
    int kind;
    double rand, trivial;
} choices[] = {
    {NOTHING, 0, 0},
    {RUE_OPERATION_SHEAR_X, 0.3, 0.99},
    {RUE_OPERATION_SHEAR_Y, 0.3, 0.99},
    {RUE_OPERATION_TRANSLATE_X, 150.0 / 331.0, 32},
    {RUE_OPERATION_TRANSLATE_Y, 150.0 / 331.0, 32},
    {RUE_OPERATION_ROTATE, 30, 135},
    {RUE_OPERATION_BRIGHTNESS, 0.9, 0.99},
    {RUE_OPERATION_SATURATION, 0.9, 0.99},
    {RUE_OPERATION_CONTRAST, 0.9, 0.99},
    {RUE_OPERATION_SHARPNESS, 0.9, 0.99},
    {RUE_OPERATION_POSTERIZE, 4, 6},
    {RUE_OPERATION_SOLARIZE, 255, 255},
    {RUE_OPERATION_AUTOCONTRAST, 0, 0},
    {RUE_OPERATION_EQUALIZE, 0, 0},
};

enum { CHOICES = sizeof choices / sizeof *choices };

/* torch.linspace(start, end, BINS)[bin], as the newest PyTorch rounds it: with a fused multiply-add. */
static float bin_value(float start, float end, int bin)
{
    double step = (double)((end - start) / (BINS - 1));
    return (float)(bin < BINS / 2 ? (double)start + step * bin : (double)end - step * (BINS - 1 - bin));
}

static void add_choice(struct rue_operations *out, int kind, double most, int bin, bool negative)
{
    float magnitude = bin_value(0, (float)most, bin);
    if (negative) magnitude = -magnitude;
    switch (kind) {
    case NOTHING:
        return;
    case RUE_OPERATION_TRANSLATE_X:
    case RUE_OPERATION_TRANSLATE_Y:
        magnitude = truncf(magnitude);
        break;
    case RUE_OPERATION_POSTERIZE:
        magnitude = 8 - rintf((float)bin / (float)((BINS - 1) / most));
        break;
    case RUE_OPERATION_SOLARIZE:
        magnitude = bin_value((float)most, 0, bin);
        break;
    case RUE_OPERATION_BRIGHTNESS:
    case RUE_OPERATION_SATURATION:
    case RUE_OPERATION_CONTRAST:
    case RUE_OPERATION_SHARPNESS:
        magnitude = (float)(1.0 + (double)magnitude);
        break;
    default:
        break;
    }
    rue_operations_add(out, (enum rue_operation_kind)kind, magnitude, RUE_SAMPLING_NEAREST);
}

static float uniform(const struct rue_philox *words, int lane, int word)
{
    return rue_unit(words->word[word][lane]);
}

static void draw_randaugment(const struct rue_policies *policies, const struct rue_philox *words,
                             const struct rue_frame *frame, struct rue_operations *out)
{
    for (int i = 0; i < (int)policies->randaugment[0]; i++) {
        int choice = (int)(uniform(words, i, 0) * CHOICES), kind = choices[choice].kind;
        double most = choices[choice].rand;
        if (kind == RUE_OPERATION_TRANSLATE_X) most *= frame->width;
        if (kind == RUE_OPERATION_TRANSLATE_Y) most *= frame->height;
        add_choice(out, kind, most, (int)policies->randaugment[1], uniform(words, i, 1) < 0.5F);
    }
}

static void draw_trivialaugment(const struct rue_policies *policies, const struct rue_philox *words,
                                struct rue_operations *out)
{
    int choice = (int)(uniform(words, LANE_TRIVIAL, 0) * CHOICES);
    if (uniform(words, LANE_TRIVIAL, 3) < policies->trivialaugment)
        add_choice(out, choices[choice].kind, choices[choice].trivial,
                   (int)(uniform(words, LANE_TRIVIAL, 2) * BINS), uniform(words, LANE_TRIVIAL, 1) < 0.5F);
}

/* timm, data/auto_augment.py: _RAND_INCREASING_TRANSFORMS and their *_level_to_arg, for a level of 0 to 1. */
static void add_timm(struct rue_operations *out, int choice, double level, double sign,
                     enum rue_sampling sampling)
{
    static const struct {
        enum rue_operation_kind kind;
        double base, slope; /* value: base + slope * level */
        bool has_sign, whole;
    } timm[] = {
        {RUE_OPERATION_AUTOCONTRAST, 0, 0, false, false},  {RUE_OPERATION_EQUALIZE, 0, 0, false, false},
        {RUE_OPERATION_INVERT, 0, 0, false, false},        {RUE_OPERATION_ROTATE, 0, 30, true, false},
        {RUE_OPERATION_POSTERIZE, 4, -4, false, true},     {RUE_OPERATION_SOLARIZE, 256, -256, false, true},
        {RUE_OPERATION_SOLARIZE_ADD, 0, 110, false, true}, {RUE_OPERATION_SATURATION, 1, 0.9, true, false},
        {RUE_OPERATION_CONTRAST, 1, 0.9, true, false},     {RUE_OPERATION_BRIGHTNESS, 1, 0.9, true, false},
        {RUE_OPERATION_SHARPNESS, 1, 0.9, true, false},    {RUE_OPERATION_SHEAR_X, 0, 0.3, true, false},
        {RUE_OPERATION_SHEAR_Y, 0, 0.3, true, false},      {RUE_OPERATION_TRANSLATE_X, 0, 0.45, true, false},
        {RUE_OPERATION_TRANSLATE_Y, 0, 0.45, true, false},
    };
    double change = timm[choice].slope * level;
    if (timm[choice].whole) change = trunc(change);
    if (timm[choice].has_sign) change *= sign;
    bool geometric = timm[choice].kind >= RUE_OPERATION_SHEAR_X && timm[choice].kind <= RUE_OPERATION_ROTATE;
    rue_operations_add(out, timm[choice].kind, (float)(timm[choice].base + change),
                       geometric ? (float)sampling : 0);
}

static void draw_timm(const struct rue_policies *policies, const struct rue_philox *words,
                      const struct rue_frame *frame, struct rue_operations *out)
{
    enum { OPERATIONS = 2, TIMM_CHOICES = 15 };
    for (int i = 0; i < OPERATIONS; i++) {
        int lane = LANE_TIMM + i;
        enum rue_sampling sampling = frame->sampling;
        if (sampling == RUE_SAMPLING_RANDOM)
            sampling = uniform(words, LANE_GEOMETRY, i) < 0.5F ? RUE_SAMPLING_BILINEAR : RUE_SAMPLING_BICUBIC;
        double normal = rue_normal_quantile((double)uniform(words, lane, 2) + 0x1p-25);
        double magnitude =
            (double)policies->timm_randaugment[0] + (double)policies->timm_randaugment[1] * normal;
        if (uniform(words, lane, 1) < 0.5F)
            add_timm(out, (int)(uniform(words, lane, 0) * TIMM_CHOICES), fmin(fmax(magnitude, 0), 10) / 10,
                     uniform(words, lane, 3) < 0.5F ? -1 : 1, sampling);
    }
}

/* DeiT, augment.py, new_data_aug_generator. */
static void draw_three(const struct rue_policies *policies, const struct rue_philox *words,
                       struct rue_operations *out)
{
    if (!(uniform(words, LANE_THREE, 0) < policies->three_augment)) return;
    switch ((int)(uniform(words, LANE_THREE, 1) * 3)) {
    case 0:
        rue_operations_add(out, RUE_OPERATION_GRAYSCALE, 0, 0);
        break;
    case 1:
        rue_operations_add(out, RUE_OPERATION_SOLARIZE, 128, 0);
        break;
    default:
        rue_operations_add(out, RUE_OPERATION_BLUR, 0.1F + 1.9F * uniform(words, LANE_THREE, 2), 0);
    }
}

void rue_policies_draw(const struct rue_policies *policies, const struct rue_augmentation_key *key,
                       uint64_t item, const struct rue_frame *frame, struct rue_operations *out)
{
    bool timm = policies->timm_randaugment[0] > 0 || policies->timm_randaugment[1] > 0;
    if (!timm &&
        !(policies->randaugment[0] > 0 || policies->trivialaugment > 0 || policies->three_augment > 0))
        return;
    const struct rue_philox words = rue_item_blocks(key, item, BLOCK_POLICIES);
    draw_randaugment(policies, &words, frame, out);
    draw_trivialaugment(policies, &words, out);
    if (timm) draw_timm(policies, &words, frame, out);
    draw_three(policies, &words, out);
}
