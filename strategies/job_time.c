#include "job_time.h"

#include <math.h>

/* A truncated trial and the job it stands for, in batches. */
struct extent {
    const struct rue_trial_result *result;
    uint64_t images;  /* n */
    uint64_t batch;   /* b */
    uint64_t batches; /* N */
    uint64_t stride;  /* W */
    uint64_t more;    /* batches that the job has more */
    double lacking;   /* m */
};

static uint64_t batches_of(uint64_t images, uint64_t batch)
{
    return images / batch + (images % batch != 0);
}

static struct extent measure_extent(const struct rue_trial_result *result, uint64_t job_images)
{
    const int *value = result->config.value;
    struct extent extent = {.result = result, .images = (uint64_t)result->images};
    extent.batch = value[RUE_BATCH_SIZE] > 0 ? (uint64_t)value[RUE_BATCH_SIZE] : 1;
    extent.stride = rue_job_volley_batches(&result->config);
    extent.batches = batches_of(extent.images, extent.batch);
    extent.more = batches_of(job_images, extent.batch) - extent.batches;
    extent.lacking = (double)(extent.images + extent.more * extent.batch) - (double)job_images;
    return extent;
}

/* Unsigned offsets of a runner may come in any order. */
static double between(const struct rue_trial_result *result, uint64_t from, uint64_t to)
{
    return (double)result->batch_ready_ns[to] - (double)result->batch_ready_ns[from];
}

/* The mean time of the first `part` batches after the point of a volley where the trial ended, from the
 * middle first..last of the trial. */
static double part_of_volley(const struct extent *extent, uint64_t first, uint64_t last, uint64_t part,
                             double volley)
{
    uint64_t stride = extent->stride, count = 0;
    uint64_t phase = (extent->batches - 1) % stride;
    double sum = 0;
    for (uint64_t k = first + (phase + stride - first % stride) % stride; k + part <= last;
         k += stride, count++)
        sum += between(extent->result, k, k + part);
    return count ? sum / (double)count : volley * (double)part / (double)stride;
}

/* The middle of a trial's deliveries: batches first .. end - 1, and what a volley of it takes; NaN when there
 * is no middle. */
struct middle {
    uint64_t first, end;
    double volley;
};

static struct middle find_middle(const struct extent *extent)
{
    const struct rue_trial_result *result = extent->result;
    const int *value = result->config.value;
    uint64_t stride = extent->stride;
    struct middle middle = {.volley = NAN};
    middle.first = (uint64_t)value[RUE_NUM_WORKERS] * (uint64_t)value[RUE_PREFETCH_FACTOR];
    middle.end = extent->batches > stride ? extent->batches - stride : 0;
    if (middle.end > result->ready_count) middle.end = result->ready_count;
    if (!result->batch_ready_ns || middle.end < middle.first + stride + 1) return middle;
    uint64_t volleys = (middle.end - 1 - middle.first) / stride;
    double volley = between(result, middle.first, middle.first + volleys * stride) / (double)volleys;
    if (volley > 0) middle.volley = volley;
    return middle;
}

/* The time of what the job has more than the trial, from the middle of its deliveries; NaN when there is
 * none. */
static double more_by_volleys(const struct extent *extent)
{
    struct middle middle = find_middle(extent);
    uint64_t stride = extent->stride, first = middle.first, end = middle.end;
    double volley = middle.volley;
    if (isnan(volley)) return NAN;
    uint64_t whole = extent->more / stride, part = extent->more % stride;
    double more = (double)whole * volley + part_of_volley(extent, first, end - 1, part, volley);
    uint64_t upto = part > 0 ? part : stride;
    double last = part_of_volley(extent, first, end - 1, upto, volley) -
                  part_of_volley(extent, first, end - 1, upto - 1, volley);
    return more - fmax(0, last) * extent->lacking / (double)extent->batch;
}

/* Of an image, where there is no middle: between the first delivery and the last, what the consumer takes is
 * spread evenly, the rest comes in volleys. */
static double spread_ns(const struct extent *extent)
{
    const struct rue_trial_result *result = extent->result;
    double batches = (double)extent->batches, batch = (double)extent->batch, stride = (double)extent->stride;
    if (extent->batches < 2 || result->first_batch_ns == RUE_ABSENT || result->shutdown_ns == RUE_ABSENT)
        return NAN;
    double compute_ns = result->compute_ns == RUE_ABSENT ? 0 : (double)result->compute_ns;
    double image_ns = compute_ns / (double)extent->images, first_ns = (double)result->first_batch_ns;
    double last = (double)extent->images - (batches - 1) * batch, volleys = ceil(batches / stride) - 1;
    double delivering_ns =
        (double)result->end_to_end_ns - first_ns - (double)result->shutdown_ns - image_ns * last;
    if (delivering_ns < 0) return NAN;
    if (volleys < 1) return fmax(image_ns, first_ns / batches / batch);
    double even = compute_ns > 0 ? fmin(1, image_ns * batch * (batches - 1) / delivering_ns) : 1;
    return delivering_ns / (even * (batches - 1) + (1 - even) * volleys * stride) / batch;
}

double rue_job_steady_ns(const struct rue_trial_result *result)
{
    if (result->end_to_end_ns == RUE_ABSENT || result->images == RUE_ABSENT || result->images <= 0)
        return NAN;
    struct extent extent = measure_extent(result, (uint64_t)result->images);
    double volley = find_middle(&extent).volley;
    return isnan(volley) ? spread_ns(&extent) : volley / (double)(extent.stride * extent.batch);
}

double rue_job_time_ns(const struct rue_trial_result *result, uint64_t job_images, bool drop_last,
                       bool *predicted)
{
    *predicted = false;
    if (result->end_to_end_ns == RUE_ABSENT || result->images == RUE_ABSENT || result->images <= 0)
        return NAN;
    int batch = result->config.value[RUE_BATCH_SIZE];
    if (drop_last && batch > 0) job_images -= job_images % (uint64_t)batch;
    if ((uint64_t)result->images >= job_images) return (double)result->end_to_end_ns;
    *predicted = true;
    struct extent extent = measure_extent(result, job_images);
    double more = more_by_volleys(&extent);
    if (isnan(more)) more = spread_ns(&extent) * (double)(job_images - extent.images);
    return (double)result->end_to_end_ns + more;
}

struct rue_job_line rue_job_line_of(const struct rue_trial_result *result)
{
    double batch = result->config.value[RUE_BATCH_SIZE], images = (double)result->images;
    bool known = result->first_batch_ns != RUE_ABSENT && result->shutdown_ns != RUE_ABSENT;
    if (result->end_to_end_ns == RUE_ABSENT || images <= 0 || batch <= 0 || !known)
        return (struct rue_job_line){0};
    double first_ns = (double)result->first_batch_ns;
    struct rue_job_line line = {.images = images,
                                .end_ns = (double)result->end_to_end_ns,
                                .steady_image_ns = rue_job_steady_ns(result),
                                .least_ns = first_ns + (double)result->shutdown_ns,
                                .first_images = fmin(batch, images)};
    if (result->compute_ns != RUE_ABSENT) line.compute_image_ns = (double)result->compute_ns / images;
    if (isnan(line.steady_image_ns))
        line.steady_image_ns = fmax(line.compute_image_ns, first_ns / line.first_images);
    return line;
}

double rue_job_line_ns(const struct rue_job_line *line, uint64_t images)
{
    double first_ns = line->least_ns + fmin((double)images, line->first_images) * line->compute_image_ns;
    double end_ns = line->end_ns + ((double)images - line->images) * line->steady_image_ns;
    return line->images > 0 ? fmax(first_ns, end_ns) : NAN;
}

uint64_t rue_job_volley_batches(const struct rue_config *config)
{
    const int *value = config->value;
    bool whole_batches = value[RUE_PARALLELISM] == RUE_PARALLEL_BATCH && value[RUE_NUM_WORKERS] > 1;
    return whole_batches ? (uint64_t)value[RUE_NUM_WORKERS] : 1;
}

uint64_t rue_job_floor_images(const struct rue_config *config, uint64_t job_images)
{
    const int *value = config->value;
    uint64_t batches = 4 * (uint64_t)value[RUE_NUM_WORKERS] * (uint64_t)value[RUE_PREFETCH_FACTOR];
    uint64_t images = (batches > 8 ? batches : 8) * (uint64_t)value[RUE_BATCH_SIZE];
    return images < job_images ? images : job_images;
}
