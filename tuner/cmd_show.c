#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "record.h"
#include "store_reader.h"
#include "terminal.h"
#include "units.h"
#include "utf8.h"

enum { TOP_N, ALL, TRIALS, JSON };

static const struct rue_option options_table[] = {
    [TOP_N] = {"top-n", RUE_OPTION_COUNT, "N", "3", "each model votes for its N fastest", 1, 1000, NULL},
    [ALL] = {"all", RUE_OPTION_FLAG, NULL, NULL, "also what was measured under other circumstances", 0, 0,
             NULL},
    [TRIALS] = {"trials", RUE_OPTION_FLAG, NULL, NULL, "list every trial of the store, a line each", 0, 0,
                NULL},
    [JSON] = {"json", RUE_OPTION_FLAG, NULL, NULL, "every configuration as JSON on standard output", 0, 0,
              NULL},
};

static void put_clean(const char *text, bool unicode, int width)
{
    char clean[RUE_REASON_BYTES];
    rue_utf8_clean(text, unicode, clean, sizeof clean);
    int pad = width - rue_utf8_width(clean);
    printf("%s%*s", clean, pad > 0 ? pad : 0, "");
}

static void put_trial(const struct rue_store_trial *trial, bool unicode)
{
    const struct rue_trial_result *result = &trial->result;
    char label[RUE_CONFIG_TEXT_BYTES], time[RUE_UNIT_TEXT_BYTES] = "", images[RUE_UNIT_TEXT_BYTES] = "";
    rue_config_label(&trial->config, label);
    if (result->end_to_end_ns > 0) rue_format_duration((uint64_t)result->end_to_end_ns, time, sizeof time);
    if (result->images > 0) snprintf(images, sizeof images, "%" PRId64, result->images);
    printf("%6" PRIu64 "  %-12s  ", trial->id, rue_mode_names[trial->scenario.variant.mode]);
    put_clean(trial->scenario.model, unicode, 20);
    printf("  %-8s  %-10s  %-10s  %8s  %10s%s", rue_measure_names[trial->measure], label,
           rue_outcome_names[result->outcome], images, time, result->reason[0] ? "  " : "");
    put_clean(result->reason, unicode, 0);
    putchar('\n');
}

static rue_status list_trials(const struct rue_record *record, bool unicode, rue_error *error)
{
    struct rue_store_reader *reader;
    bool torn;
    rue_status status = rue_store_reader_open(record->store, &reader, &torn, error);
    if (status != RUE_OK) return status;
    printf("%6s  %-12s  %-20s  %-8s  %-10s  %-10s  %8s  %10s  %s\n", "trial", "mode", "model", "measure",
           "config", "status", "images", "time", "reason");
    for (bool found = true; status == RUE_OK && found;) {
        struct rue_store_trial trial;
        status = rue_store_reader_next(reader, &found, &trial, error);
        if (status != RUE_OK || !found) break;
        put_trial(&trial, unicode);
        rue_trial_result_close(&trial.result);
    }
    rue_store_reader_close(reader);
    return status;
}

/* What a set was measured under. */
static void put_heading(const struct rue_record_set *set, bool unicode)
{
    char job[RUE_UNIT_TEXT_BYTES];
    printf("==== %zu trials, the last at %s", set->trials, set->recorded);
    if (set->job_images) printf(", job of %s images", rue_format_count(set->job_images, job, sizeof job));
    printf(", ");
    put_clean(set->runner, unicode, 0);
    if (set->machine[0]) printf(", machine %s", set->machine);
    printf("\n     ");
    put_clean(set->workload, unicode, 0);
    printf("\n\n");
}

static rue_status show_set(const struct rue_record *record, int set, const struct rue_options *options,
                           rue_error *error)
{
    struct rue_findings *findings;
    struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    rue_status status =
        rue_record_findings(record, set, rue_options_number(options, TOP_N), &findings, error);
    if (status != RUE_OK) return status;
    findings->alone = true;
    const struct rue_report *shown =
        rue_options_flag(options, JSON) ? &rue_report_ranking : &rue_report_table;
    status = shown->render(findings, &style, stdout, error);
    if (status == RUE_OK) status = rue_tally_judge(findings, error);
    rue_tally_findings_close(findings);
    return status;
}

static rue_status show_sets(const struct rue_record *record, const struct rue_options *options,
                            rue_error *error)
{
    bool all = rue_options_flag(options, ALL),
         unicode = rue_terminal_style(stdout, RUE_TABLE_COLUMNS).unicode;
    size_t others = 0;
    rue_status status = RUE_OK;
    if (rue_options_flag(options, JSON)) return show_set(record, all ? RUE_TALLY_ALL : 0, options, error);
    for (size_t s = 0; s < (all ? record->set_count : 1); s++) {
        rue_error later = {0};
        if (s) putchar('\n');
        if (all) put_heading(&record->sets[s], unicode);
        rue_status shown = show_set(record, (int)s, options, &later);
        if (shown != RUE_OK && status == RUE_OK) status = rue_fail(error, shown, "%s", later.message);
        if (shown != RUE_OK && shown != RUE_INFEASIBLE) return status;
    }
    for (size_t s = 1; s < record->set_count; s++) others += record->sets[s].trials;
    if (others && !all)
        printf("\n%zu more trials were measured under other circumstances (job, workload, runner, machine or "
               "data): "
               "--all shows them.\n",
               others);
    return status;
}

static rue_status run(const struct rue_options *options, rue_error *error)
{
    struct rue_record record;
    if (rue_options_flag(options, TRIALS) && rue_options_flag(options, JSON))
        return rue_fail(error, RUE_USAGE,
                        "--trials is a list for people: leave out --json, or query study.db");
    rue_status status = rue_record_read(rue_options_argument(options, 0), &record, error);
    if (status != RUE_OK) return status;
    if (rue_options_flag(options, TRIALS))
        status = list_trials(&record, rue_terminal_style(stdout, RUE_TABLE_COLUMNS).unicode, error);
    else if (record.set_count == 0)
        status =
            rue_fail(error, RUE_INCONCLUSIVE,
                     "%s holds no trial that could be ranked yet: run the same 'rue tune' again to go on",
                     record.store);
    else
        status = show_sets(&record, options, error);
    rue_record_close(&record);
    return status;
}

const struct rue_command rue_command_show = {
    .name = "show",
    .arguments = "STUDY",
    .summary = "Show what a study has measured so far.",
    .details = "  rue show rue-out/photos\n"
               "  rue show rue-out/photos --trials\n\n"
               "STUDY is a study's folder or its study.db. It is only read, also while a tuner is at work.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run,
};
