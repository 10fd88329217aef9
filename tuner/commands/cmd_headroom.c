/* rue headroom: what a perfect loader would gain with one configuration. */
#include "commands.h"

#include <math.h>
#include <stdlib.h>

#include "data_options.h"
#include "headroom.h"
#include "json_document.h"
#include "study.h"
#include "study_options.h"
#include "subject_options.h"
#include "suspension.h"
#include "terminal.h"

static const struct rue_option options_table[] = {
    {"model", RUE_OPTION_LIST, "LIST", NULL, "models such as resnet50,vit_b_16 [4 of varied cost]"},
    {"batch-size", RUE_OPTION_LIST, "N", NULL, "images in a batch [32]", .set_by = RUE_SET_BY_FLAG},
    {"num-workers", RUE_OPTION_LIST, "N", NULL, "loader workers [the CPUs]", .set_by = RUE_SET_BY_FLAG},
    {"prefetch-factor", RUE_OPTION_LIST, "N", NULL, "batches in flight per worker [2]",
     .set_by = RUE_SET_BY_FLAG},
    {"knob", RUE_OPTION_SETTINGS, "NAME=VALUE", NULL, "any knob, such as read=item; repeatable",
     .set_by = RUE_SET_BY_FLAG},
    {"max-loss", RUE_OPTION_PERCENTAGE, "SHARE", NULL, "exit with 5 if loading costs more, such as 10%",
     .max = 10000, .set_by = RUE_SET_BY_FLAG},
    {"images", RUE_OPTION_COUNT, "N", NULL, "images in an epoch [those of the data]", .min = 1,
     .max = RUE_STUDY_JOB_MAX},
    {"budget", RUE_OPTION_DURATION, "TIME", "30s", "time for all trials", .set_by = RUE_SET_BY_FLAG},
    {RUE_STUDY_OPTION_DEVICE},
    RUE_WORKLOAD_OPTION_ROWS{RUE_DATA_IMAGE_KEY},
    {RUE_DATA_LABEL_KEY},
    {RUE_DATA_SUBSET},
    {RUE_STUDY_OPTION_RUNNER},
    {RUE_STUDY_OPTION_RUNNER_FD},
    {RUE_STUDY_OPTION_TRIAL_TIMEOUT},
    {RUE_STUDY_OPTION_MAX_MEMORY},
    {RUE_STUDY_OPTION_JSON},
    {RUE_STUDY_OPTION_QUIET},
};

static rue_status show(const struct rue_headroom *headroom, bool json, rue_error *error)
{
    struct rue_page page = {0};
    if (json) return rue_json_write(rue_headroom_json(headroom), stdout, error);
    rue_headroom_put(&page, headroom);
    return rue_terminal_show(&page, RUE_TABLE_COLUMNS, error);
}

/* Fails if loading costs more than the limit, or may. */
static rue_status judge(const struct rue_headroom *headroom, rue_error *error)
{
    const struct rue_headroom_row *worst = rue_headroom_worst(headroom);
    double loss = rue_headroom_loss(worst->gain.ratio), limit = headroom->max_loss_ratio;
    if (isnan(limit) || loss <= limit) return RUE_OK;
    bool known = worst->gain.confidence > 0 && rue_headroom_loss(worst->gain.low) > limit;
    char interval[64] = "";
    if (worst->gain.confidence > 0)
        snprintf(interval, sizeof interval, " (%.3g %% CI %.0f to %.0f %%)", 100 * worst->gain.confidence,
                 100 * rue_headroom_loss(worst->gain.low), 100 * rue_headroom_loss(worst->gain.high));
    return rue_fail(error, RUE_INCONCLUSIVE,
                    "loading costs %.1f %%%s of an epoch of %s, more than --max-loss %g%%%s", 100 * loss,
                    interval, worst->model, 100 * limit,
                    known ? "" : ", but the interval includes the limit: raise --budget");
}

static rue_status measure_and_show(struct rue_study *study, const struct rue_options *options,
                                   rue_error *error)
{
    struct rue_config config;
    struct rue_headroom headroom = {.max_loss_ratio = *rue_options_origin(options, "max-loss")
                                                          ? rue_options_ratio(options, "max-loss")
                                                          : NAN,
                                    .rows = calloc(study->setup.model_count + 1, sizeof *headroom.rows)};
    if (!headroom.rows)
        return rue_fail_memory(error, "models", study->setup.model_count * sizeof *headroom.rows);
    rue_status status = rue_headroom_config(&study->setup, &config, error);
    if (status == RUE_OK) status = rue_headroom_measure(study, &config, &headroom, error);
    rue_progress_close(study->setup.progress);
    if (status == RUE_OK) status = show(&headroom, rue_options_flag(options, "json"), error);
    if (status == RUE_OK) status = judge(&headroom, error);
    free(headroom.rows);
    return status;
}

static rue_status run_headroom(const struct rue_options *options, rue_error *error)
{
    struct rue_study_goal goal = {.data.modes = {true, true},
                                  .search.strategy = "grid",
                                  .search.confidence = RUE_DEFAULT_CONFIDENCE,
                                  .search.repeats = 1,
                                  .search.rules = {.top_n = 1, .confidence = RUE_DEFAULT_CONFIDENCE},
                                  .output.keep_nothing = true};
    rue_status status = rue_subject_options_read(options, &goal, error);
    if (status != RUE_OK) return status;
    goal.search.budget = (struct rue_budget){.time_ns = rue_options_number(options, "budget")};
    struct rue_study *study = NULL;
    struct rue_progress progress = rue_progress_open(rue_options_flag(options, "quiet"));
    rue_suspension_install();
    status = rue_study_open(&goal, &progress, &study, error);
    if (status == RUE_OK) status = measure_and_show(study, options, error);
    rue_study_close(study);
    status = rue_subject_advise(status, &goal, error);
    rue_progress_close(&progress);
    return status;
}

const struct rue_command rue_command_headroom = {
    .name = "headroom",
    .arguments = "[DATA]",
    .summary = "Measure what a perfect loader would gain, in half a minute.",
    .details =
        "  rue headroom photos/ --model resnet50 --batch-size 64 --num-workers 4\n"
        "  rue headroom photos/ --model resnet50 --max-loss 10%\n\n"
        "Measures one configuration: the steps on a batch that stays in memory, and the same steps on what\n"
        "the loader delivers. Says what share of an epoch loading costs, and what limits it. Nothing is\n"
        "kept. Exit code 5: it costs more than --max-loss.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_headroom,
};
