#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "charts.h"

static const double quantile_95 = 1.96;

/* ---- names ---- */

void rue_chart_subject_make(const struct rue_findings *findings, size_t variant,
                            struct rue_chart_subject *out)
{
    *out = (struct rue_chart_subject){.findings = findings, .variant = &findings->variants[variant]};
    rue_findings_name_among(findings, out->variant, out->name, sizeof out->name);
    size_t used = 0;
    for (const char *at = out->name; *at && used < sizeof out->slug - 8; at++) {
        bool plain = isalnum((unsigned char)*at);
        if (plain || (used && out->slug[used - 1] != '-'))
            out->slug[used++] = plain ? (char)tolower(*at) : '-';
    }
    while (used && out->slug[used - 1] == '-') used--;
    out->slug[used] = 0;
    if (rue_findings_is_only(findings, out->variant)) out->name[0] = 0;
    for (size_t earlier = 0; earlier < variant; earlier++) {
        struct rue_chart_subject other;
        rue_chart_subject_make(findings, earlier, &other);
        if (strcmp(other.slug, out->slug) != 0) continue;
        snprintf(out->slug + used, sizeof out->slug - used, "-%zu", variant + 1);
        break;
    }
}

void rue_charts_add(struct rue_page *page, const struct rue_chart_subject *subject,
                    const struct rue_chart *chart)
{
    char name[96];
    struct rue_chart named = *chart;
    snprintf(name, sizeof name, "%s%s%s", chart->name, subject->slug[0] ? "-" : "", subject->slug);
    named.name = name;
    rue_page_chart(page, &named);
}

static double best_ns(const struct rue_selection *selection, size_t model)
{
    return isnan(selection->best_ns[model]) ? INFINITY : selection->best_ns[model];
}

size_t rue_chart_next_model(const struct rue_variant_findings *variant, size_t model)
{
    const struct rue_selection *selection = variant->selection;
    double after = model == RUE_NONE ? -1 : best_ns(selection, model), least = INFINITY;
    size_t next = RUE_NONE;
    for (size_t m = 0; m < selection->model_count; m++) {
        double own = best_ns(selection, m);
        bool later = own > after || (own == after && m > model);
        if (later && (next == RUE_NONE || own < least)) next = m, least = own;
    }
    return next;
}

/* ---- slices ---- */

/* The configuration whose other knobs the charts keep; RUE_NONE: no configuration is ranked. */
static size_t find_center(const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    if (selection->recommended != RUE_NONE) return selection->recommended;
    return selection->ranked_count ? selection->ranked[0] : variant->matrix->config_count ? 0 : RUE_NONE;
}

/* Whether a configuration differs from the centre only in the batch size, the workers and the knob `free`.
 * Without workers, knobs that need them do not matter. */
static bool is_similar(const struct rue_variant_findings *variant, size_t center, size_t config, size_t free)
{
    const struct rue_config *a = &variant->matrix->configs[center], *b = &variant->matrix->configs[config];
    const struct rue_knobs *knobs = rue_config_knobs(a);
    for (size_t k = 0; k < knobs->count; k++) {
        bool idle = knobs->at[k]->needs_workers && !b->value[RUE_NUM_WORKERS];
        if (k != RUE_BATCH_SIZE && k != RUE_NUM_WORKERS && k != free && !idle && a->value[k] != b->value[k])
            return false;
    }
    return true;
}

/* Similar, and the only one at its place: of several without workers, the centre, else the first. */
static bool is_in_slice(const struct rue_variant_findings *variant, size_t center, size_t config, size_t free)
{
    const struct rue_config *configs = variant->matrix->configs;
    const int *own = configs[config].value;
    if (!is_similar(variant, center, config, free)) return false;
    for (size_t c = 0; c < variant->matrix->config_count && !own[RUE_NUM_WORKERS]; c++) {
        const int *other = configs[c].value;
        bool same_place = other[RUE_BATCH_SIZE] == own[RUE_BATCH_SIZE] && !other[RUE_NUM_WORKERS] &&
                          (free == RUE_NONE || other[free] == own[free]);
        bool preferred = c == center || (c < config && config != center);
        if (c != config && same_place && preferred && is_similar(variant, center, c, free)) return false;
    }
    return true;
}

bool rue_chart_is_in_slice(const struct rue_chart_subject *subject, size_t config)
{
    size_t center = find_center(subject->variant);
    return center != RUE_NONE && is_in_slice(subject->variant, center, config, RUE_NONE);
}

static size_t count_values(const struct rue_variant_findings *variant, size_t knob)
{
    const struct rue_cost_matrix *matrix = variant->matrix;
    size_t count = 0;
    for (size_t c = 0; c < matrix->config_count; c++) {
        size_t earlier = 0;
        while (earlier < c && matrix->configs[earlier].value[knob] != matrix->configs[c].value[knob])
            earlier++;
        count += earlier == c;
    }
    return count;
}

/* ---- heat maps ---- */

static enum rue_row_mark cell_mark(const struct rue_ranking_row *row)
{
    if (row->infeasible || row->failed) return RUE_ROW_FAILED;
    bool predicted = row->ranked && rue_findings_basis(row) == RUE_BASIS_PREDICTED;
    return predicted ? RUE_ROW_PREDICTED : RUE_ROW_PLAIN;
}

static void put_cell(struct rue_page *page, const struct rue_variant_findings *variant, size_t config,
                     size_t knob)
{
    const struct rue_config *at = &variant->matrix->configs[config];
    const struct rue_ranking_row *own = &variant->selection->rows[config];
    const struct rue_knob_info *info = knob == RUE_NONE ? NULL : rue_config_knobs(at)->at[knob];
    enum rue_row_mark mark = cell_mark(own);
    char value[RUE_KNOB_TEXT_BYTES], named[2 * RUE_KNOB_TEXT_BYTES] = "";
    if (info) rue_knob_format(info, at->value[knob], value);
    if (info) snprintf(named, sizeof named, "%s %s", info->name, value);
    const struct rue_table_column row[] = {
        {"knob", info ? info->name : NULL, .text = named, .absent = !info},
        {"batch_size", "batch size", RUE_UNIT_COUNT, .number = at->value[RUE_BATCH_SIZE]},
        {"num_workers", "workers", RUE_UNIT_COUNT, .number = at->value[RUE_NUM_WORKERS]},
        {"regret", "mean regret", RUE_UNIT_PERCENT, .number = own->ranked ? own->mean_regret_ratio : NAN},
        {"basis", "based on",
         .text = mark == RUE_ROW_PREDICTED ? "predicted"
                 : mark == RUE_ROW_PLAIN   ? ""
                 : own->infeasible         ? "infeasible"
                                           : "failed"},
    };
    rue_page_row(page, config == variant->selection->recommended, row, sizeof row / sizeof *row);
    rue_page_mark(page, mark);
}

/* Explains only marks that occur. */
static void describe_marks(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    bool predicted = false, missing = false;
    for (size_t c = 0; c < variant->matrix->config_count; c++) {
        enum rue_row_mark mark = cell_mark(&variant->selection->rows[c]);
        predicted |= mark == RUE_ROW_PREDICTED;
        missing |= mark == RUE_ROW_FAILED;
    }
    snprintf(out, bytes, "regret: extra time over the best of each model; dark is good%s%s%s",
             variant->selection->recommended != RUE_NONE ? "; ring: recommended" : "",
             predicted ? "; dot: predicted" : "", missing ? "; crossed: failed or does not fit" : "");
}

/* `knob` varies between panels; RUE_NONE: one panel. */
static void put_grid(struct rue_page *page, const struct rue_chart_subject *subject, size_t center,
                     size_t knob)
{
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_knobs *knobs = rue_config_knobs(&variant->matrix->configs[center]);
    const char *name = knob == RUE_NONE ? NULL : knobs->at[knob]->name;
    char kind[RUE_KNOB_TEXT_BYTES + 8], title[PATH_MAX + 256], note[192];
    describe_marks(variant, note, sizeof note);
    snprintf(kind, sizeof kind, "heat%s%s", name ? "-" : "", name ? name : "");
    snprintf(title, sizeof title, "Mean regret (%%)%s%s%s%s", name ? " by " : "", name ? name : "",
             subject->name[0] ? ", " : "", subject->name);
    rue_page_table(page);
    for (size_t c = 0; c < variant->matrix->config_count; c++)
        if (is_in_slice(variant, center, c, knob)) put_cell(page, variant, c, knob);
    rue_charts_add(page, subject,
                   &(struct rue_chart){.kind = RUE_CHART_HEAT,
                                       .name = kind,
                                       .title = title,
                                       .note = note,
                                       .x = "batch_size",
                                       .y = "num_workers",
                                       .value = "regret",
                                       .caption = "basis",
                                       .panel = name ? "knob" : NULL});
}

void rue_charts_map(struct rue_page *page, const struct rue_chart_subject *subject)
{
    size_t center = find_center(subject->variant);
    if (center != RUE_NONE) put_grid(page, subject, center, RUE_NONE);
}

void rue_charts_knobs(struct rue_page *page, const struct rue_chart_subject *subject)
{
    size_t center = find_center(subject->variant);
    if (center == RUE_NONE) return;
    const struct rue_knobs *knobs = rue_config_knobs(&subject->variant->matrix->configs[center]);
    for (size_t k = 0; k < knobs->count; k++)
        if (k != RUE_BATCH_SIZE && k != RUE_NUM_WORKERS && count_values(subject->variant, k) > 1)
            put_grid(page, subject, center, k);
}

/* ---- times ---- */

/* The range of repeats, or the 95 % interval of a prediction; NaN: none. */
static void find_interval(const struct rue_cell *cell, double *low, double *high)
{
    *low = *high = NAN;
    if (cell->repeats == 0 && cell->estimate_sd > 0) {
        *low = cell->median_ns * exp(-quantile_95 * cell->estimate_sd);
        *high = cell->median_ns * exp(quantile_95 * cell->estimate_sd);
    }
    for (size_t i = 0; cell->times_ns && i < cell->repeats; i++) {
        *low = fmin(i ? *low : INFINITY, cell->times_ns[i]);
        *high = fmax(i ? *high : 0, cell->times_ns[i]);
    }
}

static void put_time(struct rue_page *page, const struct rue_variant_findings *variant, size_t model,
                     size_t config)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, model, config);
    const struct rue_config *at = &variant->matrix->configs[config];
    bool ok = cell->state == RUE_CELL_OK, predicted = ok && cell->repeats == 0;
    double low, high;
    find_interval(cell, &low, &high);
    const struct rue_table_column row[] = {
        {"model", "model", .text = variant->matrix->models[model]},
        {"batch_size", "batch size", RUE_UNIT_COUNT, .number = at->value[RUE_BATCH_SIZE]},
        {"num_workers", "workers", RUE_UNIT_COUNT, .number = at->value[RUE_NUM_WORKERS]},
        {"time_ns", variant->goal == RUE_GOAL_TIME ? "time" : "cost", RUE_UNIT_DURATION,
         .number = ok ? cell->median_ns : NAN},
        {"low_ns", NULL, RUE_UNIT_DURATION, .number = low},
        {"high_ns", NULL, RUE_UNIT_DURATION, .number = high},
        {"regret", "regret", RUE_UNIT_PERCENT,
         .number = rue_selection_regret(variant->selection, variant->matrix, model, config)},
        {"note", "note",
         .text = cell->state == RUE_CELL_MISSING ? "not measured"
                 : !ok                           ? cell->reason
                 : predicted                     ? "predicted"
                 : cell->predicted               ? "short runs"
                                                 : ""},
    };
    rue_page_row(page, config == variant->selection->recommended, row, sizeof row / sizeof *row);
    rue_page_mark(page, predicted ? RUE_ROW_PREDICTED : RUE_ROW_PLAIN);
}

/* Models whose times differ by more than this ratio need a logarithmic scale. */
static bool is_spread(const struct rue_variant_findings *variant)
{
    const double most = 6;
    double low = INFINITY, high = 0;
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        low = fmin(low, variant->selection->best_ns[m]);
        high = fmax(high, variant->selection->best_ns[m]);
    }
    return high > most * low;
}

/* Whether any time has an interval. */
static bool has_intervals(const struct rue_variant_findings *variant)
{
    size_t cells = variant->matrix->model_count * variant->matrix->config_count;
    for (size_t i = 0; i < cells; i++) {
        const struct rue_cell *cell = &variant->matrix->cells[i];
        if (cell->repeats > 1 || (cell->repeats == 0 && cell->estimate_sd > 0)) return true;
    }
    return false;
}

/* The three families of charts are views of one table. */
static void add_families(struct rue_page *page, const struct rue_chart_subject *subject)
{
    static const struct {
        const char *kind, *title, *x, *series, *panel;
    } families[] = {
        {"batch", "Fixed batch size: time over workers", "num_workers", "model", "batch_size"},
        {"workers", "Fixed workers: time over batch size", "batch_size", "model", "num_workers"},
        {"model", "Fixed model: time over workers, for each batch size", "num_workers", "batch_size",
         "model"},
    };
    bool intervals = has_intervals(subject->variant);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        char title[PATH_MAX + 256];
        snprintf(title, sizeof title, "%s%s%s", families[i].title, subject->name[0] ? ", " : "",
                 subject->name);
        rue_charts_add(page, subject,
                       &(struct rue_chart){.kind = RUE_CHART_LINES,
                                           .name = families[i].kind,
                                           .title = title,
                                           .note = i ? NULL
                                                   : intervals
                                                       ? "circle: recommended; vertical lines: range of "
                                                         "repeats, or 95 % interval of a prediction"
                                                       : "circle: recommended",
                                           .x = families[i].x,
                                           .value = "time_ns",
                                           .low = "low_ns",
                                           .high = "high_ns",
                                           .series = families[i].series,
                                           .panel = families[i].panel,
                                           .even_x = true,
                                           .log_y = i < 2 && is_spread(subject->variant),
                                           .from_zero = true});
    }
}

void rue_charts_times(struct rue_page *page, const struct rue_chart_subject *subject)
{
    const struct rue_variant_findings *variant = subject->variant;
    size_t center = find_center(variant);
    if (center == RUE_NONE) return;
    rue_page_table(page);
    for (size_t m = RUE_NONE; (m = rue_chart_next_model(variant, m)) != RUE_NONE;)
        for (size_t c = 0; c < variant->matrix->config_count; c++)
            if (is_in_slice(variant, center, c, RUE_NONE)) put_time(page, variant, m, c);
    add_families(page, subject);
}
