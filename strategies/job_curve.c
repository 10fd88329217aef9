#include "job_curve.h"

#include <math.h>

#include "job_time.h"

static const double growth = 1.25; /* of the number of batches, from point to point, once they are many */

static void add_point(struct rue_job_curve *curve, double batches, double ready_ns)
{
    if (curve->count == RUE_JOB_CURVE_POINTS) return;
    if (curve->count > 0 && ready_ns < curve->ready_ns[curve->count - 1])
        ready_ns = curve->ready_ns[curve->count - 1];
    curve->batches[curve->count] = batches;
    curve->ready_ns[curve->count++] = ready_ns;
}

static void add_deliveries(struct rue_job_curve *curve, const struct rue_trial_result *result, double whole)
{
    size_t told = result->ready_count;
    for (size_t i = 0; i + 1 < told && curve->count + 1 < RUE_JOB_CURVE_POINTS;) {
        add_point(curve, (double)(i + 1), (double)result->batch_ready_ns[i]);
        size_t next = (size_t)((double)(i + 1) * growth);
        i = next > i + 1 ? next : i + 1;
    }
    double last = fmin((double)told, whole);
    add_point(curve, last, (double)result->batch_ready_ns[told - 1]);
}

/* Of an image in the steady state. Without times of deliveries, or with too few of them, what the consumer
 * takes of the time between the first delivery and the last is spread evenly, the rest comes in volleys. A
 * trial of one volley tells but how long its loading took: no less than a later one. */
static double steady_ns(const struct rue_trial_result *result, double batches, double delivered_ns,
                        double compute_ns)
{
    const int *value = result->config.value;
    double stride = (double)rue_job_volley_batches(&result->config), batch = value[RUE_BATCH_SIZE];
    double window = (double)value[RUE_NUM_WORKERS] * value[RUE_PREFETCH_FACTOR];
    double first_ns = (double)result->first_batch_ns, between_ns = delivered_ns - first_ns;
    bool told = result->batch_ready_ns && (double)result->ready_count >= batches;
    if (told && batches > window + 2 * stride) return rue_job_steady_ns(result);
    double volleys = ceil(batches / stride) - 1;
    if (volleys < 1 || between_ns <= 0) return fmax(compute_ns, first_ns / fmin(stride, batches) / batch);
    double even = fmin(1, compute_ns * batch * (batches - 1) / between_ns);
    return between_ns / (even * (batches - 1) + (1 - even) * volleys * stride) / batch;
}

struct rue_job_curve rue_job_curve_of(const struct rue_trial_result *result)
{
    struct rue_job_curve curve = {.count = 0};
    int batch = result->config.value[RUE_BATCH_SIZE];
    if (result->end_to_end_ns == RUE_ABSENT || result->images <= 0 || batch <= 0) return curve;
    if (result->first_batch_ns == RUE_ABSENT || result->shutdown_ns == RUE_ABSENT) return curve;
    double images = (double)result->images, whole = images / batch;
    double last_images = images - (ceil(whole) - 1) * batch;
    double compute = result->compute_ns == RUE_ABSENT ? 0 : (double)result->compute_ns;
    double consumed = compute / images * last_images;
    double delivered = (double)result->end_to_end_ns - (double)result->shutdown_ns - consumed;
    curve.batch_images = batch;
    curve.shutdown_ns = (double)result->shutdown_ns;
    curve.steady_image_ns = steady_ns(result, ceil(whole), delivered, compute / images);
    if (result->batch_ready_ns && (double)result->ready_count >= whole) {
        add_deliveries(&curve, result, whole);
        consumed = (double)result->end_to_end_ns - curve.shutdown_ns - curve.ready_ns[curve.count - 1];
    } else {
        add_point(&curve, fmin(1, whole), (double)result->first_batch_ns);
        if (whole > 1) add_point(&curve, whole, delivered);
    }
    curve.consumed_image_ns = fmax(0, consumed) / last_images;
    return curve;
}

static double ready_ns(const struct rue_job_curve *curve, double batches)
{
    size_t last = curve->count - 1;
    if (batches <= curve->batches[0]) return curve->ready_ns[0];
    if (batches > curve->batches[last])
        return curve->ready_ns[last] +
               (batches - curve->batches[last]) * curve->batch_images * curve->steady_image_ns;
    size_t at = 1;
    while (curve->batches[at] < batches) at++;
    double share = (batches - curve->batches[at - 1]) / (curve->batches[at] - curve->batches[at - 1]);
    return curve->ready_ns[at - 1] + share * (curve->ready_ns[at] - curve->ready_ns[at - 1]);
}

double rue_job_curve_ns(const struct rue_job_curve *curve, uint64_t images)
{
    if (curve->count == 0) return NAN;
    double batches = (double)images / curve->batch_images;
    double last_images = (double)images - (ceil(batches) - 1) * curve->batch_images;
    return ready_ns(curve, batches) + last_images * curve->consumed_image_ns + curve->shutdown_ns;
}
