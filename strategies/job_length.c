#include "job_length.h"

#include <math.h>
#include <stdlib.h>

#include "job_time.h"

enum { ROUNDS = 8 };

static const double step = 1.4142135623730951; /* from one length that is looked at to the next */
static const double precision = 1.01;          /* to which a length is found */

/* What is kept of the times while lengths are tried. */
struct search {
    const struct rue_job_question *question;
    size_t models, configs;
    const char **names;        /* [models] */
    struct rue_config *config; /* [configs] */
    double *reach_s, *image_s; /* [models * configs] of the line; NaN: not looked at */
    uint64_t least, most;      /* lengths */
};

/* What every configuration costs at one length, by the rules; NaN where it is not ranked. */
struct scores {
    double *score; /* [configs] */
    size_t best;
};

static bool is_looked_at(const struct rue_job_question *question, size_t config)
{
    for (size_t m = 0; m < rue_cost_matrix_models(question->matrix); m++)
        if (rue_cost_matrix_cell(question->matrix, m, config)->state != RUE_CELL_OK) return false;
    return true;
}

static uint64_t batch_of(const struct rue_job_question *question, size_t config)
{
    return (uint64_t)rue_cost_matrix_config(question->matrix, config)->value[RUE_BATCH_SIZE];
}

/* Images of a volley. */
static uint64_t round_of(const struct rue_job_question *question, size_t config)
{
    return rue_job_volley_batches(rue_cost_matrix_config(question->matrix, config)) *
           batch_of(question, config);
}

uint64_t rue_job_reach_images(const struct rue_job_question *question, size_t config)
{
    return question->job_images + ROUNDS * round_of(question, config);
}

/* ---- times ---- */

/* The line goes through the longest job that is within reach and one that is whole volleys shorter, both
 * longer than the job, behind the opening burst. */
static void draw_line(struct search *search, size_t model, size_t config)
{
    const struct rue_job_question *question = search->question;
    size_t cell = model * search->configs + config;
    uint64_t reach = rue_job_reach_images(question, config), span = ROUNDS / 2 * round_of(question, config);
    double end_s = question->time_s(question->context, model, config, reach);
    double begin_s = question->time_s(question->context, model, config, reach - span);
    search->reach_s[cell] = end_s;
    search->image_s[cell] = (end_s - begin_s) / (double)span;
}

static double time_s(const struct search *search, size_t model, size_t config, uint64_t images)
{
    const struct rue_job_question *question = search->question;
    size_t cell = model * search->configs + config;
    if (isnan(search->reach_s[cell]) || batch_of(question, config) > images) return NAN;
    uint64_t reach = rue_job_reach_images(question, config);
    if (images <= reach) return question->time_s(question->context, model, config, images);
    return search->reach_s[cell] + (double)(images - reach) * search->image_s[cell];
}

/* ---- scores ---- */

static rue_status fill(const struct search *search, struct rue_cost_matrix *matrix, uint64_t images,
                       rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < search->models * search->configs; i++) {
        double seconds = time_s(search, i / search->configs, i % search->configs, images);
        if (seconds > 0 && isfinite(seconds))
            status = rue_cost_matrix_estimate(matrix, i / search->configs, i % search->configs, seconds * 1e9,
                                              1, true, error);
    }
    return status;
}

static rue_status check_stop(const struct rue_job_question *question, rue_error *error)
{
    rue_status status = question->stop ? question->stop() : RUE_OK;
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "interrupted");
}

/* The rules, applied to jobs of `images`. */
static rue_status judge(const struct search *search, uint64_t images, struct scores *out, rue_error *error)
{
    struct rue_cost_matrix *matrix;
    const struct rue_selection *asked = search->question->selection;
    struct rue_selection_rules rules = {asked->top_n, asked->objective, asked->weights};
    struct rue_selection *selection = NULL;
    rue_status status = check_stop(search->question, error);
    if (status != RUE_OK) return status;
    status =
        rue_cost_matrix_open(search->config, search->configs, search->names, search->models, &matrix, error);
    if (status != RUE_OK) return status;
    status = fill(search, matrix, images, error);
    if (status == RUE_OK) status = rue_selection_open(matrix, &rules, &selection, error);
    for (size_t c = 0; status == RUE_OK && c < search->configs; c++) {
        const struct rue_ranking_row *row = &selection->rows[c];
        out->score[c] =
            asked->objective == RUE_OBJECTIVE_WORST ? row->max_regret_ratio : row->mean_regret_ratio;
    }
    if (status == RUE_OK) out->best = selection->recommended;
    rue_selection_close(selection);
    rue_cost_matrix_close(matrix);
    return status;
}

/* By how much `now` is worse than `other`; more than anything where it is not possible. */
static double excess(const struct scores *scores, size_t now, size_t other)
{
    return isnan(scores->score[now]) ? INFINITY : scores->score[now] - scores->score[other];
}

/* ---- lengths ---- */

/* Whole batches of both, as far as that is no more than a sixteenth off: a last batch that is not full tells
 * little of others. */
static uint64_t round_length(const struct search *search, uint64_t images, size_t one, size_t other)
{
    uint64_t a = batch_of(search->question, one), b = batch_of(search->question, other);
    uint64_t both = a > b ? a : b;
    uint64_t rounded = (images + both / 2) / both * both;
    return rounded > 0 && both <= images / 16 ? rounded : images;
}

/* Between `kept`, where `now` is the answer, and `lost`, where `other` is better: the length at which they
 * are equal. */
static rue_status bisect(const struct search *search, uint64_t kept, uint64_t lost, size_t now, size_t other,
                         struct scores *scores, uint64_t *out, rue_error *error)
{
    double inside = (double)kept, outside = (double)lost;
    while (fmax(inside, outside) > precision * fmin(inside, outside) && fabs(inside - outside) > 1) {
        double middle = sqrt(inside * outside);
        uint64_t images = round_length(search, (uint64_t)llround(middle), now, other);
        rue_status status = judge(search, images, scores, error);
        if (status != RUE_OK) return status;
        if (excess(scores, now, other) > 0)
            outside = middle;
        else
            inside = middle;
    }
    *out = (uint64_t)llround(fmax(inside, outside));
    return RUE_OK;
}

/* On the way from the job to one end of the lengths. */
struct walk {
    const struct search *search;
    struct scores *scores;
    bool upwards;
    uint64_t at;
    size_t config; /* the answer at `at` */
    uint64_t kept; /* the last length at which nothing was better */
    size_t count;  /* changes */
    struct change {
        uint64_t images; /* from there on, in the direction of the walk */
        size_t config;
    } changes[RUE_JOB_INTERVALS_MAX / 2];
};

/* The next length, whole batches of the largest size that is no larger than that. */
static uint64_t next_length(const struct walk *walk)
{
    const struct search *search = walk->search;
    double next = (double)walk->at * (walk->upwards ? step : 1 / step);
    uint64_t images = (uint64_t)llround(fmin(next, (double)search->most)), largest = 1;
    for (size_t c = 0; c < search->configs; c++) {
        uint64_t batch = batch_of(search->question, c);
        if (!isnan(search->reach_s[c]) && batch <= images && batch > largest) largest = batch;
    }
    images -= images % largest;
    if (walk->upwards && images <= walk->at) images = walk->at - walk->at % largest + largest;
    if (!walk->upwards && images >= walk->at) images = walk->at - 1;
    if (images < search->least) images = search->least;
    return images < search->most ? images : search->most;
}

/* Goes to one end, or until there is no more room for changes; `at` is where it ended. */
static rue_status walk_on(struct walk *walk, rue_error *error)
{
    const struct search *search = walk->search;
    uint64_t end = walk->upwards ? search->most : search->least;
    size_t room = sizeof walk->changes / sizeof *walk->changes;
    while (walk->at != end && walk->count < room) {
        uint64_t next = next_length(walk);
        rue_status status = judge(search, next, walk->scores, error);
        if (status != RUE_OK) return status;
        size_t best = walk->scores->best;
        if (best == RUE_NONE) return RUE_OK; /* nothing is known of such jobs */
        walk->at = next;
        double lost = excess(walk->scores, walk->config, best);
        if (lost <= 0) walk->kept = next;
        if (lost <= search->question->epsilon_ratio) continue;
        struct change change = {.config = best};
        status = bisect(search, walk->kept, next, walk->config, best, walk->scores, &change.images, error);
        if (status != RUE_OK) return status;
        walk->changes[walk->count++] = change;
        walk->config = best;
        walk->kept = next;
    }
    return RUE_OK;
}

static void add_interval(struct rue_job_lengths *out, uint64_t to_images, size_t config)
{
    uint64_t from = out->at[out->count].from_images;
    if (to_images < from) return;
    out->at[out->count++] = (struct rue_job_interval){from, to_images, config};
    if (out->count < RUE_JOB_INTERVALS_MAX) out->at[out->count].from_images = to_images + 1;
}

/* From the two walks, in ascending order. */
static void assemble(const struct walk *down, const struct walk *up, size_t recommended,
                     struct rue_job_lengths *out)
{
    out->at[0].from_images = down->at;
    for (size_t i = down->count; i-- > 0;)
        add_interval(out, down->changes[i].images - 1, down->changes[i].config);
    uint64_t to = up->count ? up->changes[0].images - 1 : up->at;
    add_interval(out, to, recommended);
    for (size_t i = 0; i < up->count; i++)
        add_interval(out, i + 1 < up->count ? up->changes[i + 1].images - 1 : up->at, up->changes[i].config);
}

/* ---- life of a search ---- */

static void search_close(struct search *search)
{
    free(search->names);
    free(search->config);
    free(search->reach_s);
    free(search->image_s);
}

static rue_status search_open(const struct rue_job_question *question, struct search *out, rue_error *error)
{
    size_t models = rue_cost_matrix_models(question->matrix),
           configs = rue_cost_matrix_configs(question->matrix);
    *out = (struct search){.question = question,
                           .models = models,
                           .configs = configs,
                           .names = calloc(models, sizeof *out->names),
                           .config = calloc(configs, sizeof *out->config),
                           .reach_s = calloc(models * configs, sizeof *out->reach_s),
                           .image_s = calloc(models * configs, sizeof *out->image_s),
                           .least = UINT64_MAX};
    if (!out->names || !out->config || !out->reach_s || !out->image_s) {
        search_close(out);
        return rue_fail_memory(error, "jobs of other lengths", models * configs * sizeof(double));
    }
    for (size_t m = 0; m < models; m++) out->names[m] = rue_cost_matrix_model(question->matrix, m);
    rue_status status = RUE_OK;
    for (size_t c = 0; status == RUE_OK && c < configs; c++) {
        status = check_stop(question, error);
        bool looked_at = status == RUE_OK && is_looked_at(question, c);
        uint64_t batch = batch_of(question, c);
        out->config[c] = *rue_cost_matrix_config(question->matrix, c);
        if (looked_at && batch < out->least) out->least = batch;
        for (size_t m = 0; m < models; m++) {
            out->reach_s[m * configs + c] = NAN;
            if (looked_at) draw_line(out, m, c);
        }
    }
    if (out->least > question->job_images) out->least = question->job_images;
    bool huge = question->job_images > UINT64_MAX / RUE_JOB_LONGEST;
    out->most = huge ? question->job_images : question->job_images * RUE_JOB_LONGEST;
    if (status != RUE_OK) search_close(out);
    return status;
}

rue_status rue_job_lengths_find(const struct rue_job_question *question, struct rue_job_lengths *out,
                                rue_error *error)
{
    struct search search;
    *out = (struct rue_job_lengths){0};
    rue_status status = search_open(question, &search, error);
    if (status != RUE_OK) return status;
    struct scores scores = {.score = calloc(search.configs, sizeof *scores.score)};
    if (!scores.score) status = rue_fail_memory(error, "jobs of other lengths", search.configs);
    struct walk down = {.search = &search, .scores = &scores, .at = question->job_images};
    down.kept = down.at;
    down.config = question->selection->recommended;
    struct walk up = down;
    up.upwards = true;
    if (status == RUE_OK) status = walk_on(&down, error);
    if (status == RUE_OK) status = walk_on(&up, error);
    if (status == RUE_OK) assemble(&down, &up, question->selection->recommended, out);
    free(scores.score);
    search_close(&search);
    return status;
}
