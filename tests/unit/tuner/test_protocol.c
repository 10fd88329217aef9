/* Lines, requests, and what a runner says of itself. Results: test_protocol_result.c. */
#include "protocol_fixture.h"
#include "workload_json.h"

static struct rue_trial_request decode(json_t *object)
{
    struct rue_trial_request request;
    rue_error error = {0};
    cr_assert_eq(rue_protocol_decode_trial(object, &request, &error), RUE_OK, "%s", error.message);
    json_decref(object);
    return request;
}

static void expect_same_workload(const struct rue_workload *a, const struct rue_workload *b)
{
    cr_assert(a->shuffle == b->shuffle && a->drop_last == b->drop_last && a->seed == b->seed &&
              a->epoch == b->epoch && a->rank == b->rank && a->world_size == b->world_size &&
              a->remote_ranks == b->remote_ranks && a->share == b->share && a->bad_images == b->bad_images &&
              a->missing_chunks == b->missing_chunks && a->chunk_cache_bytes == b->chunk_cache_bytes &&
              a->max_pixels == b->max_pixels && a->decode == b->decode && a->batch_dtype == b->batch_dtype);
    cr_assert_str_eq(a->transform, b->transform);
    cr_assert_str_eq(a->cache, b->cache);
}

static void expect_same(const struct rue_trial_request *a, const struct rue_trial_request *b)
{
    cr_assert_eq(a->id, b->id);
    cr_assert_eq(a->measure, b->measure);
    cr_assert_eq(a->variant.mode, b->variant.mode);
    cr_assert_str_eq(a->variant.format, b->variant.format);
    cr_assert_str_eq(a->variant.dtype, b->variant.dtype);
    cr_assert_str_eq(a->variant.path, b->variant.path);
    cr_assert_str_eq(a->model, b->model);
    cr_assert(rue_config_equal(&a->config, &b->config));
    expect_same_workload(&a->workload, &b->workload);
    cr_assert(a->images == b->images && a->job_images == b->job_images);
    cr_assert(a->limits.time_ns == b->limits.time_ns && a->limits.memory_bytes == b->limits.memory_bytes);
    cr_assert_eq(a->detail, b->detail);
}

Test(protocol, a_request_is_read_back_with_every_field)
{
    struct rue_trial_request request = protocol_request();
    request.workload.remote_ranks = true;
    struct rue_trial_request back = decode(protocol_parse(rue_protocol_encode_trial(&request, NULL)));
    expect_same(&request, &back);
}

Test(protocol, a_compute_request_has_the_number_of_batches)
{
    struct rue_trial_request request = protocol_request();
    request.measure = RUE_COMPUTE;
    struct rue_trial_request back = decode(protocol_parse(rue_protocol_encode_trial(&request, NULL)));
    cr_assert(back.measure == RUE_COMPUTE && back.batches == 9);
}

Test(protocol, a_load_request_has_no_model)
{
    struct rue_trial_request request = protocol_request();
    request.measure = RUE_LOAD;
    request.model[0] = 0;
    json_t *object = protocol_parse(rue_protocol_encode_trial(&request, NULL));
    cr_assert_null(json_object_get(object, "model"));
    cr_assert_eq(decode(object).measure, RUE_LOAD);
}

Test(protocol, the_profile_is_sent_unchanged)
{
    struct rue_trial_request request = protocol_request();
    json_t *object = protocol_parse(rue_protocol_encode_trial(&request, "{\"per_batch_ns\":5}"));
    json_t *profile = json_object_get(object, "profile");
    cr_assert_eq(json_integer_value(json_object_get(profile, "per_batch_ns")), 5);
    json_decref(object);
}

static bool is_interrupt(const char *line)
{
    return rue_protocol_is_interrupt(line, strlen(line));
}

Test(protocol, only_a_short_object_with_that_op_is_an_interrupt)
{
    cr_expect(is_interrupt("{\"op\":\"interrupted\"}") &&
              is_interrupt("{ \"op\": \"interrupted\", \"rank\": 1 }\r"));
    cr_expect_not(is_interrupt("{\"op\":\"interrupt\"}") ||
                  is_interrupt("{\"id\":1,\"status\":\"interrupted\"}"));
    cr_expect_not(is_interrupt("[\"op\"]") || is_interrupt("interrupted") || is_interrupt(""));
}

Test(protocol, absent_keys_have_defaults)
{
    struct rue_trial_request request =
        decode(protocol_object("{\"model\":\"none\",\"config\":{},\"variant\":{},\"images\":5}"));
    struct rue_config fallback = rue_config_default();
    struct rue_workload workload = rue_workload_default();
    cr_assert(request.measure == RUE_JOINT && request.id == 0 && request.images == 5 &&
              request.job_images == 5 && !request.detail);
    cr_assert(request.limits.time_ns == 0 && request.limits.memory_bytes == 0);
    cr_assert(rue_config_equal(&request.config, &fallback));
    expect_same_workload(&request.workload, &workload);
    cr_assert_eq(request.variant.mode, RUE_RAW);
}

Test(protocol, unknown_keys_and_nulls_are_ignored)
{
    decode(
        protocol_object("{\"future\":[1,{}],\"model\":\"none\",\"measure\":null,\"id\":null,"
                        "\"config\":{\"batch_size\":4,\"shards\":3},\"variant\":{\"path\":\"x\",\"etag\":1},"
                        "\"workload\":{\"mood\":\"good\",\"shuffle\":null},\"limits\":null,\"images\":1}"));
}

Test(protocol, requests_with_wrong_types_or_values_are_refused)
{
    static const char *const bad[] = {
        "{\"config\":{},\"variant\":{},\"images\":1}", /* no model */
        "{\"model\":\"none\",\"variant\":{},\"images\":1}",
        "{\"model\":\"none\",\"config\":{},\"images\":1}",
        "{\"model\":\"none\",\"config\":{},\"variant\":{}}", /* no images */
        "{\"model\":\"none\",\"config\":[],\"variant\":{},\"images\":1}",
        "{\"model\":\"none\",\"config\":{},\"variant\":\"x\",\"images\":1}",
        "{\"model\":\"none\",\"config\":{},\"variant\":{},\"images\":\"1\"}",
        "{\"model\":\"none\",\"config\":{},\"variant\":{},\"images\":1.5}",
        "{\"model\":\"none\",\"config\":{},\"variant\":{},\"images\":-1}",
        "{\"model\":\"none\",\"config\":{},\"variant\":{},\"images\":0}",
        "{\"model\":7,\"config\":{},\"variant\":{},\"images\":1}",
        "{\"model\":\"none\",\"measure\":\"guess\",\"config\":{},\"variant\":{},\"images\":1}",
        "{\"model\":\"none\",\"measure\":[],\"config\":{},\"variant\":{},\"images\":1}",
        "{\"model\":\"none\",\"config\":{},\"variant\":{},\"images\":1,\"detail\":1}",
        "{\"model\":\"none\",\"config\":{},\"variant\":{},\"images\":1,\"limits\":[]}",
        "{\"model\":\"none\",\"config\":{},\"variant\":{},\"images\":1,\"limits\":{\"time_ns\":-1}}",
        "{\"model\":\"none\",\"config\":{},\"variant\":{},\"images\":1,\"id\":\"x\"}",
        "{\"model\":\"none\",\"config\":{},\"variant\":{},\"images\":1,\"workload\":[]}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rue_trial_request request;
        rue_error error = {0};
        json_t *object = protocol_object(bad[i]);
        cr_assert_eq(rue_protocol_decode_trial(object, &request, &error), RUE_USAGE, "%s was taken", bad[i]);
        cr_assert_gt(strlen(error.message), 0);
        json_decref(object);
    }
}

Test(protocol, configurations_with_wrong_values_are_refused_by_the_knob_s_name)
{
    static const char *const bad[][2] = {
        {"{\"batch_size\":0}", "batch_size"},
        {"{\"batch_size\":\"8\"}", "batch_size"},
        {"{\"batch_size\":8.0}", "batch_size"},
        {"{\"batch_size\":null}", "batch_size"},
        {"{\"num_workers\":-1}", "num_workers"},
        {"{\"num_workers\":257}", "num_workers"},
        {"{\"prefetch_factor\":true}", "prefetch_factor"},
        {"{\"parallelism\":1}", "parallelism"},
        {"{\"parallelism\":\"both\"}", "parallelism"},
        {"{\"batch_size\":9223372036854775807}", "batch_size"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rue_trial_request request;
        rue_error error = {0};
        json_t *object = protocol_object("{\"model\":\"none\",\"variant\":{},\"images\":1}");
        json_object_set_new(object, "config", protocol_object(bad[i][0]));
        cr_assert_eq(rue_protocol_decode_trial(object, &request, &error), RUE_USAGE, "%s", bad[i][0]);
        cr_assert(strstr(error.message, bad[i][1]), "%s", error.message);
        json_decref(object);
    }
}

Test(protocol, workloads_with_wrong_values_are_refused)
{
    static const char *const bad[] = {"{\"shuffle\":1}",
                                      "{\"seed\":-1}",
                                      "{\"seed\":\"1\"}",
                                      "{\"transform\":\"train\"}",
                                      "{\"bad_images\":\"skip\"}",
                                      "{\"decode\":\"slow\"}",
                                      "{\"batch_dtype\":\"float16\"}",
                                      "{\"batch_dtype\":8}",
                                      "{\"max_pixels\":0}",
                                      "{\"max_pixels\":\"1\"}",
                                      "{\"rank\":1}",
                                      "{\"rank\":4,\"world_size\":4}",
                                      "{\"world_size\":0}",
                                      "{\"world_size\":4294967296}",
                                      "{\"cache\":\"0123456789abcdef\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rue_workload workload;
        json_t *object = protocol_object(bad[i]);
        cr_assert_eq(rue_workload_read(object, &workload, NULL), RUE_USAGE, "%s", bad[i]);
        json_decref(object);
    }
}

Test(protocol, a_wrong_geometry_is_refused_in_the_words_of_its_option)
{
    struct rue_workload workload;
    rue_error error = {0};
    json_t *object = protocol_object("{\"image_size\":\"0\"}");
    cr_assert_eq(rue_workload_read(object, &workload, &error), RUE_USAGE);
    json_decref(object);
    cr_assert_str_eq(error.message, "workload: image_size '0': expected a side, or height x width such as "
                                    "160x224, each from 1 to 16384");
}

Test(protocol, variants_with_wrong_values_are_refused)
{
    static const char *const bad[] = {"{\"mode\":\"cooked\"}", "{\"path\":1}", "{\"format\":[]}",
                                      "{\"dtype\":\"a name that is too long\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rue_open_request request;
        json_t *object = json_pack("{s:o}", "variant", protocol_object(bad[i]));
        cr_assert_eq(rue_protocol_decode_open(object, &request, NULL), RUE_USAGE, "%s", bad[i]);
        json_decref(object);
    }
    json_t *empty = json_object();
    cr_assert_eq(rue_protocol_decode_open(empty, &(struct rue_open_request){0}, NULL), RUE_USAGE);
    json_decref(empty);
}

Test(protocol, lines_that_are_not_objects_are_refused_and_quoted)
{
    static const char *const bad[] = {
        "", "hello", "[1]", "\"x\"", "{\"a\":1", "{\"a\":1}{}", "{a:1}", "42", "{\"a\":\"\\u0000\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *object;
        rue_error error = {0};
        cr_assert_eq(rue_protocol_parse(bad[i], &object, &error), RUE_RUNNER, "%s", bad[i]);
        cr_assert_null(object);
        cr_assert(strstr(error.message, bad[i]), "%s", error.message);
    }
}

Test(protocol, the_quote_of_a_bad_line_is_clean_utf8)
{
    json_t *object;
    rue_error error = {0};
    cr_assert_eq(rue_protocol_parse("{\"a\":\"\xff\x1b\"}", &object, &error), RUE_RUNNER);
    cr_assert(strstr(error.message, "'{\"a\":\"??\"}'"), "%s", error.message);
    cr_assert_null(strchr(error.message, '\xff'));
}

Test(protocol, duplicate_keys_are_refused)
{
    json_t *object;
    rue_error error = {0};
    cr_assert_eq(rue_protocol_parse("{\"id\":1,\"id\":2}", &object, &error), RUE_RUNNER);
    cr_assert(strstr(error.message, "duplicate"), "%s", error.message);
}

Test(protocol, a_long_bad_line_is_quoted_in_part)
{
    char line[5000];
    json_t *object;
    rue_error error = {0};
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = 0;
    cr_assert_eq(rue_protocol_parse(line, &object, &error), RUE_RUNNER);
    cr_assert(strlen(error.message) < 300 && strstr(error.message, "xxx..."), "%s", error.message);
}

Test(protocol, an_open_request_carries_variant_workload_and_images)
{
    struct rue_trial_request request = protocol_request();
    json_t *object = protocol_parse(rue_protocol_encode_open(&request.variant, &request.workload, 77));
    struct rue_open_request read;
    cr_assert_str_eq(json_string_value(json_object_get(object, "op")), "open");
    cr_assert_eq(rue_protocol_decode_open(object, &read, NULL), RUE_OK);
    cr_assert_eq(read.images, 77);
    cr_assert_str_eq(read.variant.path, request.variant.path);
    expect_same_workload(&read.workload, &request.workload);
    json_decref(object);
}

static rue_status decode_opened(const char *line, struct rue_opened *opened, rue_error *error)
{
    json_t *object = protocol_object(line);
    rue_status status = rue_protocol_decode_opened(object, opened, error);
    json_decref(object);
    return status;
}

Test(protocol, an_open_reply_is_read_back)
{
    const struct rue_opened opened = {.images = 9469,
                                      .bytes = 1234567890123,
                                      .digest = "00ff00ff00ff00ff",
                                      .cache = "warm",
                                      .dtype = "uint8",
                                      .batch_dtype = RUE_UINT8,
                                      .note = "1 was left out: \xff"};
    struct rue_opened back;
    json_t *object = protocol_parse(rue_protocol_encode_opened(&opened));
    cr_assert_eq(rue_protocol_decode_opened(object, &back, NULL), RUE_OK);
    json_decref(object);
    cr_assert(back.images == opened.images && back.bytes == opened.bytes && back.batch_dtype == RUE_UINT8);
    cr_assert_str_eq(back.digest, opened.digest);
    cr_assert_str_eq(back.cache, "warm");
    cr_assert_str_eq(back.dtype, "uint8");
    cr_assert_str_eq(back.note, "1 was left out: \xEF\xBF\xBD", "what is no UTF-8 is marked");
    cr_assert_eq(decode_opened("{\"status\":\"ok\",\"images\":5}", &back, NULL), RUE_OK);
    cr_assert(back.images == 5 && back.bytes == 0 && !back.digest[0] && !back.note[0] &&
              back.batch_dtype == RUE_FLOAT32);
    cr_assert_str_eq(back.cache, "as-is", "nobody said warm");
}

Test(protocol, a_failed_open_has_the_whole_reason)
{
    struct rue_opened opened;
    char long_reason[900], *line;
    rue_error error = {0};
    memset(long_reason, 'r', sizeof long_reason - 1);
    strcpy(long_reason + sizeof long_reason - 9, "the end.");
    line = rue_protocol_encode_failure(NULL, RUE_RUNNER, long_reason);
    cr_assert_eq(decode_opened(line, &opened, &error), RUE_DATA);
    cr_assert_str_eq(error.message, long_reason);
    free(line);
    error = (rue_error){0};
    cr_assert_eq(decode_opened("{\"status\":\"failed\"}", &opened, &error), RUE_DATA);
    cr_assert_str_eq(error.message, "it sent no \"reason\"");
}

Test(protocol, an_open_without_memory_is_infeasible)
{
    struct rue_opened opened;
    rue_error error = {0};
    char *line = rue_protocol_encode_failure(NULL, RUE_INFEASIBLE, "no memory");
    cr_assert_eq(decode_opened(line, &opened, &error), RUE_INFEASIBLE);
    cr_assert_str_eq(error.message, "no memory");
    free(line);
}

Test(protocol, an_open_reply_with_wrong_types_is_the_runner_s_fault)
{
    static const char *const bad[] = {"{\"status\":\"ok\"}",
                                      "{\"status\":\"ok\",\"images\":0}",
                                      "{\"status\":\"ok\",\"images\":\"5\"}",
                                      "{\"status\":\"ok\",\"images\":5,\"digest\":7}",
                                      "{\"status\":\"ok\",\"images\":5,\"bytes\":-1}",
                                      "{\"status\":\"ok\",\"images\":5,\"batch_dtype\":\"int4\"}",
                                      "{\"status\":\"ok\",\"images\":288230376151711745}",
                                      "{\"status\":\"ok\",\"images\":5,\"bytes\":9223372036854775807}",
                                      "{\"status\":1}",
                                      "{\"protocol\":\"rue.runner/1\"}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rue_opened opened;
        cr_assert_eq(decode_opened(bad[i], &opened, NULL), RUE_RUNNER, "%s", bad[i]);
    }
}
