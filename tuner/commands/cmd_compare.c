#include "commands.h"

#include <stdlib.h>

#include "compare.h"
#include "data_options.h"
#include "dry_run.h"
#include "output.h"
#include "study_options.h"
#include "study_outcome.h"
#include "study_show.h"
#include "suspension.h"
#include "terminal.h"
#include "units.h"

enum {
    MODEL,
    DEVICE,
    BATCH_SIZE,
    NUM_WORKERS,
    IMAGES,
    BUDGET,
    STRATEGY,
    REPEATS,
    SAMPLE,
    RUNNER,
    OUT,
    FRESH,
    TRIAL_TIMEOUT,
    WORKLOAD,
    IMAGE_KEY = WORKLOAD + RUE_WORKLOAD_OPTIONS,
    LABEL_KEY,
    MAX_MEMORY,
    DRY_RUN,
    JSON,
    QUIET
};

#define BUDGET_NS (120 * RUE_NS_PER_S)

static const struct rue_option options_table[] = {
    [MODEL] = RUE_STUDY_OPTION_MODEL,
    [DEVICE] = RUE_STUDY_OPTION_DEVICE,
    [BATCH_SIZE] = RUE_STUDY_OPTION_BATCH_SIZE,
    [NUM_WORKERS] = RUE_STUDY_OPTION_NUM_WORKERS,
    [IMAGES] = {"images", RUE_OPTION_COUNT, "N", NULL, "the job that is compared for [one epoch]", 1,
                UINT64_C(1) << 40, NULL},
    [BUDGET] = {"budget", RUE_OPTION_BUDGET, "LIMIT", NULL,
                "to find each variant's best, such as 300s or 500trials [2m]", 0, 0, NULL},
    [STRATEGY] = {"strategy", RUE_OPTION_WORD, "NAME", RUE_STRATEGY_AUTO, "how it is found, as for rue tune",
                  0, 0, rue_strategy_names},
    [REPEATS] = RUE_STUDY_OPTION_REPEATS,
    [SAMPLE] = {"sample", RUE_OPTION_COUNT, "N", "256",
                "convert N images of the first variant to see what making another takes", 1, 1000000, NULL},
    [RUNNER] = RUE_STUDY_OPTION_RUNNER,
    [OUT] = {"out", RUE_OPTION_PATH, "DIR", NULL, "where the study is kept [rue-out/<data>]", 0, 0, NULL,
             .set_by = RUE_SET_BY_USER},
    [FRESH] = RUE_STUDY_OPTION_FRESH,
    [TRIAL_TIMEOUT] = RUE_STUDY_OPTION_TRIAL_TIMEOUT,
    RUE_WORKLOAD_OPTION_ROWS(WORKLOAD)[IMAGE_KEY] = RUE_DATA_IMAGE_KEY,
    [LABEL_KEY] = RUE_DATA_LABEL_KEY,
    [MAX_MEMORY] = RUE_STUDY_OPTION_MAX_MEMORY,
    [DRY_RUN] = {"dry-run", RUE_OPTION_FLAG, NULL, NULL, "probe, show the plan and its cost, and stop", 0, 0,
                 NULL},
    [JSON] = {"json", RUE_OPTION_FLAG, NULL, NULL, "the comparison as JSON on standard output", 0, 0, NULL},
    [QUIET] = {"quiet", RUE_OPTION_FLAG, NULL, NULL, "no progress", 0, 0, NULL},
};

static struct rue_study_goal read_goal(const struct rue_options *options)
{
    struct rue_study_goal goal = {
        .data.count = (size_t)rue_options_argument_count(options),
        .data.paths = rue_options_arguments(options),
        .loader.runner = rue_options_text(options, RUNNER),
        .data.modes = {true, true},
        .models.device = rue_options_text(options, DEVICE),
        .models.names = rue_options_text(options, MODEL),
        .job.images = rue_options_number(options, IMAGES),
        .search.strategy = rue_strategy_names[rue_options_word(options, STRATEGY)],
        .search.budget = rue_options_budget(options, BUDGET),
        .search.epsilon_ratio = 0.005,
        .search.confidence = RUE_RANKING_CONFIDENCE,
        .search.repeats = (int)rue_options_number(options, REPEATS),
        .search.rules = {.top_n = 3, .set_epsilon_ratio = 0.02, .confidence = RUE_RANKING_CONFIDENCE},
        .loader.memory_bytes = rue_options_number(options, MAX_MEMORY),
        .loader.workload = rue_workload_of_options(options),
        .loader.trial_timeout_ns = rue_options_number(options, TRIAL_TIMEOUT),
        .output.folder = rue_options_text(options, OUT),
        .output.reports = rue_reports,
        .output.fresh = rue_options_flag(options, FRESH) && !rue_options_flag(options, DRY_RUN),
        .output.dry_run = rue_options_flag(options, DRY_RUN),
        .output.command_line = rue_options_command_line(options),
    };
    if (!rue_options_text(options, BUDGET)) goal.search.budget.time_ns = BUDGET_NS;
    return goal;
}

static rue_status show(const struct rue_options *options, const struct rue_side_by_side *compared,
                       rue_error *error)
{
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    return rue_options_flag(options, JSON) ? rue_side_by_side_json(compared, stdout, error)
                                           : rue_side_by_side_show(compared, &style, stdout, error);
}

/* What follows the study is beside its budget. */
static void show_rest(const struct rue_study_setup *setup, const struct rue_options *options,
                      const struct rue_report_style *style, FILE *stream)
{
    char text[160];
    rue_compare_describe(setup, rue_options_number(options, SAMPLE), text, sizeof text);
    rue_study_show_step("then", text, style, stream);
}

static void show_plan(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                      const struct rue_options *options)
{
    const struct rue_report_style style = rue_terminal_style(stderr, RUE_TABLE_COLUMNS);
    rue_study_show_plan(setup, ledger, &style, stderr);
    show_rest(setup, options, &style, stderr);
    fputc('\n', stderr);
}

static rue_status show_dry_run(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                               const struct rue_options *options, rue_error *error)
{
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    bool as_json = rue_options_flag(options, JSON);
    rue_status status = rue_dry_run_show(setup, ledger, options, as_json, error);
    if (status == RUE_OK && !as_json) show_rest(setup, options, &style, stdout);
    return status;
}

/* The first variant that nothing could be recommended for. */
static rue_status judge(const struct rue_study_setup *setup, const struct rue_findings *findings,
                        rue_error *error)
{
    for (size_t v = 0; v < findings->variant_count; v++)
        if (findings->variants[v].selection->recommended == RUE_NONE)
            return rue_fail(error, RUE_INCONCLUSIVE,
                            "nothing could be recommended for %s: run it again to go on, or with a larger "
                            "--budget; rue show %s says more",
                            findings->variants[v].variant.path, setup->place.folder);
    return RUE_OK;
}

/* What the study has found, on the disk. */
static rue_status keep(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                       struct rue_findings *findings, rue_error *error)
{
    rue_status status = rue_study_keep_findings(setup, ledger, findings, error);
    for (size_t i = 0; status == RUE_OK && rue_reports[i]; i++)
        if (rue_reports[i]->file)
            status = rue_output_write_report(rue_reports[i], findings, setup->place.folder, error);
    return status;
}

/* Whatever ended it, what was measured is kept. */
static rue_status compare(struct rue_study *study, const struct rue_options *options, rue_error *error)
{
    struct rue_findings *findings;
    struct rue_side_by_side compared = {0};
    rue_error why = {0}, lost = {0};
    rue_status status = rue_study_plan(study, error);
    if (status != RUE_OK) return status;
    rue_progress_close(study->setup.progress);
    if (rue_options_flag(options, DRY_RUN))
        return show_dry_run(&study->setup, &study->ledger, options, error);
    if (!rue_options_flag(options, QUIET)) show_plan(&study->setup, &study->ledger, options);
    rue_status ran = rue_study_run(study, &why);
    rue_progress_close(study->setup.progress);
    status = rue_study_findings(study, &findings, error);
    if (status != RUE_OK) return status;
    if (ran == RUE_OK)
        ran = rue_compare_measure(&study->setup, &study->ledger, findings,
                                  rue_options_number(options, SAMPLE), &compared, &why);
    status = ran == RUE_STORE ? RUE_OK : keep(&study->setup, &study->ledger, findings, &lost);
    if (ran != RUE_OK)
        status = rue_fail(error, ran, "%s; what was measured is kept in %s: the same command goes on",
                          why.message[0] ? why.message : rue_status_text(ran), study->setup.place.folder);
    else if (status != RUE_OK)
        rue_fail(error, status, "%s", lost.message);
    if (status == RUE_OK) status = show(options, &compared, error);
    if (status == RUE_OK) status = judge(&study->setup, findings, error);
    rue_compare_close(&compared);
    rue_study_findings_close(findings);
    return status;
}

static rue_status run(const struct rue_options *options, rue_error *error)
{
    struct rue_study_goal goal = read_goal(options);
    rue_status status = rue_knob_choices_read(options, &goal.space.knobs, error);
    if (status == RUE_OK)
        status = rue_data_options_keys(options, IMAGE_KEY, LABEL_KEY, &goal.data.keys, error);
    if (status != RUE_OK) return status;
    struct rue_progress progress = rue_progress_open(rue_options_flag(options, QUIET));
    struct rue_study *study;
    rue_suspension_install();
    status = rue_study_open(&goal, &progress, &study, error);
    if (status == RUE_OK) {
        status = compare(study, options, error);
        rue_study_close(study);
    }
    rue_progress_close(&progress);
    return status;
}

const struct rue_command rue_command_compare = {
    .name = "compare",
    .arguments = "A B...",
    .summary = "Compare variants of the data, and say when making one pays.",
    .details = "  rue compare photos/ photos.tensor\n"
               "  rue compare photos/ photos.tensor --model resnet50,vit_b_16 --budget 5m\n\n"
               "The first one is what the others would be made from. Each variant is tuned for as rue tune\n"
               "does, in one study; then their loaders run side by side.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 2,
    .max_arguments = RUE_STUDY_VARIANTS_MAX,
    .run = run,
};
