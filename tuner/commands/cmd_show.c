#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "export.h"
#include "json_document.h"
#include "ranking_options.h"
#include "record.h"
#include "report.h"
#include "study_options.h"
#include "terminal.h"
#include "trial_life.h"
#include "wrap.h"

#define AS_STUDY " [as the study]"

static const struct rue_option options_table[] = {
    {RUE_RANKING_TOP_N(NULL, AS_STUDY)},
    {RUE_RANKING_OBJECTIVE(NULL, AS_STUDY)},
    {RUE_RANKING_WEIGHTS(AS_STUDY)},
    {RUE_RANKING_SET_EPSILON(NULL, AS_STUDY)},
    {RUE_STUDY_OPTION_DETAILS},
    {"trial", RUE_OPTION_COUNT, "N", NULL, "show only the trial with this number", .min = 1, .max = INT64_MAX,
     .set_by = RUE_SET_BY_FLAG,
     .more = "Its request, outcome, parts of its time, batches, what was expected of it, and the "
             "command that repeats it. --trials lists the numbers."},
    {"trials", RUE_OPTION_FLAG, NULL, NULL, "print the trials as CSV"},
    {"as", RUE_OPTION_WORD, "FORMAT", NULL, "print what to paste: torch, trainer, env, ...",
     .words = rue_export_names, .set_by = RUE_SET_BY_FLAG,
     .more = "torch, lightning, trainer (TrainingArguments), accelerate, hydra, timm, env, or c (librue). "
             "Only what was measured, "
             "and only if the study is decided."},
    {RUE_STUDY_OPTION_JSON},
};

static void put_other_trials(size_t others, const struct rue_report_style *style)
{
    char text[256];
    snprintf(text, sizeof text,
             "The study also has %zu trial%s of another job, workload, runner, machine or data. "
             "To see their result, tune again with their options: nothing is measured twice.",
             others, others == 1 ? "" : "s");
    putchar('\n');
    rue_wrap(stdout, text, style->columns, 0);
    putchar('\n');
}

static rue_status report(const struct rue_record *record, const struct rue_options *options,
                         struct rue_findings *findings, rue_error *error)
{
    struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    style.maps = true;
    style.brief = !rue_options_flag(options, "details");
    bool json = rue_options_flag(options, "json"), list = rue_options_flag(options, "trials");
    const struct rue_report *shown = list ? &rue_report_csv : json ? &rue_report_json : &rue_report_table;
    rue_status status = shown->render(findings, &style, stdout, error);
    if (status == RUE_OK) status = rue_record_check_list(record, error);
    if (status != RUE_OK || list) return status;
    if (record->other_trials && !json) put_other_trials(record->other_trials, &style);
    return rue_findings_check_answer(findings, error);
}

/* `findings` is NULL if the record is empty. */
static rue_status show_trial(const struct rue_record *record, const struct rue_options *options,
                             struct rue_findings *findings, rue_error *error)
{
    struct rue_trial_life life;
    struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    style.brief = !rue_options_flag(options, "details");
    rue_status status =
        rue_trial_life_read(record, findings, rue_options_number(options, "trial"), &life, error);
    if (status == RUE_OK && rue_options_flag(options, "json"))
        status = rue_json_write(rue_trial_json(&life), stdout, error);
    else if (status == RUE_OK)
        status = rue_trial_write(&life, &style, stdout, error);
    rue_trial_life_close(&life);
    return status;
}

static rue_status export_answer(const struct rue_options *options, const struct rue_findings *findings,
                                rue_error *error)
{
    size_t format = (size_t)rue_options_word(options, "as");
    rue_status status = rue_findings_check_answer(findings, error);
    return status == RUE_OK ? rue_export_write(findings, format, stdout, error) : status;
}

static rue_status show_record(struct rue_record *record, const struct rue_options *options, rue_error *error)
{
    struct rue_findings *findings;
    struct rue_ranking_rules rules;
    rue_status status = rue_ranking_rules_read(options, &record->last->rules, &rules, error);
    if (status != RUE_OK) return status;
    status = rue_record_findings(record, &rules, &findings, error);
    rue_ranking_rules_close(&rules);
    if (status != RUE_OK) return status;
    if (rue_options_given(options, "as"))
        status = export_answer(options, findings, error);
    else
        status =
            (rue_options_given(options, "trial") ? show_trial : report)(record, options, findings, error);
    rue_findings_close(findings);
    return status;
}

static rue_status run_show(const struct rue_options *options, rue_error *error)
{
    struct rue_record record;
    bool one = rue_options_given(options, "trial");
    if (rue_options_flag(options, "trials") && rue_options_flag(options, "json"))
        return rue_fail(error, RUE_USAGE, "--trials prints CSV: remove --json, or query study.db");
    if (rue_options_given(options, "as") &&
        (one || rue_options_flag(options, "json") || rue_options_flag(options, "trials") ||
         rue_options_flag(options, "details")))
        return rue_fail(error, RUE_USAGE, "--as prints only what to paste: remove the other options");
    if (rue_options_flag(options, "trials") && one)
        return rue_fail(error, RUE_USAGE, "--trial shows one trial, --trials all: remove one of them");
    rue_status status = rue_record_read(rue_options_arguments(options)[0], &record, error);
    if (status != RUE_OK) return status;
    bool unranked = one && rue_record_is_empty(&record);
    if (!unranked) status = rue_record_check(&record, "rank", error);
    if (status == RUE_OK)
        status = unranked ? show_trial(&record, options, NULL, error) : show_record(&record, options, error);
    rue_record_close(&record);
    return status;
}

const struct rue_command rue_command_show = {
    .name = "show",
    .arguments = "STUDY",
    .summary = "Show the result of the last run of a study.",
    .details =
        "  rue show rue-out/photos\n"
        "  rue show rue-out/photos --details\n"
        "  rue show rue-out/photos --trial 3\n"
        "  rue show rue-out/photos --trials > trials.csv\n"
        "  rue show rue-out/photos --as env\n\n"
        "STUDY is the folder of a study or its study.db. Nothing is written. It also works during a run.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_show,
};
