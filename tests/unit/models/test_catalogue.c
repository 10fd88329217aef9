#include "catalogue.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "architecture.h"
#include "machine.h"

static struct rue_profile find(const char *spec)
{
    rue_error error = {0};
    struct rue_profile profile;
    rue_status status = rue_catalogue_find(spec, &profile, &error);
    cr_assert_eq(status, RUE_OK, "'%s': %s", spec, error.message);
    return profile;
}

/* The message for a model that there is not. */
static const char *refuse(const char *spec)
{
    static rue_error error;
    struct rue_profile profile;
    error = (rue_error){0};
    cr_assert_eq(rue_catalogue_find(spec, &profile, &error), RUE_USAGE, "'%s' was taken", spec);
    return error.message;
}

Test(catalogue, every_model_is_found_by_its_name)
{
    cr_assert_eq(rue_catalogue_count(), 18);
    for (size_t i = 0; i < rue_catalogue_count(); i++) {
        struct rue_profile profile = find(rue_catalogue_name(i));
        cr_assert_str_eq(profile.name, rue_catalogue_name(i));
        cr_assert_str_eq(profile.device,
                         profile.measured ? "an NVIDIA RTX A5000" : "an NVIDIA RTX A5000 (fp32, estimated)");
        for (size_t p = 1; p < profile.points; p++)
            cr_assert(profile.batch_size[p] > profile.batch_size[p - 1] &&
                          profile.batch_ns[p] > profile.batch_ns[p - 1],
                      "%s: a larger batch takes longer", profile.name);
    }
}

Test(catalogue, times_are_those_that_were_measured)
{
    struct rue_profile profile = find("resnet50");
    cr_assert_eq(rue_profile_batch_ns(&profile, 128), 85028096, "664.282 us an image");
}

Test(catalogue, dashes_and_capitals_do_not_matter)
{
    cr_assert_str_eq(find("ViT-B-16").name, "vit_b_16");
    cr_assert_str_eq(find("RESNET18").name, "resnet18");
    cr_assert_str_eq(find("efficientnet-v2_S").name, "efficientnet_v2_s");
}

Test(catalogue, an_alias_becomes_torchvision_s_name)
{
    cr_assert_str_eq(find("mobilenetv2").name, "mobilenet_v2");
    cr_assert_str_eq(find("eff_net_v2_s").name, "efficientnet_v2_s");
    cr_assert_str_eq(find("Eff-Net-V2-L").name, "efficientnet_v2_l");
}

Test(catalogue, none_needs_no_time)
{
    struct rue_profile profile = find("none");
    cr_assert_eq(rue_profile_batch_ns(&profile, 1000), 0);
    cr_assert_str_eq(profile.device, "");
}

Test(catalogue, sleeping_models_add_up)
{
    static const struct {
        char spec[40];
        double per_batch_ns, per_image_ns;
    } cases[] = {{"sleep:250ms", 250e6, 0},
                 {"sleep:250ms/batch", 250e6, 0},
                 {"sleep:1.5ms/image+2ms", 2e6, 1.5e6},
                 {"sleep:2ms/batch+1.5ms/image", 2e6, 1.5e6},
                 {"sleep:1us/image+1us/image+1ns+1ns/batch", 2, 2000},
                 {"sleep:0s", 0, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_profile profile = find(cases[i].spec);
        cr_assert_str_eq(profile.name, cases[i].spec);
        cr_assert_eq(profile.per_batch_ns, cases[i].per_batch_ns, "%s", cases[i].spec);
        cr_assert_eq(profile.per_image_ns, cases[i].per_image_ns, "%s", cases[i].spec);
    }
}

Test(catalogue, a_malformed_sleep_is_refused_with_an_example)
{
    static const char *const bad[] = {
        "sleep:",      "sleep:5",          "sleep:ms",         "sleep:-5ms",
        "sleep:5ms/",  "sleep:5ms/images", "sleep:5ms/frame",  "sleep:5ms+",
        "sleep:+5ms",  "sleep:5ms 6ms",    "sleep:5ms++6ms",   "sleep:5ms/batch/image",
        "sleep:1e3ms", "sleep:nan",        "sleep:5ms/image ", "sleep:5parsec"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *message = refuse(bad[i]);
        cr_assert(strstr(message, bad[i]) && strstr(message, "sleep:250ms/batch"), "%s", message);
    }
}

Test(catalogue, unknown_names_get_the_nearest)
{
    const char *message = refuse("resnet5O");
    cr_assert(strstr(message, "did you mean 'resnet50'"), "%s", message);
    message = refuse("resnet19");
    cr_assert(strstr(message, "did you mean 'resnet18'"), "%s", message);
    message = refuse("nome");
    cr_assert(strstr(message, "did you mean 'none'"), "%s", message);
    message = refuse("none@h100");
    cr_assert(strstr(message, "unknown model 'none'") && !strstr(message, "'none'?"), "%s", message);
}

Test(catalogue, unknown_names_get_the_list)
{
    const char *message = refuse("gpt");
    cr_assert(strstr(message, "vit_l_32") && strstr(message, "sleep:TIME"), "%s", message);
    refuse("");
}

Test(catalogue, a_name_that_is_too_long_is_refused)
{
    char spec[RUE_MODEL_NAME_BYTES + 1];
    memset(spec, 'r', sizeof spec - 1);
    spec[sizeof spec - 1] = 0;
    cr_assert(strstr(refuse(spec), "too long"));
}

Test(catalogue, a_device_and_a_precision_follow_the_name)
{
    struct rue_profile usual = find("resnet50"), same = find("ResNet50@rtx-a5000:fp32"),
                       fast = find("resnet50@h100:bf16");
    cr_assert_str_eq(same.name, "resnet50");
    cr_assert(same.measured && same.batch_ns[1] == usual.batch_ns[1]);
    cr_assert_str_eq(fast.name, "resnet50@h100:bf16");
    cr_assert_str_eq(fast.device, "an NVIDIA H100 SXM (bf16, estimated)");
    cr_assert_str_eq(find("vit_b_16@t4:fp32").name, "vit_b_16@t4");
    cr_assert(!fast.measured && rue_profile_batch_ns(&fast, 256) < rue_profile_batch_ns(&usual, 256) / 4);
    cr_assert_gt(fast.largest_batch, find("resnet50@t4").largest_batch);
    const char *message = refuse("resnet50@h10O");
    cr_assert(strstr(message, "unknown device 'h10O'") && strstr(message, "'h100'"), "%s", message);
    message = refuse("resnet50@t4:bf16");
    cr_assert(strstr(message, "t4 does not support bf16"), "%s", message);
    message = refuse("resnet50@");
    cr_assert(strstr(message, "no device after '@'"), "%s", message);
    message = refuse("resnet5O@h100");
    cr_assert(strstr(message, "unknown model"), "%s", message);
}

Test(catalogue, host_models_are_computed_on_the_given_cores)
{
    struct rue_profile profile = find("ResNet18@host:1");
    cr_assert_str_eq(profile.name, "resnet18@host:1");
    cr_assert(profile.consumer == RUE_CONSUMER_HOST && profile.cores == 1 && !profile.measured);
    cr_assert_str_eq(profile.architecture->name, "resnet18");
    cr_assert(strstr(profile.device, "this machine's CPUs (1 core, ") &&
                  strstr(profile.device, profile.products),
              "%s", profile.device);
    cr_assert(rue_profile_batch_ns(&profile, 8) > rue_profile_batch_ns(&profile, 4), "times are estimated");
    cr_assert_eq(find("resnet18").consumer, RUE_CONSUMER_SLEEP);
}

Test(catalogue, host_without_a_number_is_all_cpus)
{
    char name[RUE_MODEL_NAME_BYTES];
    struct rue_profile profile = find("vit_b_16@host");
    cr_assert_eq(profile.cores, rue_machine_read().usable_cpus);
    snprintf(name, sizeof name, "vit_b_16@host:%d", profile.cores);
    cr_assert_str_eq(profile.name, name);
}

Test(catalogue, more_cores_than_the_machine_has_are_refused_with_their_number)
{
    static const char *const bad[] = {"resnet18@host:0",  "resnet18@host:9999", "resnet18@host:x",
                                      "resnet18@host:",   "resnet18@host:-1",   "resnet18@host:1x",
                                      "resnet18@host: 1", "resnet18@host:1:2",  "resnet18@host:4294967297"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *message = refuse(bad[i]);
        cr_assert(strstr(message, bad[i]) && strstr(message, "a number of usable CPUs") &&
                      strstr(message, "resnet18@host uses all of them"),
                  "%s", message);
    }
    cr_assert(strstr(refuse("resnet18@hots"), "did you mean 'host'"), "%s", refuse("resnet18@hots"));
}
