#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agreement.h"
#include "commands.h"
#include "further_answers.h"
#include "json_document.h"
#include "record.h"
#include "section.h"
#include "store.h"
#include "terminal.h"
#include "units.h"
#include "utf8.h"
#include "wrap.h"

enum { TOP_N, OBJECTIVE, WEIGHTS, SET_EPSILON, DETAILS, ALL, TRIALS, AGAINST, JSON };
enum { SENTENCE_BYTES = 4096, HEADING_INDENT = 5 };

#define AS_STUDY " [as the study]"

static const struct rue_option options_table[] = {
    [TOP_N] = RUE_RANKING_TOP_N(NULL, AS_STUDY),
    [OBJECTIVE] = RUE_RANKING_OBJECTIVE(NULL, AS_STUDY),
    [WEIGHTS] = RUE_RANKING_WEIGHTS(AS_STUDY),
    [SET_EPSILON] = RUE_RANKING_SET_EPSILON(NULL, AS_STUDY),
    [DETAILS] = {"details", RUE_OPTION_FLAG, NULL, NULL,
                 "also further answers: for each batch size, fewest configurations, other jobs", 0, 0, NULL},
    [ALL] = {"all", RUE_OPTION_FLAG, NULL, NULL, "also what was measured under other circumstances", 0, 0,
             NULL},
    [TRIALS] = {"trials", RUE_OPTION_FLAG, NULL, NULL, "list every trial of the store, a line each", 0, 0,
                NULL},
    [AGAINST] = {"against", RUE_OPTION_PATH, "STUDY", NULL,
                 "how far another study agrees about which configurations are faster", 0, 0, NULL},
    [JSON] = {"json", RUE_OPTION_FLAG, NULL, NULL, "every configuration as JSON on standard output", 0, 0,
              NULL},
};

static const struct rue_ranking_options ranking_options = {TOP_N, OBJECTIVE, WEIGHTS, SET_EPSILON};

static const struct rue_table_column columns_table[] = {{.header = "trial", .right = true},
                                                        {.header = "mode", .shrink_to = 8},
                                                        {.header = "model", .shrink_to = 8},
                                                        {.header = "measure", .drop = 2},
                                                        {.header = "config"},
                                                        {.header = "status"},
                                                        {.header = "images", .right = true, .drop = 1},
                                                        {.header = "time", .right = true, .drop = 3},
                                                        {.header = "reason", .shrink_to = 12}};
enum { COLUMNS = sizeof columns_table / sizeof *columns_table, ROWS = 64 };

/* A sentence of whatever text, in lines that fit the window. */
static void put_wrapped(const char *text, const struct rue_report_style *style, int indent)
{
    char clean[SENTENCE_BYTES];
    rue_utf8_clean(text, style->unicode, clean, sizeof clean);
    rue_wrap(stdout, clean, style->columns, indent);
    putchar('\n');
}

/* ---- the list of trials ---- */

static void put_fields(const struct rue_value *values, bool unicode)
{
    char clean[RUE_REASON_BYTES];
    for (int c = 0; c < COLUMNS; c++) {
        rue_utf8_clean(values[c].text, unicode, clean, sizeof clean); /* a tab becomes a '?' */
        printf("%s%s", c ? "\t" : "", clean);
    }
    putchar('\n');
}

/* A table of so many rows at a time, or, where nothing limits the width, lines of fields with tabs between
 * them. */
static rue_status put_trials(struct rue_page *page, bool end, rue_error *error)
{
    const struct rue_report_style style = rue_terminal_style(stdout, 0);
    const struct rue_section *table = rue_page_last_table(page);
    rue_status status = RUE_OK;
    if (!table) return rue_fail_memory(error, "the table", sizeof *table);
    if (style.columns > 0 && !end && table->row_count < ROWS) return RUE_OK;
    if (style.columns > 0) status = rue_page_write(page, &style, stdout, error);
    for (size_t r = 0; style.columns <= 0 && r < table->row_count; r++)
        put_fields(table->rows[r].values, style.unicode);
    rue_page_clear_rows(page);
    return status;
}

static void add_trial(struct rue_page *page, const struct rue_store_trial *trial)
{
    const struct rue_trial_result *result = &trial->result;
    const char *mode = rue_record_label(&trial->scenario);
    char number[32], label[RUE_CONFIG_TEXT_BYTES], time[RUE_UNIT_TEXT_BYTES] = "",
                                                   images[RUE_UNIT_TEXT_BYTES] = "";
    snprintf(number, sizeof number, "%" PRIu64, trial->id);
    rue_config_label(&trial->config, label);
    if (result->end_to_end_ns > 0) rue_format_duration((uint64_t)result->end_to_end_ns, time, sizeof time);
    if (result->images > 0) snprintf(images, sizeof images, "%" PRId64, result->images);
    const char *const fields[COLUMNS] = {number,
                                         mode ? mode : rue_mode_names[trial->scenario.variant.mode],
                                         trial->scenario.model,
                                         rue_measure_names[trial->measure],
                                         label,
                                         rue_outcome_names[result->outcome],
                                         images,
                                         time,
                                         result->reason};
    rue_page_row(page, false);
    for (int c = 0; c < COLUMNS; c++) rue_put_text(page, fields[c]);
}

static void put_names(void)
{
    for (int c = 0; c < COLUMNS; c++) printf("%s%s", c ? "\t" : "", columns_table[c].header);
    putchar('\n');
}

static rue_status list_trials(const struct rue_record *record, rue_error *error)
{
    struct rue_store *store;
    struct rue_page page = {0};
    rue_status status = rue_store_open_copy(record->store, false, &store, error);
    rue_page_table(&page, columns_table, COLUMNS);
    if (status == RUE_OK && rue_terminal_style(stdout, 0).columns <= 0) put_names();
    for (bool found = status == RUE_OK; status == RUE_OK && found;) {
        struct rue_store_trial trial;
        status = rue_store_next(store, &found, &trial, error);
        if (status != RUE_OK || !found) break;
        add_trial(&page, &trial);
        rue_trial_result_close(&trial.result);
        status = put_trials(&page, false, error);
    }
    if (status == RUE_OK) status = put_trials(&page, true, error);
    rue_store_close(store);
    rue_page_close(&page);
    return status;
}

/* ---- the sets ---- */

/* What a set was measured under. */
static void put_heading(const struct rue_record_set *set, const struct rue_report_style *style)
{
    char job[RUE_UNIT_TEXT_BYTES], text[SENTENCE_BYTES], clean[SENTENCE_BYTES];
    int used = snprintf(text, sizeof text, "%zu trial%s, the last at %s", set->trials,
                        set->trials == 1 ? "" : "s", set->recorded);
    if (set->job_images)
        used += snprintf(text + used, sizeof text - (size_t)used, ", job of %s image%s",
                         rue_format_count(set->job_images, job, sizeof job), set->job_images == 1 ? "" : "s");
    used += snprintf(text + used, sizeof text - (size_t)used, ", %s", set->runner);
    if (set->machine[0]) snprintf(text + used, sizeof text - (size_t)used, ", machine %s", set->machine);
    rue_utf8_clean(text, style->unicode, clean, sizeof clean);
    rue_wrap_item(stdout, "====", clean, style->columns, HEADING_INDENT);
    putchar('\n');
    if (set->workload[0]) put_wrapped(set->workload, style, HEADING_INDENT);
    putchar('\n');
}

static void put_footer(size_t others, const struct rue_report_style *style)
{
    char text[SENTENCE_BYTES];
    snprintf(text, sizeof text,
             "%zu more trial%s measured under other circumstances (job, workload, runner, machine or data): "
             "--all shows %s.",
             others, others == 1 ? " was" : "s were", others == 1 ? "it" : "them");
    putchar('\n');
    put_wrapped(text, style, 0);
}

static rue_status show_set(const struct rue_record *record, int set, const struct rue_options *options,
                           rue_error *error)
{
    struct rue_findings *findings;
    struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    style.brief = !rue_options_flag(options, DETAILS);
    struct rue_ranking_rules rules;
    rue_status status =
        rue_ranking_rules_read(options, &ranking_options, rue_record_rules(record), &rules, error);
    if (status != RUE_OK) return status;
    status = rue_record_findings(record, set, &rules, &findings, error);
    if (status != RUE_OK) return rue_ranking_rules_close(&rules), status;
    status = rue_further_answers_find(findings, &rules, error);
    rue_ranking_rules_close(&rules);
    const struct rue_report *shown =
        rue_options_flag(options, JSON) ? &rue_report_ranking : &rue_report_table;
    if (status == RUE_OK) status = shown->render(findings, &style, stdout, error);
    if (status == RUE_OK) status = rue_tally_judge(findings, error);
    rue_further_answers_close(findings);
    rue_tally_findings_close(findings);
    return status;
}

static rue_status show_sets(const struct rue_record *record, const struct rue_options *options,
                            rue_error *error)
{
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    bool all = rue_options_flag(options, ALL);
    size_t others = 0;
    rue_status status = RUE_OK;
    if (rue_options_flag(options, JSON)) return show_set(record, all ? RUE_TALLY_ALL : 0, options, error);
    for (size_t s = 0; s < (all ? record->set_count : 1); s++) {
        rue_error later = {0};
        if (s) putchar('\n');
        if (all) put_heading(&record->sets[s], &style);
        rue_status shown = show_set(record, (int)s, options, &later);
        if (shown != RUE_OK && status == RUE_OK) status = rue_fail(error, shown, "%s", later.message);
        if (shown != RUE_OK && shown != RUE_INFEASIBLE && shown != RUE_INCONCLUSIVE) return status;
    }
    for (size_t s = 1; s < record->set_count; s++) others += record->sets[s].trials;
    if (others && !all) put_footer(others, &style);
    return status;
}

/* ---- against another study ---- */

static rue_status put_agreements(const struct rue_agreement *agreements, size_t count, bool json,
                                 rue_error *error)
{
    static const struct rue_table_column columns[] = {
        {.header = "data", .key = "variant", .shrink_to = 12, .drop = 1},
        {.header = "model", .key = "model", .shrink_to = 12},
        {.header = "there", .key = "other", .shrink_to = 12},
        {.header = "configurations", .key = "configs", .unit = RUE_UNIT_COUNT, .drop = 2},
        {.header = "rank agreement", .key = "rank_agreement", .unit = RUE_UNIT_NUMBER, .digits = 3}};
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    struct rue_page page = {0};
    rue_page_table(&page, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < count; i++) {
        rue_page_row(&page, false);
        rue_put_text(&page, agreements[i].variant);
        rue_put_text(&page, agreements[i].model);
        rue_put_text(&page, agreements[i].other);
        rue_put_number(&page, (double)agreements[i].configs);
        rue_put_number(&page, agreements[i].rank_agreement);
    }
    json_t *array = json ? rue_table_json(rue_page_last_table(&page)) : NULL;
    rue_page_gap(&page);
    rue_page_sentence(&page, RUE_LOOK_PLAIN, 0);
    rue_say(&page, "Rank agreement is Kendall's tau-b of the times of the configurations that both have "
                   "measured: 1 where their order is the same, -1 where it is reversed, about 0 where one "
                   "tells nothing of the other.");
    rue_status status =
        json ? rue_json_write(array, stdout, error) : rue_page_write(&page, &style, stdout, error);
    rue_page_close(&page);
    return status;
}

static rue_status show_agreement(const struct rue_record *record, const struct rue_record *other, bool json,
                                 rue_error *error)
{
    struct rue_agreement agreements[ROWS];
    struct rue_findings *one = NULL, *two = NULL;
    size_t count;
    rue_status status = rue_record_findings(record, 0, rue_record_rules(record), &one, error);
    if (status == RUE_OK) status = rue_record_findings(other, 0, rue_record_rules(other), &two, error);
    if (status == RUE_OK) status = rue_agreement_find(one, two, agreements, ROWS, &count, error);
    if (status == RUE_OK) status = put_agreements(agreements, count, json, error);
    rue_tally_findings_close(one);
    rue_tally_findings_close(two);
    return status;
}

static rue_status show_against(const struct rue_record *record, const char *path, bool json, rue_error *error)
{
    struct rue_record other;
    rue_status status = rue_record_read(path, &other, error);
    if (status != RUE_OK) return status;
    status = show_agreement(record, &other, json, error);
    rue_record_close(&other);
    return status;
}

static rue_status run_show(const struct rue_options *options, rue_error *error)
{
    struct rue_record record;
    if (rue_options_flag(options, TRIALS) && rue_options_flag(options, JSON))
        return rue_fail(error, RUE_USAGE,
                        "--trials is a list for people: leave out --json, or query study.db");
    rue_status status = rue_record_read(rue_options_argument(options, 0), &record, error);
    if (status != RUE_OK) return status;
    if (rue_options_flag(options, TRIALS))
        status = list_trials(&record, error);
    else if (record.set_count == 0)
        status =
            rue_fail(error, RUE_INCONCLUSIVE,
                     "%s holds no trial that could be ranked yet: run the same 'rue tune' again to go on",
                     record.store);
    else if (rue_options_text(options, AGAINST))
        status =
            show_against(&record, rue_options_text(options, AGAINST), rue_options_flag(options, JSON), error);
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
               "  rue show rue-out/photos --details\n"
               "  rue show rue-out/photos --trials\n"
               "  rue show rue-out/photos --against rue-out/real\n\n"
               "STUDY is a study's folder or its study.db. It is only read, also while a tuner is at work.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 1,
    .max_arguments = 1,
    .run = run_show,
};
