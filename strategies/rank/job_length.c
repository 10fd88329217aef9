#include "job_length.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job_time.h"

enum { WAVES = 8, MIDDLE = RUE_JOB_INTERVALS_MAX / 2 };

static const double length_step = 1.19; /* ratio of neighbouring lengths */

/* The time of a cell for jobs longer than its reach. */
struct line {
    double reach_s, image_s; /* NaN: the configuration is not compared */
};

struct search {
    const struct rue_job_length_setup *setup;
    size_t models, configs;
    struct line *lines;                   /* [models * configs] */
    double *times;                        /* [configs] of one model, for a job of `images` */
    struct rue_regret_summary *summaries; /* [configs] for a job of `images` */
    uint64_t images;                      /* length that is evaluated */
    uint64_t shortest, longest;           /* range of lengths */
};

static uint64_t batch_images(const struct rue_job_length_setup *setup, size_t config)
{
    return rue_trial_batch(&setup->matrix->configs[config]);
}

/* Images of a wave (job_time.h). */
static uint64_t wave_images(const struct rue_job_length_setup *setup, size_t config)
{
    return rue_trial_wave_batches(&setup->matrix->configs[config]) * batch_images(setup, config);
}

/* For longer jobs, the time of the configuration is a line in the number of images. */
static uint64_t reach_images(const struct rue_job_length_setup *setup, size_t config)
{
    return setup->job_images + WAVES * wave_images(setup, config);
}

/* The line through the time of the longest job within reach and of one that is some waves shorter. Both are
 * longer than the job, so start-up is not part of the slope. */
static struct line line_beyond_reach(const struct rue_job_length_setup *setup, size_t model, size_t config)
{
    uint64_t reach = reach_images(setup, config), span = WAVES / 2 * wave_images(setup, config);
    double end_s = setup->time_s(setup->context, model, config, reach);
    double begin_s = setup->time_s(setup->context, model, config, reach - span);
    return (struct line){end_s, (end_s - begin_s) / (double)span};
}

/* NaN: the job is smaller than a batch, or its time is unknown. */
static double job_time_s(const struct search *search, size_t model, size_t config, uint64_t images)
{
    const struct rue_job_length_setup *setup = search->setup;
    const struct line *line = &search->lines[model * search->configs + config];
    if (isnan(line->reach_s) || batch_images(setup, config) > images) return NAN;
    uint64_t reach = reach_images(setup, config);
    double seconds = images <= reach ? setup->time_s(setup->context, model, config, images)
                                     : line->reach_s + (double)(images - reach) * line->image_s;
    return seconds > 0 && isfinite(seconds) ? seconds : NAN;
}

static double length_regret(const struct search *search, size_t config)
{
    return rue_regret_summary_value(&search->summaries[config], search->setup->selection->objective);
}

static double time_at_length(const void *context, size_t model, size_t config)
{
    const struct search *search = context;
    return job_time_s(search, model, config, search->images);
}

/* Sets `*best` to the best configuration for jobs of `images`, or RUE_NONE. */
static rue_status evaluate_length(struct search *search, uint64_t images, size_t *best, rue_error *error)
{
    const struct rue_selection *selection = search->setup->selection;
    rue_status status = search->setup->stop ? search->setup->stop() : RUE_OK;
    if (status != RUE_OK) return rue_fail(error, status, "interrupted");
    search->images = images;
    const struct rue_objective_times times = {search->models, search->configs, selection->weights,
                                              time_at_length, search,          search->times};
    rue_objective_summarise(&times, search->summaries);
    *best = RUE_NONE;
    for (size_t c = 0; c < search->configs; c++)
        if (!isnan(length_regret(search, c)) &&
            (*best == RUE_NONE ||
             rue_regret_summary_is_better(&search->summaries[c], &search->summaries[*best],
                                          selection->objective)))
            *best = c;
    return RUE_OK;
}

/* The next length, rounded to whole batches of the largest size that fits. */
static uint64_t next_length(const struct search *search, uint64_t at, bool upwards)
{
    double next = (double)at * (upwards ? length_step : 1 / length_step);
    uint64_t images = (uint64_t)llround(fmin(next, (double)search->longest)), largest = 1;
    for (size_t c = 0; c < search->configs; c++) {
        uint64_t batch = batch_images(search->setup, c);
        if (!isnan(search->lines[c].reach_s) && batch <= images && batch > largest) largest = batch;
    }
    images -= images % largest;
    if (upwards && images <= at) images = at - at % largest + largest;
    if (!upwards && images >= at) images = at - 1;
    if (images < search->shortest) images = search->shortest;
    return images < search->longest ? images : search->longest;
}

/* Writes intervals from that of the job, at[MIDDLE], to one end of the range, or until the array is full.
 * `*edge` is the last one. The boundary of two intervals is the geometric mean of two lengths. */
static rue_status extend_intervals(struct search *search, bool upwards, struct rue_job_interval *at,
                                   size_t *edge, rue_error *error)
{
    uint64_t length = search->setup->job_images, end = upwards ? search->longest : search->shortest;
    while (length != end && *edge != (upwards ? RUE_JOB_INTERVALS_MAX - 1 : 0)) {
        struct rue_job_interval *now = &at[*edge];
        uint64_t next = next_length(search, length, upwards);
        size_t best = RUE_NONE;
        rue_status status = evaluate_length(search, next, &best, error);
        if (status != RUE_OK) return status;
        if (best == RUE_NONE) break; /* no configuration has a known time */
        double excess = length_regret(search, now->config) -
                        length_regret(search, best); /* NaN: the configuration cannot run this length */
        if (!(excess <= search->setup->epsilon_ratio)) {
            uint64_t boundary = (uint64_t)ceil(sqrt((double)length * (double)next));
            uint64_t batch = batch_images(search->setup, upwards ? best : now->config);
            if (boundary < batch) boundary = batch;
            *edge += upwards ? 1 : -1;
            at[*edge] =
                (struct rue_job_interval){upwards ? boundary : 0, upwards ? UINT64_MAX : boundary - 1, best};
            *(upwards ? &now->to_images : &now->from_images) = upwards ? boundary - 1 : boundary;
        }
        length = next;
    }
    *(upwards ? &at[*edge].to_images : &at[*edge].from_images) = length;
    return RUE_OK;
}

static void search_close(struct search *search)
{
    free(search->lines);
    free(search->times);
    free(search->summaries);
}

static rue_status search_open(const struct rue_job_length_setup *setup, struct search *out, rue_error *error)
{
    size_t models = setup->matrix->model_count, configs = setup->matrix->config_count;
    bool overflows = setup->job_images > UINT64_MAX / RUE_JOB_LONGEST;
    *out = (struct search){.setup = setup,
                           .models = models,
                           .configs = configs,
                           .lines = calloc(models * configs, sizeof *out->lines),
                           .times = calloc(configs, sizeof *out->times),
                           .summaries = calloc(configs, sizeof *out->summaries),
                           .shortest = setup->job_images,
                           .longest = setup->job_images * (overflows ? 1 : RUE_JOB_LONGEST)};
    rue_status status = RUE_OK;
    if (!out->lines || !out->times || !out->summaries)
        status = rue_fail_memory(error, "jobs of other lengths", models * configs * sizeof *out->lines);
    for (size_t c = 0; status == RUE_OK && c < configs; c++) {
        bool considered = setup->selection->rows[c].ranked;
        uint64_t batch = batch_images(setup, c);
        if (considered && batch < out->shortest) out->shortest = batch;
        for (size_t m = 0; m < models; m++)
            out->lines[m * configs + c] =
                considered ? line_beyond_reach(setup, m, c) : (struct line){NAN, NAN};
        status = setup->stop ? setup->stop() : RUE_OK;
        if (status != RUE_OK) status = rue_fail(error, status, "interrupted");
    }
    if (status != RUE_OK) search_close(out);
    return status;
}

rue_status rue_job_lengths_find(const struct rue_job_length_setup *setup, struct rue_job_lengths *out,
                                rue_error *error)
{
    struct search search;
    size_t first = MIDDLE, last = MIDDLE;
    struct rue_job_interval at[RUE_JOB_INTERVALS_MAX] = {
        [MIDDLE] = {0, UINT64_MAX, setup->selection->recommended}};
    *out = (struct rue_job_lengths){0};
    rue_status status = search_open(setup, &search, error);
    if (status != RUE_OK) return status;
    status = extend_intervals(&search, false, at, &first, error);
    if (status == RUE_OK) status = extend_intervals(&search, true, at, &last, error);
    if (status == RUE_OK) {
        out->count = last - first + 1;
        memcpy(out->at, &at[first], out->count * sizeof *at);
    }
    search_close(&search);
    return status;
}
