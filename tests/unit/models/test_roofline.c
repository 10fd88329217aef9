#include <criterion/criterion.h>
#include <math.h>

#include "catalogue.h"
#include "roofline.h"

static const struct rue_architecture *model(const char *name)
{
    const struct rue_architecture *found = rue_architecture_find(name);
    cr_assert(found, "%s", name);
    return found;
}

static double batch_ns(const char *name, const char *device, enum rue_precision precision, uint64_t images)
{
    return rue_roofline_batch_ns(model(name), rue_device_find(device), precision, images);
}

/* What roofline.h says of it. */
Test(roofline, has_the_documented_error_on_the_measured_device)
{
    static const uint64_t sizes[] = {32, 128, 256, 512, 1024};
    double squares = 0, worst = 0;
    size_t count = 0;
    for (size_t i = 0; i < rue_catalogue_count(); i++) {
        struct rue_profile profile;
        cr_assert_eq(rue_catalogue_find(rue_catalogue_name(i), &profile, NULL), RUE_OK);
        if (!profile.measured) continue;
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++, count++) {
            double measured = (double)rue_profile_batch_ns(&profile, sizes[s]);
            double off = batch_ns(profile.name, "rtx-a5000", RUE_FP32, sizes[s]) / measured - 1;
            squares += off * off;
            worst = fmax(worst, fabs(off));
        }
    }
    cr_assert_eq(count, 60);
    cr_assert(sqrt(squares / 60) < 0.0545 && worst < 0.1165, "%.4f %.4f", sqrt(squares / 60), worst);
}

Test(roofline, more_of_anything_is_faster_and_large_batches_cost_less_an_image)
{
    cr_assert(batch_ns("vit_b_16", "h100", RUE_BF16, 256) < batch_ns("vit_b_16", "a100", RUE_BF16, 256));
    cr_assert(batch_ns("vit_b_16", "h200", RUE_BF16, 256) < batch_ns("vit_b_16", "h100", RUE_BF16, 256));
    cr_assert(batch_ns("resnet50", "h100", RUE_BF16, 256) < batch_ns("resnet50", "h100", RUE_FP32, 256));
    cr_assert(batch_ns("resnet50", "l4", RUE_FP32, 256) < batch_ns("resnet50", "t4", RUE_FP32, 256));
    cr_assert(batch_ns("resnet18", "h100", RUE_FP32, 64) < 64 * batch_ns("resnet18", "h100", RUE_FP32, 1));
}

/* One image of resnet18 is nothing but launches on a fast device: 47 + 21 operations. */
Test(roofline, small_batches_are_launches)
{
    double launches = (47 + 21) * rue_device_find("h200")->launch_ns;
    double one = batch_ns("resnet18", "h200", RUE_BF16, 1);
    cr_assert(one > launches && one < 1.2 * launches, "%f of %f", one, launches);
}

Test(roofline, the_largest_batch_fits_the_memory)
{
    const struct rue_device *device = rue_device_find("t4");
    uint64_t fp32 = rue_roofline_largest_batch(model("resnet50"), device, RUE_FP32);
    cr_assert_eq(fp32, (16000000000 - 600000000 - 4 * 25557032UL) / (4 * 2408448UL));
    cr_assert(rue_roofline_largest_batch(model("resnet50"), device, RUE_FP16) >= 2 * fp32);
    struct rue_device small = *device;
    small.memory_bytes = 700000000;
    cr_assert_eq(rue_roofline_largest_batch(model("vit_l_16"), &small, RUE_FP32), 0);
}
