/* Times that were measured on a device. */
#include <criterion/criterion.h>

#include "device_table.h"
#include "temporary_folder.h"

static struct rue_device_table table;
static rue_error error;

TestSuite(device_table, .init = temporary_folder_make, .fini = temporary_folder_remove);

static rue_status read_table(const char *models)
{
    char text[4096];
    snprintf(text, sizeof text, "{\"format\":\"rue.device/1\",\"title\":\"My GPU\",\"models\":[%s]}", models);
    temporary_text("gpu.json", text);
    error = (rue_error){0};
    return rue_device_table_read(temporary_path("gpu.json"), &table, &error);
}

#define MODEL(name) "{\"model\":\"" name "\",\"batch_size\":[16,64],\"batch_ns\":[1000000,3000000]}"

static void refuse(const char *models, const char *words)
{
    cr_assert_eq(read_table(models), RUE_DATA, "%s", models);
    cr_assert(strstr(error.message, words), "%s", error.message);
}

Test(device_table, a_path_of_a_table_ends_in_json)
{
    cr_assert(rue_device_is_table("gpu.json") && rue_device_is_table("/a/b.json"));
    cr_assert_not(rue_device_is_table("h100"));
    cr_assert_not(rue_device_is_table(".json"));
}

Test(device_table, a_model_is_found_by_its_name_and_by_its_path)
{
    struct rue_profile profile;
    char spec[RUE_MODEL_NAME_BYTES];
    cr_assert_eq(read_table(MODEL("resnet50") "," MODEL("mine")), RUE_OK, "%s", error.message);
    cr_assert_eq(table.count, 2);
    cr_assert_str_eq(rue_device_table_find(&table, "mine")->device, "My GPU");
    cr_assert_null(rue_device_table_find(&table, "vit_b_16"));
    snprintf(spec, sizeof spec, "mine@%s", temporary_path("gpu.json"));
    cr_assert_eq(rue_device_table_model(spec, &profile, &error), RUE_OK, "%s", error.message);
    cr_assert_str_eq(profile.name, spec);
    cr_assert_eq(rue_profile_batch_ns(&profile, 16), 1000000);
    cr_assert_eq(rue_device_table_model("resnet50@h100", &profile, &error), RUE_OK, "of the catalogue");
}

Test(device_table, what_is_wrong_in_a_table_is_named)
{
    refuse("{\"model\":\"a@b\"}", "a model name without a device, such as resnet50");
    refuse(MODEL("a") "," MODEL("a"), "models[1].model");
    refuse("{\"model\":\"a\",\"batch_size\":[],\"batch_ns\":[]}", "models[0]");
    refuse("7", "models[0]");
    temporary_text("gpu.json", "{\"format\":\"other\",\"title\":\"x\",\"models\":[]}");
    error = (rue_error){0};
    cr_assert_eq(rue_device_table_read(temporary_path("gpu.json"), &table, &error), RUE_DATA);
    cr_assert(strstr(error.message, "rue.device/1") &&
                  strstr(error.message, "give a table that rue calibrate wrote"),
              "%s", error.message);
    temporary_text("gpu.json", "{\"format\":\"rue.device/1\",\"title\":\"\",\"models\":[]}");
    error = (rue_error){0};
    cr_assert_eq(rue_device_table_read(temporary_path("gpu.json"), &table, &error), RUE_DATA);
    cr_assert(strstr(error.message, "a text that names the device"), "%s", error.message);
}

Test(device_table, a_model_that_it_lacks_is_refused_with_those_that_it_has)
{
    struct rue_profile profile;
    char spec[RUE_MODEL_NAME_BYTES + 512];
    cr_assert_eq(read_table(MODEL("resnet50") "," MODEL("mine")), RUE_OK, "%s", error.message);
    snprintf(spec, sizeof spec, "minee@%s", temporary_path("gpu.json"));
    cr_assert_eq(rue_device_table_model(spec, &profile, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "has no model 'minee'") && strstr(error.message, "mine"), "%s",
              error.message);
    error = (rue_error){0};
    snprintf(spec, sizeof spec, "swin_t@%s", temporary_path("gpu.json"));
    cr_assert_eq(rue_device_table_model(spec, &profile, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "; its models: resnet50, mine"), "%s", error.message);
    error = (rue_error){0};
    snprintf(spec, sizeof spec, "mine@/%0200d/%s.json", 0, "x");
    cr_assert_eq(rue_device_table_model(spec, &profile, &error), RUE_USAGE);
    cr_assert(strstr(error.message, "is too long: use a shorter path to the table"), "%s", error.message);
}
