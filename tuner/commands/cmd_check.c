#include "commands.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "data_options.h"
#include "json_document.h"
#include "shell_quote.h"
#include "study_options.h"
#include "suspension.h"
#include "terminal.h"

enum {
    RUNNER,
    RUNNER_FD,
    LAUNCH,
    LISTEN,
    LAUNCH_TIMEOUT,
    BUDGET,
    TRIAL_TIMEOUT,
    MAX_MEMORY,
    RANK,
    WORLD_SIZE,
    JSON,
    QUIET
};

static const struct rue_option options_table[] = {
    [RUNNER] = {"runner", RUE_OPTION_COMMAND, "CMD", NULL,
                "the runner of the recommendation, if not rue's own", 0, 0, NULL, .set_by = RUE_SET_BY_USER},
    [RUNNER_FD] = {RUE_STUDY_OPTION_RUNNER_FD},
    [LAUNCH] = {RUE_STUDY_OPTION_LAUNCH},
    [LISTEN] = {RUE_STUDY_OPTION_LISTEN},
    [LAUNCH_TIMEOUT] = {RUE_STUDY_OPTION_LAUNCH_TIMEOUT},
    [BUDGET] = {"budget", RUE_OPTION_DURATION, "TIME", "30s", "time for the whole check", 0, 0, NULL,
                .set_by = RUE_SET_BY_FLAG},
    [TRIAL_TIMEOUT] = {RUE_STUDY_OPTION_TRIAL_TIMEOUT},
    [MAX_MEMORY] = {RUE_STUDY_OPTION_MAX_MEMORY},
    [RANK] = {RUE_DATA_RANK},
    [WORLD_SIZE] = {RUE_DATA_WORLD_SIZE},
    [JSON] = {RUE_STUDY_OPTION_JSON},
    [QUIET] = {RUE_STUDY_OPTION_QUIET},
};

/* A recommendation and the findings of each part. */
struct checks {
    struct rue_recommendation *earlier;
    struct rue_variant_findings *variants; /* of all parts, borrowed from them, for their names */
    size_t count;
    struct rue_check *at; /* [count] */
};

enum { NAME_BYTES = PATH_MAX + 128 };

static void name_part(const struct checks *checks, size_t part, char out[NAME_BYTES])
{
    const struct rue_findings all = {.variants = checks->variants, .variant_count = checks->earlier->count};
    rue_findings_name_among(&all, &checks->variants[part], out, NAME_BYTES);
}

static json_t *trials_json(const struct rue_check *check)
{
    struct rue_page page = {0};
    static const struct rue_table_column columns[] = {{.key = "model"},
                                                      {.key = "config", .unit = RUE_UNIT_CONFIG},
                                                      {.key = "images", .unit = RUE_UNIT_COUNT},
                                                      {.key = "expected_ns", .unit = RUE_UNIT_DURATION},
                                                      {.key = "end_to_end_ns", .unit = RUE_UNIT_DURATION},
                                                      {.key = "status"},
                                                      {.key = "reason"}};
    rue_page_table(&page, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < check->trial_count; i++) {
        const struct rue_check_trial *trial = &check->trials[i];
        rue_page_row(&page, false);
        rue_put_text(&page, trial->model);
        rue_put_config(&page, &trial->config);
        rue_put_number(&page, (double)trial->images);
        rue_put_number(&page, trial->expected_s > 0 ? trial->expected_s * 1e9 : NAN);
        rue_put_number(&page, trial->measured_s * 1e9);
        rue_put_text(&page, rue_outcome_names[trial->outcome]);
        rue_put_text(&page, trial->reason);
    }
    json_t *array = rue_table_json(rue_page_last_table(&page));
    rue_page_close(&page);
    return array;
}

/* For the terminal: a row for the configuration of trial `first`, of all its trials. */
static void put_config_trials(struct rue_page *page, const struct rue_check *check, size_t first)
{
    const struct rue_config *config = &check->trials[first].config;
    size_t count = 0, timed = 0;
    double log_sum = 0;
    const char *reason = "";
    for (size_t i = first; i < check->trial_count; i++) {
        const struct rue_check_trial *trial = &check->trials[i];
        if (!rue_config_equal(&trial->config, config)) continue;
        count++;
        if (!*reason) reason = trial->reason;
        if (trial->outcome != RUE_TRIAL_OK || !(trial->expected_s > 0)) continue;
        timed++;
        log_sum += log(trial->measured_s / trial->expected_s);
    }
    rue_page_row(page, rue_config_equal(config, &check->config));
    rue_put_config(page, config);
    rue_put_number(page, (double)count);
    rue_put_number(page, timed ? exp(log_sum / (double)timed) : NAN);
    rue_put_text(page, reason);
}

static void put_configs(struct rue_page *page, const struct rue_check *check)
{
    static const struct rue_table_column columns[] = {
        {.header = "config", .unit = RUE_UNIT_CONFIG},
        {.header = "trials", .unit = RUE_UNIT_COUNT},
        {.header = "measured / expected time", .unit = RUE_UNIT_TIMES},
        {.header = "note"}};
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    for (size_t i = 0; i < check->trial_count; i++) {
        bool listed = false;
        for (size_t j = 0; j < i; j++)
            listed |= rue_config_equal(&check->trials[j].config, &check->trials[i].config);
        if (!listed) put_config_trials(page, check, i);
    }
}

static rue_status show_checks(const struct checks *checks, rue_error *error)
{
    const struct rue_report_style style = rue_terminal_style(stdout, 0);
    struct rue_page page = {0};
    for (size_t i = 0; i < checks->count; i++) {
        const struct rue_check *check = &checks->at[i];
        char name[NAME_BYTES];
        name_part(checks, i, name);
        rue_page_sentence(&page, RUE_LOOK_BOLD, 0);
        rue_say(&page, "%s: ", name);
        rue_check_say(&page, check);
        for (size_t d = 0; d < check->difference_count; d++) {
            rue_page_sentence(&page, RUE_LOOK_PLAIN, 2);
            rue_say(&page, "Differs from the study: %s.", check->differences[d]);
        }
        put_configs(&page, check);
        rue_page_gap(&page);
    }
    rue_status status = rue_page_write(&page, &style, stdout, error);
    rue_page_close(&page);
    return status;
}

static json_t *config_json(bool known, const struct rue_config *config)
{
    return known ? rue_json_config(config) : json_null();
}

static json_t *check_json(const char *name, const struct rue_check *check)
{
    static const char *const verdicts[] = {[RUE_RECHECK_HOLDS] = "holds",
                                           [RUE_RECHECK_BEATEN] = "beaten",
                                           [RUE_RECHECK_UNSURE] = "unsure",
                                           [RUE_RECHECK_FAILED] = "failed",
                                           [RUE_RECHECK_UNTRIED] = "unchecked"};
    const struct rue_recheck_findings *found = &check->findings;
    json_t *differences = json_array();
    struct rue_page sentence = {0};
    bool checked = !check->skipped[0], has_verdict = checked && found->verdict != RUE_RECHECK_UNTRIED,
         compared = check->gain.confidence > 0;
    rue_page_sentence(&sentence, RUE_LOOK_PLAIN, 0);
    rue_check_say(&sentence, check);
    for (size_t d = 0; d < check->difference_count; d++)
        rue_json_push(&differences, rue_json_text(check->differences[d]));
    return rue_json_make(
        "variant:t verdict:t sentence:o config:o best:o excess_ratio:r time_ratio:r baseline:o "
        "baseline_speedup_ratio:r whole_jobs:b differences:o trials:o",
        name, verdicts[found->verdict], rue_page_json_text(&sentence), config_json(checked, &check->config),
        config_json(has_verdict, &check->best), has_verdict ? found->excess_ratio : NAN,
        has_verdict ? found->time_ratio : NAN, config_json(compared, &check->baseline),
        compared ? check->gain.ratio : NAN, found->whole_jobs, differences, trials_json(check));
}

static rue_status show_checks_json(const struct checks *checks, bool holds, rue_error *error)
{
    json_t *list = json_array(), *unchecked = json_array();
    for (size_t i = 0; i < checks->count; i++) {
        char name[NAME_BYTES];
        name_part(checks, i, name);
        rue_json_push(&list, check_json(name, &checks->at[i]));
        if (checks->at[i].findings.verdict == RUE_RECHECK_UNTRIED)
            rue_json_push(&unchecked, rue_json_text(name));
    }
    return rue_json_write(rue_json_make("format:t recommendation:t holds:b unchecked:o checks:o",
                                        "rue.check/1", checks->earlier->path, holds, unchecked, list),
                          stdout, error);
}

static rue_status check_all(const struct rue_options *options, struct rue_recommendation *earlier,
                            struct rue_progress *progress, struct checks *out, rue_error *error)
{
    const char *data = rue_options_argument_count(options) > 1 ? rue_options_arguments(options)[1] : NULL;
    size_t checkable = 0;
    for (size_t i = 0; i < earlier->count; i++) checkable += !*rue_check_obstacle(&earlier->at[i], data);
    struct rue_check_goal goal = {.earlier = earlier,
                                  .data = data,
                                  .budget_ns =
                                      rue_options_number(options, BUDGET) / (checkable ? checkable : 1),
                                  .trial_timeout_ns = rue_options_number(options, TRIAL_TIMEOUT),
                                  .memory_bytes = rue_options_number(options, MAX_MEMORY),
                                  .command_line = rue_options_command_line(options),
                                  .progress = progress};
    rue_status status = rue_runner_address_read(options, &goal.runner, error);
    for (; status == RUE_OK && out->count < earlier->count; out->count += status == RUE_OK) {
        goal.part = &earlier->at[out->count];
        status = rue_data_options_rank(options, RANK, WORLD_SIZE, &goal.part->found.job.workload, error);
        if (status == RUE_OK) status = rue_check_run(&goal, &out->at[out->count], error);
    }
    return status;
}

/* Fails if any checked part does not hold. */
static rue_status judge(const struct checks *checks, rue_error *error)
{
    size_t confirmed = 0, checked = 0, unclear = 0;
    bool busy = false;
    for (size_t i = 0; i < checks->count; i++) {
        enum rue_recheck_verdict verdict = checks->at[i].findings.verdict;
        checked += verdict != RUE_RECHECK_UNTRIED;
        confirmed += verdict == RUE_RECHECK_HOLDS;
        unclear += verdict == RUE_RECHECK_UNSURE;
        busy |= verdict == RUE_RECHECK_UNSURE && checks->at[i].busy;
    }
    char word[RUE_SHELL_WORD_BYTES];
    if (checked && confirmed == checked) return RUE_OK;
    if (!checked)
        return rue_fail(error, RUE_INCONCLUSIVE, "cannot check %s: %s", checks->earlier->path,
                        checks->count ? checks->at[0].skipped : "it recommends no configuration");
    if (busy && confirmed + unclear == checked)
        return rue_fail(error, RUE_INCONCLUSIVE,
                        "it is unclear whether %s holds here: check again when the machine is idle",
                        checks->earlier->path);
    return rue_fail(error, RUE_INCONCLUSIVE,
                    "%s %s hold here: run 'rue tune' again, with --prior %s to start from it",
                    checks->earlier->path, confirmed + unclear == checked ? "may not" : "does not",
                    rue_shell_word(checks->earlier->path, word));
}

static rue_status run_check(const struct rue_options *options, rue_error *error)
{
    struct rue_recommendation *earlier;
    rue_status status = rue_recommendation_read(rue_options_arguments(options)[0], &earlier, error);
    if (status != RUE_OK) return status;
    struct checks checks = {.earlier = earlier,
                            .variants = calloc(earlier->count + 1, sizeof *checks.variants),
                            .at = calloc(earlier->count + 1, sizeof *checks.at)};
    for (size_t i = 0; checks.variants && i < earlier->count; i++) checks.variants[i] = earlier->at[i].found;
    struct rue_progress progress = rue_progress_open(rue_options_flag(options, QUIET));
    rue_error verdict = {0};
    rue_suspension_install();
    status = checks.variants && checks.at ? check_all(options, earlier, &progress, &checks, error)
                                          : rue_fail_memory(error, "a check", earlier->count);
    rue_progress_close(&progress);
    if (status == RUE_OK) {
        rue_status judged = judge(&checks, &verdict);
        if (rue_options_flag(options, JSON))
            status = show_checks_json(&checks, judged == RUE_OK, error);
        else
            status = show_checks(&checks, error);
        if (status == RUE_OK && judged != RUE_OK) status = rue_fail(error, judged, "%s", verdict.message);
    }
    free(checks.variants);
    free(checks.at);
    rue_recommendation_close(earlier);
    return status;
}

const struct rue_command rue_command_check = {
    .name = "check",
    .arguments = "FILE [DATA]",
    .summary = "Check with a few trials whether a recommendation still holds here.",
    .details =
        "  rue check rue-out/photos/recommendation.json\n"
        "  rue check rue-out/photos\n"
        "  rue check recommendation.json photos/ --json\n\n"
        "FILE is a recommendation.json, or the folder of a study. Exit code 0: it holds. Exit code 5:\n"
        "it does not hold, or the check was not conclusive. A uniformly slower machine is reported; the\n"
        "recommendation then holds as long as no other configuration seems better.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run_check,
};
