/* Every rule between the fields of a reply: the honest reply obeys it, and one that breaks it is found. */
#include "reply_rules.h"

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
    {"the trial's time, end_to_end_ns or compute_ns, is missing or 0", AT(end_to_end_ns), 0, false, false},
    {"the trial's time, end_to_end_ns or compute_ns, is missing or 0", AT(end_to_end_ns), RUE_ABSENT, false,
     false},
    {"the trial's time, end_to_end_ns or compute_ns, is missing or 0", AT(compute_ns), RUE_ABSENT, true,
     false},
    {"images is more than was asked for", AT(images), 2049, false, false},
    {"images is more than was asked for", AT(images), INT64_C(1) << 58, false, true},
    {"images is more than was asked for", AT(images), 9 * 64 + 1, true, false},
    {"batches is more than images", AT(batches), 2049, false, false},
    {"images is more than its batches can hold", AT(batches), 31, false, false},
    {"images is more than its batches can hold", AT(batches), 0, false, true},
    {"first_batch_ns is more than end_to_end_ns", AT(first_batch_ns), INT64_C(1010000002000), false, false},
    {"load_wait_ns, compute_ns and shutdown_ns sum to more than end_to_end_ns", AT(load_wait_ns),
     INT64_C(1000000000000), false, false},
    {"load_wait_ns, compute_ns and shutdown_ns sum to more than end_to_end_ns", AT(compute_ns),
     INT64_C(1010000002000), false, false},
    {"load_wait_ns, compute_ns and shutdown_ns sum to more than end_to_end_ns", AT(shutdown_ns),
     INT64_C(1010000002000), false, false},
    {"device_ns is more than end_to_end_ns", AT(device_ns), INT64_C(1010000002000), false, false},
    {"sleep_overshoot_ns is more than end_to_end_ns", AT(sleep_overshoot_ns), INT64_C(1010000002000), false,
     false},
    {"bad_images is more than images", AT(bad_images), 4 * 2048 + 4, false, false},
    {"bad_images is more than images", AT(bad_images), 4 * 2048 + 4, false, true},
    {"cache_missed or refused is neither 0 nor 1", AT(cache_missed), 2, false, false},
    {"cache_missed or refused is neither 0 nor 1", AT(refused), 7, false, true},
    {"a list of times does not have one time a batch", AT(ready_count), 31, false, false},
    {"a list of times does not have one time a batch", AT(load_count), 31, false, false},
    {"a list of times does not have one time a batch", AT(compute_count), 31, false, true},
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
    }
    if (failed) result.outcome = RUE_TRIAL_FAILED;
}

static void obey(const char *what)
{
    const struct rue_reply_rule *broken = rue_reply_rules_broken(&request, &result);
    cr_assert_null(broken, "%s: %s", what, broken ? broken->otherwise : "");
}

/* Answers the index of the rule that is broken. */
static size_t broken_rule(const char *expected)
{
    const struct rue_reply_rule *broken = rue_reply_rules_broken(&request, &result);
    cr_assert_not_null(broken, "obeyed: %s", expected);
    cr_assert_str_eq(broken->otherwise, expected);
    return (size_t)(broken - rue_reply_rules);
}

/* Rules about a real and about the members of lists. */
static size_t break_another(size_t which)
{
    begin(false, false);
    switch (which) {
    case 0:
        result.cpu_ratio = 65537;
        return broken_rule("cpu_ratio is more than 65,536 CPUs");
    case 1:
        result.batch_ready_ns[7] = result.batch_ready_ns[6] - 1;
        return broken_rule("batch_ready_ns runs backwards");
    case 2:
        result.batch_ready_ns[31] = (uint64_t)huge;
        return broken_rule("batch_ready_ns is later than end_to_end_ns");
    case 3:
        result.batch_compute_ns[3] = (uint64_t)result.compute_ns / 100 * 102;
        return broken_rule("batch_compute_ns sums to more than compute_ns");
    default: /* 12 workers, and the consumer */
        result.batch_load_ns[3] = (uint64_t)result.end_to_end_ns * 14;
        return broken_rule("batch_load_ns sums to more than all workers had");
    }
}

TestSuite(reply_rules, .timeout = 60);

Test(reply_rules, each_is_found_where_it_is_broken)
{
    bool tried[64] = {0};
    cr_assert_leq(rue_reply_rule_count, 64);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(cases[i].compute, cases[i].failed);
        obey(cases[i].rule);
        memcpy((char *)&result + cases[i].offset, &cases[i].value, sizeof cases[i].value);
        tried[broken_rule(cases[i].rule)] = true;
        rue_trial_result_close(&result);
    }
    for (size_t i = 0; i < 5; i++) {
        tried[break_another(i)] = true;
        rue_trial_result_close(&result);
    }
    for (size_t i = 0; i < rue_reply_rule_count; i++)
        cr_assert(tried[i], "nothing here breaks the rule: %s", rue_reply_rules[i].otherwise);
}

Test(reply_rules, what_the_runner_did_not_send_breaks_none)
{
    for (int compute = 0; compute < 2; compute++) {
        begin(compute, false);
        rue_trial_result_close(&result);
        int64_t images = result.images, time_ns = result.end_to_end_ns;
        result = rue_trial_result_empty();
        result.outcome = RUE_TRIAL_OK;
        result.images = images;
        *(compute ? &result.compute_ns : &result.end_to_end_ns) = time_ns;
        obey("the shortest reply");
        result = rue_trial_result_empty();
        obey("a failure that says nothing");
    }
}

Test(reply_rules, a_truncated_trial_may_run_its_last_batch_to_the_end)
{
    begin(false, false);
    request.images = 2000;
    obey("2,048 images of 2,000, in batches of 64");
    request.images = 1984;
    broken_rule("images is more than was asked for");
    rue_trial_result_close(&result);
}

Test(reply_rules, times_that_are_rounded_still_fit)
{
    begin(false, false);
    result.load_wait_ns = result.end_to_end_ns / 1000 * 1005 - result.compute_ns - result.shutdown_ns;
    result.first_batch_ns = result.end_to_end_ns + 900;
    result.batch_ready_ns[31] = (uint64_t)result.end_to_end_ns + 900;
    obey("half a percent more");
    rue_trial_result_close(&result);
}

Test(reply_rules, damaged_images_are_those_of_all_loaders)
{
    begin(false, false);
    result.bad_images = 4 * 2048;
    obey("4 loaders");
    request.workload.world_size = 1;
    broken_rule("bad_images is more than images");
    rue_trial_result_close(&result);
}
