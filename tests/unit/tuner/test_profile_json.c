#include "profile_json.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static rue_error error;

static rue_status read_text(const char *text, struct rue_profile *out)
{
    error = (rue_error){0};
    struct rue_json_reader reader = {.path = "table", .advice = "mend it", .error = &error};
    json_t *object = json_loads(text, 0, NULL);
    cr_assert_not_null(object, "%s", text);
    rue_profile_read(&reader, object, out);
    json_decref(object);
    return reader.status;
}

static void expect_same(const struct rue_profile *profile)
{
    char text[RUE_PROFILE_JSON_BYTES], again[RUE_PROFILE_JSON_BYTES];
    struct rue_profile read = {.name = "ape", .device = "a device", .points = 3};
    rue_profile_json(profile, text);
    cr_assert_eq(read_text(text, &read), RUE_OK, "%s: %s", text, error.message);
    rue_profile_json(&read, again);
    cr_assert_str_eq(again, text);
    cr_assert_str_eq(read.name, "ape");
    cr_assert_str_eq(read.device, "a device");
}

Test(profile_json, a_written_document_is_read_back)
{
    expect_same(&(struct rue_profile){.points = 2, .batch_size = {1, 4}, .batch_ns = {5, 7}});
    expect_same(&(struct rue_profile){.per_batch_ns = 1e9, .per_image_ns = 2500});
    expect_same(&(struct rue_profile){.per_image_ns = 1});
    struct rue_profile full = {.points = RUE_PROFILE_POINTS_MAX, .largest_batch = 512};
    for (size_t i = 0; i < full.points; i++) {
        full.batch_size[i] = 1 << i;
        full.batch_ns[i] = (double)RUE_PROFILE_NS_MAX;
    }
    expect_same(&full);
}

/* What of a profile is refused, and the place that the message names. */
Test(profile_json, an_invalid_profile_is_refused_with_the_field)
{
    static const struct {
        const char *text, *place;
    } cases[] = {
        {"{}", "batch_size is not a list"},
        {"{\"batch_size\":[],\"batch_ns\":[]}", "batch_size is not a list of at least one"},
        {"{\"batch_size\":[1,2],\"batch_ns\":[5]}", "batch_ns is not a list as long as"},
        {"{\"batch_size\":[2,2],\"batch_ns\":[5,6]}", "batch_size[1]"},
        {"{\"batch_size\":[0],\"batch_ns\":[5]}", "batch_size[0]"},
        {"{\"batch_size\":[1.5],\"batch_ns\":[5]}", "batch_size"},
        {"{\"batch_size\":[4294967296],\"batch_ns\":[5]}", "batch_size[0]"},
        {"{\"batch_size\":[\"8\"],\"batch_ns\":[5]}", "batch_size[0]"},
        {"{\"batch_size\":[1,2],\"batch_ns\":[5,-1]}", "batch_ns[1]"},
        {"{\"batch_size\":[1],\"batch_ns\":[1e300]}", "batch_ns[0]"},
        {"{\"batch_size\":[1],\"batch_ns\":[null]}", "batch_ns[0]"},
        {"{\"batch_size\":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17],\"batch_ns\":[]}", "batch_size"},
        {"{\"per_batch_ns\":-1}", "per_batch_ns"},
        {"{\"per_image_ns\":\"1\"}", "per_image_ns"},
        {"{\"per_image_ns\":1,\"largest_batch\":-4}", "largest_batch"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct rue_profile profile = {0};
        cr_assert_eq(read_text(cases[i].text, &profile), RUE_DATA, "%s was taken", cases[i].text);
        cr_assert(strstr(error.message, cases[i].place) && strstr(error.message, "mend it"), "%s: %s",
                  cases[i].text, error.message);
    }
}
