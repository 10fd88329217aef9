#include "commands.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "data_options.h"
#include "interrupt.h"
#include "json_document.h"
#include "scale.h"
#include "study_options.h"
#include "suspension.h"
#include "terminal.h"
#include "units.h"

enum {
    BATCH_SIZE,
    NUM_WORKERS,
    FIXED_BATCH,
    FIXED_WORKERS,
    MODEL,
    DEVICE,
    IMAGES,
    BUDGET,
    TRIAL_TIMEOUT,
    PERIOD,
    WORKLOAD,
    IMAGE_KEY = WORKLOAD + RUE_WORKLOAD_OPTIONS,
    LABEL_KEY,
    RUNNER,
    OUT,
    FRESH,
    MAX_MEMORY,
    DRY_RUN,
    JSON,
    QUIET
};

enum { BATCH_MAX = 65536, WORKERS_MAX = 1024 };

static const struct rue_option options_table[] = {
    [BATCH_SIZE] = {"batch-size", RUE_OPTION_LIST, "LIST", NULL, "batch sizes of the first curve [16 to 256]",
                    0, 0, NULL},
    [NUM_WORKERS] = {"num-workers", RUE_OPTION_LIST, "LIST", NULL, "workers of the second curve [0..8]", 0, 0,
                     NULL},
    [FIXED_BATCH] = {"fixed-batch", RUE_OPTION_COUNT, "N", NULL, "the batch size of the workers' curve [64]",
                     1, BATCH_MAX, NULL},
    [FIXED_WORKERS] = {"fixed-workers", RUE_OPTION_COUNT, "N", NULL,
                       "the workers of the batches' curve [4, or as many as there are CPUs]", 0, WORKERS_MAX,
                       NULL},
    [MODEL] = {"model", RUE_OPTION_MODELS, "LIST", NULL,
               "what consumes the batches: none, or models such as resnet50,sleep:2ms/image [none]", 0, 0,
               NULL},
    [DEVICE] = RUE_STUDY_OPTION_DEVICE,
    [IMAGES] = {"images", RUE_OPTION_COUNT, "N", NULL, "of each trial [one epoch of the first DATA]", 1,
                UINT64_C(1) << 40, NULL},
    [BUDGET] = {"budget", RUE_OPTION_DURATION, "TIME", "5m", "for all of it; trials get shorter to fit", 0, 0,
                NULL, .set_by = RUE_SET_BY_FLAG},
    [TRIAL_TIMEOUT] = RUE_STUDY_OPTION_TRIAL_TIMEOUT,
    [PERIOD] = {"period", RUE_OPTION_DURATION, "TIME", "500ms", "how often to look at what processes use", 0,
                0, NULL},
    RUE_WORKLOAD_OPTION_ROWS(WORKLOAD)[IMAGE_KEY] = RUE_DATA_IMAGE_KEY,
    [LABEL_KEY] = RUE_DATA_LABEL_KEY,
    [RUNNER] = RUE_STUDY_OPTION_RUNNER,
    [OUT] = {"out", RUE_OPTION_PATH, "DIR", NULL, "where everything is written [rue-out/<data>-scale]", 0, 0,
             NULL, .set_by = RUE_SET_BY_FLAG},
    [FRESH] = {"fresh", RUE_OPTION_FLAG, NULL, NULL, "start over; study.db is kept as *.old", 0, 0, NULL,
               .set_by = RUE_SET_BY_USER},
    [MAX_MEMORY] = RUE_STUDY_OPTION_MAX_MEMORY,
    [DRY_RUN] = {"dry-run", RUE_OPTION_FLAG, NULL, NULL, "probe, show the plan and its time, and stop", 0, 0,
                 NULL},
    [JSON] = {"json", RUE_OPTION_FLAG, NULL, NULL, "what was found as JSON on standard output", 0, 0, NULL},
    [QUIET] = {"quiet", RUE_OPTION_FLAG, NULL, NULL, "no progress", 0, 0, NULL},
};

static struct rue_scale_goal read_goal(const struct rue_options *options, struct rue_progress *progress)
{
    bool workers = rue_options_origin(options, FIXED_WORKERS)[0];
    const char *model = rue_options_text(options, MODEL), *runner = rue_options_text(options, RUNNER);
    struct rue_scale_goal goal = {
        .data_count = (size_t)rue_options_argument_count(options),
        .runner = runner,
        .device = rue_options_text(options, DEVICE),
        .models = model || runner ? model : "none",
        .fixed_batch = (int)rue_options_number(options, FIXED_BATCH),
        .fixed_workers = workers ? (int)rue_options_number(options, FIXED_WORKERS) : -1,
        .images = rue_options_number(options, IMAGES),
        .budget_ns = rue_options_number(options, BUDGET),
        .trial_timeout_ns = rue_options_number(options, TRIAL_TIMEOUT),
        .memory_bytes = rue_options_number(options, MAX_MEMORY),
        .period_ns = rue_options_number(options, PERIOD),
        .workload = rue_workload_of_options(options),
        .out = rue_options_text(options, OUT),
        .fresh = rue_options_flag(options, FRESH),
        .dry_run = rue_options_flag(options, DRY_RUN),
        .command_line = rue_options_command_line(options),
        .progress = progress,
    };
    for (size_t i = 0; i < goal.data_count; i++) goal.data[i] = rue_options_argument(options, (int)i);
    return goal;
}

/* The same place, however it is written; patterns of shards are compared as they are. */
static bool is_same_place(const char *a, const char *b)
{
    char *real_a = realpath(a, NULL), *real_b = realpath(b, NULL);
    bool same = strcmp(a, b) == 0 || (real_a && real_b && strcmp(real_a, real_b) == 0);
    free(real_a);
    free(real_b);
    return same;
}

/* Values that would make no sense. */
static rue_status check_goal(const struct rue_options *options, const struct rue_scale_goal *goal,
                             rue_error *error)
{
    if (goal->period_ns < RUE_NS_PER_MS)
        return rue_fail(error, RUE_USAGE,
                        "%s: looking more often than every 1ms would be all that is measured",
                        rue_options_origin(options, PERIOD));
    for (size_t i = 0; i < goal->data_count; i++)
        for (size_t k = 0; k < i; k++)
            if (is_same_place(goal->data[i], goal->data[k]))
                return rue_fail(error, RUE_USAGE, "%s is given twice; leave one out", goal->data[i]);
    return RUE_OK;
}

/* ---- shown ---- */

static void describe_left_out(const struct rue_scaling *results, char *out, size_t bytes)
{
    char job[RUE_UNIT_TEXT_BYTES];
    int count = results->batch_sizes_left_out;
    out[0] = 0;
    if (count)
        snprintf(out, bytes, " %d usual batch size%s left out: larger than the job of %s images.", count,
                 count == 1 ? " is" : "s are", rue_format_count(results->job_images, job, sizeof job));
}

static void show_plan(const struct rue_scale *scale, FILE *stream)
{
    const struct rue_scaling *results = rue_scale_results(scale);
    char images[RUE_UNIT_TEXT_BYTES], job[RUE_UNIT_TEXT_BYTES], time[RUE_UNIT_TEXT_BYTES], left_out[128];
    describe_left_out(results, left_out, sizeof left_out);
    rue_terminal_say(
        stream,
        "Plan: %zu trials of %s images%s%s%s, batch sizes with %d workers and workers with batches of "
        "%d, in about %s; written to %s.%s",
        rue_scale_trials(scale), rue_format_count(results->trial_images, images, sizeof images),
        results->trial_images < results->job_images ? " (of " : "",
        results->trial_images < results->job_images ? rue_format_count(results->job_images, job, sizeof job)
                                                    : "",
        results->trial_images < results->job_images ? ", to fit the budget)" : "",
        results->fixed.value[RUE_NUM_WORKERS], results->fixed.value[RUE_BATCH_SIZE],
        rue_format_duration((uint64_t)(rue_scale_expected_s(scale) * 1e9), time, sizeof time),
        results->folder, left_out);
}

static rue_status print_json(json_t *root, rue_error *error)
{
    rue_status status = rue_json_write(&(struct rue_json_document){0}, root, stdout, error);
    json_decref(root);
    return status;
}

/* What options that nothing set have come to, and room for those texts that are made. */
struct defaults {
    char knobs[RUE_OWN_KNOB_COUNT][1024], models[1024], fixed[RUE_OWN_KNOB_COUNT][32], images[32];
    struct rue_unset unset[14];
};

static void join(char *list, size_t bytes, const char *word)
{
    size_t used = strlen(list);
    snprintf(list + used, bytes - used, "%s%s", used ? "," : "", word);
}

static void join_value(char *list, size_t bytes, int value)
{
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    join(list, bytes, text);
}

/* The data are all tried alike: the first of them tell what with. */
static void list_tried(const struct rue_scaling *results, struct defaults *out)
{
    const struct rue_scaling_row *first = results->rows;
    for (size_t i = 0; i < results->row_count && results->rows[i].set == first->set; i++) {
        const struct rue_scaling_row *row = &results->rows[i];
        const int *values = row->config.value;
        bool same_model = strcmp(row->model, first->model) == 0;
        if (rue_config_equal(&row->config, &first->config)) join(out->models, sizeof out->models, row->model);
        if (same_model && row->of_batches)
            join_value(out->knobs[RUE_BATCH_SIZE], sizeof *out->knobs, values[RUE_BATCH_SIZE]);
        if (same_model && row->of_workers)
            join_value(out->knobs[RUE_NUM_WORKERS], sizeof *out->knobs, values[RUE_NUM_WORKERS]);
    }
}

static void find_defaults(const struct rue_scale *scale, struct defaults *out)
{
    const struct rue_scaling *results = rue_scale_results(scale);
    *out = (struct defaults){.unset = {{"batch-size", out->knobs[RUE_BATCH_SIZE]},
                                       {"num-workers", out->knobs[RUE_NUM_WORKERS]},
                                       {"fixed-batch", out->fixed[RUE_BATCH_SIZE]},
                                       {"fixed-workers", out->fixed[RUE_NUM_WORKERS]},
                                       {"model", out->models},
                                       {"device", "rtx-a5000"},
                                       {"images", out->images},
                                       {"trial-timeout", "ten times its expected time, 1m at least"},
                                       {"image-key", "the usual names"},
                                       {"label-key", "the usual names"},
                                       {"runner", "rue runner"},
                                       {"out", results->folder},
                                       {"max-memory", "4/5 of what is free"}}};
    list_tried(results, out);
    for (int k = 0; k < RUE_OWN_KNOB_COUNT; k++)
        snprintf(out->fixed[k], sizeof out->fixed[k], "%d", results->fixed.value[k]);
    snprintf(out->images, sizeof out->images, "%" PRIu64, results->job_images);
}

static rue_status show_dry_run(const struct rue_scale *scale, const struct rue_options *options,
                               rue_error *error)
{
    struct defaults defaults;
    find_defaults(scale, &defaults);
    if (rue_options_flag(options, JSON)) {
        json_t *plan = json_pack("{s:f, s:o}", "expected_s", rue_scale_expected_s(scale), "options",
                                 rue_options_json(options, defaults.unset)),
               *root = rue_scaling_json(rue_scale_results(scale));
        if (!plan || !root || json_object_update(root, plan) != 0) {
            json_decref(root);
            root = NULL;
        }
        json_decref(plan);
        return print_json(root, error);
    }
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    printf("Options:\n");
    rue_options_show(options, defaults.unset, &style, stdout);
    show_plan(scale, stdout);
    return RUE_OK;
}

static rue_status show(const struct rue_scale *scale, const struct rue_options *options, rue_error *error)
{
    if (rue_options_flag(options, JSON)) return print_json(rue_scaling_json(rue_scale_results(scale)), error);
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    return rue_scaling_show(rue_scale_results(scale), &style, stdout, error);
}

/* Whatever was measured is worth being written, whatever ended the run: `ran`, as `why` says. */
static rue_status conclude(struct rue_scale *scale, rue_status ran, const rue_error *why,
                           const struct rue_options *options, rue_error *error)
{
    rue_error lost = {0};
    const struct rue_scaling *results = rue_scale_results(scale);
    size_t tried = 0;
    for (size_t i = 0; i < results->row_count; i++) tried += results->rows[i].tried;
    rue_status status = RUE_OK;
    if (tried) {
        status = rue_scale_write(scale, &lost);
        rue_status shown = show(scale, options, &lost);
        fflush(stdout);
        if (status == RUE_OK)
            rue_terminal_say(stderr, "written: %s/summary.csv, sysinfo.json, monitor/, study.db",
                             results->folder);
        if (status == RUE_OK && rue_interrupt_status() == RUE_OK) status = shown;
    }
    if (ran == RUE_OK && status == RUE_OK) return RUE_OK;
    if (ran == RUE_OK) return rue_fail(error, status, "%s", lost.message);
    return rue_fail(error, ran, "%s%s%s", why->message, status == RUE_OK ? "" : "; ", lost.message);
}

static rue_status scale_all(struct rue_scale *scale, const struct rue_options *options,
                            struct rue_progress *progress, rue_error *error)
{
    rue_progress_close(progress);
    if (rue_options_flag(options, DRY_RUN)) return show_dry_run(scale, options, error);
    if (!rue_options_flag(options, QUIET)) show_plan(scale, stderr);
    rue_error why = {0};
    rue_interrupt_defer(
        true); /* studies end, and the files that tell of all of them are still to be written */
    rue_status ran = rue_scale_run(scale, &why);
    rue_progress_close(progress);
    rue_status status = conclude(scale, ran, &why, options, error);
    rue_interrupt_defer(false);
    return status;
}

static rue_status run(const struct rue_options *options, rue_error *error)
{
    struct rue_progress progress = rue_progress_open(rue_options_flag(options, QUIET));
    struct rue_scale_goal goal = read_goal(options, &progress);
    struct rue_scale *scale;
    rue_suspension_install();
    rue_status status = rue_knob_choices_read(options, &goal.knobs, error);
    if (status == RUE_OK) status = check_goal(options, &goal, error);
    if (status == RUE_OK) status = rue_data_options_keys(options, IMAGE_KEY, LABEL_KEY, &goal.keys, error);
    if (status == RUE_OK) status = rue_scale_open(&goal, &scale, error);
    if (status == RUE_OK) {
        status = scale_all(scale, options, &progress, error);
        rue_scale_close(scale);
    }
    rue_progress_close(&progress);
    return status;
}

const struct rue_command rue_command_scale = {
    .name = "scale",
    .arguments = "DATA...",
    .summary = "Show how the rate grows with batch size and workers, for each of the data.",
    .details =
        "  rue scale photos/ photos.tensor\n"
        "  rue scale photos/ --model resnet50 --batch-size 32,64,128 --num-workers 0..4 --budget 2m\n"
        "  rue scale photos/ --cache cold --dry-run\n\n"
        "While a trial runs, what the processes of the runner use is looked at every half second: CPU,\n"
        "memory, bytes from and to storage, GPUs. Each trial has a CSV of that below monitor/, and a line\n"
        "in summary.csv.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 1,
    .max_arguments = RUE_SCALE_DATA_MAX,
    .run = run,
};
