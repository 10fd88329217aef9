/* Results on their way: what one end writes the other reads, and a reply that lies becomes a failure. */
#include <math.h>

#include "json_document.h"
#include "protocol_fixture.h"
#include "trial_reply.h"

static struct rue_trial_result result;

TestSuite(protocol_result, .timeout = 60);

static void decode(json_t *object)
{
    struct rue_trial_request request = protocol_request();
    rue_trial_reply_decode(object, &request, &result);
    json_decref(object);
}

static void expect_failed(json_t *object, const char *says)
{
    decode(object);
    cr_assert_eq(result.outcome, RUE_TRIAL_FAILED, "outcome %d", result.outcome);
    cr_assert(strstr(result.reason, says), "'%s' does not say '%s'", result.reason, says);
    rue_trial_result_close(&result);
}

/* A good reply as an object, to be damaged. */
static json_t *good(void)
{
    struct rue_trial_result full = protocol_result();
    json_t *object = protocol_parse(rue_protocol_encode_result(NULL, &full));
    rue_trial_result_close(&full);
    return object;
}

static json_t *with(const char *key, json_t *value)
{
    json_t *object = good();
    json_object_set_new(object, key, value);
    return object;
}

static json_t *without(const char *key)
{
    json_t *object = good();
    json_object_del(object, key);
    return object;
}

Test(protocol_result, every_field_is_read_back)
{
    struct rue_trial_result full = protocol_result();
    decode(protocol_parse(rue_protocol_encode_result(NULL, &full)));
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert(rue_config_equal(&result.config, &full.config));
    for (size_t i = 0; i < rue_trial_field_count; i++) {
        const struct rue_trial_field *field = &rue_trial_fields[i];
        const char *a = (char *)&full + field->offset, *b = (char *)&result + field->offset;
        cr_assert_eq(memcmp(a, b, 8), 0, "%s", field->name);
    }
    size_t bytes = 32 * sizeof(uint64_t);
    cr_assert(result.ready_count == 32 && memcmp(result.batch_ready_ns, full.batch_ready_ns, bytes) == 0);
    cr_assert(result.load_count == 32 && memcmp(result.batch_load_ns, full.batch_load_ns, bytes) == 0);
    cr_assert(result.compute_count == 32 &&
              memcmp(result.batch_compute_ns, full.batch_compute_ns, bytes) == 0);
    cr_assert(result.queued_count == 32 && memcmp(result.batch_queued, full.batch_queued, bytes) == 0);
    cr_assert(result.images_count == 32 && memcmp(result.batch_images, full.batch_images, bytes) == 0);
    rue_trial_result_close(&result);
    rue_trial_result_close(&full);
}

Test(protocol_result, unmeasured_values_are_absent)
{
    struct rue_trial_result sparse = rue_trial_result_empty();
    sparse.outcome = RUE_TRIAL_OK;
    sparse.config = protocol_request().config;
    sparse.images = 8;
    sparse.end_to_end_ns = 1;
    json_t *object = protocol_parse(rue_protocol_encode_result(NULL, &sparse));
    cr_assert_null(json_object_get(object, "h2d_ns"));
    cr_assert_null(json_object_get(object, "cpu_ratio"), "JSON knows no NaN");
    cr_assert_null(json_object_get(object, "batch_ready_ns"));
    decode(object);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert(result.h2d_ns == RUE_ABSENT && result.cost_ns == RUE_ABSENT && isnan(result.cpu_ratio));
    cr_assert(result.ready_count == 0 && result.batch_ready_ns == NULL);
}

Test(protocol_result, the_id_is_echoed_and_may_be_null)
{
    struct rue_trial_result full = rue_trial_result_empty();
    json_t *id = json_integer(17);
    json_t *named = protocol_parse(rue_protocol_encode_result(id, &full));
    cr_assert_eq(json_integer_value(json_object_get(named, "id")), 17);
    json_t *nameless = protocol_parse(rue_protocol_encode_result(NULL, &full));
    cr_assert(json_is_null(json_object_get(nameless, "id")));
    json_t *failure = protocol_parse(rue_protocol_encode_failure(id, RUE_DATA, "why"));
    cr_assert_eq(json_integer_value(json_object_get(failure, "id")), 17);
    cr_assert(json_is_true(json_object_get(failure, "data_fault")));
    json_decref(id);
    json_decref(named);
    json_decref(nameless);
    json_decref(failure);
}

Test(protocol_result, every_outcome_is_read_back_with_its_reason)
{
    for (int outcome = RUE_TRIAL_INFEASIBLE; outcome < RUE_OUTCOME_COUNT; outcome++) {
        struct rue_trial_result bad = rue_trial_result_empty();
        bad.outcome = (enum rue_outcome)outcome;
        bad.config = protocol_request().config;
        strcpy(bad.reason, "because of \"this\" & that");
        bad.data_fault = outcome == RUE_TRIAL_FAILED;
        decode(protocol_parse(rue_protocol_encode_result(NULL, &bad)));
        cr_assert_eq(result.outcome, bad.outcome);
        cr_assert_str_eq(result.reason, bad.reason);
        cr_assert_eq(result.data_fault, bad.data_fault);
    }
}

Test(protocol_result, a_reason_that_is_not_utf8_is_kept)
{
    struct rue_trial_result bad = rue_trial_result_empty();
    strcpy(bad.reason, "/data/caf\xe9/1.jpg is damaged");
    decode(protocol_parse(rue_protocol_encode_result(NULL, &bad)));
    cr_assert_str_eq(result.reason, "/data/caf\xEF\xBF\xBD/1.jpg is damaged");
    json_t *failure = protocol_parse(rue_protocol_encode_failure(NULL, RUE_RUNNER, "\xff\xfe gone"));
    cr_assert_str_eq(json_string_value(json_object_get(failure, "reason")), "\xEF\xBF\xBD\xEF\xBF\xBD gone");
    json_decref(failure);
}

Test(protocol_result, a_reason_that_is_too_long_is_cut)
{
    char reason[2000];
    memset(reason, 'r', sizeof reason - 1);
    reason[sizeof reason - 1] = 0;
    decode(json_pack("{s:s, s:s}", "status", "failed", "reason", reason));
    cr_assert_eq(strlen(result.reason), RUE_REASON_BYTES - 1);
}

Test(protocol_result, a_failure_needs_no_other_fields)
{
    expect_failed(json_pack("{s:s}", "status", "failed"), "and no \"reason\"");
    expect_failed(json_pack("{s:s, s:i}", "status", "failed", "reason", 5), "and no \"reason\"");
}

Test(protocol_result, a_reply_without_a_known_status_fails)
{
    expect_failed(json_object(), "status");
    expect_failed(with("status", json_string("great")), "status");
    expect_failed(with("status", json_true()), "status");
}

Test(protocol_result, a_configuration_that_differs_from_the_request_fails)
{
    json_t *object = good();
    json_object_set_new(json_object_get(object, "config"), "num_workers", json_integer(11));
    expect_failed(object, "\"num_workers\":11");
    expect_failed(without("config"), "config is missing");
    expect_failed(with("config", json_pack("{s:i}", "batch_size", 64)), "instead of");
    expect_failed(with("config", json_string("64/12")), "config");
    expect_failed(with("config", json_pack("{s:i}", "batch_size", -1)), "batch_size");
}

Test(protocol_result, the_configuration_s_unknown_knobs_are_ignored)
{
    json_t *object = good();
    json_object_set_new(json_object_get(object, "config"), "persistent_workers", json_true());
    json_object_set_new(object, "mood", json_string("good"));
    decode(object);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
}

Test(protocol_result, values_of_the_wrong_type_or_size_fail)
{
    expect_failed(with("end_to_end_ns", json_integer(-1)), "end_to_end_ns");
    expect_failed(with("end_to_end_ns", json_integer(INT64_MAX)), "end_to_end_ns");
    expect_failed(with("end_to_end_ns", json_real(1.5)), "end_to_end_ns");
    expect_failed(with("end_to_end_ns", json_string("5")), "end_to_end_ns");
    expect_failed(with("images", json_integer(INT64_MIN)), "images");
    expect_failed(with("cost_ns", json_integer(INT64_MAX)), "cost_ns");
    expect_failed(with("cpu_ratio", json_string("high")), "cpu_ratio");
    expect_failed(with("batch_ready_ns", json_pack("[i,s]", 1, "2")), "batch_ready_ns");
    expect_failed(with("batch_load_ns", json_pack("[i,i]", 1, -2)), "batch_load_ns");
    expect_failed(with("batch_compute_ns", json_string("none")), "batch_compute_ns");
}

Test(protocol_result, no_field_of_an_invalid_reply_is_kept)
{
    json_t *object = with("first_batch_ns", json_integer(INT64_C(1) << 58));
    json_object_set_new(object, "spent", json_true());
    decode(object);
    cr_assert_str_eq(result.reason, "the runner's answer to 'trial' is wrong: first_batch_ns "
                                    "(288230376151711744) is more than end_to_end_ns (1000000000007)");
    cr_assert_eq(result.outcome, RUE_TRIAL_FAILED);
    cr_assert(result.images == RUE_ABSENT && result.end_to_end_ns == RUE_ABSENT && isnan(result.cpu_ratio));
    cr_assert(!result.batch_ready_ns && !result.batch_load_ns && !result.batch_compute_ns);
    cr_assert(result.spent, "it is started again all the same");
}

Test(protocol_result, the_rules_apply_to_failures_too)
{
    json_t *object = with("status", json_string("timeout"));
    json_object_set_new(object, "images", json_integer(INT64_C(1) << 58));
    expect_failed(object, "is more than the images requested");
}

Test(protocol_result, unrequested_times_of_batches_are_ignored)
{
    struct rue_trial_request request = protocol_request();
    request.detail = false;
    json_t *object = with("batch_ready_ns", json_pack("[i,s]", 1, "2"));
    rue_trial_reply_decode(object, &request, &result);
    json_decref(object);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert(!result.batch_ready_ns && !result.batch_load_ns && !result.batch_compute_ns);
    cr_assert(result.ready_count == 0 && result.load_count == 0 && result.compute_count == 0);
}

Test(protocol_result, times_of_batches_beyond_the_limit_are_dropped)
{
    struct rue_trial_request request = protocol_request();
    size_t count = RUE_BATCH_TIMES_MAX + 1;
    request.images = count;
    request.config.value[RUE_BATCH_SIZE] = 1;
    json_t *object = good(), *times = json_array(), *zero = json_integer(0);
    for (size_t i = 0; i < count; i++) json_array_append(times, zero);
    json_decref(zero);
    json_object_set_new(object, "config", rue_json_config(&request.config, true));
    json_object_set_new(object, "images", json_integer((json_int_t)count));
    json_object_set_new(object, "batches", json_integer((json_int_t)count));
    json_object_set_new(object, "batch_ready_ns", times);
    json_object_del(object, "batch_load_ns");
    json_object_del(object, "batch_compute_ns");
    json_object_del(object, "batch_queued");
    json_object_del(object, "batch_images");
    rue_trial_reply_decode(object, &request, &result);
    json_decref(object);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert(!result.batch_ready_ns && result.ready_count == 0);
}

Test(protocol_result, null_means_absent)
{
    decode(with("read_bytes", json_null()));
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert_eq(result.read_bytes, RUE_ABSENT);
}

Test(protocol_result, a_compute_reply_needs_only_its_own_time)
{
    struct rue_trial_request request = protocol_request();
    request.measure = RUE_COMPUTE;
    json_t *object = without("end_to_end_ns");
    json_object_del(object, "config");
    json_object_set_new(object, "images", json_integer(2 * 64));
    json_object_set_new(object, "batches", json_integer(2));
    json_object_set_new(object, "compute_ns", json_integer(0)); /* the model none */
    json_object_set_new(object, "batch_compute_ns", json_pack("[i,i]", 0, 0));
    json_object_del(object, "batch_ready_ns");
    json_object_del(object, "batch_load_ns");
    json_object_del(object, "batch_queued");
    json_object_del(object, "batch_images");
    for (const char *const *name =
             (const char *const[]){"queue_waits", "queue_empty_batch", "queue_fills", NULL};
         *name; name++)
        json_object_del(object, *name);
    rue_trial_reply_decode(object, &request, &result);
    cr_assert_eq(result.outcome, RUE_TRIAL_OK, "%s", result.reason);
    cr_assert_eq(result.compute_count, 2);
    rue_trial_result_close(&result);
    json_object_del(object, "compute_ns");
    rue_trial_reply_decode(object, &request, &result);
    cr_assert_eq(result.outcome, RUE_TRIAL_FAILED);
    json_decref(object);
}
