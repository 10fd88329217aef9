#include "reply_rules.h"

#include "units.h"

/* More CPUs than any machine, or group of machines that answers as one runner, has. */
enum { CPU_RATIO_MAX = 1 << 16 };

static int64_t batch_size(const struct rue_trial_request *request)
{
    return request->config.value[RUE_BATCH_SIZE];
}

static bool is_compute(const struct rue_trial_request *request)
{
    return request->measure == RUE_COMPUTE;
}

/* The most images that an honest trial runs: it may run its last batch to the end. */
static uint64_t images_asked(const struct rue_trial_request *request)
{
    uint64_t batch = (uint64_t)batch_size(request), images = request->images;
    if (is_compute(request)) return batch * (request->batches ? request->batches : 1);
    return (images + batch - 1) / batch * batch;
}

/* The time that was asked about. */
static int64_t own_time_ns(const struct rue_trial_request *request, const struct rue_trial_result *result)
{
    return is_compute(request) ? result->compute_ns : result->end_to_end_ns;
}

static uint64_t images_most(const struct rue_trial_request *request, const struct rue_trial_result *result)
{
    return result->images == RUE_ABSENT ? images_asked(request) : (uint64_t)result->images;
}

/* Damaged images of all loaders of the trial are counted, images those of one. Loaders run ahead of what a
 * trial that failed has consumed. */
static bool holds_bad_images(const struct rue_trial_request *request, const struct rue_trial_result *result)
{
    uint64_t loaders = request->workload.world_size > 1 ? (uint64_t)request->workload.world_size : 1;
    bool all = result->outcome == RUE_TRIAL_OK;
    uint64_t images = all ? (uint64_t)result->images : images_asked(request);
    return result->bad_images == RUE_ABSENT || (uint64_t)result->bad_images / loaders <= images;
}

static int64_t or_0(int64_t value)
{
    return value == RUE_ABSENT ? 0 : value;
}

/* Clocks are read one after the other, and runners may round: 1 % and 1 us more are not a lie. */
static bool fits(double ns, int64_t limit_ns)
{
    return limit_ns == RUE_ABSENT || ns <= 1.01 * (double)limit_ns + RUE_NS_PER_US;
}

static bool fits_field(int64_t ns, int64_t limit_ns)
{
    return fits((double)or_0(ns), limit_ns);
}

static double sum(const uint64_t *times, size_t count)
{
    double all = 0;
    for (size_t i = 0; i < count; i++) all += (double)times[i];
    return all;
}

static bool is_sorted(const uint64_t *times, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (times[i] < times[i - 1]) return false;
    return true;
}

/* A list of times may be left out. */
static bool is_one_each(size_t count, const struct rue_trial_result *result)
{
    return count == 0 || (int64_t)count == result->batches;
}

static double last(const uint64_t *times, size_t count)
{
    return count ? (double)times[count - 1] : 0;
}

static bool is_flag(int64_t value)
{
    return value == RUE_ABSENT || value == 0 || value == 1;
}

/* X(name, whether the reply `r` to `q` obeys, what is wrong where it does not). The first one that is broken
 * is named, so those that others build on come first. h2d_ns has none: copies may overlap each other. */
#define RULES(X)                                                                                             \
    X(has_images, r->outcome != RUE_TRIAL_OK || r->images > 0, "images is missing or 0")                     \
    X(has_time,                                                                                              \
      r->outcome != RUE_TRIAL_OK || own_time_ns(q, r) > 0 || (is_compute(q) && own_time_ns(q, r) == 0),      \
      "the trial's time, end_to_end_ns or compute_ns, is missing or 0")                                      \
    X(images_asked, r->images == RUE_ABSENT || (uint64_t)r->images <= images_asked(q),                       \
      "images is more than was asked for")                                                                   \
    X(batches_have_images, r->batches == RUE_ABSENT || (uint64_t)r->batches <= images_most(q, r),            \
      "batches is more than images")                                                                         \
    X(batches_hold_images,                                                                                   \
      r->images == RUE_ABSENT || r->batches == RUE_ABSENT ||                                                 \
          (r->images + batch_size(q) - 1) / batch_size(q) <= r->batches,                                     \
      "images is more than its batches can hold")                                                            \
    X(first_batch, fits_field(r->first_batch_ns, r->end_to_end_ns),                                          \
      "first_batch_ns is more than end_to_end_ns")                                                           \
    X(parts,                                                                                                 \
      fits((double)or_0(r->load_wait_ns) + (double)or_0(r->compute_ns) + (double)or_0(r->shutdown_ns),       \
           r->end_to_end_ns),                                                                                \
      "load_wait_ns, compute_ns and shutdown_ns sum to more than end_to_end_ns")                             \
    X(device, fits_field(r->device_ns, r->end_to_end_ns), "device_ns is more than end_to_end_ns")            \
    X(overshoot, is_compute(q) || fits_field(r->sleep_overshoot_ns, r->end_to_end_ns),                       \
      "sleep_overshoot_ns is more than end_to_end_ns")                                                       \
    X(cpu_ratio, !(r->cpu_ratio > CPU_RATIO_MAX), "cpu_ratio is more than 65,536 CPUs")                      \
    X(bad_images, holds_bad_images(q, r), "bad_images is more than images")                                  \
    X(flags, is_flag(r->cache_missed) && is_flag(r->refused), "cache_missed or refused is neither 0 nor 1")  \
    X(list_sizes,                                                                                            \
      is_one_each(r->ready_count, r) && is_one_each(r->load_count, r) && is_one_each(r->compute_count, r),   \
      "a list of times does not have one time a batch")                                                      \
    X(ready_sorted, is_sorted(r->batch_ready_ns, r->ready_count), "batch_ready_ns runs backwards")           \
    X(ready_inside, fits(last(r->batch_ready_ns, r->ready_count), r->end_to_end_ns),                         \
      "batch_ready_ns is later than end_to_end_ns")                                                          \
    X(compute_sum, fits(sum(r->batch_compute_ns, r->compute_count), r->compute_ns),                          \
      "batch_compute_ns sums to more than compute_ns")                                                       \
    X(load_sum,                                                                                              \
      fits(sum(r->batch_load_ns, r->load_count) / (q->config.value[RUE_NUM_WORKERS] + 1), r->end_to_end_ns), \
      "batch_load_ns sums to more than all workers had")

#define X(name, condition, text)                                                                 \
    static bool rule_##name(const struct rue_trial_request *q, const struct rue_trial_result *r) \
    {                                                                                            \
        (void)q, (void)r;                                                                        \
        return condition;                                                                        \
    }
RULES(X)
#undef X

const struct rue_reply_rule rue_reply_rules[] = {
#define X(name, condition, text) {rule_##name, text},
    RULES(X)
#undef X
};
const size_t rue_reply_rule_count = sizeof rue_reply_rules / sizeof *rue_reply_rules;

const struct rue_reply_rule *rue_reply_rules_broken(const struct rue_trial_request *request,
                                                    const struct rue_trial_result *result)
{
    for (size_t i = 0; i < rue_reply_rule_count; i++)
        if (!rue_reply_rules[i].holds(request, result)) return &rue_reply_rules[i];
    return NULL;
}
