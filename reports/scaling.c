#include "scaling.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json_document.h"
#include "page_writers.h"
#include "prose.h"
#include "rank_scaling.h"
#include "verdict.h"

#define AT(member) offsetof(struct rue_usage_sample, member)

static double value_at(const struct rue_usage_sample *sample, size_t offset)
{
    return *(const double *)((const char *)sample + offset);
}

/* ---- resources of a trial ---- */

static const struct {
    const char *key;
    size_t offset; /* of a double in a sample */
    enum { MEAN, PEAK, SUM } how;
    const char *header; /* NULL: only in CSV and JSON */
    int drop, digits;
} figures[RUE_SCALING_FIGURES] = {
    [RUE_SCALING_CPU] = {"cpu_percent_mean", AT(cpu_percent), MEAN, "CPU %", 3},
    [RUE_SCALING_CPU_PEAK] = {"cpu_percent_peak", AT(cpu_percent), PEAK},
    [RUE_SCALING_RSS] = {"rss_mb_mean", AT(rss_mb), MEAN},
    [RUE_SCALING_RSS_PEAK] = {"rss_mb_peak", AT(rss_mb), PEAK, "memory MB", 4},
    [RUE_SCALING_READ] = {"read_mb", AT(read_mb), SUM, "read MB", 3, .digits = 1},
    [RUE_SCALING_WRITE] = {"write_mb", AT(write_mb), SUM},
    [RUE_SCALING_GPU] = {"gpu_percent_mean", AT(gpu_percent), MEAN, "GPU %", 3},
    [RUE_SCALING_GPU_PEAK] = {"gpu_percent_peak", AT(gpu_percent), PEAK},
    [RUE_SCALING_GPU_MEMORY_PEAK] = {"gpu_memory_mb_peak", AT(gpu_memory_mb), PEAK},
};

/* Too few to describe a trial: the first one also covers time before the trial. */
enum { FEW_SAMPLES = 3 };

/* Excludes the time before, when the data were warmed or evicted. */
static bool is_during(const struct rue_usage_sample *sample, const struct rue_scaling_row *row)
{
    const struct rue_trial_result *result = row->result;
    double start_ns = (double)row->started_ns + (double)row->discarded_ns;
    double end_s = (start_ns + (double)result->cost_ns) / 1e9;
    return row->sampled && result->cost_ns > 0 && result->end_to_end_ns > 0 && sample->time_s <= end_s &&
           sample->time_s > end_s - (double)result->end_to_end_ns / 1e9;
}

/* Returns the number of samples. */
static size_t sum_samples(const struct rue_scaling *scaling, struct rue_scaling_row *row, int figure)
{
    double sum = 0, peak = NAN;
    size_t known = 0, during = 0;
    for (size_t i = 0; i < scaling->sample_count; i++) {
        const struct rue_usage_sample *sample = &scaling->samples[i];
        double value = value_at(sample, figures[figure].offset);
        if (!is_during(sample, row)) continue;
        during++;
        if (isnan(value)) continue;
        known++;
        sum += value;
        peak = fmax(peak, value);
    }
    if (figures[figure].how == MEAN) sum /= (double)known;
    row->figures[figure] = figures[figure].how == PEAK ? peak : known ? sum : NAN;
    return during;
}

/* Adds the figures that the trial itself reported. */
static void add_trial_usage(struct rue_scaling_row *row, bool from_trial)
{
    const double megabyte = 1e6;
    const struct rue_trial_result *result = row->result;
    double *at = row->figures;
    if (result->read_bytes >= 0) at[RUE_SCALING_READ] = (double)result->read_bytes / megabyte;
    if (result->anon_peak_bytes > 0) {
        int64_t file_bytes = result->file_peak_bytes > 0 ? result->file_peak_bytes : 0;
        double peak = (double)(result->anon_peak_bytes + file_bytes) / megabyte;
        at[RUE_SCALING_RSS_PEAK] = fmax(at[RUE_SCALING_RSS_PEAK], peak);
        if (from_trial) at[RUE_SCALING_RSS] = fmax(at[RUE_SCALING_RSS], peak);
    }
    if (!from_trial || !(result->cpu_ratio >= 0)) return;
    at[RUE_SCALING_CPU] = 100 * result->cpu_ratio;
    at[RUE_SCALING_CPU_PEAK] = fmax(at[RUE_SCALING_CPU_PEAK], at[RUE_SCALING_CPU]);
}

static int compare_rows(const void *left, const void *right)
{
    const struct rue_scaling_row *a = left, *b = right;
    const size_t keys[][2] = {{a->variant, b->variant}, {a->model, b->model}, {a->config, b->config}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1]) return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

void rue_scaling_open(struct rue_scaling *scaling)
{
    qsort(scaling->rows, scaling->row_count, sizeof *scaling->rows, compare_rows);
    for (size_t i = 0; i < scaling->row_count; i++) {
        size_t samples = 0;
        for (int f = 0; f < RUE_SCALING_FIGURES; f++) samples = sum_samples(scaling, &scaling->rows[i], f);
        add_trial_usage(&scaling->rows[i], samples <= FEW_SAMPLES);
    }
}

double rue_scaling_rate(const struct rue_scaling_row *row)
{
    const struct rue_trial_result *result = row->result;
    bool ok = result->outcome == RUE_TRIAL_OK && result->end_to_end_ns > 0;
    double loaders = fmax(1, (double)row->loaders);
    return ok ? loaders * (double)result->images / (double)result->end_to_end_ns * 1e9 : NAN;
}

/* ---- curves ---- */

/* The points of a variant and a model with the same workers, or with the same batch size. */
struct curve {
    const struct rue_scaling *scaling;
    enum rue_knob knob; /* the knob that varies, if not `ranks` */
    struct rue_rank_curve ranks;
    size_t variant, model;
    size_t point_count;
    const struct rue_scaling_row *fastest,
        *knee; /* the first row that is nearly as fast; both NULL: no row is ok */
};

static const double knee_share = 0.95;

static const struct rue_config *row_config(const struct rue_scaling *scaling,
                                           const struct rue_scaling_row *row)
{
    static const struct rue_config none;
    return row->config == RUE_NONE ? &none
                                   : &scaling->findings->variants[row->variant].matrix->configs[row->config];
}

static bool is_curve_row(const struct curve *curve, const struct rue_scaling_row *row)
{
    const int *value = row_config(curve->scaling, row)->value;
    if (curve->ranks.count)
        return row->model == curve->model && rue_rank_curve_find(&curve->ranks, row->variant);
    bool match = curve->knob == RUE_BATCH_SIZE ? value[RUE_NUM_WORKERS] == curve->scaling->fixed_workers
                                               : value[RUE_BATCH_SIZE] == curve->scaling->fixed_batch;
    return match && row->variant == curve->variant && row->model == curve->model;
}

static struct curve curve_at(const struct rue_scaling *scaling, size_t index)
{
    size_t models = scaling->findings->variants[0].matrix->model_count;
    struct curve curve = {.scaling = scaling,
                          .knob = index % 2 ? RUE_NUM_WORKERS : RUE_BATCH_SIZE,
                          .variant = index / 2 / models,
                          .model = index / 2 % models};
    if (rue_findings_compares_ranks(scaling->findings)) {
        curve.ranks = rue_rank_curve(scaling->findings, curve.variant, curve.model, index % 2);
        if (!curve.ranks.count) return curve;
    }
    for (size_t i = 0; i < scaling->row_count; i++) {
        const struct rue_scaling_row *row = &scaling->rows[i];
        curve.point_count += is_curve_row(&curve, row);
        if (!is_curve_row(&curve, row) || isnan(rue_scaling_rate(row))) continue;
        if (!curve.fastest || rue_scaling_rate(row) > rue_scaling_rate(curve.fastest)) curve.fastest = row;
    }
    for (size_t i = 0; curve.fastest && !curve.knee && i < scaling->row_count; i++) {
        const struct rue_scaling_row *row = &scaling->rows[i];
        bool reached = curve.ranks.count
                           ? row->variant == curve.ranks.at[curve.ranks.knee].variant
                           : rue_scaling_rate(row) >= knee_share * rue_scaling_rate(curve.fastest);
        if (reached && is_curve_row(&curve, row)) curve.knee = row;
    }
    return curve;
}

static size_t curve_count(const struct rue_scaling *scaling)
{
    const struct rue_findings *findings = scaling->findings;
    return 2 * findings->variant_count * findings->variants[0].matrix->model_count;
}

/* ---- the table: the same for people and for machines ---- */

static double number_or_nan(int64_t value)
{
    return value >= 0 ? (double)value : NAN;
}

static void put_place(struct rue_page *page, const struct curve *curve, const struct rue_scaling_row *row)
{
    const struct rue_variant_findings *variant = &curve->scaling->findings->variants[row->variant];
    const struct rue_rank_point *point = rue_rank_curve_find(&curve->ranks, row->variant);
    const int *value = row_config(curve->scaling, row)->value;
    char data[64];
    snprintf(data, sizeof data, "%s%s%s", rue_mode_names[variant->variant.mode],
             variant->variant.dtype[0] ? " " : "", variant->variant.dtype);
    const struct rue_table_column columns[] = {
        {"format", .text = variant->variant.format},
        {"variant", .text = data},
        {"data", .text = variant->variant.path},
        {"model", .text = variant->matrix->models[row->model]},
        {"curve", .text = curve->ranks.count ? curve->ranks.name : rue_own_knobs.at[curve->knob]->name},
        {"batch_size", "batch size", RUE_UNIT_COUNT, .number = value[RUE_BATCH_SIZE]},
        {"num_workers", "workers", RUE_UNIT_COUNT, .number = value[RUE_NUM_WORKERS]},
        {"images_per_s", "images/s", RUE_UNIT_NUMBER, .digits = 1, .number = rue_scaling_rate(row)},
        {"ranks", NULL, RUE_UNIT_COUNT, .number = (double)rue_deployment_loaders(&variant->job.deployment)},
        {"efficiency", NULL, RUE_UNIT_NUMBER, .number = point ? point->efficiency : NAN},
    };
    rue_page_row(page, row == curve->fastest, columns, sizeof columns / sizeof *columns);
}

static void put_figures(struct rue_page *page, const struct rue_scaling_row *row)
{
    for (int f = 0; f < RUE_SCALING_FIGURES; f++) {
        const struct rue_table_column column = {figures[f].key,          figures[f].header,
                                                RUE_UNIT_NUMBER,         .number = row->figures[f],
                                                .drop = figures[f].drop, .digits = figures[f].digits};
        rue_page_put(page, &column, 1);
    }
}

static void put_trial(struct rue_page *page, const struct curve *curve, const struct rue_scaling_row *row)
{
    const struct rue_variant_findings *variant = &curve->scaling->findings->variants[row->variant];
    const struct rue_trial_result *result = row->result;
    const char *status = rue_outcome_names[result->outcome];
    double share = curve->fastest ? rue_scaling_rate(row) / rue_scaling_rate(curve->fastest) : NAN;
    const struct rue_table_column columns[] = {
        {NULL, "", RUE_UNIT_BAR, .number = share, .shrink_to = 20, .drop = 1},
        {NULL, "status", .text = result->outcome == RUE_TRIAL_OK ? "" : status, .drop = 2},
        {"status", .text = status},
        {"reason", .text = result->reason},
        {"images", NULL, RUE_UNIT_COUNT, .number = number_or_nan(result->images)},
        {"elapsed_s", NULL, RUE_UNIT_NUMBER, .number = number_or_nan(result->end_to_end_ns) / 1e9},
        {"first_batch_s", NULL, RUE_UNIT_NUMBER, .number = number_or_nan(result->first_batch_ns) / 1e9},
        {"cache", .text = variant->job.workload.cache},
        {"cache_missed", NULL, RUE_UNIT_COUNT, .number = number_or_nan(result->cache_missed)},
        {"trial", NULL, RUE_UNIT_COUNT, .number = (double)row->trial},
        {"fastest", NULL, RUE_UNIT_FLAG, .number = row == curve->fastest},
        {"saturates", NULL, RUE_UNIT_FLAG, .number = row == curve->knee},
    };
    rue_page_put(page, columns, sizeof columns / sizeof *columns);
}

static void put_row(struct rue_page *page, const struct curve *curve, const struct rue_scaling_row *row)
{
    put_place(page, curve, row);
    put_figures(page, row);
    put_trial(page, curve, row);
}

static void put_rows(struct rue_page *page, const struct curve *curve)
{
    for (size_t i = 0; i < curve->scaling->row_count; i++)
        if (is_curve_row(curve, &curve->scaling->rows[i])) put_row(page, curve, &curve->scaling->rows[i]);
}

static void put_curves(struct rue_page *page, const struct rue_scaling *scaling)
{
    static const struct rue_trial_result no_result;
    rue_page_table(page);
    put_row(page, &(struct curve){.scaling = scaling},
            &(struct rue_scaling_row){.config = RUE_NONE, .result = &no_result});
    rue_page_clear_rows(page); /* its columns stay, also of a table without rows */
    for (size_t i = 0; i < curve_count(scaling); i++) {
        struct curve curve = curve_at(scaling, i);
        if (curve.point_count) put_rows(page, &curve);
    }
}

static rue_status finish_csv(struct rue_page *page, FILE *stream, rue_error *error)
{
    rue_status status = rue_page_write_csv(page, true, stream, error);
    rue_page_close(page);
    return status == RUE_OK ? rue_report_finish(stream, error) : status;
}

rue_status rue_scaling_write_csv(const void *scaling, FILE *stream, rue_error *error)
{
    struct rue_page page = {0};
    put_curves(&page, scaling);
    return finish_csv(&page, stream, error);
}

rue_status rue_scaling_json(const struct rue_scaling *scaling, FILE *stream, rue_error *error)
{
    const struct rue_findings *findings = scaling->findings;
    struct rue_page page = {0};
    put_curves(&page, scaling);
    const struct rue_job_findings *job = &findings->variants[0].job;
    json_t *root = rue_json_make(
        "format:t study:t job_images:n batch_dtype:t partial:T fixed_batch:i fixed_workers:i rows:o",
        "rue.scale/2", findings->study, job->images, rue_dtype_names[job->workload.batch_dtype],
        findings->run.partial ? findings->run.partial_reason : "", scaling->fixed_batch,
        scaling->fixed_workers, rue_page_json_table(&page));
    return rue_json_write(root, stream, error);
}

/* The trial that was under way; NaN: none. */
static double find_trial(const struct rue_scaling *scaling, const struct rue_usage_sample *sample)
{
    for (size_t i = 0; i < scaling->row_count; i++)
        if (is_during(sample, &scaling->rows[i])) return (double)scaling->rows[i].trial;
    return NAN;
}

static void put_sample(struct rue_page *page, const struct rue_usage_sample *sample, double trial)
{
    const struct rue_table_column row[] = {
        {"trial", NULL, RUE_UNIT_COUNT, .number = trial},
        {"time_s", NULL, RUE_UNIT_NUMBER, .number = sample->time_s},
        {"processes", NULL, RUE_UNIT_NUMBER, .number = sample->processes},
        {"threads", NULL, RUE_UNIT_NUMBER, .number = sample->threads},
        {"cpu_percent", NULL, RUE_UNIT_NUMBER, .number = sample->cpu_percent},
        {"rss_mb", NULL, RUE_UNIT_NUMBER, .number = sample->rss_mb},
        {"read_mb", NULL, RUE_UNIT_NUMBER, .number = sample->read_mb},
        {"write_mb", NULL, RUE_UNIT_NUMBER, .number = sample->write_mb},
        {"gpu_percent", NULL, RUE_UNIT_NUMBER, .number = sample->gpu_percent},
        {"gpu_memory_mb", NULL, RUE_UNIT_NUMBER, .number = sample->gpu_memory_mb},
    };
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

rue_status rue_scaling_write_samples(const void *context, FILE *stream, rue_error *error)
{
    static const struct rue_usage_sample no_sample;
    const struct rue_scaling *scaling = context;
    struct rue_page page = {0};
    rue_page_table(&page);
    put_sample(&page, &no_sample, NAN);
    rue_page_clear_rows(&page); /* its columns stay */
    for (size_t i = 0; i < scaling->sample_count; i++)
        put_sample(&page, &scaling->samples[i], find_trial(scaling, &scaling->samples[i]));
    return finish_csv(&page, stream, error);
}

/* ---- for people ---- */

static void say_point(struct rue_page *page, const struct curve *curve, const struct rue_scaling_row *row)
{
    int value = row_config(curve->scaling, row)->value[curve->knob];
    if (curve->knob == RUE_BATCH_SIZE)
        rue_say(page, "batch_size %d", value);
    else
        rue_say(page, "%d worker%s", value, rue_prose_plural((uint64_t)value));
}

static void say_knee(struct rue_page *page, const struct curve *curve)
{
    if (!curve->fastest) return;
    say_point(page, curve, curve->fastest);
    rue_say(page, " %s the fastest, %.0f" RUE_NO_BREAK "images/s",
            curve->knob == RUE_BATCH_SIZE ? "is" : "are", rue_scaling_rate(curve->fastest));
    if (curve->knee != curve->fastest) {
        rue_say(page, "; ");
        say_point(page, curve, curve->knee);
        rue_say(page, " already reach%s %.0f %% of that", curve->knob == RUE_BATCH_SIZE ? "es" : "",
                100 * rue_scaling_rate(curve->knee) / rue_scaling_rate(curve->fastest));
    }
    rue_say(page, ".");
}

static void say_title(struct rue_page *page, const struct curve *curve)
{
    const struct rue_findings *findings = curve->scaling->findings;
    const struct rue_variant_findings *variant = &findings->variants[curve->variant];
    const struct rue_workload *workload = &variant->job.workload;
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    rue_say_variant(page, findings, variant);
    const char *model = variant->matrix->models[curve->model];
    bool alone = strcmp(model, "none") == 0;
    rue_say(page, ", read %s, %s%s", workload->cache, alone ? "loader alone" : "model ", alone ? "" : model);
    if (workload->batch_dtype != RUE_FLOAT32)
        rue_say(page, ", batches of %s", rue_dtype_names[workload->batch_dtype]);
    uint32_t views = rue_workload_views(workload);
    if (rue_workload_trains(workload)) rue_say(page, ", augmented for training");
    if (views > 1) rue_say(page, ", %" PRIu32 " views of each", views);
    if (curve->knob == RUE_BATCH_SIZE)
        rue_say(page, ", %d worker%s: ", curve->scaling->fixed_workers,
                rue_prose_plural((uint64_t)curve->scaling->fixed_workers));
    else
        rue_say(page, ", batch_size %d: ", curve->scaling->fixed_batch);
    say_knee(page, curve);
}

static void say_limit(struct rue_page *page, const struct curve *curve)
{
    const double busy = 0.9;
    if (!curve->fastest) return;
    const double *used = curve->fastest->figures;
    int cpus = curve->scaling->findings->machine.usable_cpus;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    if (used[RUE_SCALING_CPU] >= busy * 100 * cpus)
        rue_say(page, "The CPUs are the limit: %.0f %% of %d CPUs are busy. ", used[RUE_SCALING_CPU] / cpus,
                cpus);
    if (used[RUE_SCALING_GPU] >= busy * 100)
        rue_say(page, "The GPU is the limit: it is %.0f %% busy.", used[RUE_SCALING_GPU]);
}

static void say_missed(struct rue_page *page, const struct curve *curve)
{
    size_t missed = 0;
    for (size_t i = 0; i < curve->scaling->row_count; i++) {
        const struct rue_scaling_row *row = &curve->scaling->rows[i];
        missed += is_curve_row(curve, row) && row->result->cache_missed == 1;
    }
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    if (missed)
        rue_say(page, "%zu trial%s not %s, even when repeated (cache_missed in scale.csv).", missed,
                missed == 1 ? " was" : "s were",
                curve->scaling->findings->variants[curve->variant].job.workload.cache);
}

rue_status rue_scaling_show(const struct rue_scaling *scaling, const struct rue_report_style *style,
                            FILE *stream, rue_error *error)
{
    struct rue_page page = {0};
    rue_page_sentence(&page, RUE_LOOK_BOLD, 0);
    rue_verdict_partial(&page, scaling->findings);
    rue_page_sentence(&page, RUE_LOOK_BOLD, 0);
    rue_verdict_confidence(&page, scaling->findings);
    rue_page_gap(&page);
    bool ranks = rue_findings_compares_ranks(scaling->findings);
    if (ranks) rue_rank_scaling_put(&page, scaling->findings, false);
    for (size_t i = 0; i < curve_count(scaling) && !ranks; i++) {
        struct curve curve = curve_at(scaling, i);
        if (!curve.point_count) continue;
        say_title(&page, &curve);
        rue_page_table(&page);
        put_rows(&page, &curve);
        say_limit(&page, &curve);
        say_missed(&page, &curve);
        rue_page_gap(&page);
    }
    rue_status status = rue_page_write(&page, style, stream, error);
    rue_page_close(&page);
    return status;
}
