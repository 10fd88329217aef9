#include "trial_reply.h"

#include <stdio.h>
#include <stdlib.h>

#include "json_fields.h"
#include "protocol.h"
#include "units.h"

/* ---- what must hold between the fields ---- */

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
static uint64_t images_requested(const struct rue_trial_request *request)
{
    uint64_t batch = (uint64_t)batch_size(request), images = request->images;
    if (is_compute(request)) return batch * (request->batches ? request->batches : 1);
    return (images + batch - 1) / batch * batch;
}

/* The time that was asked about. */
static int64_t measured_ns(const struct rue_trial_request *request, const struct rue_trial_result *result)
{
    return is_compute(request) ? result->compute_ns : result->end_to_end_ns;
}

/* Damaged images of all loaders of the trial are counted, images those of one. Loaders run ahead of what a
 * trial that failed has consumed. */
static bool bad_images_fit(const struct rue_trial_request *request, const struct rue_trial_result *result)
{
    uint64_t loaders = request->workload.world_size > 1 ? (uint64_t)request->workload.world_size : 1;
    bool all = result->outcome == RUE_TRIAL_OK;
    uint64_t images = all ? (uint64_t)result->images : images_requested(request);
    return result->bad_images == RUE_ABSENT || (uint64_t)result->bad_images / loaders <= images;
}

static int64_t reported_or_0(int64_t value)
{
    return value == RUE_ABSENT ? 0 : value;
}

/* Clocks are read one after the other, and runners may round: 1 % and 1 us more are not a lie. */
static bool fits(double ns, int64_t limit_ns)
{
    return limit_ns == RUE_ABSENT || ns <= 1.01 * (double)limit_ns + RUE_NS_PER_US;
}

static double sum_times(const uint64_t *times, size_t count)
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

static double last_time(const uint64_t *times, size_t count)
{
    return count ? (double)times[count - 1] : 0;
}

static bool is_flag(int64_t value)
{
    return value == RUE_ABSENT || value == 0 || value == 1;
}

/* Those that others build on come first. h2d_ns has none: copies may overlap each other. */
static const char *find_count_fault(const struct rue_trial_request *q, const struct rue_trial_result *r)
{
    bool ok = r->outcome == RUE_TRIAL_OK;
    int64_t batch = batch_size(q);
    uint64_t requested = images_requested(q),
             most = r->images == RUE_ABSENT ? requested : (uint64_t)r->images;
    if (ok && r->images <= 0) return "images is missing or 0";
    if (ok && (measured_ns(q, r) < 0 || (measured_ns(q, r) == 0 && !is_compute(q))))
        return "the trial's time, end_to_end_ns or compute_ns, is missing or 0";
    if (r->images != RUE_ABSENT && (uint64_t)r->images > requested)
        return "images is more than the request asked for";
    if (r->batches != RUE_ABSENT && (uint64_t)r->batches > most) return "batches is more than images";
    if (r->images != RUE_ABSENT && r->batches != RUE_ABSENT && (r->images + batch - 1) / batch > r->batches)
        return "images is more than its batches can hold";
    if (!bad_images_fit(q, r)) return "bad_images is more than images";
    if (!is_flag(r->cache_missed) || !is_flag(r->refused))
        return "cache_missed or refused is neither 0 nor 1";
    return NULL;
}

static const char *find_time_fault(const struct rue_trial_request *q, const struct rue_trial_result *r)
{
    double parts = (double)reported_or_0(r->load_wait_ns) + (double)reported_or_0(r->compute_ns) +
                   (double)reported_or_0(r->shutdown_ns);
    if (!fits((double)reported_or_0(r->first_batch_ns), r->end_to_end_ns))
        return "first_batch_ns is more than end_to_end_ns";
    if (!fits(parts, r->end_to_end_ns))
        return "load_wait_ns, compute_ns and shutdown_ns exceed end_to_end_ns in sum";
    if (!fits((double)reported_or_0(r->device_ns), r->end_to_end_ns))
        return "device_ns is more than end_to_end_ns";
    if (!is_compute(q) && !fits((double)reported_or_0(r->sleep_overshoot_ns), r->end_to_end_ns))
        return "sleep_overshoot_ns is more than end_to_end_ns";
    if (r->cpu_ratio > CPU_RATIO_MAX) return "cpu_ratio is more than 65,536 CPUs";
    return NULL;
}

/* Lists may be left out. */
static const char *find_list_fault(const struct rue_trial_request *q, const struct rue_trial_result *r)
{
    const size_t counts[] = {r->ready_count, r->load_count, r->compute_count};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] && (int64_t)counts[i] != r->batches)
            return "a list of times does not have one time a batch";
    if (!is_sorted(r->batch_ready_ns, r->ready_count)) return "batch_ready_ns runs backwards";
    if (!fits(last_time(r->batch_ready_ns, r->ready_count), r->end_to_end_ns))
        return "batch_ready_ns is later than end_to_end_ns";
    if (!fits(sum_times(r->batch_compute_ns, r->compute_count), r->compute_ns))
        return "batch_compute_ns sums to more than compute_ns";
    if (!fits(sum_times(r->batch_load_ns, r->load_count) / (q->config.value[RUE_NUM_WORKERS] + 1),
              r->end_to_end_ns))
        return "batch_load_ns sums to more than the time of all workers";
    return NULL;
}

const char *rue_trial_reply_fault(const struct rue_trial_request *request,
                                  const struct rue_trial_result *result)
{
    const char *fault = find_count_fault(request, result);
    if (!fault) fault = find_time_fault(request, result);
    return fault ? fault : find_list_fault(request, result);
}

/* ---- decoding ---- */

/* It ran what was asked for. */
static bool check_config(const json_t *reply, const struct rue_trial_request *request,
                         const struct rue_trial_result *result, rue_error *error)
{
    char requested[RUE_CONFIG_TEXT_BYTES], ran[RUE_CONFIG_TEXT_BYTES];
    bool reported = json_object_get(reply, "config");
    if (result->outcome != RUE_TRIAL_OK || request->measure == RUE_COMPUTE) return true;
    if (reported && rue_config_equal(&request->config, &result->config)) return true;
    rue_config_canonical(&request->config, requested);
    rue_config_canonical(&result->config, ran);
    if (reported)
        rue_fail(error, RUE_RUNNER, "it ran %s instead of %s", ran, requested);
    else
        rue_fail(error, RUE_RUNNER, "it does not say which configuration ran");
    return false;
}

enum { COMPUTE_AT = offsetof(struct rue_trial_result, batch_compute_ns) };

static bool decode_result(const json_t *reply, const struct rue_trial_request *request,
                          struct rue_trial_result *out, rue_error *error)
{
    struct rue_json_reader reader = {
        .fault = RUE_RUNNER, .error = error, .knobs = rue_config_knobs(&request->config)};
    rue_json_read_fields(&reader, reply, rue_protocol_result_fields, out);
    /* Some runners send times of batches always. */
    for (const struct rue_field *times = rue_protocol_times_fields; times->name; times++)
        if (request->detail || (is_compute(request) && times->offset == COMPUTE_AT))
            rue_json_read_field(&reader, reply, times, out);
    /* An ok trial may have something to say as well: which damaged image was replaced, for one. */
    const char *reason = json_string_value(json_object_get(reply, "reason"));
    if (!reason) reason = out->outcome == RUE_TRIAL_OK ? "" : "no reason given";
    rue_error_shorten(reason, out->reason, sizeof out->reason);
    return reader.status == RUE_OK && check_config(reply, request, out, error);
}

void rue_trial_reply_decode(const json_t *reply, const struct rue_trial_request *request,
                            struct rue_trial_result *out)
{
    rue_error error = {0};
    const char *fault = NULL;
    const struct rue_trial_result empty = rue_trial_result_empty();
    bool spent = json_is_true(json_object_get(reply, "spent"));
    *out = empty;
    out->config = request->config;
    bool good = decode_result(reply, request, out, &error) && !(fault = rue_trial_reply_fault(request, out));
    if (!good) {
        rue_trial_result_close(out);
        *out = empty;
        out->config = request->config;
        snprintf(out->reason, sizeof out->reason, "the runner's reply is wrong: %.400s",
                 fault ? fault : error.message);
    }
    if (out->ready_count > RUE_BATCH_TIMES_MAX || out->compute_count > RUE_BATCH_TIMES_MAX ||
        out->load_count > RUE_BATCH_TIMES_MAX)
        rue_trial_result_close(out);
    out->spent = spent;
}
