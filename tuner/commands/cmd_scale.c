/* rue scale: a study of two curves for each variant, with samples of the runner's resource use. */
#include "commands.h"

#include <stdlib.h>
#include <string.h>

#include "conclude.h"
#include "data_options.h"
#include "deployment_options.h"
#include "findings_fill.h"
#include "monitor.h"
#include "output.h"
#include "scaling.h"
#include "study_command.h"
#include "study_options.h"
#include "study_outcome.h"
#include "study_search.h"
#include "study_space.h"
#include "terminal.h"
#include "units.h"

enum { USUAL_IMAGES = 4096 };

static const struct rue_option options_table[] = {
    {"batch-size", RUE_OPTION_LIST, "LIST", NULL, "batch sizes of the curve [16 to 256]",
     .more = "The curve of the workers is measured at the batch size nearest to 64."},
    {"num-workers", RUE_OPTION_LIST, "LIST", NULL, "workers of the curve [0..8]",
     .more = "The curve of the batch sizes is measured at the number nearest to 4."},
    {RUE_STUDY_OPTION_KNOB,
     .more = "One value, such as max_queue_size=8; the curves have the default of every other "
             "knob. It may be repeated."},
    {RUE_OPTION_RANKS},
    {"model", RUE_OPTION_LIST, "LIST", NULL, "models such as resnet50,sleep:2ms/image [none]",
     .more = "With none, batches are loaded and not consumed."},
    {RUE_STUDY_OPTION_DEVICE},
    {"images", RUE_OPTION_COUNT, "N", NULL, "images in each trial [one epoch, at most 4096]", .min = 1,
     .max = RUE_STUDY_JOB_MAX},
    {RUE_OPTION_RANK},
    {RUE_OPTION_WORLD_SIZE},
    {"budget", RUE_OPTION_BUDGET, "LIMIT", "5m", "limit of the whole run, such as 300s or 500trials"},
    {RUE_STUDY_OPTION_TRIAL_TIMEOUT},
    {"period", RUE_OPTION_DURATION, "TIME", "500ms", "time between samples of resource use",
     .group = RUE_GROUP_OUTPUT},
    RUE_WORKLOAD_OPTION_ROWS{RUE_DATA_IMAGE_KEY},
    {RUE_DATA_LABEL_KEY},
    {RUE_DATA_SUBSET},
    {RUE_STUDY_OPTION_RUNNER},
    {RUE_STUDY_OPTION_RUNNER_FD},
    {RUE_OPTION_LAUNCH},
    {RUE_OPTION_LISTEN},
    {RUE_OPTION_LAUNCH_TIMEOUT},
    {"out", RUE_OPTION_OUTPUT, "DIR", NULL, "folder for the results [rue-out/<data>-scale]",
     .set_by = RUE_SET_BY_FLAG},
    {RUE_STUDY_OPTION_FRESH},
    {RUE_STUDY_OPTION_MAX_MEMORY},
    {RUE_STUDY_OPTION_ACCEPT_BUSY},
    {"dry-run", RUE_OPTION_FLAG, NULL, NULL, "probe the loader, show the plan and its cost, stop"},
    {RUE_STUDY_OPTION_JSON},
    {RUE_STUDY_OPTION_QUIET},
};

static const struct rue_report rows_file = {.file = "scale.csv", .mark = RUE_SCALING_MARK},
                               samples_file = {.file = "samples.csv", .mark = RUE_SAMPLES_MARK};
static const struct rue_report *const files[] = {&rue_report_json, &rue_report_csv, &rue_report_html,
                                                 &rows_file,       &samples_file,   NULL};

/* Files are written before the output is shown. Without new samples, an earlier samples.csv stays. */
static rue_status write_files(const struct rue_study_setup *setup, const struct rue_scaling *results,
                              rue_error *error)
{
    const struct rue_output rows = rue_report_output(&rows_file, setup->place.folder),
                            samples = rue_report_output(&samples_file, setup->place.folder);
    bool sampled = false;
    for (size_t i = 0; i < results->row_count; i++) sampled |= results->rows[i].sampled;
    rue_status status = rue_output_write(&rows, rue_scaling_write_csv, results, error);
    if (status == RUE_OK && sampled)
        status = rue_output_write(&samples, rue_scaling_write_samples, results, error);
    if (status == RUE_OK)
        rue_progress_note(setup->progress, "written: %s/%s%s%s", setup->place.folder, rows_file.file,
                          sampled ? ", " : "", sampled ? samples_file.file : "");
    return status;
}

static rue_status show_results(const struct rue_options *options, const struct rue_study *study,
                               const struct rue_scaling *results, rue_error *error)
{
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    rue_status status = results->findings->unsaved ? RUE_OK : write_files(&study->setup, results, error);
    if (status != RUE_OK) return status;
    return rue_options_flag(options, "json") ? rue_scaling_json(results, stdout, error)
                                             : rue_scaling_show(results, &style, stdout, error);
}

static rue_status show_scaling(const struct rue_options *options, const struct rue_study *study,
                               const struct rue_findings *findings, struct rue_monitor *monitor,
                               rue_error *error)
{
    const struct rue_study_curves curves = rue_study_curves(&study->setup);
    const struct rue_study_variant *variants = study->setup.variants;
    struct rue_scaling results = {.findings = findings,
                                  .fixed_batch = curves.batch_size,
                                  .fixed_workers = curves.num_workers,
                                  .rows = calloc(study->ledger.row_count + 1, sizeof *results.rows)};
    if (!results.rows)
        return rue_fail_memory(error, "curves", study->ledger.row_count * sizeof *results.rows);
    for (size_t i = 0; i < study->ledger.row_count; i++) {
        const struct rue_ledger_row *row = &study->ledger.rows[i];
        if (row->config == RUE_NONE) continue;
        results.rows[results.row_count++] =
            (struct rue_scaling_row){.variant = row->variant,
                                     .model = row->model,
                                     .config = row->config,
                                     .trial = row->trial.id,
                                     .started_ns = row->trial.started_ns,
                                     .loaders = rue_workload_loaders(&variants[row->variant].workload),
                                     .result = &row->trial.result,
                                     .discarded_ns = row->suspended_ns,
                                     .sampled = !row->stored && !findings->runner.virtual_clock &&
                                                !study->setup.goal.loader.runner.socket_count};
    }
    results.sample_count = rue_monitor_samples(monitor, &results.samples);
    rue_scaling_open(&results);
    rue_status status = show_results(options, study, &results, error);
    free(results.rows);
    return status;
}

/* What was measured is stored and shown, however the run ended. */
static rue_status perform_and_show(struct rue_study *study, const struct rue_options *options,
                                   rue_error *error)
{
    struct rue_findings *findings = NULL;
    struct rue_monitor *monitor;
    rue_error shown = {0};
    rue_status status = rue_monitor_open(study->ledger.clock.start_ns, rue_options_number(options, "period"),
                                         &monitor, error);
    if (status != RUE_OK) return status;
    status = rue_study_perform(study, error);
    if (status == RUE_OK) status = rue_study_findings(study, &findings, error);
    if (status == RUE_OK) {
        rue_study_keep(study, findings);
        rue_monitor_stop(monitor);
        rue_study_write(study, findings);
        (void)!show_scaling(options, study, findings, monitor, &shown);
        status = rue_study_conclude(study, findings, &shown, error);
    }
    rue_findings_close(findings);
    rue_monitor_close(monitor);
    return status;
}

static rue_status run_scale(const struct rue_options *options, rue_error *error)
{
    struct rue_study_goal goal = {
        .data.modes = {true, true},
        .job.epoch_most = USUAL_IMAGES,
        .space.curves = true,
        .search.strategy = "grid",
        .search.confidence = RUE_DEFAULT_CONFIDENCE,
        .search.repeats = 1,
        .search.rules = {.top_n = 3, .set_epsilon_ratio = 0.02, .confidence = RUE_DEFAULT_CONFIDENCE},
        .output.name_suffix = "-scale",
        .output.reports = files,
        .output.accepts_busy = rue_options_flag(options, "accept-busy"),
    };
    if (rue_options_number(options, "period") < RUE_NS_PER_MS)
        return rue_fail(error, RUE_USAGE,
                        "%s: sampling more often than every 1ms would disturb the trials: give 1ms or more",
                        rue_options_origin(options, "period"));
    rue_status status = rue_study_command_read(options, &goal, error);
    if (status != RUE_OK) return status;
    if (rue_runner_address_is_own(&goal.loader.runner) && !goal.models.names) goal.models.names = "none";
    return rue_study_command_run(&goal, options, perform_and_show, error);
}

const struct rue_command rue_command_scale = {
    .name = "scale",
    .arguments = "DATA...",
    .summary = "Measure throughput against batch size, workers or ranks.",
    .details =
        "  rue scale photos/ photos.tensor\n"
        "  rue scale photos/ --model resnet50 --batch-size 32,64,128\n"
        "  rue scale photos/ --cache cold --dry-run\n"
        "  rue scale photos/ --launch 'srun -n 8' --ranks 1,2,4,8\n\n"
        "Resource use of the runner is sampled while trials run: CPU, memory, storage, GPUs. scale.csv\n"
        "has the points of the curves, samples.csv the samples. rue show and rue list read the study.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_scale,
};
