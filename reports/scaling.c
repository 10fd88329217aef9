#include "scaling.h"

#include <math.h>
#include <string.h>

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
static void put_mode(struct rue_page *page, const struct rue_variant *variant)
{
    rue_put_words(page, "%s%s%s", rue_mode_names[variant->mode], variant->dtype[0] ? " " : "",
                  variant->dtype);
}

/* ---- every row, for machines ---- */

static const struct {
    const char *key;
    size_t offset;
} usages[] = {{"cpu_percent_mean", offsetof(struct rue_scaling_usage, cpu_percent.mean)},
              {"cpu_percent_peak", offsetof(struct rue_scaling_usage, cpu_percent.peak)},
              {"rss_mb_mean", offsetof(struct rue_scaling_usage, rss_mb.mean)},
              {"rss_mb_peak", offsetof(struct rue_scaling_usage, rss_mb.peak)},
              {"pss_mb_mean", offsetof(struct rue_scaling_usage, pss_mb.mean)},
              {"pss_mb_peak", offsetof(struct rue_scaling_usage, pss_mb.peak)},
              {"read_mb", offsetof(struct rue_scaling_usage, read_mb)},
              {"write_mb", offsetof(struct rue_scaling_usage, write_mb)},
              {"gpu_percent_mean", offsetof(struct rue_scaling_usage, gpu_percent.mean)},
              {"gpu_percent_peak", offsetof(struct rue_scaling_usage, gpu_percent.peak)},
              {"gpu_memory_mb_mean", offsetof(struct rue_scaling_usage, gpu_memory_mb.mean)},
              {"gpu_memory_mb_peak", offsetof(struct rue_scaling_usage, gpu_memory_mb.peak)}};
enum { USAGES = sizeof usages / sizeof *usages };

static double if_positive(double value)
{
    return value > 0 ? value : NAN;
}

static void put_row(struct rue_page *page, const struct rue_scaling *scaling,
                    const struct rue_scaling_row *row)
{
    const struct rue_scaling_set *set = &scaling->sets[row->set];
    double rate = rue_scaling_rate(row);
    rue_page_row(page, false);
    rue_put_text(page, set->variant.format);
    put_mode(page, &set->variant);
    rue_put_text(page, set->dataset);
    rue_put_number(page, row->config.value[RUE_BATCH_SIZE]);
    rue_put_number(page, row->config.value[RUE_NUM_WORKERS]);
    rue_put_number(page, row->tried ? (double)row->images : NAN);
    rue_put_number(page, if_positive(row->elapsed_s));
    rue_put_number(page, rate);
    rue_put_number(page, isnan(rate) ? NAN : (double)row->batches / row->elapsed_s);
    for (size_t u = 0; u < USAGES; u++)
        rue_put_number(page, *(const double *)((const char *)&row->usage + usages[u].offset));
    rue_put_text(page, row->timestamp);
    rue_put_text(page, row->model);
    rue_put_text(page, set->cache);
    rue_put_number(page, if_positive(row->first_batch_s));
    rue_put_text(page, row->tried ? rue_outcome_names[row->outcome] : "");
    rue_put_text(page, row->reason);
    rue_put_number(page, row->tried && row->cache_missed != RUE_ABSENT ? (double)row->cache_missed : NAN);
    rue_put_config(page, &row->config);
    rue_put_number(page, row->of_batches);
    rue_put_number(page, row->of_workers);
}

static void put_rows(struct rue_page *page, const struct rue_scaling *scaling, bool tried_only)
{
    static const char *const texts[] = {"format", "variant", "dataset"};
    static const char *const figures[] = {"total_samples", "elapsed_time", "samples_per_sec",
                                          "batches_per_sec"};
    static const struct rue_table_column rest[] = {
        {.key = "timestamp"},
        {.key = "model"},
        {.key = "cache", .skip = RUE_SKIP_JSON},
        {.key = "first_batch_time", .unit = RUE_UNIT_NUMBER},
        {.key = "status"},
        {.key = "reason"},
        {.key = "cache_missed", .unit = RUE_UNIT_COUNT},
        {.key = "config", .skip = RUE_SKIP_CSV},
        {.key = "of_batches", .unit = RUE_UNIT_FLAG, .skip = RUE_SKIP_CSV},
        {.key = "of_workers", .unit = RUE_UNIT_FLAG, .skip = RUE_SKIP_CSV}};
    rue_page_table(page, NULL, 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        rue_page_column(page, (struct rue_table_column){.key = texts[i]});
    for (int k = RUE_BATCH_SIZE; k <= RUE_NUM_WORKERS; k++)
        rue_page_column(page, (struct rue_table_column){.key = rue_own_knobs.at[k]->name,
                                                        .unit = RUE_UNIT_COUNT,
                                                        .skip = RUE_SKIP_JSON});
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        rue_page_column(page, (struct rue_table_column){.key = figures[i], .unit = RUE_UNIT_NUMBER});
    for (size_t u = 0; u < USAGES; u++)
        rue_page_column(page, (struct rue_table_column){.key = usages[u].key, .unit = RUE_UNIT_NUMBER});
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) rue_page_column(page, rest[i]);
    for (size_t i = 0; i < scaling->row_count; i++)
        if (scaling->rows[i].tried || !tried_only) put_row(page, scaling, &scaling->rows[i]);
}

rue_status rue_scaling_write_csv(const struct rue_scaling *scaling, FILE *stream, rue_error *error)
{
    struct rue_page page = {0};
    put_rows(&page, scaling, true);
    rue_status status = rue_page_write_csv(&page, true, stream, error);
    rue_page_close(&page);
    return status == RUE_OK ? rue_report_finish(stream, error) : status;
}

json_t *rue_scaling_set_json(const struct rue_scaling_set *set)
{
    return rue_json_make("path:t mode:t format:T dtype:T cache:T batch_dtype:t images:N fault:T",
                         set->variant.path, rue_mode_names[set->variant.mode], set->variant.format,
                         set->variant.dtype, set->cache, rue_dtype_names[set->batch_dtype], set->images,
                         set->fault);
}

json_t *rue_scaling_json(const struct rue_scaling *scaling)
{
    struct rue_page page = {0};
    json_t *sets = json_array(), *best = json_array();
    put_rows(&page, scaling, false);
    for (size_t s = 0; s < scaling->set_count; s++)
        rue_json_push(&sets, rue_scaling_set_json(&scaling->sets[s]));
    for (size_t i = 0; i < scaling->row_count; i++)
        if (rue_scaling_best(scaling, scaling->rows[i].set, scaling->rows[i].model) == i)
            rue_json_push(&best, json_integer((json_int_t)i));
    json_t *root =
        rue_json_make("format:t folder:t job_images:n trial_images:n partial:T data:o rows:o best:o",
                      "rue.scale/1", scaling->folder, scaling->job_images, scaling->trial_images,
                      scaling->partial_reason, sets, rue_table_json(rue_page_last_table(&page)), best);
    rue_page_close(&page);
    return root;
}

/* ---- curves, and the best of each, for people ---- */

static const struct rue_table_column usage_columns[] = {
    {.header = "images/s", .unit = RUE_UNIT_NUMBER, .digits = 1},
    {.header = "CPU %", .unit = RUE_UNIT_NUMBER, .drop = 2},
    {.header = "memory MB", .unit = RUE_UNIT_NUMBER, .digits = 1, .drop = 3},
    {.header = "read MB", .unit = RUE_UNIT_NUMBER, .digits = 1, .drop = 2},
    {.header = "GPU %", .unit = RUE_UNIT_NUMBER, .drop = 2}};

static void add_usage_columns(struct rue_page *page)
{
    for (size_t i = 0; i < sizeof usage_columns / sizeof *usage_columns; i++)
        rue_page_column(page, usage_columns[i]);
}

static void put_usage(struct rue_page *page, const struct rue_scaling_row *row)
{
    rue_put_number(page, rue_scaling_rate(row));
    rue_put_number(page, row->usage.cpu_percent.mean);
    rue_put_number(page, row->usage.rss_mb.peak);
    rue_put_number(page, row->usage.read_mb);
    rue_put_number(page, row->usage.gpu_percent.mean);
}

static bool is_same_curve(const struct rue_scaling_row *a, const struct rue_scaling_row *b)
{
    return a->set == b->set && strcmp(a->model, b->model) == 0;
}

/* The points of one curve: batches, or workers. */
static void put_curve(struct rue_page *page, const struct rue_scaling *scaling,
                      const struct rue_scaling_row *of, enum rue_knob knob)
{
    size_t best = rue_scaling_best(scaling, of->set, of->model);
    double most = best == RUE_SCALING_NONE ? NAN : rue_scaling_rate(&scaling->rows[best]);
    bool batches = knob == RUE_BATCH_SIZE, begun = false;
    int fixed = scaling->fixed.value[batches ? RUE_NUM_WORKERS : RUE_BATCH_SIZE];
    for (size_t i = 0; i < scaling->row_count; i++) {
        const struct rue_scaling_row *row = &scaling->rows[i];
        if (!(batches ? row->of_batches : row->of_workers) || !is_same_curve(row, of) || !row->tried)
            continue;
        if (!begun) {
            rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
            rue_say(page, batches ? "with %d worker%s:" : "with batches of %d:", fixed,
                    fixed == 1 ? "" : "s");
            rue_page_table(
                page,
                &(struct rue_table_column){.header = rue_own_knobs.at[knob]->name, .unit = RUE_UNIT_NUMBER},
                1);
            add_usage_columns(page);
            rue_page_column(page, (struct rue_table_column){
                                      .header = "", .unit = RUE_UNIT_BAR, .shrink_to = 20, .drop = 1});
            begun = true;
        }
        rue_page_row(page, i == best);
        rue_put_number(page, row->config.value[knob]);
        if (row->outcome == RUE_TRIAL_OK) {
            put_usage(page, row);
            rue_put_number(page, rue_scaling_rate(row) / most);
        } else {
            rue_put_text(page, rue_outcome_names[row->outcome]);
        }
    }
}

/* Trials that read from elsewhere than the title says. */
static void say_missed(struct rue_page *page, const struct rue_scaling *scaling,
                       const struct rue_scaling_row *of)
{
    size_t missed = 0, ok = 0;
    for (size_t i = 0; i < scaling->row_count; i++) {
        const struct rue_scaling_row *row = &scaling->rows[i];
        if (!is_same_curve(row, of) || isnan(rue_scaling_rate(row))) continue;
        ok++;
        missed += row->cache_missed == 1;
    }
    if (missed)
        rue_say(
            page,
            "%zu of %zu trials %s not %s, also when repeated; summary.csv marks %s (cache_missed) and says "
            "why.",
            missed, ok, missed == 1 ? "was" : "were", scaling->sets[of->set].cache,
            missed == 1 ? "it" : "them");
}

static void put_curves(struct rue_page *page, const struct rue_scaling *scaling,
                       const struct rue_scaling_row *of)
{
    const struct rue_scaling_set *set = &scaling->sets[of->set];
    char variant[96];
    bool levels = set->batch_dtype != RUE_FLOAT32;
    rue_variant_describe(&set->variant, variant, sizeof variant);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "%s, %s, model %s, %s%s%s:", set->dataset, variant, of->model, set->cache,
            levels ? ", batches of " : "", levels ? rue_dtype_names[set->batch_dtype] : "");
    put_curve(page, scaling, of, RUE_BATCH_SIZE);
    put_curve(page, scaling, of, RUE_NUM_WORKERS);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    say_missed(page, scaling, of);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_say(page, "%s", set->fault);
    rue_page_gap(page);
}

/* Where the rows of another set or model begin. */
static bool begins_curve(const struct rue_scaling *scaling, size_t row)
{
    return row == 0 || !is_same_curve(&scaling->rows[row], &scaling->rows[row - 1]);
}

static void put_best(struct rue_page *page, const struct rue_scaling *scaling)
{
    static const struct rue_table_column columns[] = {{.header = "format"},
                                                      {.header = "variant"},
                                                      {.header = "data", .shrink_to = 10},
                                                      {.header = "model", .shrink_to = 10},
                                                      {.header = "batch_size", .unit = RUE_UNIT_NUMBER},
                                                      {.header = "num_workers", .unit = RUE_UNIT_NUMBER}};
    double top = 0;
    bool any = false;
    for (size_t i = 0; i < scaling->row_count; i++) top = fmax(top, rue_scaling_rate(&scaling->rows[i]));
    for (size_t i = 0; i < scaling->row_count; i++) {
        const struct rue_scaling_row *row = &scaling->rows[i];
        const struct rue_scaling_set *set = &scaling->sets[row->set];
        if (rue_scaling_best(scaling, row->set, row->model) != i) continue;
        if (!any) {
            rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
            rue_say(page, "The best configuration of each:");
            rue_page_table(page, columns, sizeof columns / sizeof *columns);
            add_usage_columns(page);
            any = true;
        }
        rue_page_row(page, rue_scaling_rate(row) == top);
        top = rue_scaling_rate(row) == top ? INFINITY : top; /* the first of equal ones */
        rue_put_text(page, set->variant.format);
        put_mode(page, &set->variant);
        rue_put_text(page, set->dataset);
        rue_put_text(page, row->model);
        rue_put_number(page, row->config.value[RUE_BATCH_SIZE]);
        rue_put_number(page, row->config.value[RUE_NUM_WORKERS]);
        put_usage(page, row);
    }
}

rue_status rue_scaling_show(const struct rue_scaling *scaling, const struct rue_report_style *style,
                            FILE *stream, rue_error *error)
{
    struct rue_page page = {0};
    for (size_t i = 0; i < scaling->row_count; i++)
        if (begins_curve(scaling, i)) put_curves(&page, scaling, &scaling->rows[i]);
    put_best(&page, scaling);
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    rue_say(&page, "%s", scaling->partial_reason);
    rue_status status = rue_page_write(&page, style, stream, error);
    rue_page_close(&page);
    return status;
}
