#include "study_show.h"

#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "protocol.h"
#include "study_budget.h"
#include "study_probes.h"
#include "study_recording.h"
#include "study_strategy.h"
#include "units.h"
#include "utf8.h"
#include "watch.h"
#include "wrap.h"

enum { VALUES_AT = 20, LINE_BYTES = RUE_STUDY_MODELS_MAX * (RUE_MODEL_NAME_BYTES + 2) };

/* A line of the plan is collected, then written wrapped. */
struct line {
    char text[LINE_BYTES];
    size_t used;
};

static void add(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line->text + line->used, sizeof line->text - line->used, format, arguments);
    va_end(arguments);
    line->used += (size_t)length;
    if (line->used >= sizeof line->text) line->used = sizeof line->text - 1;
}

static void put(struct line *line, const char *name, const struct rue_report_style *style, FILE *out)
{
    char label[64], clean[LINE_BYTES];
    snprintf(label, sizeof label, "  %s", name);
    rue_utf8_clean(line->text, style->unicode, clean, sizeof clean);
    rue_wrap_item(out, label, clean, style->columns, VALUES_AT);
    fputc('\n', out);
    *line = (struct line){0};
}

void rue_study_show_step(const char *name, const char *text, const struct rue_report_style *style, FILE *out)
{
    struct line line = {0};
    add(&line, "%s", text);
    put(&line, name, style, out);
}

static void add_count(struct line *line, size_t count, const char *what, const char *then)
{
    add(line, "%zu %s%s%s", count, what, count == 1 ? "" : "s", then);
}

static double rest_s(const struct rue_study *study)
{
    return fmax(0, study->expected_s - study->stored_s);
}

static void add_values(struct line *line, const struct rue_study *study, int knob)
{
    const struct rue_space *space = &study->space;
    char value[32];
    for (int i = 0; i < space->count[knob]; i++) {
        rue_knob_format(knob, space->values[knob][i], value, sizeof value);
        add(line, "%s%s", i ? ", " : "", value);
    }
}

const char *rue_study_option_name(int knob, char out[32])
{
    snprintf(out, 32, "%s", rue_knobs[knob].name);
    for (char *at = out; *at; at++)
        if (*at == '_') *at = '-';
    return out;
}

static void add_cost(struct line *line, const struct rue_study *study)
{
    char text[RUE_UNIT_TEXT_BYTES];
    if (study->goal->budget.trials && rue_study_predicts(study))
        add(line, "as long as the trials take");
    else
        add(line, rue_study_predicts(study) ? "up to %s" : "%s expected",
            rue_format_duration((uint64_t)(rest_s(study) * 1e9), text, sizeof text));
    if (study->stored_s > 0)
        add(line, ", beside %s that the store spares",
            rue_format_duration((uint64_t)(study->stored_s * 1e9), text, sizeof text));
    add(line, ", budget %s", rue_budget_format(&study->goal->budget, text, sizeof text));
}

/* Whether the budget may not hold all trials. */
static bool is_short(const struct rue_study *study)
{
    const struct rue_budget *budget = &study->goal->budget;
    if (budget->trials) return study->trials > rue_watch_spares(study, budget->trials);
    return budget->time_ns && rest_s(study) > rue_study_budget_left_s(study);
}

static void add_trials(struct line *line, const struct rue_study *study)
{
    bool predicts = rue_study_predicts(study);
    if (!predicts) add(line, "%zu: ", study->trials);
    add_count(line, study->config_count, "configuration", " x ");
    add_count(line, study->model_count, "model", " x ");
    add_count(line, study->variant_count, "variant", predicts ? "; " : " x ");
    if (predicts) {
        add(line, "as many trials of them as decide");
        return;
    }
    add_count(line, (size_t)study->goal->repeats, "repeat",
              is_short(study) ? "; as many configurations as fit the budget" : "");
}

/* How a strategy that predicts goes on, and when it ends. */
static void show_search(const struct rue_study *study, const struct rue_report_style *style, FILE *out)
{
    struct line line = {0};
    char text[RUE_UNIT_TEXT_BYTES];
    struct rue_study_probes probes = rue_study_count_probes(study);
    if (probes.load || probes.compute) {
        add_count(&line, probes.load, "trial", " of the loader alone and ");
        add(&line, "%zu of the models alone", probes.compute);
    } else {
        add(&line, "the first trials of both together, as the runner measures no others");
    }
    if (isfinite(probes.expected_s) && probes.expected_s > 0)
        add(&line, ", about %s", rue_format_duration((uint64_t)(probes.expected_s * 1e9), text, sizeof text));
    put(&line, "probes", style, out);
    add(&line,
        "when, with %g %% confidence, no configuration is better by more than %g %%, or with the budget",
        100 * study->goal->confidence, 100 * study->goal->epsilon_ratio);
    put(&line, "ends", style, out);
}

static json_t *search_json(const struct rue_study *study)
{
    if (!rue_study_predicts(study)) return json_null();
    struct rue_study_probes probes = rue_study_count_probes(study);
    bool known = isfinite(probes.expected_s) && probes.expected_s > 0;
    return json_pack("{s:I, s:I, s:o, s:f, s:f}", "load_probes", (json_int_t)probes.load, "compute_probes",
                     (json_int_t)probes.compute, "probes_expected_ns",
                     known ? json_integer((json_int_t)(probes.expected_s * 1e9)) : json_null(),
                     "epsilon_ratio", study->goal->epsilon_ratio, "confidence", study->goal->confidence);
}

static void add_data(struct line *line, const struct rue_study_variant *variant)
{
    char count[RUE_UNIT_TEXT_BYTES], what[64];
    rue_variant_describe(&variant->variant, what, sizeof what);
    add(line, "%s: %s images%s, read %s", what, rue_format_count(variant->opened.images, count, sizeof count),
        variant->sample ? " (a converted sample)" : "", variant->workload.cache);
}

static void add_replayed(struct line *line, const struct rue_study *study, size_t variant)
{
    char time[RUE_UNIT_TEXT_BYTES];
    double table_s = rue_study_recording_s(study, variant);
    add(line, "%.200s: times of a table, %s in all", study->variants[variant].variant.path,
        rue_format_duration((uint64_t)(table_s * 1e9), time, sizeof time));
}

/* "load trials of 384 images with 32/4, one every 5 trials, ..." */
static bool add_references(struct line *line, const struct rue_study *study)
{
    struct rue_watch_plan plan;
    char label[RUE_CONFIG_TEXT_BYTES], count[RUE_UNIT_TEXT_BYTES];
    if (!rue_watch_plan(study, &plan)) return false;
    rue_config_label(&plan.request.config, label);
    add(line, "%s trials of %s images with %s, one every %d trials, to see whether the machine changes",
        rue_measure_names[plan.request.measure], rue_format_count(plan.request.images, count, sizeof count),
        label, RUE_WATCH_PERIOD);
    return true;
}

/* "32/0 (no workers), 32/4 (workers = CPUs)" */
static void add_baselines(struct line *line, const struct rue_study *study)
{
    char label[RUE_CONFIG_TEXT_BYTES];
    for (size_t b = 0; b < study->baseline_count; b++) {
        if (study->baselines[b].column == RUE_NONE) continue;
        rue_config_label(&study->baselines[b].config, label);
        add(line, "%s%s (%s)", line->used ? ", " : "", label, study->baselines[b].name);
    }
}

void rue_study_show_plan(const struct rue_study *study, const struct rue_report_style *style, FILE *out)
{
    char count[RUE_UNIT_TEXT_BYTES], name[32];
    struct line line = {0};
    for (size_t v = 0; v < study->variant_count; v++) {
        if (study->recording)
            add_replayed(&line, study, v);
        else
            add_data(&line, &study->variants[v]);
        put(&line, "data", style, out);
    }
    char loaders[48] = "";
    if (study->goal->gpus)
        snprintf(loaders, sizeof loaders, " on each of %d GPU%s", study->goal->workload.world_size,
                 study->goal->workload.world_size == 1 ? "" : "s");
    add(&line, "%s images%s%s", rue_format_count(study->variants[0].job_images, count, sizeof count), loaders,
        rue_study_assumes_job(study) ? ", assumed, as the table does not say (--images does)" : "");
    put(&line, "job", style, out);
    for (size_t m = 0; m < study->model_count; m++) add(&line, "%s%s", m ? ", " : "", study->models[m].name);
    put(&line, "models", style, out);
    for (int k = 0; k < RUE_KNOB_COUNT; k++) {
        add_values(&line, study, k);
        put(&line, rue_study_option_name(k, name), style, out);
    }
    add(&line, "%s%s%s", study->strategy->name, study->strategy_why[0] ? ": " : "", study->strategy_why);
    put(&line, "strategy", style, out);
    add_trials(&line, study);
    put(&line, "trials", style, out);
    if (rue_study_predicts(study)) show_search(study, style, out);
    if (add_references(&line, study)) put(&line, "references", style, out);
    add_baselines(&line, study);
    if (line.used) put(&line, "baselines", style, out);
    add_cost(&line, study);
    put(&line, "cost", style, out);
}

static json_t *variants_json(const struct rue_study *study)
{
    json_t *list = json_array();
    for (size_t v = 0; v < study->variant_count; v++) {
        const struct rue_study_variant *variant = &study->variants[v];
        const struct rue_variant *what = &variant->variant;
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s?, s:s, s:b, s:I, s:I, s:s}", "mode", rue_mode_names[what->mode],
                            "format", what->format, "dtype", what->dtype[0] ? what->dtype : NULL, "path",
                            variant->sample ? "" : what->path, "sample", variant->sample, "images",
                            (json_int_t)variant->opened.images, "job_images", (json_int_t)variant->job_images,
                            "cache", variant->workload.cache));
    }
    return list;
}

static json_t *baselines_json(const struct rue_study *study)
{
    json_t *rows = json_array();
    for (size_t b = 0; b < study->baseline_count; b++)
        if (study->baselines[b].column != RUE_NONE)
            json_array_append_new(rows, json_pack("{s:s, s:o}", "name", study->baselines[b].name, "config",
                                                  rue_protocol_config_json(&study->baselines[b].config)));
    return rows;
}

json_t *rue_study_plan_json(const struct rue_study *study)
{
    json_t *models = json_array(), *configs = json_array();
    for (size_t m = 0; m < study->model_count; m++)
        json_array_append_new(models, json_string(study->models[m].name));
    for (size_t c = 0; c < study->config_count; c++)
        json_array_append_new(configs, rue_protocol_config_json(&study->configs[c]));
    struct rue_watch_plan watch;
    size_t references = rue_watch_plan(study, &watch) ? watch.references : 0;
    return json_pack("{s:o, s:o, s:o, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:{s:s, s:s, s:s?}, s:o, s:o}",
                     "variants", variants_json(study), "models", models, "configs", configs, "repeats",
                     study->goal->repeats, "trials", (json_int_t)study->trials, "expected_ns",
                     (json_int_t)(rest_s(study) * 1e9), "stored_ns", (json_int_t)(study->stored_s * 1e9),
                     "budget_ns", (json_int_t)study->goal->budget.time_ns, "budget_trials",
                     (json_int_t)study->goal->budget.trials, "references", (json_int_t)references, "strategy",
                     "name", study->strategy->name, "chosen_by", study->strategy_why[0] ? "auto" : "user",
                     "why", study->strategy_why[0] ? study->strategy_why : NULL, "search", search_json(study),
                     "baselines", baselines_json(study));
}
