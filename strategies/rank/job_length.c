#include "job_length.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "job_time.h"

enum { ROUNDS = 8, OWN = RUE_JOB_INTERVALS_MAX / 2 };

static const double step = 1.19; /* from one length that is looked at to the next */

/* The times of a cell beyond its reach. */
struct line {
    double reach_s, image_s; /* NaN: the configuration is not looked at */
};

struct search {
    const struct rue_job_length_setup *question;
    size_t models, configs;
    struct line *lines;                /* [models * configs] */
    double *times;                     /* [configs] of one model, at the length that is judged */
    struct rue_regret_summary *joined; /* [configs] at that length */
    uint64_t images;                   /* of the length that is judged */
    uint64_t least, most;              /* lengths */
};

static uint64_t batch_of(const struct rue_job_length_setup *question, size_t config)
{
    return rue_trial_batch(&question->matrix->configs[config]);
}

/* Images of a volley. */
static uint64_t round_of(const struct rue_job_length_setup *question, size_t config)
{
    return rue_trial_wave_batches(&question->matrix->configs[config]) * batch_of(question, config);
}

/* Beyond so many images, more than the job, the times of a configuration grow along a line. */
static uint64_t reach_images(const struct rue_job_length_setup *question, size_t config)
{
    return question->job_images + ROUNDS * round_of(question, config);
}

/* ---- one length ---- */

/* The line goes through the longest job that is within reach and one that is whole volleys shorter, both
 * longer than the job, behind the opening burst. */
static struct line draw_line(const struct rue_job_length_setup *question, size_t model, size_t config)
{
    uint64_t reach = reach_images(question, config), span = ROUNDS / 2 * round_of(question, config);
    double end_s = question->time_s(question->context, model, config, reach);
    double begin_s = question->time_s(question->context, model, config, reach - span);
    return (struct line){end_s, (end_s - begin_s) / (double)span};
}

/* NaN where such a job is not possible or its time is not known. */
static double time_s(const struct search *search, size_t model, size_t config, uint64_t images)
{
    const struct rue_job_length_setup *question = search->question;
    const struct line *line = &search->lines[model * search->configs + config];
    if (isnan(line->reach_s) || batch_of(question, config) > images) return NAN;
    uint64_t reach = reach_images(question, config);
    double seconds = images <= reach ? question->time_s(question->context, model, config, images)
                                     : line->reach_s + (double)(images - reach) * line->image_s;
    return seconds > 0 && isfinite(seconds) ? seconds : NAN;
}

static double length_score(const struct search *search, size_t config)
{
    return rue_regret_summary_value(&search->joined[config], search->question->selection->objective);
}

static double time_at_length(const void *context, size_t model, size_t config)
{
    const struct search *search = context;
    return time_s(search, model, config, search->images);
}

/* `*best` is the best configuration for jobs of `images`, or RUE_NONE. */
static rue_status judge_length(struct search *search, uint64_t images, size_t *best, rue_error *error)
{
    const struct rue_selection *selection = search->question->selection;
    rue_status status = search->question->stop ? search->question->stop() : RUE_OK;
    if (status != RUE_OK) return rue_fail(error, status, "interrupted");
    search->images = images;
    rue_objective_summarise(&(struct rue_objective_times){.models = search->models,
                                                          .configs = search->configs,
                                                          .weights = selection->weights,
                                                          .time = time_at_length,
                                                          .context = search,
                                                          .room = search->times},
                            search->joined);
    *best = RUE_NONE;
    for (size_t c = 0; c < search->configs; c++)
        if (!isnan(length_score(search, c)) &&
            (*best == RUE_NONE ||
             rue_regret_summary_is_better(&search->joined[c], &search->joined[*best], selection->objective)))
            *best = c;
    return RUE_OK;
}

/* ---- from the job to one end of the lengths ---- */

/* The next length, whole batches of the largest size that is no larger than that. */
static uint64_t next_length(const struct search *search, uint64_t at, bool upwards)
{
    double next = (double)at * (upwards ? step : 1 / step);
    uint64_t images = (uint64_t)llround(fmin(next, (double)search->most)), largest = 1;
    for (size_t c = 0; c < search->configs; c++) {
        uint64_t batch = batch_of(search->question, c);
        if (!isnan(search->lines[c].reach_s) && batch <= images && batch > largest) largest = batch;
    }
    images -= images % largest;
    if (upwards && images <= at) images = at - at % largest + largest;
    if (!upwards && images >= at) images = at - 1;
    if (images < search->least) images = search->least;
    return images < search->most ? images : search->most;
}

/* Writes the intervals from that of the job at[OWN] to one end, or as far as there is room; `*edge` is the
 * last one. They meet in the middle of two lengths. */
static rue_status walk_lengths(struct search *search, bool upwards, struct rue_job_interval *at, size_t *edge,
                               rue_error *error)
{
    uint64_t here = search->question->job_images, end = upwards ? search->most : search->least;
    while (here != end && *edge != (upwards ? RUE_JOB_INTERVALS_MAX - 1 : 0)) {
        struct rue_job_interval *now = &at[*edge];
        uint64_t next = next_length(search, here, upwards);
        size_t best = RUE_NONE;
        rue_status status = judge_length(search, next, &best, error);
        if (status != RUE_OK) return status;
        if (best == RUE_NONE) break; /* nothing is known of such jobs */
        double lost =
            length_score(search, now->config) - length_score(search, best); /* NaN: it is not possible */
        if (!(lost <= search->question->epsilon_ratio)) {
            uint64_t turn = (uint64_t)ceil(sqrt((double)here * (double)next));
            uint64_t batch = batch_of(search->question, upwards ? best : now->config);
            if (turn < batch) turn = batch;
            *edge += upwards ? 1 : -1;
            at[*edge] = (struct rue_job_interval){upwards ? turn : 0, upwards ? UINT64_MAX : turn - 1, best};
            *(upwards ? &now->to_images : &now->from_images) = upwards ? turn - 1 : turn;
        }
        here = next;
    }
    *(upwards ? &at[*edge].to_images : &at[*edge].from_images) = here;
    return RUE_OK;
}

/* ---- life of a search ---- */

static void search_close(struct search *search)
{
    free(search->lines);
    free(search->times);
    free(search->joined);
}

static rue_status search_open(const struct rue_job_length_setup *question, struct search *out,
                              rue_error *error)
{
    size_t models = question->matrix->model_count, configs = question->matrix->config_count;
    bool huge = question->job_images > UINT64_MAX / RUE_JOB_LONGEST;
    *out = (struct search){.question = question,
                           .models = models,
                           .configs = configs,
                           .lines = calloc(models * configs, sizeof *out->lines),
                           .times = calloc(configs, sizeof *out->times),
                           .joined = calloc(configs, sizeof *out->joined),
                           .least = question->job_images,
                           .most = question->job_images * (huge ? 1 : RUE_JOB_LONGEST)};
    rue_status status = RUE_OK;
    if (!out->lines || !out->times || !out->joined)
        status = rue_fail_memory(error, "jobs of other lengths", models * configs * sizeof *out->lines);
    for (size_t c = 0; status == RUE_OK && c < configs; c++) {
        bool looked_at = question->selection->rows[c].ranked;
        uint64_t batch = batch_of(question, c);
        if (looked_at && batch < out->least) out->least = batch;
        for (size_t m = 0; m < models; m++)
            out->lines[m * configs + c] = looked_at ? draw_line(question, m, c) : (struct line){NAN, NAN};
        status = question->stop ? question->stop() : RUE_OK;
        if (status != RUE_OK) status = rue_fail(error, status, "interrupted");
    }
    if (status != RUE_OK) search_close(out);
    return status;
}

rue_status rue_job_lengths_find(const struct rue_job_length_setup *question, struct rue_job_lengths *out,
                                rue_error *error)
{
    struct search search;
    size_t first = OWN, last = OWN;
    struct rue_job_interval at[RUE_JOB_INTERVALS_MAX] = {
        [OWN] = {0, UINT64_MAX, question->selection->recommended}};
    *out = (struct rue_job_lengths){0};
    rue_status status = search_open(question, &search, error);
    if (status != RUE_OK) return status;
    status = walk_lengths(&search, false, at, &first, error);
    if (status == RUE_OK) status = walk_lengths(&search, true, at, &last, error);
    if (status == RUE_OK) {
        out->count = last - first + 1;
        memcpy(out->at, &at[first], out->count * sizeof *at);
    }
    search_close(&search);
    return status;
}
