/* The tables of scaling: curves, and the best configuration of each variant. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "scaling.h"
#include "text_table.h"
#include "units.h"
#include "utf8.h"
#include "wrap.h"

enum { BAR = 20 };

struct page {
    const struct rue_scaling *scaling;
    const struct rue_report_style *style;
    FILE *stream;
    struct rue_text_table *table;
};

static void add_columns(struct rue_text_table *table, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct rue_text_column column = {.right = true};
        snprintf(column.header, sizeof column.header, "%s", names[i]);
        rue_text_table_column(table, column);
    }
}

static void put_figure(struct rue_text_table *table, int column, const char *format, double value)
{
    if (isfinite(value))
        rue_text_table_cell(table, column, format, value);
    else
        rue_text_table_cell(table, column, "-");
}

/* What every table says of a row, from `column` on. */
static void put_usage(struct rue_text_table *table, int column, const struct rue_scaling_row *row)
{
    const struct rue_scaling_usage *usage = &row->usage;
    put_figure(table, column, "%.1f", rue_scaling_rate(row));
    put_figure(table, column + 1, "%.0f", usage->cpu_percent.mean);
    put_figure(table, column + 2, "%.1f", usage->rss_mb.peak);
    put_figure(table, column + 3, "%.1f", usage->read_mb);
    put_figure(table, column + 4, "%.0f", usage->gpu_percent.mean);
}

static void put_bar(struct rue_text_table *table, int column, double share)
{
    char bar[3 * BAR + 1] = "";
    size_t used = 0;
    for (int i = 0; isfinite(share) && i < (int)lround(share * BAR); i++)
        used += (size_t)snprintf(bar + used, sizeof bar - used, "%s", table->unicode ? "\xE2\x96\x88" : "#");
    rue_text_table_cell(table, column, "%s", bar);
}

/* The points of one curve: batches, or workers. */
static void put_curve(const struct page *page, size_t set, const char *model, enum rue_knob knob)
{
    const char *const names[] = {
        rue_own_knobs.at[knob]->name, "images/s", "CPU %", "memory MB", "read MB", "GPU %"};
    enum { NAMES = sizeof names / sizeof *names };
    size_t best = rue_scaling_best(page->scaling, set, model);
    double most = best == RUE_SCALING_NONE ? NAN : rue_scaling_rate(&page->scaling->rows[best]);
    rue_text_table_clear(page->table, page->style->unicode);
    add_columns(page->table, names, NAMES);
    rue_text_table_column(page->table, (struct rue_text_column){.header = "", .shrink_to = BAR, .drop = 1});
    for (size_t i = 0; i < page->scaling->row_count; i++) {
        const struct rue_scaling_row *row = &page->scaling->rows[i];
        bool mine = knob == RUE_BATCH_SIZE ? row->of_batches : row->of_workers;
        if (!mine || row->set != set || strcmp(row->model, model) != 0 || !row->tried) continue;
        if (!rue_text_table_row(page->table, i == best)) break;
        rue_text_table_cell(page->table, 0, "%d", row->config.value[knob]);
        if (row->outcome == RUE_TRIAL_OK) {
            put_usage(page->table, 1, row);
            put_bar(page->table, NAMES, rue_scaling_rate(row) / most);
        } else {
            rue_text_table_cell(page->table, 1, "%s", rue_outcome_names[row->outcome]);
        }
    }
    if (!page->table->row_count) return;
    if (knob == RUE_BATCH_SIZE)
        fprintf(page->stream, "  with %d worker%s:\n", page->scaling->fixed.value[RUE_NUM_WORKERS],
                page->scaling->fixed.value[RUE_NUM_WORKERS] == 1 ? "" : "s");
    else
        fprintf(page->stream, "  with batches of %d:\n", page->scaling->fixed.value[RUE_BATCH_SIZE]);
    rue_text_table_print(page->table, page->style, page->stream);
}

static void say(const struct page *page, const char *text, int indent)
{
    char clean[2 * RUE_REASON_BYTES];
    rue_utf8_clean(text, page->style->unicode, clean, sizeof clean);
    rue_wrap(page->stream, clean, page->style->columns ? page->style->columns : 1 << 20, indent);
    fputc('\n', page->stream);
}

/* Where the rows of another set or model begin. */
static bool begins(const struct rue_scaling *scaling, size_t row)
{
    const struct rue_scaling_row *at = &scaling->rows[row];
    return row == 0 || at->set != at[-1].set || strcmp(at->model, at[-1].model) != 0;
}

/* Trials that read from elsewhere than the title says. */
static void put_missed(const struct page *page, size_t set, const char *model)
{
    size_t missed = 0, ok = 0;
    char text[256];
    for (size_t i = 0; i < page->scaling->row_count; i++) {
        const struct rue_scaling_row *row = &page->scaling->rows[i];
        if (row->set != set || strcmp(row->model, model) != 0 || isnan(rue_scaling_rate(row))) continue;
        ok++;
        missed += row->cache_missed == 1;
    }
    if (!missed) return;
    snprintf(
        text, sizeof text,
        "%zu of %zu trials %s not %s, also when repeated; summary.csv marks %s (cache_missed) and says why.",
        missed, ok, missed == 1 ? "was" : "were", page->scaling->sets[set].cache,
        missed == 1 ? "it" : "them");
    say(page, text, 2);
}

static void put_curves(const struct page *page, size_t row)
{
    const struct rue_scaling_row *at = &page->scaling->rows[row];
    const struct rue_scaling_set *set = &page->scaling->sets[at->set];
    char title[RUE_REASON_BYTES], variant[96];
    rue_variant_describe(&set->variant, variant, sizeof variant);
    bool levels = set->batch_dtype != RUE_FLOAT32;
    snprintf(title, sizeof title, "%s, %s, model %s, %s%s%s:", set->dataset, variant, at->model, set->cache,
             levels ? ", batches of " : "", levels ? rue_dtype_names[set->batch_dtype] : "");
    say(page, title, 0);
    put_curve(page, at->set, at->model, RUE_BATCH_SIZE);
    put_curve(page, at->set, at->model, RUE_NUM_WORKERS);
    put_missed(page, at->set, at->model);
    if (set->fault[0]) say(page, set->fault, 2);
    fputc('\n', page->stream);
}

static void put_best(const struct page *page)
{
    static const char *const names[] = {"format",     "variant",     "data",     "model",
                                        "batch_size", "num_workers", "images/s", "CPU %",
                                        "memory MB",  "read MB",     "GPU %"};
    enum { NAMES = sizeof names / sizeof *names };
    size_t top = RUE_SCALING_NONE;
    rue_text_table_clear(page->table, page->style->unicode);
    add_columns(page->table, names, NAMES);
    for (int c = 0; c < 4; c++) page->table->columns[c].right = false;
    for (int c = 2; c < 4; c++) page->table->columns[c].shrink_to = 10;
    for (int c = 7; c < NAMES; c++) page->table->columns[c].drop = 1 + (c == 8);
    for (size_t i = 0; i < page->scaling->row_count; i++) {
        const struct rue_scaling_row *row = &page->scaling->rows[i];
        if (rue_scaling_best(page->scaling, row->set, row->model) != i) continue;
        if (top == RUE_SCALING_NONE || rue_scaling_rate(row) > rue_scaling_rate(&page->scaling->rows[top]))
            top = i;
    }
    for (size_t i = 0; i < page->scaling->row_count; i++) {
        const struct rue_scaling_row *row = &page->scaling->rows[i];
        const struct rue_scaling_set *set = &page->scaling->sets[row->set];
        if (rue_scaling_best(page->scaling, row->set, row->model) != i) continue;
        if (!rue_text_table_row(page->table, i == top)) break;
        rue_text_table_cell(page->table, 0, "%s", set->variant.format);
        rue_text_table_cell(page->table, 1, "%s%s%s", rue_mode_names[set->variant.mode],
                            set->variant.dtype[0] ? " " : "", set->variant.dtype);
        rue_text_table_cell(page->table, 2, "%s", set->dataset);
        rue_text_table_cell(page->table, 3, "%s", row->model);
        rue_text_table_cell(page->table, 4, "%d", row->config.value[RUE_BATCH_SIZE]);
        rue_text_table_cell(page->table, 5, "%d", row->config.value[RUE_NUM_WORKERS]);
        put_usage(page->table, 6, row);
    }
    if (!page->table->row_count) return;
    fprintf(page->stream, "The best configuration of each:\n");
    rue_text_table_print(page->table, page->style, page->stream);
}

rue_status rue_scaling_show(const struct rue_scaling *scaling, const struct rue_report_style *style,
                            FILE *stream, rue_error *error)
{
    struct page page = {scaling, style, stream, calloc(1, sizeof *page.table)};
    if (!page.table) return rue_fail_memory(error, "a table", sizeof *page.table);
    for (size_t i = 0; i < scaling->row_count; i++)
        if (begins(scaling, i)) put_curves(&page, i);
    put_best(&page);
    if (scaling->partial_reason[0]) say(&page, scaling->partial_reason, 0);
    free(page.table);
    return rue_report_finish(stream, error);
}
