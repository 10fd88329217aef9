/* What a runner says of itself. */
#include "protocol_fixture.h"

#define GREETING "{\"protocol\":\"rue.runner/1\",\"runner\":\"loader simulator 2.1\",\"measures\":[\"joint\"]"

static struct rue_hello hello;

static rue_status decode(const char *line, rue_error *error)
{
    json_t *object = protocol_object(line);
    rue_status status = rue_protocol_decode_hello(object, &hello, error);
    json_decref(object);
    return status;
}

static void accept(const char *line)
{
    rue_error error = {0};
    cr_assert_eq(decode(line, &error), RUE_OK, "%s: %s", line, error.message);
}

static void refuse(const char *line, const char *says)
{
    rue_error error = {0};
    cr_assert_eq(decode(line, &error), RUE_RUNNER, "%s was taken", line);
    cr_assert(strstr(error.message, says), "%s", error.message);
}

Test(protocol_hello, the_request_names_the_protocol)
{
    json_t *object = protocol_parse(rue_protocol_encode_hello());
    cr_assert_str_eq(json_string_value(json_object_get(object, "op")), "hello");
    cr_assert_str_eq(json_string_value(json_object_get(object, "protocol")), "rue.runner/1");
    json_decref(object);
}

Test(protocol_hello, the_shortest_answer_is_enough)
{
    accept(GREETING "}");
    cr_assert_str_eq(hello.runner, "loader simulator 2.1");
    cr_assert_str_eq(hello.loader, "loader simulator", "without its version");
    cr_assert(hello.measures[RUE_JOINT] && !hello.measures[RUE_LOAD] && !hello.measures[RUE_COMPUTE]);
    cr_assert(!hello.virtual_clock && !hello.has_space && hello.model_count == 0 && hello.variant_count == 0);
    cr_assert_eq(hello.images, 0);
    cr_assert_str_eq(hello.machine_json, "");
}

Test(protocol_hello, a_full_answer_is_understood)
{
    accept(GREETING
           ",\"loader\":\"torch\",\"clock\":\"virtual\",\"images\":9469,"
           "\"machine\":{\"usable_cpus\":8,\"cpu\":\"x\"},"
           "\"models\":[\"resnet50\",\"b\"],"
           "\"variants\":[{\"path\":\"/d\",\"mode\":\"preprocessed\",\"format\":\"npy\"},{\"path\":\"/e\"}],"
           "\"space\":{\"batch_size\":[64,32],\"num_workers\":[0],\"parallelism\":[\"sample\"],"
           "\"pin_memory\":[true,false]},"
           "\"later\":true}");
    cr_assert_str_eq(hello.loader, "torch");
    cr_assert(hello.virtual_clock && hello.images == 9469);
    cr_assert_str_eq(hello.machine_json, "{\"cpu\":\"x\",\"usable_cpus\":8}", "keys are in order");
    cr_assert_eq(hello.model_count, 2);
    cr_assert_str_eq(hello.models[1], "b");
    cr_assert_eq(hello.variant_count, 2);
    cr_assert_eq(hello.variants[0].mode, RUE_PREPROCESSED);
    cr_assert_str_eq(hello.variants[0].format, "npy");
    cr_assert_eq(hello.variants[1].mode, RUE_RAW);
    cr_assert(hello.has_space && hello.varies[RUE_BATCH_SIZE] && hello.varies[RUE_NUM_WORKERS] &&
              hello.varies[RUE_PARALLELISM] && !hello.varies[RUE_PREFETCH_FACTOR]);
    cr_assert_eq(hello.space.count[RUE_BATCH_SIZE], 2);
    cr_assert_eq(hello.space.values[RUE_BATCH_SIZE][0], 32, "values are sorted");
    cr_assert_eq(hello.space.values[RUE_PARALLELISM][0], RUE_PARALLEL_SAMPLE);
    cr_assert(hello.varies[RUE_PIN_MEMORY] && hello.space.count[RUE_PIN_MEMORY] == 2);
    cr_assert(!hello.space.values[RUE_PIN_MEMORY][0] && hello.space.values[RUE_PIN_MEMORY][1]);
    cr_assert_eq(hello.space.count[RUE_PREFETCH_FACTOR], 1);
    cr_assert_eq(hello.space.values[RUE_PREFETCH_FACTOR][0], rue_own_knobs.at[RUE_PREFETCH_FACTOR]->fallback);
}

Test(protocol_hello, knobs_that_the_space_does_not_name_are_lacking)
{
    accept(GREETING ",\"space\":{\"num_workers\":[0,2],\"prefetch_factor\":[2]},"
                    "\"knobs\":[{\"name\":\"sync\",\"kind\":\"flag\"}]}");
    const struct rue_knobs *knobs = hello.space.knobs;
    cr_assert_eq(knobs->count, RUE_OWN_KNOB_COUNT + 1);
    for (size_t k = 0; k < knobs->count; k++) {
        bool has = k <= RUE_PREFETCH_FACTOR || k == RUE_OWN_KNOB_COUNT;
        cr_expect_eq(rue_knobs_have(knobs, k), has, "%s", knobs->at[k]->name);
    }
    accept(GREETING ",\"space\":{\"num_workers\":[0,2],\"prefetch_factor\":[4]},"
                    "\"knobs\":[{\"name\":\"sync\",\"kind\":\"flag\"}]}");
    cr_assert_eq(hello.space.knobs, knobs, "equal lists are the same list");
    accept(GREETING "}");
    cr_assert(rue_knobs_are_own(hello.space.knobs));
}

Test(protocol_hello, null_means_absent)
{
    accept(GREETING ",\"models\":null,\"variants\":null,\"space\":null,\"images\":null,\"clock\":null}");
}

Test(protocol_hello, a_name_without_a_version_stays)
{
    accept("{\"protocol\":\"rue.runner/1\",\"runner\":\"my loader\",\"measures\":[\"joint\",\"dance\"]}");
    cr_assert_str_eq(hello.loader, "my loader");
}

Test(protocol_hello, a_long_name_is_cut_for_the_loader)
{
    char line[256], name[100];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    snprintf(line, sizeof line, "{\"protocol\":\"rue.runner/1\",\"runner\":\"%s\",\"measures\":[\"joint\"]}",
             name);
    accept(line);
    cr_assert_eq(strlen(hello.loader), sizeof hello.loader - 1);
}

Test(protocol_hello, a_description_of_the_machine_that_is_too_long_is_dropped)
{
    char line[4000], name[3000];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    snprintf(line, sizeof line, GREETING ",\"machine\":{\"cpu\":\"%s\"}}", name);
    accept(line);
    cr_assert_str_eq(hello.machine_json, "", "half an object is no object");
}

Test(protocol_hello, another_protocol_is_refused)
{
    refuse("{\"protocol\":\"rue.runner/2\",\"runner\":\"x\",\"measures\":[\"joint\"]}", "rue.runner/2");
    refuse("{\"runner\":\"x\",\"measures\":[\"joint\"]}", "hello.protocol is not");
    refuse("{\"protocol\":1,\"runner\":\"x\",\"measures\":[\"joint\"]}", "hello.protocol is not");
}

Test(protocol_hello, a_reason_in_place_of_a_hello_is_reported)
{
    refuse("{\"id\":null,\"status\":\"infeasible\",\"reason\":\"out of memory\"}", "out of memory");
}

Test(protocol_hello, wrong_types_are_refused)
{
    refuse("{\"protocol\":\"rue.runner/1\",\"measures\":[\"joint\"]}", "runner");
    refuse("{\"protocol\":\"rue.runner/1\",\"runner\":7,\"measures\":[\"joint\"]}", "runner");
    refuse("{\"protocol\":\"rue.runner/1\",\"runner\":\"x\",\"measures\":[\"load\"]}", "joint");
    refuse("{\"protocol\":\"rue.runner/1\",\"runner\":\"x\",\"measures\":\"joint\"}", "joint");
    refuse("{\"protocol\":\"rue.runner/1\",\"runner\":\"x\"}", "joint");
    refuse(GREETING ",\"images\":-5}", "images");
    refuse(GREETING ",\"images\":288230376151711745}", "images");
    refuse(GREETING ",\"answers\":9223372036854775807}", "answers");
    refuse(GREETING ",\"space\":{\"pin_memory\":[1]}}", "pin_memory");
    refuse(GREETING ",\"space\":{\"pin_memory\":[\"true\"]}}", "pin_memory");
    refuse(GREETING ",\"clock\":5}", "clock");
    refuse(GREETING ",\"models\":\"resnet50\"}", "models");
    refuse(GREETING ",\"models\":[5]}", "models");
    refuse(GREETING ",\"variants\":{}}", "variants");
    refuse(GREETING ",\"variants\":[{\"mode\":\"cooked\"}]}", "variants[0].mode");
    refuse(GREETING ",\"space\":[]}", "space");
    refuse(GREETING ",\"space\":{\"batch_size\":[0]}}", "batch_size");
    refuse(GREETING ",\"space\":{\"batch_size\":[]}}", "is not a list with values");
    refuse(GREETING ",\"space\":{\"batch_size\":32}}", "is not a list with values");
}

Test(protocol_hello, lists_have_a_limit)
{
    json_t *object = protocol_object(GREETING "}"), *models = json_array(), *variants = json_array();
    rue_error error = {0};
    for (int i = 0; i < RUE_HELLO_LIST_MAX; i++) {
        json_array_append_new(models, json_string("m"));
        json_array_append_new(variants, json_pack("{s:s}", "path", "/d"));
    }
    json_object_set_new(object, "models", models);
    json_object_set_new(object, "variants", variants);
    cr_assert_eq(rue_protocol_decode_hello(object, &hello, &error), RUE_OK, "%s", error.message);
    cr_assert(hello.model_count == RUE_HELLO_LIST_MAX && hello.variant_count == RUE_HELLO_LIST_MAX);
    json_array_append_new(variants, json_pack("{s:s}", "path", "/d"));
    cr_assert_eq(rue_protocol_decode_hello(object, &hello, NULL), RUE_RUNNER);
    json_array_remove(variants, 0);
    json_array_append_new(models, json_string("m"));
    cr_assert_eq(rue_protocol_decode_hello(object, &hello, NULL), RUE_RUNNER);
    json_decref(object);
}

/* A greeting whose space has `count` values of num_workers, the first of them named twice. */
static json_t *make_hello(int count)
{
    json_t *object = protocol_object(GREETING "}"), *workers = json_pack("[i]", 1);
    for (int i = 1; i <= count; i++) json_array_append_new(workers, json_integer(i));
    json_object_set_new(object, "space", json_pack("{s:o}", "num_workers", workers));
    return object;
}

Test(protocol_hello, too_many_values_of_a_knob_are_refused)
{
    rue_error error = {0};
    json_t *most = make_hello(RUE_SPACE_VALUES_MAX), *more = make_hello(RUE_SPACE_VALUES_MAX + 1);
    cr_assert_eq(rue_protocol_decode_hello(most, &hello, &error), RUE_OK, "%s", error.message);
    cr_assert_eq(hello.space.count[RUE_NUM_WORKERS], RUE_SPACE_VALUES_MAX);
    cr_assert_eq(rue_protocol_decode_hello(more, &hello, &error), RUE_RUNNER);
    cr_assert(strstr(error.message, "hello.space.num_workers has 66 values, more than 64"), "%s",
              error.message);
    json_decref(most);
    json_decref(more);
}

Test(protocol_hello, recorded_times_are_whole_jobs_that_repeat)
{
    accept(GREETING "}");
    cr_assert(!hello.whole_jobs && hello.answers == 0);
    accept(GREETING ",\"whole_jobs\":true,\"answers\":3}");
    cr_assert(hello.whole_jobs && hello.answers == 3);
    refuse(GREETING ",\"whole_jobs\":1}", "whole_jobs");
    refuse(GREETING ",\"answers\":-1}", "answers");
    refuse(GREETING ",\"answers\":\"all\"}", "answers");
}
