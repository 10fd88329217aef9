#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "charts.h"
#include "shell_quote.h"
#include "units.h"

enum { BARS_MAX = 7 };

/* ---- where the time goes ---- */

static void add_config(size_t *configs, size_t *count, size_t config)
{
    for (size_t i = 0; i < *count; i++)
        if (configs[i] == config) return;
    if (config != RUE_NONE && *count < BARS_MAX) configs[(*count)++] = config;
}

/* The recommended configuration, the baselines, the one with the most votes, the best of each batch size. */
static size_t choose_bars(const struct rue_variant_findings *variant, size_t configs[BARS_MAX])
{
    size_t count = 0;
    struct rue_batch_best best = {0};
    add_config(configs, &count, variant->selection->recommended);
    for (size_t b = 0; b < variant->baselines.count; b++)
        add_config(configs, &count, variant->baselines.rows[b].config);
    add_config(configs, &count, variant->selection->top_n_winner);
    while (rue_batch_best_next(variant, &best)) add_config(configs, &count, best.config);
    return count;
}

/* "loading 43 %": the largest part that is not computing, if it is not small. */
static void name_bottleneck(const struct rue_parts *parts, char *out, size_t bytes)
{
    const double small_share = 0.1;
    const struct {
        const char *name;
        double ns;
    } losses[] = {{"first batch", parts->first_batch_ns},
                  {"loading", parts->wait_ns},
                  {"copying", parts->copy_ns},
                  {"shut-down", parts->shutdown_ns}};
    size_t worst = 0;
    for (size_t i = 1; i < sizeof losses / sizeof *losses; i++)
        if (losses[i].ns > losses[worst].ns) worst = i;
    if (losses[worst].ns < small_share * parts->total_ns)
        snprintf(out, bytes, "computing");
    else
        snprintf(out, bytes, "%s %.0f %%", losses[worst].name, 100 * losses[worst].ns / parts->total_ns);
}

/* Runners may report only the total, as tables do. */
static bool has_parts(const struct rue_parts *parts)
{
    return parts->first_batch_ns + parts->wait_ns + parts->compute_ns > 0;
}

/* One trial of the whole job of `images`: only its start and its end do not grow with it. */
static struct rue_parts scale_to_job(const struct rue_parts *parts, uint64_t images, double batch_size)
{
    double trials = (double)parts->count, had = (double)parts->images, job = images ? (double)images : had;
    double first = fmin(batch_size, had), rest = had > first ? (job - first) / (had - first) : job / had;
    struct rue_parts out = {.count = 1,
                            .images = parts->images,
                            .first_batch_ns = parts->first_batch_ns / trials,
                            .wait_ns = parts->wait_ns / trials * rest,
                            .copy_ns = parts->copy_ns / trials * job / had,
                            .compute_ns = parts->compute_ns / trials * job / had,
                            .shutdown_ns = parts->shutdown_ns / trials};
    double known =
        parts->first_batch_ns + parts->wait_ns + parts->copy_ns + parts->compute_ns + parts->shutdown_ns;
    out.total_ns = out.first_batch_ns + out.wait_ns + out.copy_ns + out.compute_ns + out.shutdown_ns +
                   fmax(0, parts->total_ns - known) / trials;
    return out;
}

static void put_bar(struct rue_page *page, const struct rue_variant_findings *variant, size_t model,
                    size_t config, const struct rue_parts *parts)
{
    char bottleneck[64];
    const struct rue_config *at = &variant->matrix->configs[config];
    struct rue_parts job = scale_to_job(parts, variant->job.images, at->value[RUE_BATCH_SIZE]);
    double sum = job.first_batch_ns + job.wait_ns + job.copy_ns + job.compute_ns + job.shutdown_ns;
    name_bottleneck(&job, bottleneck, sizeof bottleneck);
    rue_page_row(page, config == variant->selection->recommended);
    rue_put_text(page, variant->matrix->models[model]);
    rue_put_config(page, at);
    rue_put_number(page, (double)parts->images);
    rue_put_number(page, job.first_batch_ns);
    rue_put_number(page, job.wait_ns);
    rue_put_number(page, job.copy_ns);
    rue_put_number(page, job.compute_ns);
    rue_put_number(page, job.shutdown_ns);
    rue_put_number(page, job.total_ns - sum);
    rue_put_text(page, bottleneck);
}

static void put_bars(struct rue_page *page, const struct rue_chart_subject *subject,
                     const struct rue_breakdown *breakdown)
{
    static const struct rue_table_column columns[] = {
        {.header = "model"},
        {.header = "batch size/workers", .unit = RUE_UNIT_CONFIG},
        {.header = "images", .unit = RUE_UNIT_COUNT},
        {.header = "first batch", .unit = RUE_UNIT_DURATION},
        {.header = "waiting for data", .unit = RUE_UNIT_DURATION},
        {.header = "copying", .unit = RUE_UNIT_DURATION},
        {.header = "computing", .unit = RUE_UNIT_DURATION},
        {.header = "shut-down", .unit = RUE_UNIT_DURATION},
        {.header = "other", .unit = RUE_UNIT_DURATION},
        {.header = "bottleneck"}};
    const struct rue_variant_findings *variant = subject->variant;
    size_t v = (size_t)(variant - subject->findings->variants), configs[BARS_MAX],
           count = choose_bars(variant, configs);
    char id[RUE_CHART_NAME_BYTES];
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    rue_page_chart(page,
                   &(struct rue_chart){.kind = RUE_CHART_BARS,
                                       .name = rue_chart_name(subject, "parts", id),
                                       .title = "Where the time of a job goes",
                                       .note = "from the longest trials of each, scaled to the whole job; "
                                               "bold: recommended; at the end of each bar, what limits it",
                                       .x = 2,
                                       .value = 4,
                                       .part_count = 6,
                                       .panel = 1,
                                       .state = 10,
                                       .x_title = "time of the job"});
    for (size_t m = RUE_NONE; (m = rue_chart_next_model(variant, m)) != RUE_NONE;)
        for (size_t i = 0; i < count; i++) {
            const struct rue_parts *parts =
                rue_breakdown_cell(breakdown, subject->findings, v, m, configs[i]);
            if (parts && parts->images && has_parts(parts)) put_bar(page, variant, m, configs[i], parts);
        }
}

/* ---- resources, and the first batch ---- */

/* Means over the models that have trials of the configuration. */
struct use {
    size_t models;
    double first_batch_ns, images_per_s, cpus, memory_bytes, read_bytes_per_image;
};

static struct use sum_use(const struct rue_chart_subject *subject, const struct rue_breakdown *breakdown,
                          size_t config)
{
    const struct rue_variant_findings *variant = subject->variant;
    size_t v = (size_t)(variant - subject->findings->variants);
    struct use use = {0};
    for (size_t m = 0; m < variant->matrix->model_count; m++) {
        const struct rue_parts *parts = rue_breakdown_cell(breakdown, subject->findings, v, m, config);
        if (!parts) continue;
        double trials = (double)parts->count, images = (double)parts->images * trials;
        use.models++;
        use.first_batch_ns += parts->first_batch_ns / trials;
        use.images_per_s += images / parts->total_ns * 1e9;
        use.cpus += parts->cpu_ratio / trials;
        use.memory_bytes += parts->anon_peak_bytes / trials;
        use.read_bytes_per_image += parts->read_bytes / images;
    }
    return use;
}

static void add_use_charts(struct rue_page *page, const struct rue_chart_subject *subject, bool one_model)
{
    static const struct {
        const char *kind, *title;
        int x, value, series;
        bool one_model;
    } charts[] = {{"first-batch", "Time to the first batch", 2, 3, 1, false},
                  {"rate", "Images per second over workers", 2, 4, 1, true},
                  {"rate-batch", "Images per second over batch size", 1, 4, 2, true},
                  {"cpus", "CPUs in use over workers", 2, 5, 1, false},
                  {"memory", "Memory of the loader over workers", 2, 6, 1, false}};
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        char id[RUE_CHART_NAME_BYTES];
        if (charts[i].one_model && !one_model) continue;
        rue_page_chart(page, &(struct rue_chart){.kind = RUE_CHART_LINES,
                                                 .name = rue_chart_name(subject, charts[i].kind, id),
                                                 .title = charts[i].title,
                                                 .x = charts[i].x,
                                                 .value = charts[i].value,
                                                 .series = charts[i].series,
                                                 .log_x = true,
                                                 .from_zero = true});
    }
}

static void put_use(struct rue_page *page, const struct rue_chart_subject *subject,
                    const struct rue_breakdown *breakdown)
{
    static const struct rue_table_column columns[] = {
        {.header = "batch size", .unit = RUE_UNIT_COUNT},
        {.header = "workers", .unit = RUE_UNIT_COUNT},
        {.header = "first batch", .unit = RUE_UNIT_DURATION},
        {.header = "images/s", .unit = RUE_UNIT_COUNT},
        {.header = "CPUs", .unit = RUE_UNIT_NUMBER, .digits = 1},
        {.header = "memory", .unit = RUE_UNIT_BYTES},
        {.header = "read per image", .unit = RUE_UNIT_BYTES}};
    const struct rue_cost_matrix *matrix = subject->variant->matrix;
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    add_use_charts(page, subject, matrix->model_count == 1);
    for (size_t c = 0; c < matrix->config_count; c++) {
        struct use use = sum_use(subject, breakdown, c);
        double models = (double)use.models;
        bool known = use.first_batch_ns > 0 || matrix->model_count == 1;
        if (!use.models || !known || !rue_chart_is_in_slice(subject, c)) continue;
        rue_page_row(page, c == subject->variant->selection->recommended);
        rue_put_number(page, matrix->configs[c].value[RUE_BATCH_SIZE]);
        rue_put_number(page, matrix->configs[c].value[RUE_NUM_WORKERS]);
        rue_put_number(page, use.first_batch_ns > 0 ? use.first_batch_ns / models : NAN);
        rue_put_number(page, use.images_per_s / models);
        rue_put_number(page, use.cpus / models);
        rue_put_number(page, use.memory_bytes / models);
        rue_put_number(page, use.read_bytes_per_image / models);
    }
}

void rue_charts_breakdown(struct rue_page *page, const struct rue_chart_subject *subject,
                          const struct rue_breakdown *breakdown)
{
    put_bars(page, subject, breakdown);
    put_use(page, subject, breakdown);
}

/* ---- timeline ---- */

static const char *const kind_names[RUE_TRIAL_KINDS] = {"loader and model",
                                                        "loader alone (references, probes)", "model alone",
                                                        "disturbed", "failed, infeasible or timed out"};

static void put_points(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_breakdown *breakdown)
{
    static const struct rue_table_column columns[] = {
        {.header = "trial", .unit = RUE_UNIT_COUNT},
        {.header = "start", .unit = RUE_UNIT_DURATION},
        {.header = "kind"},
        {.header = "time / expected time", .unit = RUE_UNIT_TIMES}};
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    rue_page_chart(page, &(struct rue_chart){.kind = RUE_CHART_POINTS,
                                             .name = "timeline",
                                             .title = "All trials in the order in which they ran",
                                             .note = "1: as expected; trials without a time are drawn at 1",
                                             .x = 2,
                                             .value = 4,
                                             .series = 3,
                                             .log_y = true,
                                             .x_title = "time since the study began"});
    for (enum rue_trial_kind kind = 0; kind < RUE_TRIAL_KINDS; kind++)
        for (size_t i = 0; i < breakdown->point_count; i++) {
            const struct rue_trial_point *point = &breakdown->points[i];
            if (point->kind != kind) continue;
            rue_page_row(page, false);
            rue_put_number(page, (double)point->id);
            rue_put_number(page, (double)point->started_ns);
            rue_put_text(page, kind_names[point->kind]);
            rue_put_number(page, point->ratio);
        }
    for (size_t n = 0; n < findings->changes.notice_count; n++) {
        const struct rue_notice *notice = &findings->changes.notices[n];
        for (size_t i = 0; i < breakdown->point_count; i++) {
            if (breakdown->points[i].id < notice->trial) continue;
            rue_page_row(page, false);
            rue_put_number(page, (double)notice->trial);
            rue_put_number(page, (double)breakdown->points[i].started_ns);
            rue_put_text(page, "change of speed");
            rue_put_number(page, notice->load_ratio);
            break;
        }
    }
}

/* ---- commands ---- */

/* Adds " --batch-size 128". */
static void add_option(char *out, size_t *used, const char *name, const char *value)
{
    size_t begin = *used;
    if (begin >= RUE_TRIAL_COMMAND_BYTES) return;
    *used += (size_t)snprintf(out + begin, RUE_TRIAL_COMMAND_BYTES - begin, " --%s%s%s", name,
                              value[0] ? " " : "", value);
    for (size_t i = begin + 1; out[i] && out[i] != ' '; i++)
        if (out[i] == '_') out[i] = '-';
}

/* Adds the options of the workload that are not at their default. */
static void add_workload(char *out, size_t *used, const struct rue_workload *workload)
{
    const struct rue_workload usual = rue_workload_default();
    for (size_t i = 0; rue_workload_options[i]; i++) {
        const struct rue_field *field = &rue_workload_fields[i];
        const char *at = (const char *)workload + field->offset;
        char value[RUE_VIEWS_TEXT_BYTES + 32] = "";
        if (memcmp(at, (const char *)&usual + field->offset, field->bytes) == 0) continue;
        if (field->kind == RUE_FIELD_NUMBER)
            snprintf(value, sizeof value, "%" PRIu64, rue_field_number(field, workload));
        else if (field->kind == RUE_FIELD_WORD)
            snprintf(value, sizeof value, "%s", field->words[rue_field_number(field, workload)]);
        else if (field->kind == RUE_FIELD_TEXT)
            rue_shell_quote(at, value, sizeof value);
        if (field->kind == RUE_FIELD_FLAG || value[0]) add_option(out, used, rue_workload_options[i], value);
    }
}

bool rue_trial_command(const struct rue_trial_request *request, const char *path, const char *runner,
                       const char *line, char out[RUE_TRIAL_COMMAND_BYTES])
{
    const struct rue_knobs *knobs = rue_config_knobs(&request->config);
    char word[PATH_MAX + 16], value[RUE_KNOB_TEXT_BYTES];
    if (path[0]) rue_shell_quote(path, word, sizeof word);
    size_t used = (size_t)snprintf(out, RUE_TRIAL_COMMAND_BYTES, "rue tune%s%s", path[0] ? " " : "",
                                   path[0] ? word : "");
    bool found = rue_shell_find_option(line, "--runner", word, sizeof word);
    if (found) add_option(out, &used, "runner", word);
    rue_shell_quote(request->model, word, sizeof word);
    if (request->model[0]) add_option(out, &used, "model", word);
    snprintf(value, sizeof value, "%" PRIu64, request->images);
    add_option(out, &used, "images", value);
    for (size_t k = 0; k < knobs->count; k++) {
        if (!rue_config_is_shown(&request->config, k)) continue;
        rue_knob_format(knobs->at[k], request->config.value[k], value);
        add_option(out, &used, knobs->at[k]->name, value);
    }
    if (request->workload.world_size) add_workload(out, &used, &request->workload);
    return found || strncmp(runner, "rue ", 4) == 0;
}

static void put_failures(struct rue_page *page, const struct rue_findings *findings,
                         const struct rue_breakdown *breakdown)
{
    static const struct rue_table_column columns[] = {
        {.header = "trial", .unit = RUE_UNIT_COUNT},
        {.header = "model"},
        {.header = "batch size/workers", .unit = RUE_UNIT_CONFIG},
        {.header = "status"},
        {.header = "reason"},
        {.header = "to repeat it"}};
    size_t shown = breakdown->failure_count < RUE_FAILURES_MAX ? breakdown->failure_count : RUE_FAILURES_MAX;
    if (!shown) return;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "%zu of %zu trials gave no time%s:", breakdown->failure_count, breakdown->trial_count,
            shown < breakdown->failure_count ? "; the first of them" : "");
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < shown; i++) {
        const struct rue_failed_trial *failure = &breakdown->failures[i];
        char command[RUE_TRIAL_COMMAND_BYTES], label[RUE_CONFIG_TEXT_BYTES];
        const struct rue_variant_findings *variant = &findings->variants[failure->variant];
        bool repeatable = !variant->label && !variant->data.sample &&
                          rue_trial_command(&failure->row.request, variant->variant.path,
                                            findings->runner.name, findings->run.command_line, command);
        rue_page_row(page, false);
        rue_put_number(page, (double)failure->row.id);
        rue_put_text(page, failure->row.request.model);
        rue_config_label(&failure->row.request.config, label); /* the page outlives the breakdown */
        rue_put_text(page, label);
        rue_put_text(page, rue_outcome_names[failure->row.result.outcome]);
        rue_put_text(page, failure->row.result.reason);
        rue_put_text(page, repeatable ? command : "");
    }
}

void rue_charts_timeline(struct rue_page *page, const struct rue_findings *findings,
                         const struct rue_breakdown *breakdown)
{
    bool recorded = findings->variant_count && findings->variants[0].label; /* a table has no order */
    if (!breakdown->trial_count) return;
    if (!recorded) put_points(page, findings, breakdown);
    put_failures(page, findings, breakdown);
}
