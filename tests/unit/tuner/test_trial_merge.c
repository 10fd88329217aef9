#include "trial_merge.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct rue_trial_result make_result(int64_t end_to_end_ns, int64_t bytes)
{
    struct rue_trial_result result = rue_trial_result_empty();
    result.outcome = RUE_TRIAL_OK;
    result.end_to_end_ns = end_to_end_ns;
    result.first_batch_ns = end_to_end_ns / 10;
    result.images = 100;
    result.read_bytes = result.anon_peak_bytes = bytes;
    result.file_peak_bytes = result.warmup_ns = bytes;
    result.cpu_ratio = result.cpu_idle_ratio = 0.5;
    result.ready_count = 1;
    result.batch_ready_ns = malloc(sizeof *result.batch_ready_ns);
    result.batch_ready_ns[0] = (uint64_t)end_to_end_ns;
    return result;
}

Test(trial_merge, times_are_the_slowest_and_usage_is_summed)
{
    struct rue_trial_result results[] = {make_result(100, 1), make_result(300, 20), make_result(200, 300)};
    struct rue_trial_result merged = rue_trial_merge(results, 3);
    cr_assert_eq(merged.outcome, RUE_TRIAL_OK);
    cr_assert(merged.end_to_end_ns == 300 && merged.first_batch_ns == 30);
    cr_assert_eq(merged.images, 100);
    cr_assert(merged.read_bytes == 321 && merged.anon_peak_bytes == 321);
    cr_assert(merged.file_peak_bytes == 300 && merged.warmup_ns == 300, "mapped files are shared");
    cr_assert_float_eq(merged.cpu_ratio, 1.5, 1e-12);
    cr_assert(isnan(merged.cpu_idle_ratio), "the idle CPUs of one machine say nothing of the others");
    cr_assert_eq(merged.batch_ready_ns[0], 300);
    rue_trial_result_close(&merged);
}

Test(trial_merge, the_slowest_model_counts_where_nothing_is_loaded)
{
    struct rue_trial_result results[] = {make_result(RUE_ABSENT, 1), make_result(RUE_ABSENT, 2)};
    results[0].compute_ns = 5, results[1].compute_ns = 7;
    struct rue_trial_result merged = rue_trial_merge(results, 2);
    cr_assert(merged.compute_ns == 7 && merged.read_bytes == 3);
    rue_trial_result_close(&merged);
}

Test(trial_merge, a_value_missing_in_one_reply_is_unknown)
{
    struct rue_trial_result results[] = {make_result(100, 1), make_result(300, 20)};
    results[0].data_bytes = 5;
    results[0].bad_images = results[1].bad_images = 2;
    results[0].cache_missed = 1, results[1].cache_missed = 0;
    results[0].cpu_ratio = NAN;
    strcpy(results[0].reason, "replaced 2 damaged images");
    struct rue_trial_result merged = rue_trial_merge(results, 2);
    cr_assert_eq(merged.data_bytes, RUE_ABSENT);
    cr_assert_eq(merged.bad_images, 4);
    cr_assert_eq(merged.cache_missed, 1);
    cr_assert_eq(merged.cost_ns, RUE_ABSENT);
    cr_assert(isnan(merged.cpu_ratio));
    cr_assert_str_eq(merged.reason, "replaced 2 damaged images");
    rue_trial_result_close(&merged);
}

Test(trial_merge, notes_of_several_runners_are_said_once_each)
{
    struct rue_trial_result results[] = {make_result(100, 1), make_result(300, 20), make_result(200, 300)};
    strcpy(results[0].reason, "a.jpg was replaced");
    strcpy(results[1].reason, "b.jpg was replaced");
    strcpy(results[2].reason, "a.jpg was replaced");
    struct rue_trial_result merged = rue_trial_merge(results, 3);
    cr_assert_str_eq(merged.reason, "b.jpg was replaced; a.jpg was replaced");
    rue_trial_result_close(&merged);
}

Test(trial_merge, a_sum_that_no_row_can_hold_is_a_failed_trial)
{
    enum { MEMBERS = 70 };
    struct rue_trial_result results[MEMBERS];
    for (int i = 0; i < MEMBERS; i++) results[i] = make_result(100 + i, RUE_TRIAL_FIELD_MAX);
    results[0].ranks = strdup("[]");
    struct rue_trial_result merged = rue_trial_merge(results, MEMBERS);
    cr_assert_eq(merged.outcome, RUE_TRIAL_FAILED);
    cr_assert(strstr(merged.reason, "the sum of read_bytes of all loaders"), "%s", merged.reason);
    cr_assert(merged.read_bytes == RUE_ABSENT && !merged.batch_ready_ns && isnan(merged.cpu_ratio));
    rue_trial_result_close(&merged);
}

Test(trial_merge, the_largest_sum_is_kept)
{
    struct rue_trial_result results[] = {make_result(100, RUE_TRIAL_FIELD_MAX - 7), make_result(300, 7)};
    struct rue_trial_result merged = rue_trial_merge(results, 2);
    cr_assert(merged.outcome == RUE_TRIAL_OK && merged.read_bytes == RUE_TRIAL_FIELD_MAX, "%s",
              merged.reason);
    rue_trial_result_close(&merged);
    cr_assert_eq(rue_trial_sum(INT64_MAX, 1), INT64_MAX);
    cr_assert_eq(rue_trial_sum(RUE_ABSENT, INT64_MAX), RUE_ABSENT);
}
