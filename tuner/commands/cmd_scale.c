#include "commands.h"

#include <jansson.h>
#include <string.h>

#include "data_options.h"
#include "dry_run.h"
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

static const char usual_workers[] = "0..8";

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
    [MODEL] = {"model", RUE_OPTION_LIST, "LIST", NULL,
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

static struct rue_study_goal read_goal(const struct rue_options *options)
{
    const char *model = rue_options_text(options, MODEL), *runner = rue_options_text(options, RUNNER);
    struct rue_study_goal goal = {
        .data.count = (size_t)rue_options_argument_count(options),
        .data.paths = rue_options_arguments(options),
        .data.modes = {true, true},
        .loader.runner = runner,
        .models.device = rue_options_text(options, DEVICE),
        .models.names = model || runner ? model : "none",
        .job.images = rue_options_number(options, IMAGES),
        .search.strategy = rue_strategies[0]->name,
        .search.repeats = 1,
        .loader.trial_timeout_ns = rue_options_number(options, TRIAL_TIMEOUT),
        .loader.memory_bytes = rue_options_number(options, MAX_MEMORY),
        .loader.workload = rue_workload_of_options(options),
        .output.folder = rue_options_text(options, OUT),
        .output.name_suffix = "-scale",
        .output.reports = rue_scale_reports,
        .output.fresh = rue_options_flag(options, FRESH) && !rue_options_flag(options, DRY_RUN),
        .output.dry_run = rue_options_flag(options, DRY_RUN),
        .output.command_line = rue_options_command_line(options),
    };
    return goal;
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
    const struct rue_scaling *results = &scale->results;
    char images[RUE_UNIT_TEXT_BYTES], job[RUE_UNIT_TEXT_BYTES], time[RUE_UNIT_TEXT_BYTES], left_out[128];
    describe_left_out(results, left_out, sizeof left_out);
    rue_terminal_say(
        stream,
        "Plan: %zu trials of %s images%s%s%s, batch sizes with %d workers and workers with batches of "
        "%d, in about %s; written to %s.%s",
        results->row_count, rue_format_count(results->trial_images, images, sizeof images),
        results->trial_images < results->job_images ? " (of " : "",
        results->trial_images < results->job_images ? rue_format_count(results->job_images, job, sizeof job)
                                                    : "",
        results->trial_images < results->job_images ? ", to fit the budget)" : "",
        results->fixed.value[RUE_NUM_WORKERS], results->fixed.value[RUE_BATCH_SIZE],
        rue_format_duration((uint64_t)(scale->expected_s * 1e9), time, sizeof time), results->folder,
        left_out);
}

static rue_status print_json(json_t *root, rue_error *error)
{
    return rue_json_write(root, stdout, error);
}

static rue_status show_dry_run(const struct rue_scale *scale, const struct rue_study_setup *setup,
                               const struct rue_options *options, rue_error *error)
{
    char batch[16], workers[16];
    snprintf(batch, sizeof batch, "%d", scale->results.fixed.value[RUE_BATCH_SIZE]);
    snprintf(workers, sizeof workers, "%d", scale->results.fixed.value[RUE_NUM_WORKERS]);
    const struct rue_unset fixed[] = {{"fixed-batch", batch}, {"fixed-workers", workers}, {0}};
    if (rue_options_flag(options, JSON)) {
        json_t *plan = json_pack("{s:f, s:o}", "expected_s", scale->expected_s, "options",
                                 rue_dry_run_options_json(setup, options, fixed)),
               *root = rue_scaling_json(&scale->results);
        if (!plan || !root || json_object_update(root, plan) != 0) {
            json_decref(root);
            root = NULL;
        }
        json_decref(plan);
        return print_json(root, error);
    }
    rue_dry_run_show_options(setup, options, fixed);
    show_plan(scale, stdout);
    return RUE_OK;
}

static rue_status show(const struct rue_scale *scale, const struct rue_options *options, rue_error *error)
{
    if (rue_options_flag(options, JSON)) return print_json(rue_scaling_json(&scale->results), error);
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    return rue_scaling_show(&scale->results, &style, stdout, error);
}

/* Whatever was measured is worth being written, whatever ended the run: `ran`, as `why` says. */
static rue_status conclude(const struct rue_scale *scale, const struct rue_study *study, rue_status ran,
                           const rue_error *why, const struct rue_options *options, rue_error *error)
{
    rue_error lost = {0};
    const struct rue_scaling *results = &scale->results;
    size_t tried = 0;
    for (size_t i = 0; i < results->row_count; i++) tried += results->rows[i].tried;
    rue_status status = RUE_OK;
    if (tried) {
        status = rue_scale_write(scale, study, &lost);
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

/* An experiment under way. */
struct scaling {
    const struct rue_options *options;
    struct rue_scale scale;
};

static rue_status scale_study(struct rue_study *study, void *context, rue_error *error)
{
    struct scaling *scaling = context;
    struct rue_scale *scale = &scaling->scale;
    rue_error why = {0};
    rue_status status = rue_scale_plan(scale, study, error);
    if (status != RUE_OK) return status;
    rue_progress_close(study->setup.progress);
    if (study->setup.goal.output.dry_run) return show_dry_run(scale, &study->setup, scaling->options, error);
    if (!rue_options_flag(scaling->options, QUIET)) show_plan(scale, stderr);
    rue_status ran = rue_scale_run(scale, study, &why);
    rue_progress_close(study->setup.progress);
    return conclude(scale, study, ran, &why, scaling->options, error);
}

static rue_status run_scale(const struct rue_options *options, rue_error *error)
{
    static const struct rue_study_steps steps = {.run = scale_study};
    struct rue_study_goal goal = read_goal(options);
    bool workers = rue_options_origin(options, FIXED_WORKERS)[0];
    struct scaling scaling = {
        .options = options,
        .scale = {.fixed_batch = (int)rue_options_number(options, FIXED_BATCH),
                  .fixed_workers = workers ? (int)rue_options_number(options, FIXED_WORKERS) : -1,
                  .budget_ns = rue_options_number(options, BUDGET),
                  .period_ns = rue_options_number(options, PERIOD)}};
    if (scaling.scale.period_ns < RUE_NS_PER_MS)
        return rue_fail(error, RUE_USAGE,
                        "%s: looking more often than every 1ms would be all that is measured",
                        rue_options_origin(options, PERIOD));
    rue_status status = rue_knob_choices_read(options, &goal.space.knobs, error);
    if (status == RUE_OK)
        status = rue_data_options_keys(options, IMAGE_KEY, LABEL_KEY, &goal.data.keys, error);
    if (status != RUE_OK) return status;
    rue_knob_choices_add(&goal.space.knobs, "num_workers", usual_workers,
                         "--num-workers"); /* unless they are asked for */
    struct rue_progress progress = rue_progress_open(rue_options_flag(options, QUIET));
    rue_suspension_install();
    scaling.scale.gpu = rue_gpu_open();
    status = rue_study_perform(&goal, &progress, &steps, &scaling, error);
    rue_scale_close(&scaling.scale);
    rue_progress_close(&progress);
    return status;
}

const struct rue_command rue_command_scale = {
    .name = "scale",
    .arguments = "DATA...",
    .summary = "Show how the rate grows with batch size and workers, for each of the data.",
    .details =
        "  rue scale photos/ photos.tensor\n"
        "  rue scale photos/ --model resnet50 --batch-size 32,64,128\n"
        "  rue scale photos/ --cache cold --dry-run\n\n"
        "While a trial runs, what the processes of the runner use is looked at every half second: CPU,\n"
        "memory, bytes from and to storage, GPUs. Each trial has a CSV of that below monitor/, and a line\n"
        "in summary.csv.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 1,
    .max_arguments = RUE_STUDY_VARIANTS_MAX,
    .run = run_scale,
};
