#include "trial_merge.h"

#include <math.h>
#include <string.h>

/* X(field): integers to sum. */
#define SUMS(X) X(anon_peak_bytes) X(read_bytes) X(bad_images) X(data_bytes)
/* X(field): integers to maximise. */
#define PEAKS(X) X(file_peak_bytes) X(warmup_ns) X(cost_ns) X(cache_missed) X(refused)

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t rue_trial_sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (a == RUE_ABSENT || b == RUE_ABSENT) return RUE_ABSENT;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* Each value of a reply is valid, but a row of the store cannot hold every sum of them. */
static void check_sums(struct rue_trial_result *merged)
{
    const char *wrong = NULL;
#define X(field) \
    if (merged->field > RUE_TRIAL_FIELD_MAX) wrong = #field;
    SUMS(X)
#undef X
    if (wrong)
        rue_trial_result_fail(merged, "the sum of %s of all loaders is more than 2^58, which cannot be true",
                              wrong);
}

static int64_t measured_ns(const struct rue_trial_result *result)
{
    return result->end_to_end_ns != RUE_ABSENT ? result->end_to_end_ns : result->compute_ns;
}

struct rue_trial_result rue_trial_merge(struct rue_trial_result *results, size_t count)
{
    size_t slowest = 0;
    for (size_t i = 1; i < count; i++)
        if (measured_ns(&results[i]) > measured_ns(&results[slowest])) slowest = i;
    struct rue_trial_result merged = results[slowest];
    for (size_t i = 0; i < count; i++) {
        if (i == slowest) continue;
        const struct rue_trial_result *other = &results[i];
#define X(field) merged.field = rue_trial_sum(merged.field, other->field);
        SUMS(X)
#undef X
#define X(field) merged.field = larger(merged.field, other->field);
        PEAKS(X)
#undef X
        merged.cpu_ratio += other->cpu_ratio;
        merged.cpu_idle_ratio = merged.cpu_stolen_ratio = merged.cpu_waited_ratio = NAN; /* of each machine */
        if (!strstr(merged.reason, other->reason)) rue_trial_result_add_reason(&merged, other->reason);
        rue_trial_result_close(&results[i]);
    }
    check_sums(&merged);
    return merged;
}
