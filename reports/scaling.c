#include "scaling.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "csv_field.h"
#include "json_document.h"

struct rue_scaling_usage rue_scaling_usage_unknown(void)
{
    const struct rue_scaling_figure unknown = {NAN, NAN};
    return (struct rue_scaling_usage){.cpu_percent = unknown,
                                      .rss_mb = unknown,
                                      .pss_mb = unknown,
                                      .gpu_percent = unknown,
                                      .gpu_memory_mb = unknown,
                                      .read_mb = NAN,
                                      .write_mb = NAN};
}

/* A trial that was looked at so seldom is not known by its samples: they are from its beginning and its end.
 */
enum { FEW_SAMPLES = 3 };

void rue_scaling_usage_complete(struct rue_scaling_usage *usage, const struct rue_trial_result *result)
{
    const double megabyte = 1e6;
    bool few = usage->samples <= FEW_SAMPLES;
    if (result->read_bytes >= 0) usage->read_mb = (double)result->read_bytes / megabyte;
    if (result->anon_peak_bytes > 0) {
        int64_t file_bytes = result->file_peak_bytes > 0 ? result->file_peak_bytes : 0;
        double peak = (double)(result->anon_peak_bytes + file_bytes) / megabyte;
        usage->rss_mb.peak = fmax(usage->rss_mb.peak, peak);
        if (few) usage->rss_mb.mean = fmax(usage->rss_mb.mean, peak);
    }
    if (!few || !(result->cpu_ratio >= 0)) return;
    usage->cpu_percent.mean = 100 * result->cpu_ratio;
    usage->cpu_percent.peak = fmax(usage->cpu_percent.peak, usage->cpu_percent.mean);
}

double rue_scaling_rate(const struct rue_scaling_row *row)
{
    bool ok = row->tried && row->outcome == RUE_TRIAL_OK && row->elapsed_s > 0;
    return ok ? (double)row->images / row->elapsed_s : NAN;
}

size_t rue_scaling_best(const struct rue_scaling *scaling, size_t set, const char *model)
{
    size_t best = RUE_SCALING_NONE;
    for (size_t i = 0; i < scaling->row_count; i++) {
        const struct rue_scaling_row *row = &scaling->rows[i];
        double rate = rue_scaling_rate(row);
        if (row->set != set || strcmp(row->model, model) != 0 || isnan(rate)) continue;
        if (best == RUE_SCALING_NONE || rate > rue_scaling_rate(&scaling->rows[best])) best = i;
    }
    return best;
}

/* What people call the data mode: "raw", "preprocessed float32". */
static void name_mode(const struct rue_variant *variant, char *out, size_t bytes)
{
    snprintf(out, bytes, "%s%s%s", rue_mode_names[variant->mode], variant->dtype[0] ? " " : "",
             variant->dtype);
}

/* The figures of a row, in the order of their columns. */
struct figure {
    const char *name;
    double value;
};

enum { FIGURES = 16 };

static void list_figures(const struct rue_scaling_row *row, struct figure out[FIGURES])
{
    const struct rue_scaling_usage *usage = &row->usage;
    double rate = rue_scaling_rate(row);
    bool ok = !isnan(rate);
    const struct figure figures[FIGURES] = {
        {"total_samples", row->tried ? (double)row->images : NAN},
        {"elapsed_time", row->elapsed_s > 0 ? row->elapsed_s : NAN},
        {"samples_per_sec", rate},
        {"batches_per_sec", ok ? (double)row->batches / row->elapsed_s : NAN},
        {"cpu_percent_mean", usage->cpu_percent.mean},
        {"cpu_percent_peak", usage->cpu_percent.peak},
        {"rss_mb_mean", usage->rss_mb.mean},
        {"rss_mb_peak", usage->rss_mb.peak},
        {"pss_mb_mean", usage->pss_mb.mean},
        {"pss_mb_peak", usage->pss_mb.peak},
        {"read_mb", usage->read_mb},
        {"write_mb", usage->write_mb},
        {"gpu_percent_mean", usage->gpu_percent.mean},
        {"gpu_percent_peak", usage->gpu_percent.peak},
        {"gpu_memory_mb_mean", usage->gpu_memory_mb.mean},
        {"gpu_memory_mb_peak", usage->gpu_memory_mb.peak},
    };
    memcpy(out, figures, sizeof figures);
}

/* ---- summary.csv ---- */

static void put_header(FILE *stream)
{
    struct figure figures[FIGURES];
    list_figures(&(struct rue_scaling_row){0}, figures);
    fputs("format,variant,dataset,batch_size,num_workers", stream);
    for (int f = 0; f < FIGURES; f++) fprintf(stream, ",%s", figures[f].name);
    fputs(",timestamp,model,cache,first_batch_time,status,reason,cache_missed\n", stream);
}

static void put_row(const struct rue_scaling *scaling, const struct rue_scaling_row *row, FILE *stream)
{
    const struct rue_scaling_set *set = &scaling->sets[row->set];
    struct figure figures[FIGURES];
    char mode[64];
    name_mode(&set->variant, mode, sizeof mode);
    list_figures(row, figures);
    rue_csv_put_text(stream, set->variant.format);
    fputc(',', stream);
    rue_csv_put_text(stream, mode);
    fputc(',', stream);
    rue_csv_put_text(stream, set->dataset);
    fprintf(stream, ",%d,%d", row->config.value[RUE_BATCH_SIZE], row->config.value[RUE_NUM_WORKERS]);
    for (int f = 0; f < FIGURES; f++)
        if (isfinite(figures[f].value))
            fprintf(stream, ",%.9g", figures[f].value);
        else
            fputc(',', stream);
    fprintf(stream, ",%s,", row->timestamp);
    rue_csv_put_text(stream, row->model);
    fprintf(stream, ",%s,", set->cache);
    if (row->first_batch_s > 0) fprintf(stream, "%.9g", row->first_batch_s);
    fprintf(stream, ",%s,", rue_outcome_names[row->outcome]);
    rue_csv_put_text(stream, row->reason);
    if (row->cache_missed == RUE_ABSENT)
        fputs(",\n", stream);
    else
        fprintf(stream, ",%" PRId64 "\n", row->cache_missed);
}

rue_status rue_scaling_write_csv(const struct rue_scaling *scaling, FILE *stream, rue_error *error)
{
    put_header(stream);
    for (size_t i = 0; i < scaling->row_count; i++)
        if (scaling->rows[i].tried) put_row(scaling, &scaling->rows[i], stream);
    return rue_report_finish(stream, error);
}

/* ---- JSON ---- */

static json_t *row_json(struct rue_json_document *document, const struct rue_scaling *scaling,
                        const struct rue_scaling_row *row)
{
    const struct rue_scaling_set *set = &scaling->sets[row->set];
    struct figure figures[FIGURES];
    char mode[64];
    json_t *object = json_object();
    name_mode(&set->variant, mode, sizeof mode);
    list_figures(row, figures);
    rue_json_put(document, object, "format", rue_json_text(set->variant.format));
    rue_json_put(document, object, "variant", rue_json_text(mode));
    rue_json_put(document, object, "dataset", rue_json_text(set->dataset));
    rue_json_put(document, object, "model", rue_json_text(row->model));
    rue_json_put(document, object, "config", rue_json_config(document, &row->config, true));
    rue_json_put(document, object, "of_batches", json_boolean(row->of_batches));
    rue_json_put(document, object, "of_workers", json_boolean(row->of_workers));
    rue_json_put(document, object, "status",
                 row->tried ? json_string(rue_outcome_names[row->outcome]) : json_null());
    rue_json_put(document, object, "reason", rue_json_text_or_null(row->reason));
    for (int f = 0; f < FIGURES; f++)
        rue_json_put(document, object, figures[f].name, rue_json_real(figures[f].value));
    rue_json_put(document, object, "first_batch_time",
                 row->first_batch_s > 0 ? rue_json_real(row->first_batch_s) : json_null());
    rue_json_put(document, object, "cache_missed",
                 row->tried && row->cache_missed != RUE_ABSENT ? json_integer(row->cache_missed)
                                                               : json_null());
    rue_json_put(document, object, "timestamp", rue_json_text_or_null(row->timestamp));
    return object;
}

json_t *rue_scaling_set_json(struct rue_json_document *document, const struct rue_scaling_set *set)
{
    json_t *object = json_object();
    rue_json_put(document, object, "path", rue_json_text(set->variant.path));
    rue_json_put(document, object, "mode", json_string(rue_mode_names[set->variant.mode]));
    rue_json_put(document, object, "format", rue_json_text_or_null(set->variant.format));
    rue_json_put(document, object, "dtype", rue_json_text_or_null(set->variant.dtype));
    rue_json_put(document, object, "cache", rue_json_text_or_null(set->cache));
    rue_json_put(document, object, "batch_dtype", json_string(rue_dtype_names[set->batch_dtype]));
    rue_json_put(document, object, "images", rue_json_integer_or_null(set->images));
    rue_json_put(document, object, "fault", rue_json_text_or_null(set->fault));
    return object;
}

json_t *rue_scaling_json(const struct rue_scaling *scaling)
{
    struct rue_json_document document = {0};
    json_t *root = json_object(), *sets = json_array(), *rows = json_array(), *best = json_array();
    rue_json_put(&document, root, "format", json_string("rue.scale/1"));
    rue_json_put(&document, root, "folder", rue_json_text(scaling->folder));
    rue_json_put(&document, root, "job_images", rue_json_integer(scaling->job_images));
    rue_json_put(&document, root, "trial_images", rue_json_integer(scaling->trial_images));
    rue_json_put(&document, root, "partial", rue_json_text_or_null(scaling->partial_reason));
    for (size_t s = 0; s < scaling->set_count; s++)
        rue_json_push(&document, sets, rue_scaling_set_json(&document, &scaling->sets[s]));
    for (size_t i = 0; i < scaling->row_count; i++) {
        const struct rue_scaling_row *row = &scaling->rows[i];
        rue_json_push(&document, rows, row_json(&document, scaling, row));
        if (rue_scaling_best(scaling, row->set, row->model) == i)
            rue_json_push(&document, best, json_integer((json_int_t)i));
    }
    rue_json_put(&document, root, "data", sets);
    rue_json_put(&document, root, "rows", rows);
    rue_json_put(&document, root, "best", best);
    if (!document.failed) return root;
    json_decref(root);
    return NULL;
}
