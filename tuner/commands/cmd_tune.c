#include "commands.h"

#include <inttypes.h>
#include <string.h>

#include "conclude.h"
#include "conversion.h"
#include "data_options.h"
#include "deployment_options.h"
#include "findings_fill.h"
#include "ranking_options.h"
#include "recommendation_file.h"
#include "study_command.h"
#include "study_options.h"
#include "study_outcome.h"
#include "study_search.h"
#include "study_space.h"
#include "terminal.h"
#include "units.h"

/* Keeps batches * largest batch size within the limit of --images. */
enum { BATCHES_MAX = 1 << 24, WORKERS_MAX = 65536, EPOCHS_MAX = 100000 };

/* Where the program chooses to measure all configurations, and there is time. */
enum { USUAL_REPEATS = 3 };

/* The default budget, as a share of the table's time. */
#define TABLE_SHARE 0.1

static const char *const modes[] = {"all", "raw", "preprocessed", NULL};
static const char *const parallelisms[] = {"batch", "sample", NULL};
static const char *const booleans[] = {"true", "false", NULL};

static const struct rue_option options_table[] = {
    {"model", RUE_OPTION_LIST, "LIST", NULL, "models such as resnet50,vit_b_16 [4 of varied cost]",
     .more = "Models are simulated: they sleep as long as a batch takes on --device. 'rue models' "
             "lists the catalogue; sleep:2ms/image is a model with a cost of your own, and none "
             "consumes batches at once."},
    {"batch-size", RUE_OPTION_LIST, "LIST", NULL, "batch sizes, such as 32,64,128 [16 to 256]"},
    {"num-workers", RUE_OPTION_LIST, "LIST", NULL, "workers, such as 0..8 [0 to twice the CPUs]"},
    {"mode", RUE_OPTION_WORD, "MODE", "all", "raw, preprocessed or all data", .words = modes,
     .more = "Preprocessed data are tensors that are only read. Raw data alone are compared with a "
             "preprocessed sample of themselves."},
    {"images", RUE_OPTION_COUNT, "N", NULL, "images in the job to tune for [one epoch]", .min = 1,
     .max = RUE_STUDY_JOB_MAX},
    {"budget", RUE_OPTION_BUDGET, "LIMIT", NULL, "time for the whole run, such as 5m [2m]",
     .more = "500trials limits the trials instead. With --table it is a share of the time of "
             "the whole table [10%]."},
    {RUE_STUDY_OPTION_DEVICE},
    {RUE_STUDY_OPTION_RUNNER},
    {RUE_STUDY_OPTION_RUNNER_FD},
    {RUE_OPTION_LAUNCH},
    {RUE_OPTION_FARM},
    {RUE_OPTION_LISTEN},
    {RUE_OPTION_LAUNCH_TIMEOUT},
    {"out", RUE_OPTION_OUTPUT, "DIR", NULL, "folder for the results [rue-out/<data>]",
     .set_by = RUE_SET_BY_USER},
    {"dry-run", RUE_OPTION_FLAG, NULL, NULL, "probe the loader, show the plan and its cost, stop"},

    {"prefetch-factor", RUE_OPTION_LIST, "LIST", NULL, "batches in flight per worker, such as 2,4 [2]",
     .group = RUE_GROUP_SPACE},
    {"parallelism", RUE_OPTION_LIST, "LIST", NULL, "batch, sample or batch,sample [batch]",
     .words = parallelisms, .group = RUE_GROUP_SPACE,
     .more = "What a worker loads at a time: a whole batch, or single images of a batch that "
             "all workers fill together."},
    {"pin-memory", RUE_OPTION_LIST, "LIST", NULL, "page-locked batches: true, false or true,false [true]",
     .words = booleans, .group = RUE_GROUP_SPACE,
     .more = "Copies from page-locked memory to a GPU run while the GPU computes."},
    {RUE_STUDY_OPTION_KNOB, .more = "Example: multiprocessing_context=fork,spawn. It may be repeated."},
    {"max-workers", RUE_OPTION_COUNT, "N", NULL, "largest number of workers to try", .max = WORKERS_MAX,
     .group = RUE_GROUP_SPACE, .usual = "no limit"},
    {RUE_STUDY_OPTION_MAX_MEMORY},

    {"epochs", RUE_OPTION_COUNT, "N", NULL, "length of the job in epochs [1]", .min = 1, .max = EPOCHS_MAX,
     .group = RUE_GROUP_JOB, .usual = "1", .more = "It replaces --images: N times the images of the data."},
    {"batches", RUE_OPTION_COUNT, "N", NULL, "length of the job in largest batches", .min = 1,
     .max = BATCHES_MAX, .group = RUE_GROUP_JOB, .usual = "from --images",
     .more = "It replaces --images: N times the largest batch size."},
    {"goal", RUE_OPTION_WORD, "WHAT", "time", "optimise time, throughput or first-batch",
     .words = rue_goal_names, .group = RUE_GROUP_JOB,
     .more = "The time of the job, the steady throughput, or the time until the first batch."},
    {"max-first-batch", RUE_OPTION_DURATION, "TIME", NULL, "latest time of the first batch, such as 500ms",
     .group = RUE_GROUP_JOB, .usual = "no limit"},
    {RUE_OPTION_GPUS},
    {RUE_OPTION_RANK},
    {RUE_OPTION_WORLD_SIZE},

    {"strategy", RUE_OPTION_WORD, "NAME", RUE_STRATEGY_AUTO, "grid, duel or auto",
     .words = rue_strategy_names, .group = RUE_GROUP_BUDGET,
     .more = "grid measures every configuration. duel predicts all configurations and measures "
             "those that can change the answer. auto is grid where the budget is ample for it, "
             "else duel."},
    {"epsilon", RUE_OPTION_PERCENTAGE, "PERCENT", "0.5%", "stop when no other can be PERCENT better",
     .min = 1, .max = 5000, .group = RUE_GROUP_BUDGET,
     .more = "In points of mean regret, against the best single configuration. For strategies that "
             "predict."},
    {"confidence", RUE_OPTION_PERCENTAGE, "PERCENT", "95%", "confidence required for --epsilon", .min = 5000,
     .max = 9900, .group = RUE_GROUP_BUDGET},
    {"repeats", RUE_OPTION_COUNT, "N", NULL, "measure each configuration N times [1]", .min = 1, .max = 1000,
     .group = RUE_GROUP_BUDGET, .usual = "1, or up to 3 if the budget has room for all",
     .more = "For grid. Where auto has chosen grid, and the budget has room, it is up to 3 times: repeats "
             "show the uncertainty."},
    {"prior", RUE_OPTION_PATH, "STUDY", NULL, "start from an earlier study, such as rue-out/photos",
     .group = RUE_GROUP_BUDGET, .usual = "none"},

    {"sample", RUE_OPTION_COUNT, "N", "1024", "raw images to convert for the comparison", .min = 1,
     .max = 1000000, .group = RUE_GROUP_DATA},
    RUE_WORKLOAD_OPTION_ROWS{RUE_DATA_IMAGE_KEY},
    {RUE_DATA_LABEL_KEY},
    {RUE_DATA_SUBSET},

    {"baseline", RUE_OPTION_LIST, "LIST", RUE_BASELINE_USUAL, "the configuration you use today",
     .group = RUE_GROUP_ANSWER,
     .more = "Example: batch_size=32,num_workers=2. The result says how much faster the "
             "recommendation is. usual: no workers, and as many workers as CPUs. none: no "
             "comparison."},
    {RUE_RANKING_OBJECTIVE("mean", "")},
    {RUE_RANKING_WEIGHTS(" [1 each]")},
    {RUE_RANKING_TOP_N("3", "")},
    {RUE_RANKING_SET_EPSILON("2%", "")},

    {RUE_STUDY_OPTION_ACCEPT_BUSY},
    {RUE_STUDY_OPTION_DETAILS},
    {RUE_STUDY_OPTION_JSON},
    {RUE_STUDY_OPTION_QUIET},
    {RUE_STUDY_OPTION_FRESH},

    {RUE_STUDY_OPTION_TRIAL_TIMEOUT},
    {"table", RUE_OPTION_PATH, "FILE", NULL, "search the times of a CSV table, without trials",
     .group = RUE_GROUP_ADVANCED, .usual = "none",
     .more = "To try a strategy: its trials are answered from the table, in virtual time."},
    {"map", RUE_OPTION_LIST, "LIST", NULL, "columns of the table, such as time_s=seconds",
     .group = RUE_GROUP_ADVANCED, .usual = "the standard names"},
};

static struct rue_study_goal read_tune_goal(const struct rue_options *options)
{
    int mode = rue_options_word(options, "mode"), repeats = (int)rue_options_number(options, "repeats");
    struct rue_study_goal goal = {
        .data.table = rue_options_text(options, "table"),
        .data.map = rue_options_text(options, "map"),
        .data.modes = {[RUE_RAW] = mode != 2, [RUE_PREPROCESSED] = mode != 1},
        .job.batches = rue_options_number(options, "batches"),
        .job.epochs = rue_options_number(options, "epochs"),
        .data.sample_images = rue_options_number(options, "sample"),
        .search.minimise = (enum rue_goal)rue_options_word(options, "goal"),
        .search.max_first_batch_ns = rue_options_number(options, "max-first-batch"),
        .search.strategy = rue_strategy_names[rue_options_word(options, "strategy")],
        .search.epsilon_ratio = rue_options_ratio(options, "epsilon"),
        .search.confidence = rue_options_ratio(options, "confidence"),
        .output.accepts_busy = rue_options_flag(options, "accept-busy"),
        .search.repeats = repeats ? repeats : 1,
        .search.repeats_most = repeats ? repeats : USUAL_REPEATS,
        .space.limits_workers = rue_options_text(options, "max-workers"),
        .space.max_workers = (int)rue_options_number(options, "max-workers"),
        .space.max_workers_origin = rue_options_origin(options, "max-workers"),
        .space.baseline = rue_options_text(options, "baseline"),
        .space.baseline_origin = rue_options_origin(options, "baseline"),
        .output.reports = rue_reports,
    };
    return goal;
}

/* `compares`: the output is that of rue compare. */
static rue_status show_findings(const struct rue_options *options, bool compares,
                                const struct rue_findings *findings, rue_error *error)
{
    struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    const struct rue_report *table = compares ? &rue_report_compare : &rue_report_table,
                            *json = compares ? &rue_report_compare_json : &rue_report_json;
    style.brief = !rue_options_flag(options, "details");
    return (rue_options_flag(options, "json") ? json : table)->render(findings, &style, stdout, error);
}

/* What was measured is stored and shown, however the run ended. */
static rue_status perform_and_show(struct rue_study *study, const struct rue_options *options, bool compares,
                                   rue_error *error)
{
    struct rue_findings *findings;
    struct rue_study_end *end = &study->end;
    rue_error shown = {0};
    rue_status status = rue_study_perform(study, error);
    if (status == RUE_OK) status = rue_study_findings(study, &findings, error);
    if (status != RUE_OK) return status;
    if (compares && end->ran == RUE_OK) end->ran = rue_conversion_measure(&study->setup, findings, &end->why);
    rue_study_keep(study, findings);
    rue_study_write(study, findings);
    (void)!show_findings(options, compares, findings, &shown);
    status = rue_study_conclude(study, findings, &shown, error);
    rue_findings_close(findings);
    return status;
}

static rue_status tune(struct rue_study *study, const struct rue_options *options, rue_error *error)
{
    return perform_and_show(study, options, false, error);
}

static rue_status compare(struct rue_study *study, const struct rue_options *options, rue_error *error)
{
    return perform_and_show(study, options, true, error);
}

/* A flag for the length of the job overrides a setting for it. */
static rue_status choose_job(const struct rue_options *options, struct rue_study_goal *goal, rue_error *error)
{
    const struct {
        const char *name;
        uint64_t *value;
    } lengths[] = {
        {"images", &goal->job.images}, {"batches", &goal->job.batches}, {"epochs", &goal->job.epochs}};
    enum { LENGTHS = sizeof lengths / sizeof *lengths };
    bool typed = false;
    size_t chosen = LENGTHS;
    for (size_t i = 0; i < LENGTHS; i++) typed |= rue_options_given(options, lengths[i].name);
    for (size_t i = 0; i < LENGTHS; i++) {
        if (typed && !rue_options_given(options, lengths[i].name)) *lengths[i].value = 0;
        if (!*lengths[i].value) continue;
        if (chosen < LENGTHS)
            return rue_fail(error, RUE_USAGE,
                            "%s %" PRIu64 " and %s %" PRIu64 " both set the length of the job: give one",
                            rue_options_origin(options, lengths[chosen].name), *lengths[chosen].value,
                            rue_options_origin(options, lengths[i].name), *lengths[i].value);
        chosen = i;
    }
    return RUE_OK;
}

/* Refuses typed options that exclude each other; settings serve all commands. */
static rue_status check_typed(const struct rue_options *options, rue_error *error)
{
    const struct rue_strategy_ops *strategy = rue_strategy_find(rue_options_text(options, "strategy"));
    bool epsilon = rue_options_given(options, "epsilon");
    if ((!epsilon && !rue_options_given(options, "confidence")) || !rue_options_given(options, "strategy"))
        return RUE_OK;
    if (!strategy || strategy->claim) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "--%s has no effect with --strategy %s, which makes no predictions: remove one of them",
                    epsilon ? "epsilon" : "confidence", strategy->name);
}

static rue_status check_goal(const struct rue_options *options, const struct rue_study_goal *goal,
                             rue_error *error)
{
    const struct rue_strategy_ops *strategy = rue_strategy_find(goal->search.strategy);
    if (strategy && strategy->estimate && goal->search.minimise != RUE_GOAL_TIME)
        return rue_fail(error, RUE_USAGE,
                        "%s %s needs --strategy grid: the strategy %s predicts only the time of the job",
                        rue_options_origin(options, "goal"), rue_goal_names[goal->search.minimise],
                        goal->search.strategy);
    return RUE_OK;
}

/* Refuses options that a table replaces, and sets the default budget. */
static rue_status check_table(const struct rue_options *options, struct rue_study_goal *goal,
                              rue_error *error)
{
    if (!rue_options_text(options, "budget")) goal->search.budget.time_ns = RUE_STUDY_BUDGET_NS;
    if (!goal->data.table) {
        if (!rue_options_given(options, "map")) return RUE_OK;
        return rue_fail(error, RUE_USAGE, "--map names the columns of a table: it needs --table");
    }
    const char *several = rue_deployment_origin(options, &goal->loader.deployment);
    const struct {
        bool given;
        const char *option, *why;
    } conflicts[] = {
        {goal->data.count, goal->data.paths[0], "the table replaces the data"},
        {goal->loader.runner.command, "--runner", "the table replaces the runner"},
        {goal->loader.runner.socket_count, "--runner-fd", "the table replaces the runner"},
        {*several, several,
         goal->loader.deployment.launcher.words ? "the table replaces the runner"
                                                : "the table's times are fixed"},
        {goal->loader.workload.batch_dtype != RUE_FLOAT32, "--batch-dtype", "the table's times are fixed"},
        {rue_workload_trains(&goal->loader.workload), "--transform", "the table's times are fixed"},
        {goal->search.minimise != RUE_GOAL_TIME, "--goal", "the table has only times of whole jobs"},
        {goal->job.epochs, "--epochs", "the table does not say how many images an epoch has"},
        {goal->search.max_first_batch_ns, "--max-first-batch", "the table has only times of whole jobs"},
    };
    for (size_t i = 0; i < sizeof conflicts / sizeof *conflicts; i++)
        if (conflicts[i].given)
            return rue_fail(error, RUE_USAGE, "%s cannot be used with --table %s: %s; remove one of them",
                            conflicts[i].option, goal->data.table, conflicts[i].why);
    if (!rue_options_text(options, "budget")) goal->search.budget = (struct rue_budget){.share = TABLE_SHARE};
    return RUE_OK;
}

/* Only a strategy that predicts can have several trials in progress. */
static rue_status choose_farm_strategy(const struct rue_options *options, struct rue_study_goal *goal,
                                       rue_error *error)
{
    bool chosen = strcmp(goal->search.strategy, RUE_STRATEGY_AUTO) != 0;
    const struct rue_strategy_ops *strategy =
        chosen ? rue_strategy_find(goal->search.strategy) : &rue_strategy_duel;
    if (!strategy->drop)
        return rue_fail(error, RUE_USAGE, "%s needs --strategy %s: %s has one trial at a time",
                        rue_options_origin(options, "farm"), rue_strategy_duel.name, strategy->name);
    goal->search.strategy = strategy->name;
    return RUE_OK;
}

static rue_status run_study(const struct rue_options *options, bool compares, rue_error *error)
{
    struct rue_study_goal goal = read_tune_goal(options);
    const char *prior = rue_options_text(options, "prior");
    rue_status status = rue_study_command_read(options, &goal, error);
    if (status == RUE_OK) status = choose_job(options, &goal, error);
    if (status == RUE_OK && goal.loader.deployment.launcher.farm)
        status = choose_farm_strategy(options, &goal, error);
    if (status == RUE_OK) status = rue_ranking_rules_read(options, NULL, &goal.search.rules, error);
    if (status != RUE_OK) return status;
    goal.search.rules.confidence = goal.search.confidence;
    status = check_goal(options, &goal, error);
    if (status == RUE_OK) status = check_typed(options, error);
    if (status == RUE_OK) status = check_table(options, &goal, error);
    if (status == RUE_OK && prior) status = rue_recommendation_read(prior, &goal.search.prior, error);
    if (status == RUE_OK) status = rue_study_command_run(&goal, options, compares ? compare : tune, error);
    rue_ranking_rules_close(&goal.search.rules);
    rue_recommendation_close(goal.search.prior);
    return status;
}

static rue_status run_tune(const struct rue_options *options, rue_error *error)
{
    return run_study(options, false, error);
}

static rue_status run_compare(const struct rue_options *options, rue_error *error)
{
    return run_study(options, true, error);
}

const struct rue_command rue_command_tune = {
    .name = "tune",
    .arguments = "[DATA...]",
    .summary = "Find the loader configuration that is good for all models.",
    .details = "  rue tune photos/\n"
               "  rue tune photos/ --model resnet18,vit_b_16 --budget 5m\n"
               "  rue tune photos/ photos.tensor\n"
               "  rue tune photos/ --runner \"python3 -m rue_tuner.runner\"\n"
               "  rue tune --table times.csv --strategy duel --budget 10%",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_tune,
};

const struct rue_command rue_command_compare = {
    .name = "compare",
    .arguments = "A OTHER...",
    .summary = "Compare variants of the data, and say when converting pays.",
    .details =
        "  rue compare photos/ photos.tensor\n"
        "  rue compare photos/ photos.tensor --model resnet50 --budget 5m\n\n"
        "All variants are tuned in one study, as rue tune does. Then a sample of the first variant is\n"
        "converted to each of the others, to measure the time of a conversion. The budget does not\n"
        "include this.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_compare,
};
