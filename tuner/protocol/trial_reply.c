#include "trial_reply.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_fields.h"
#include "protocol.h"
#include "units.h"

/* More CPUs than any machine has, or any group of machines behind one runner. */
enum { CPU_RATIO_MAX = 1 << 16 };

static int64_t batch_size(const struct rue_trial_request *request)
{
    return request->config.value[RUE_BATCH_SIZE];
}

static bool is_compute(const struct rue_trial_request *request)
{
    return request->measure == RUE_COMPUTE;
}

/* The largest number of images that a trial may consume: it may finish its last batch. A model alone may be
 * measured on more batches than requested. */
static uint64_t images_requested(const struct rue_trial_request *request)
{
    uint64_t batch = (uint64_t)batch_size(request), images = request->images;
    return is_compute(request) ? RUE_TRIAL_FIELD_MAX : (images + batch - 1) / batch * batch;
}

static int64_t measured_ns(const struct rue_trial_request *request, const struct rue_trial_result *result)
{
    return is_compute(request) ? result->compute_ns : result->end_to_end_ns;
}

static int64_t reported_or_0(int64_t value)
{
    return value == RUE_ABSENT ? 0 : value;
}

static double sum_times(const uint64_t *times, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)times[i];
    return sum;
}

static double last_time(const uint64_t *times, size_t count)
{
    return count ? (double)times[count - 1] : 0;
}

/* `value` must not exceed `limit`; both are named for the message. */
struct limit_rule {
    const char *name;
    double value;
    const char *limit_name;
    double limit;
};

static rue_status fail_limit(const struct limit_rule *rule, rue_error *error)
{
    return rue_fail(error, RUE_RUNNER, "%s (%.0f) is more than %s (%.0f)", rule->name, rule->value,
                    rule->limit_name, rule->limit);
}

static rue_status check_present(const struct rue_trial_request *q, const struct rue_trial_result *r,
                                rue_error *error)
{
    bool has_time = measured_ns(q, r) > 0 || (is_compute(q) && r->compute_ns == 0);
    if (r->images <= 0) return rue_fail(error, RUE_RUNNER, "images is missing or 0");
    if (has_time) return RUE_OK;
    return rue_fail(error, RUE_RUNNER, "%s",
                    is_compute(q) ? "compute_ns is missing" : "end_to_end_ns is missing or 0");
}

static rue_status check_flag(const char *name, int64_t value, rue_error *error)
{
    if (value == RUE_ABSENT || value == 0 || value == 1) return RUE_OK;
    return rue_fail(error, RUE_RUNNER, "%s is %" PRId64 ", but must be 0 or 1", name, value);
}

static rue_status check_counts(const struct rue_trial_request *q, const struct rue_trial_result *r,
                               rue_error *error)
{
    uint64_t requested = images_requested(q);
    double images = (double)(r->images == RUE_ABSENT ? requested : (uint64_t)r->images);
    double loaders = (double)rue_workload_loaders(&q->workload);
    double batches = r->batches == RUE_ABSENT ? INFINITY : (double)r->batches;
    bool any_size =
        strcmp(q->variant.format, "loader") == 0; /* a loader of the user's, see docs/protocol.md */
    double capacity = any_size ? INFINITY : batches * (double)batch_size(q);
    /* bad_images counts all loaders, images only one, whose share may be 1 image smaller than another's. The
     * loaders of a failed trial have read more than it consumed. */
    double most_bad = loaders * (r->outcome == RUE_TRIAL_OK ? images : (double)requested) + loaders - 1;
    const struct limit_rule rules[] = {
        {"images", (double)r->images, "the images requested", (double)requested},
        {"batches", (double)r->batches, "images", images},
        {"images", (double)r->images, "batches x batch_size", capacity},
        {"the sum of batch_images", sum_times(r->batch_images, r->images_count), "images", images},
        {"queue_waits", (double)r->queue_waits, "batches", batches},
        {"queue_empty_batch", (double)r->queue_empty_batch, "batches", batches},
        {"queue_fills", (double)r->queue_fills, "batches", batches},
        {"bad_images", (double)r->bad_images, "the images of all loaders", most_bad},
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].value > rules[i].limit) return fail_limit(&rules[i], error);
    rue_status status = check_flag("cache_missed", r->cache_missed, error);
    return status == RUE_OK ? check_flag("refused", r->refused, error) : status;
}

/* Lists may be left out. */
static rue_status check_lists(const struct rue_trial_result *r, rue_error *error)
{
    static const char *const names[] = {
#define X(list, count, text) #list,
        RUE_TRIAL_LISTS(X)
#undef X
    };
    const size_t counts[] = {
#define X(list, count, text) r->count,
        RUE_TRIAL_LISTS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] && (int64_t)counts[i] != r->batches)
            return rue_fail(error, RUE_RUNNER, "%s has %zu values, but batches is %" PRId64, names[i],
                            counts[i], r->batches);
    for (size_t i = 1; i < r->ready_count; i++)
        if (r->batch_ready_ns[i] < r->batch_ready_ns[i - 1])
            return rue_fail(error, RUE_RUNNER, "batch_ready_ns[%zu] is less than the time before it", i);
    return RUE_OK;
}

/* h2d_ns has no limit: copies may overlap each other. */
static rue_status check_times(const struct rue_trial_request *q, const struct rue_trial_result *r,
                              rue_error *error)
{
    double parts = (double)reported_or_0(r->load_wait_ns) + (double)reported_or_0(r->compute_ns) +
                   (double)reported_or_0(r->shutdown_ns);
    double loaded = sum_times(r->batch_load_ns, r->load_count) / (q->config.value[RUE_NUM_WORKERS] + 1);
    double job = r->end_to_end_ns == RUE_ABSENT ? INFINITY : (double)r->end_to_end_ns;
    double compute = r->compute_ns == RUE_ABSENT ? INFINITY : (double)r->compute_ns;
    const struct limit_rule rules[] = {
        {"first_batch_ns", (double)r->first_batch_ns, "end_to_end_ns", job},
        {"load_wait_ns + compute_ns + shutdown_ns", parts, "end_to_end_ns", job},
        {"device_ns", (double)r->device_ns, "end_to_end_ns", job},
        {"sleep_overshoot_ns", is_compute(q) ? 0 : (double)r->sleep_overshoot_ns, "end_to_end_ns", job},
        {"the last of batch_ready_ns", last_time(r->batch_ready_ns, r->ready_count), "end_to_end_ns", job},
        {"the sum of batch_compute_ns", sum_times(r->batch_compute_ns, r->compute_count), "compute_ns",
         compute},
        {"the sum of batch_load_ns per worker", loaded, "end_to_end_ns", job},
    };
#define X(name, help)            \
    if (r->name > CPU_RATIO_MAX) \
        return rue_fail(error, RUE_RUNNER, #name " (%g) is more than %d", r->name, CPU_RATIO_MAX);
    RUE_TRIAL_REALS(X)
#undef X
    /* Clocks are read one after the other, and runners may round: 1 % and 1 us more are allowed. */
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].value > 1.01 * rules[i].limit + RUE_NS_PER_US) return fail_limit(&rules[i], error);
    return RUE_OK;
}

rue_status rue_trial_reply_check(const struct rue_trial_request *request,
                                 const struct rue_trial_result *result, rue_error *error)
{
    rue_status status = result->outcome == RUE_TRIAL_OK ? check_present(request, result, error) : RUE_OK;
    if (status == RUE_OK) status = check_counts(request, result, error);
    if (status == RUE_OK) status = check_lists(result, error);
    return status == RUE_OK ? check_times(request, result, error) : status;
}

static rue_status check_config(const json_t *reply, const struct rue_trial_request *request,
                               const struct rue_trial_result *result, rue_error *error)
{
    char requested[RUE_CONFIG_TEXT_BYTES], ran[RUE_CONFIG_TEXT_BYTES];
    if (result->outcome != RUE_TRIAL_OK || request->measure == RUE_COMPUTE) return RUE_OK;
    if (!json_object_get(reply, "config"))
        return rue_fail(error, RUE_RUNNER, "config is missing: it must be the configuration that ran");
    if (rue_config_equal(&request->config, &result->config)) return RUE_OK;
    rue_config_canonical(&request->config, requested);
    rue_config_canonical(&result->config, ran);
    return rue_fail(error, RUE_RUNNER, "config is %s instead of %s, as requested", ran, requested);
}

enum { COMPUTE_AT = offsetof(struct rue_trial_result, batch_compute_ns) };

static rue_status decode_result(const json_t *reply, const struct rue_trial_request *request,
                                struct rue_trial_result *out, rue_error *error)
{
    struct rue_json_reader reader = {
        .fault = RUE_RUNNER, .error = error, .knobs = rue_config_knobs(&request->config)};
    rue_json_read_fields(&reader, reply, rue_protocol_result_fields, out);
    /* Some runners always send the times of batches. */
    for (const struct rue_field *times = rue_protocol_times_fields; times->name; times++)
        if (request->detail || (is_compute(request) && times->offset == COMPUTE_AT))
            rue_json_read_field(&reader, reply, times, out);
    /* An ok trial may have a reason, too: which damaged image was replaced, for example. */
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    if (!reason && out->outcome != RUE_TRIAL_OK)
        snprintf(out->reason, sizeof out->reason, "the runner sent the status '%s' and no \"reason\"",
                 rue_outcome_names[out->outcome]);
    else
        rue_error_shorten(reason ? reason : "", out->reason, sizeof out->reason);
    return reader.status == RUE_OK ? check_config(reply, request, out, error) : reader.status;
}

void rue_trial_reply_decode(const json_t *reply, const struct rue_trial_request *request,
                            struct rue_trial_result *out)
{
    rue_error error = {0};
    bool spent = json_is_true(json_object_get(reply, "spent"));
    *out = rue_trial_result_empty();
    out->config = request->config;
    rue_status status = decode_result(reply, request, out, &error);
    if (status == RUE_OK) status = rue_trial_reply_check(request, out, &error);
    if (status != RUE_OK) {
        out->config = request->config;
        rue_trial_result_fail(out, "the runner's answer to 'trial' is wrong: %.400s", error.message);
    }
    bool too_long = false;
#define X(list, count, text) too_long |= out->count > RUE_BATCH_TIMES_MAX;
    RUE_TRIAL_LISTS(X)
#undef X
    if (too_long) rue_trial_result_close(out);
    out->spent = spent;
}
