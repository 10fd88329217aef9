#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "findings_fill.h"
#include "program_name.h"
#include "ranking_options.h"
#include "shell_quote.h"
#include "store.h"
#include "study_options.h"
#include "table.h"
#include "table_study.h"
#include "terminal.h"

static const struct rue_option options_table[] = {
    {"map", RUE_OPTION_LIST, "LIST", NULL, "columns, such as mode=dataset_type,time_s=seconds"},
    {RUE_RANKING_TOP_N("3", "")},
    {RUE_RANKING_OBJECTIVE("mean", "")},
    {RUE_RANKING_WEIGHTS(" [1 each]")},
    {RUE_RANKING_SET_EPSILON("2%", "")},
    {"study", RUE_OPTION_OUTPUT, "DIR", NULL, "folder to make a study of the table, for rue show",
     .set_by = RUE_SET_BY_USER,
     .more = "The study holds all rows as trials. rue report then writes its page, and "
             "rue show --trial shows one trial."},
    {RUE_STUDY_OPTION_JSON},
    {"quiet", RUE_OPTION_FLAG, NULL, NULL, "print no notes about skipped rows"},
};

static void report_skipped(const struct rue_table *table)
{
    if (table->columns.ignored[0])
        rue_terminal_print(stderr,
                           "%s: ignored columns: %s. Rows that differ only in these are repeats. "
                           "If one names data sets or models, map it: --map mode=COLUMN",
                           table->name, table->columns.ignored);
    if (table->columns.field[RUE_COLUMN_MODEL] == SIZE_MAX)
        rue_terminal_print(stderr, "%s: no column 'model': all rows count as one model", table->name);
    if (table->not_joint)
        rue_terminal_print(stderr,
                           "%s: skipped rows: %zu, whose measure is not joint (loader and model together)",
                           table->name, table->not_joint);
    if (table->truncated)
        rue_terminal_print(
            stderr,
            "%s: skipped trials: %zu, shorter than the job. rue show can rank them, from the folder of their "
            "study",
            table->name, table->truncated);
}

static rue_status analyze(const struct rue_table *table, const struct rue_options *options, rue_error *error)
{
    struct rue_findings *findings;
    struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    struct rue_ranking_rules rules;
    char word[RUE_SHELL_WORD_BYTES];
    rue_status status = rue_ranking_rules_read(options, NULL, &rules, error);
    if (status != RUE_OK) return status;
    status = rue_tally_make_findings(&table->tally, &findings, error);
    if (status != RUE_OK) return rue_ranking_rules_close(&rules), status;
    snprintf(findings->study, sizeof findings->study, "%s", table->name);
    strcpy(findings->runner.measured_with, RUE_TABLE_LOADER);
    strcpy(findings->run.rue_version, RUE_VERSION);
    snprintf(findings->run.command_line, sizeof findings->run.command_line, "%s",
             rue_options_command_line(options));
    if (!rue_options_flag(options, "quiet")) report_skipped(table);
    findings->unsaved = true;
    status = rue_findings_fill(findings, &rules, error);
    const char *folder = rue_options_text(options, "study");
    if (status == RUE_OK && folder)
        status =
            rue_table_study_write(table, rue_options_arguments(options)[0], folder, &rules, findings, error);
    rue_ranking_rules_close(&rules);
    const struct rue_report *shown = rue_options_flag(options, "json") ? &rue_report_json : &rue_report_table;
    if (status == RUE_OK && folder && !rue_options_flag(options, "quiet"))
        rue_terminal_print(stderr, "written: %s/" RUE_STORE_FILE " and its reports; to see it: %s show %s",
                           findings->folder, rue_program_name(), rue_shell_word(findings->folder, word));
    if (status == RUE_OK) status = shown->render(findings, &style, stdout, error);
    if (status == RUE_OK) status = rue_findings_check_answer(findings, error);
    rue_findings_close(findings);
    return status;
}

static rue_status run_analyze(const struct rue_options *options, rue_error *error)
{
    struct rue_table table;
    rue_status status =
        rue_table_read(rue_options_arguments(options)[0], rue_options_text(options, "map"), &table, error);
    if (status != RUE_OK) return status;
    status = analyze(&table, options, error);
    rue_table_close(&table);
    return status;
}

const struct rue_command rue_command_analyze = {
    .name = "analyze",
    .arguments = "TABLE",
    .summary = "Rank the configurations in a CSV table of measured times.",
    .details =
        "  rue analyze times.csv\n"
        "  rue analyze latency.csv --map mode=data,time_ms=latency\n"
        "  rue analyze times.csv --study rue-out/times\n"
        "  rue analyze rue-out/photos/trials.csv --json\n"
        "  cat times.csv | rue analyze -\n\n"
        "Columns: mode, model, the knobs (batch_size, num_workers, ...), and one of time_s, time_ms,\n"
        "time_ns, end_to_end_ns. A row without a time has a status (infeasible, failed, timeout) and a\n"
        "reason. Columns of trials.csv are read, too: format, dtype, measure, requested_images,\n"
        "job_images. Rows of the same model and configuration are repeats. Jobs of different length are\n"
        "ranked separately.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_analyze,
};
