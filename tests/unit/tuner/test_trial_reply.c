/* Every rule between the fields of a reply: the honest reply obeys it, and one that breaks it is found. */
#include "trial_reply.h"

#include "protocol_fixture.h"

/* A change of one field of an honest reply, and the rule that it breaks. A case with `compute` is of the
 * measure compute, one with `failed` of a trial that failed. */
struct broken_case {
    const char *rule;
    size_t offset;
    int64_t value;
    bool compute, failed;
};
#define AT(field) offsetof(struct rue_trial_result, field)

static const int64_t huge = INT64_C(1) << 58;

static const struct broken_case cases[] = {
    {"images is missing or 0", AT(images), 0, false, false},
    {"images is missing or 0", AT(images), RUE_ABSENT, false, false},
    {"end_to_end_ns is missing or 0", AT(end_to_end_ns), 0, false, false},
    {"end_to_end_ns is missing or 0", AT(end_to_end_ns), RUE_ABSENT, false, false},
    {"compute_ns is missing", AT(compute_ns), RUE_ABSENT, true, false},
    {"images (2049) is more than the images requested (2048)", AT(images), 2049, false, false},
    {"images (288230376151711744) is more than the images requested (2048)", AT(images), INT64_C(1) << 58,
     false, true},
    {"images (577) is more than batches x batch_size (576)", AT(images), 9 * 64 + 1, true, false},
    {"batches (2049) is more than images (2048)", AT(batches), 2049, false, false},
    {"images (2048) is more than batches x batch_size (1984)", AT(batches), 31, false, false},
    {"images (2048) is more than batches x batch_size (0)", AT(batches), 0, false, true},
    {"first_batch_ns (1010000002000) is more than end_to_end_ns (1000000000007)", AT(first_batch_ns),
     INT64_C(1010000002000), false, false},
    {"load_wait_ns + compute_ns + shutdown_ns (1013000000091) is more than end_to_end_ns (1000000000007)",
     AT(load_wait_ns), INT64_C(1000000000000), false, false},
    {"load_wait_ns + compute_ns + shutdown_ns (1022000002084) is more than end_to_end_ns (1000000000007)",
     AT(compute_ns), INT64_C(1010000002000), false, false},
    {"load_wait_ns + compute_ns + shutdown_ns (1021000002077) is more than end_to_end_ns (1000000000007)",
     AT(shutdown_ns), INT64_C(1010000002000), false, false},
    {"device_ns (1010000002000) is more than end_to_end_ns (1000000000007)", AT(device_ns),
     INT64_C(1010000002000), false, false},
    {"sleep_overshoot_ns (1010000002000) is more than end_to_end_ns (1000000000007)", AT(sleep_overshoot_ns),
     INT64_C(1010000002000), false, false},
    {"bad_images (8196) is more than the images of all loaders (8195)", AT(bad_images), 4 * 2048 + 4, false,
     false},
    {"bad_images (8196) is more than the images of all loaders (8195)", AT(bad_images), 4 * 2048 + 4, false,
     true},
    {"cache_missed is 2, but must be 0 or 1", AT(cache_missed), 2, false, false},
    {"refused is 7, but must be 0 or 1", AT(refused), 7, false, true},
    {"batch_ready_ns has 31 values, but batches is 32", AT(ready_count), 31, false, false},
    {"batch_load_ns has 31 values, but batches is 32", AT(load_count), 31, false, false},
    {"batch_queued has 31 values, but batches is 32", AT(queued_count), 31, false, false},
    {"batch_images has 31 values, but batches is 32", AT(images_count), 31, false, false},
    {"queue_waits (33) is more than batches (32)", AT(queue_waits), 33, false, false},
    {"queue_empty_batch (33) is more than batches (32)", AT(queue_empty_batch), 33, false, false},
    {"queue_fills (33) is more than batches (32)", AT(queue_fills), 33, false, false},
    {"batch_compute_ns has 31 values, but batches is 32", AT(compute_count), 31, false, true},
};

static struct rue_trial_request request;
static struct rue_trial_result result;

static void begin(bool compute, bool failed)
{
    request = protocol_request();
    result = protocol_result();
    if (compute) {
        request.measure = RUE_COMPUTE;
        result.images = 9 * 64;
        result.batches = result.ready_count = result.load_count = result.compute_count = 9;
        request.batches = 3; /* more may be measured */
        result.queue_waits = result.queue_fills = 0, result.queued_count = 9;
        result.images_count = 0;
    }
    if (failed) result.outcome = RUE_TRIAL_FAILED;
}

static void expect_valid(const char *what)
{
    rue_error error = {0};
    cr_assert_eq(rue_trial_reply_check(&request, &result, &error), RUE_OK, "%s: %s", what, error.message);
}

static void expect_fault(const char *expected)
{
    rue_error error = {0};
    cr_assert_eq(rue_trial_reply_check(&request, &result, &error), RUE_RUNNER, "not found: %s", expected);
    cr_assert_str_eq(error.message, expected);
}

/* Rules about a real and about the members of lists. */
static void break_another(size_t which)
{
    begin(false, false);
    switch (which) {
    case 0:
        result.cpu_ratio = 65537;
        expect_fault("cpu_ratio (65537) is more than 65536");
        break;
    case 1:
        result.batch_ready_ns[7] = result.batch_ready_ns[6] - 1;
        expect_fault("batch_ready_ns[7] is less than the time before it");
        break;
    case 2:
        result.batch_ready_ns[31] = (uint64_t)huge;
        expect_fault(
            "the last of batch_ready_ns (288230376151711744) is more than end_to_end_ns (1000000000007)");
        break;
    case 3:
        result.batch_compute_ns[3] = (uint64_t)result.compute_ns / 100 * 102;
        expect_fault("the sum of batch_compute_ns (6120005023) is more than compute_ns (6000000042)");
        break;
    default: /* 12 workers, and the consumer */
        result.batch_load_ns[3] = (uint64_t)result.end_to_end_ns * 14;
        expect_fault(
            "the sum of batch_load_ns per worker (1076923077315) is more than end_to_end_ns (1000000000007)");
    }
}

TestSuite(trial_reply, .timeout = 60);

Test(trial_reply, each_broken_rule_is_found)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(cases[i].compute, cases[i].failed);
        expect_valid(cases[i].rule);
        memcpy((char *)&result + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        expect_fault(cases[i].rule);
        rue_trial_result_close(&result);
    }
    for (size_t i = 0; i < 5; i++) {
        break_another(i);
        rue_trial_result_close(&result);
    }
}

Test(trial_reply, missing_values_break_no_rule)
{
    for (int compute = 0; compute < 2; compute++) {
        begin(compute, false);
        rue_trial_result_close(&result);
        int64_t images = result.images, time_ns = result.end_to_end_ns;
        result = rue_trial_result_empty();
        result.outcome = RUE_TRIAL_OK;
        result.images = images;
        *(compute ? &result.compute_ns : &result.end_to_end_ns) = time_ns;
        expect_valid("the shortest reply");
        result = rue_trial_result_empty();
        expect_valid("a failure that says nothing");
    }
}

Test(trial_reply, a_truncated_trial_may_run_its_last_batch_to_the_end)
{
    begin(false, false);
    request.images = 2000;
    expect_valid("2,048 images of 2,000, in batches of 64");
    request.images = 1984;
    expect_fault("images (2048) is more than the images requested (1984)");
    rue_trial_result_close(&result);
}

Test(trial_reply, times_that_are_rounded_still_fit)
{
    begin(false, false);
    result.load_wait_ns = result.end_to_end_ns / 1000 * 1005 - result.compute_ns - result.shutdown_ns;
    result.first_batch_ns = result.end_to_end_ns + 900;
    result.batch_ready_ns[31] = (uint64_t)result.end_to_end_ns + 900;
    expect_valid("half a percent more");
    rue_trial_result_close(&result);
}

Test(trial_reply, damaged_images_are_those_of_all_loaders)
{
    begin(false, false);
    result.bad_images = 4 * 2048;
    expect_valid("4 loaders");
    request.workload.world_size = 1;
    expect_fault("bad_images (8192) is more than the images of all loaders (2048)");
    rue_trial_result_close(&result);
}
