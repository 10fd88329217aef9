#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "charts.h"
#include "job_parts.h"
#include "program_name.h"
#include "shell_quote.h"
#include "units.h"
#include "wrap.h"

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

/* What limits it: "waits 43 %", or "computing" if it waits for less than 10 % of the time; "": unknown. */
static void name_bottleneck(const struct rue_job_parts *parts, char *out, size_t bytes)
{
    const double small_share = 0.1;
    double waiting = rue_job_parts_waiting(parts);
    if (isnan(waiting) || waiting < small_share)
        snprintf(out, bytes, "%s", isnan(waiting) ? "" : "computing");
    else
        snprintf(out, bytes, "waits %.0f" RUE_NO_BREAK "%%", 100 * waiting);
}

static void put_bar(struct rue_page *page, const struct rue_variant_findings *variant, size_t model,
                    size_t config, const struct rue_job_parts *parts)
{
    char bottleneck[64];
    name_bottleneck(parts, bottleneck, sizeof bottleneck);
    const struct rue_table_column row[] = {
        {"model", "model", .text = variant->matrix->models[model]},
        {"config", "batch size/workers", .config = &variant->matrix->configs[config]},
        {"time_ns", "time", RUE_UNIT_DURATION, .number = parts->total_ns},
    };
    const struct rue_table_column more = {"bottleneck", "bottleneck", .text = bottleneck};
    rue_page_row(page, config == variant->selection->recommended, row, sizeof row / sizeof *row);
    rue_parts_put(page, parts->ns);
    rue_page_put(page, &more, 1);
}

static void put_bars(struct rue_page *page, const struct rue_chart_subject *subject,
                     const struct rue_breakdown *breakdown)
{
    const struct rue_variant_findings *variant = subject->variant;
    size_t configs[BARS_MAX], count = choose_bars(variant, configs);
    rue_page_table(page);
    for (size_t m = RUE_NONE; (m = rue_chart_next_model(variant, m)) != RUE_NONE;)
        for (size_t i = 0; i < count; i++) {
            const struct rue_job_parts parts =
                rue_job_parts_find(subject->findings, breakdown, variant, m, configs[i]);
            if (parts.basis == RUE_PARTS_MEASURED) put_bar(page, variant, m, configs[i], &parts);
        }
    rue_charts_add(page, subject,
                   &(struct rue_chart){.kind = RUE_CHART_BARS,
                                       .name = "parts",
                                       .title = "Where the time of a job goes",
                                       .note = "bold: recommended; at the end of each bar, what limits it: "
                                               "computing, or the share of the time that the model waits",
                                       .x = "config",
                                       .value = "first_batch_ns",
                                       .last = "shutdown_ns",
                                       .panel = "model",
                                       .caption = "bottleneck",
                                       .x_title = "time of the job"});
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
        double trials = (double)parts->count, images = (double)parts->images * trials,
               rate = rue_job_rate(variant, m, config);
        use.models++;
        use.first_batch_ns += parts->ns[RUE_PART_FIRST] / trials;
        use.images_per_s += isnan(rate) ? images / parts->total_ns * 1e9 : rate;
        use.cpus += parts->cpu_ratio / trials;
        use.memory_bytes += parts->anon_peak_bytes / trials;
        use.read_bytes_per_image += parts->read_bytes / images;
    }
    return use;
}

static void add_use_charts(struct rue_page *page, const struct rue_chart_subject *subject, bool one_model)
{
    static const struct {
        const char *kind, *title, *x, *value, *series;
        bool one_model; /* of the time of the job */
    } charts[] = {
        {"first-batch", "Time to the first batch", "num_workers", "first_batch_ns", "batch_size", false},
        {"rate", "Images per second over workers", "num_workers", "images_per_s", "batch_size", true},
        {"rate-batch", "Images per second over batch size", "batch_size", "images_per_s", "num_workers",
         true},
        {"cpus", "CPUs in use over workers", "num_workers", "cpus", "batch_size", false},
        {"memory", "Memory of the loader over workers", "num_workers", "memory_bytes", "batch_size", false},
    };
    for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) {
        if (charts[i].one_model && !one_model) continue;
        rue_charts_add(page, subject,
                       &(struct rue_chart){.kind = RUE_CHART_LINES,
                                           .name = charts[i].kind,
                                           .title = charts[i].title,
                                           .note = charts[i].one_model ? NULL : "as measured",
                                           .x = charts[i].x,
                                           .value = charts[i].value,
                                           .series = charts[i].series,
                                           .even_x = true,
                                           .from_zero = true});
    }
}

static void put_use(struct rue_page *page, const struct rue_chart_subject *subject,
                    const struct rue_breakdown *breakdown)
{
    const struct rue_cost_matrix *matrix = subject->variant->matrix;
    rue_page_table(page);
    for (size_t c = 0; c < matrix->config_count; c++) {
        const int *value = matrix->configs[c].value;
        struct use use = sum_use(subject, breakdown, c);
        double models = (double)use.models, first_batch_ns = use.first_batch_ns / models;
        bool timed = use.first_batch_ns > 0, known = timed || matrix->model_count == 1;
        const struct rue_table_column row[] = {
            {"batch_size", "batch size", RUE_UNIT_COUNT, .number = value[RUE_BATCH_SIZE]},
            {"num_workers", "workers", RUE_UNIT_COUNT, .number = value[RUE_NUM_WORKERS]},
            {"first_batch_ns", "first batch", RUE_UNIT_DURATION, .number = timed ? first_batch_ns : NAN},
            {"images_per_s", "images/s", RUE_UNIT_COUNT, .number = use.images_per_s / models},
            {"cpus", "CPUs", RUE_UNIT_NUMBER, .digits = 1, .number = use.cpus / models},
            {"memory_bytes", "memory", RUE_UNIT_BYTES, .number = use.memory_bytes / models},
            {"read_bytes", "read per image", RUE_UNIT_BYTES, .number = use.read_bytes_per_image / models},
        };
        if (use.models && known && rue_chart_is_in_slice(subject, c))
            rue_page_row(page, c == subject->variant->selection->recommended, row, sizeof row / sizeof *row);
    }
    add_use_charts(page, subject, matrix->model_count == 1);
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

static void put_point(struct rue_page *page, const struct rue_trial_point *point, const char *kind)
{
    const struct rue_table_column row[] = {
        {"trial", "trial", RUE_UNIT_COUNT, .number = (double)point->id},
        {"started_ns", "start", RUE_UNIT_DURATION, .number = (double)point->started_ns},
        {"kind", "kind", .text = kind},
        {"time_ratio", "time / expected", RUE_UNIT_TIMES, .number = point->ratio},
    };
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

/* A change of speed is before the first trial that ran at the new speed. */
static void put_points(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_breakdown *breakdown)
{
    const struct rue_change_findings *changes = &findings->changes;
    rue_page_table(page);
    for (size_t i = 0, n = 0; i < breakdown->point_count; i++) {
        const struct rue_trial_point *point = &breakdown->points[i];
        for (; n < changes->notice_count && changes->notices[n].trial <= point->id; n++) {
            struct rue_trial_point change = *point;
            change.ratio = changes->notices[n].load_ratio;
            put_point(page, &change, "change of speed");
        }
        put_point(page, point, kind_names[point->kind]);
    }
    rue_page_chart(page, &(struct rue_chart){
                             .kind = RUE_CHART_POINTS,
                             .name = "timeline",
                             .title = "Trials by the time when they began",
                             .note = "as measured; 1: as expected, or a trial without a time; the numbers "
                                     "are in the order of trials.csv",
                             .x = "started_ns",
                             .value = "time_ratio",
                             .series = "kind",
                             .log_y = true,
                             .x_title = "time since the study began"});
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

bool rue_trial_command(const struct rue_trial_request *request, const char *path, bool own, const char *line,
                       char out[RUE_TRIAL_COMMAND_BYTES])
{
    const struct rue_knobs *knobs = rue_config_knobs(&request->config);
    char word[PATH_MAX + 16], value[RUE_KNOB_TEXT_BYTES], setting[2 * RUE_KNOB_TEXT_BYTES];
    if (path[0]) rue_shell_quote(path, word, sizeof word);
    size_t used = (size_t)snprintf(out, RUE_TRIAL_COMMAND_BYTES, "%s tune%s%s", rue_program_name(),
                                   path[0] ? " " : "", path[0] ? word : "");
    bool found = rue_shell_find_option(line, "--runner", word, sizeof word);
    if (found) add_option(out, &used, "runner", word);
    rue_shell_quote(request->model, word, sizeof word);
    if (request->model[0]) add_option(out, &used, "model", word);
    snprintf(value, sizeof value, "%" PRIu64, request->images);
    add_option(out, &used, "images", value);
    for (size_t k = 0; k < knobs->count; k++) {
        if (!rue_config_is_shown(&request->config, k)) continue;
        rue_knob_format(knobs->at[k], request->config.value[k], value);
        snprintf(setting, sizeof setting, "%s=%s", knobs->at[k]->name, value);
        rue_shell_quote(setting, word, sizeof word);
        bool has_option = k <= RUE_PIN_MEMORY; /* the others are set with --knob */
        add_option(out, &used, has_option ? knobs->at[k]->name : "knob", has_option ? value : word);
    }
    if (request->workload.world_size) add_workload(out, &used, &request->workload);
    return found || own;
}

static void put_failures(struct rue_page *page, const struct rue_findings *findings,
                         const struct rue_breakdown *breakdown)
{
    size_t shown = breakdown->failure_count < RUE_FAILURES_MAX ? breakdown->failure_count : RUE_FAILURES_MAX;
    if (!shown) return;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "%zu of %zu trials gave no time%s:", breakdown->failure_count, breakdown->trial_count,
            shown < breakdown->failure_count ? "; the first of them" : "");
    rue_page_table(page);
    for (size_t i = 0; i < shown; i++) {
        const struct rue_failed_trial *failure = &breakdown->failures[i];
        char command[RUE_TRIAL_COMMAND_BYTES], label[RUE_CONFIG_TEXT_BYTES];
        const struct rue_variant_findings *variant = &findings->variants[failure->variant];
        bool repeatable =
            !variant->label && !variant->data.sample &&
            rue_trial_command(&failure->row.request, variant->variant.path,
                              rue_findings_runner_is_own(findings), findings->run.command_line, command);
        rue_config_label(&failure->row.request.config, label); /* the page outlives the breakdown */
        const struct rue_table_column row[] = {
            {"trial", "trial", RUE_UNIT_COUNT, .number = (double)failure->row.id},
            {"model", "model", .text = failure->row.request.model},
            {"config", "batch size/workers", .text = label},
            {"status", "status", .text = rue_outcome_names[failure->row.result.outcome]},
            {"reason", "reason", .text = failure->row.result.reason},
            {"command", "to repeat it", .text = repeatable ? command : ""},
        };
        rue_page_row(page, false, row, sizeof row / sizeof *row);
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
