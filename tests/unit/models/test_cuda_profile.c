#include "cuda_profile.h"

#include <criterion/criterion.h>
#include <string.h>

#include "architecture.h"
#include "catalogue.h"

static struct rue_profile find(const char *spec)
{
    struct rue_profile profile;
    cr_assert_eq(rue_catalogue_find(spec, &profile, NULL), RUE_OK, "%s", spec);
    return profile;
}

Test(cuda_profile, options_have_one_spelling)
{
    static const struct {
        const char *spec, *name;
        enum rue_precision precision;
    } cases[] = {
        {"resnet50@cuda", "resnet50@cuda", RUE_FP32},
        {"ResNet50@cuda:fp32", "resnet50@cuda", RUE_FP32},
        {"mobilenetv2@cuda:bf16", "mobilenet_v2@cuda:bf16", RUE_BF16},
        {"vit_b_16@cuda:fp16", "vit_b_16@cuda:fp16", RUE_FP16},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_profile profile = find(cases[i].spec);
        cr_assert_eq(profile.consumer, RUE_CONSUMER_CUDA);
        cr_assert_str_eq(profile.name, cases[i].name);
        cr_assert_eq(profile.precision, cases[i].precision, "%s", cases[i].spec);
        const char *model = profile.architecture->name;
        cr_assert(strncmp(profile.name, model, strlen(model)) == 0);
        cr_assert_str_eq(find(profile.name).name, profile.name, "it is found by its own name");
        cr_assert_eq(profile.points, 0, "its time is unknown");
    }
}

Test(cuda_profile, others_are_refused_by_name)
{
    static const char *const bad[] = {"resnet50@cuda:",         "resnet50@cuda:fp8",
                                      "resnet50@cuda:bf16:",    "resnet50@cuda:bf16:pageable",
                                      "resnet50@cuda:pageable", "resnet50@cuda:bf16:fp16",
                                      "resnet50@cudas"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rue_error error = {0};
        struct rue_profile profile;
        cr_assert_eq(rue_catalogue_find(bad[i], &profile, &error), RUE_USAGE, "%s", bad[i]);
        cr_assert(strstr(error.message, "cuda"), "%s: %s", bad[i], error.message);
    }
}

/* What the store compares: the same before and after it was timed. */
Test(cuda_profile, json_describes_the_computation_without_times)
{
    char json[RUE_PROFILE_JSON_BYTES];
    struct rue_profile profile = find("resnet18@cuda:bf16");
    profile.points = 1;
    profile.batch_size[0] = 32;
    profile.batch_ns[0] = 1e6;
    rue_profile_json(&profile, json);
    cr_assert_str_eq(json, "{\"consumer\":\"cuda\",\"precision\":\"bf16\"}");
}
