#include "commands.h"

#include <stdlib.h>

#include "check.h"
#include "check_junit.h"
#include "deployment_options.h"
#include "json_document.h"
#include "output.h"
#include "recommendation_file.h"
#include "shell_quote.h"
#include "study_options.h"
#include "suspension.h"
#include "terminal.h"

static const struct rue_option options_table[] = {
    {"runner", RUE_OPTION_COMMAND, "CMD", NULL, "the runner of the recommendation, if not rue's own",
     .set_by = RUE_SET_BY_USER},
    {RUE_STUDY_OPTION_RUNNER_FD},
    {RUE_OPTION_LAUNCH},
    {RUE_OPTION_LISTEN},
    {RUE_OPTION_LAUNCH_TIMEOUT},
    {"budget", RUE_OPTION_DURATION, "TIME", "30s", "time for the whole check", .set_by = RUE_SET_BY_FLAG},
    {"max-regret", RUE_OPTION_PERCENTAGE, "SHARE", NULL, "regret to accept, such as 3% [the bound]", .min = 1,
     .max = 10000, .set_by = RUE_SET_BY_FLAG,
     .more = "The recommendation holds unless another configuration is better by more."},
    {"junit", RUE_OPTION_OUTPUT, "FILE", NULL, "also write the result as JUnit XML, for CI",
     .set_by = RUE_SET_BY_FLAG, .group = RUE_GROUP_OUTPUT},
    {RUE_STUDY_OPTION_TRIAL_TIMEOUT},
    {RUE_STUDY_OPTION_MAX_MEMORY},
    {RUE_OPTION_RANK},
    {RUE_OPTION_WORLD_SIZE},
    {RUE_STUDY_OPTION_JSON},
    {RUE_STUDY_OPTION_QUIET},
};

static rue_status check_all(const struct rue_options *options, struct rue_recommendation *earlier,
                            struct rue_progress *progress, struct rue_checks *out, rue_error *error)
{
    const char *data = rue_options_argument_count(options) > 1 ? rue_options_arguments(options)[1] : NULL;
    size_t checkable = 0;
    for (size_t i = 0; i < earlier->count; i++) checkable += !*rue_check_obstacle(&earlier->at[i], data);
    struct rue_check_goal goal = {.earlier = earlier,
                                  .data = data,
                                  .budget_ns =
                                      rue_options_number(options, "budget") / (checkable ? checkable : 1),
                                  .trial_timeout_ns = rue_options_number(options, "trial-timeout"),
                                  .memory_bytes = rue_options_number(options, "max-memory"),
                                  .max_regret_ratio = rue_options_ratio(options, "max-regret"),
                                  .command_line = rue_options_command_line(options),
                                  .progress = progress};
    rue_status status = rue_deployment_read(options, 1, &goal.deployment, error);
    if (status == RUE_OK) status = rue_runner_address_read(options, &goal.runner, error);
    for (; status == RUE_OK && out->count < earlier->count; out->count += status == RUE_OK) {
        goal.part = &earlier->at[out->count];
        rue_deployment_apply(&goal.deployment, &goal.part->found.job.workload);
        status = rue_check_run(&goal, &out->at[out->count], error);
    }
    return status;
}

/* Fails if any checked part does not hold. */
static rue_status judge(const struct rue_checks *checks, rue_error *error)
{
    size_t confirmed = 0, checked = 0, unclear = 0;
    bool busy = false;
    for (size_t i = 0; i < checks->count; i++) {
        enum rue_recheck_verdict verdict = checks->at[i].findings.verdict;
        checked += verdict != RUE_RECHECK_UNTRIED;
        confirmed += verdict == RUE_RECHECK_HOLDS;
        unclear += verdict == RUE_RECHECK_UNSURE;
        busy |= verdict == RUE_RECHECK_UNSURE && rue_check_is_disturbed(&checks->at[i]);
    }
    char word[RUE_SHELL_WORD_BYTES];
    if (checked && confirmed == checked) return RUE_OK;
    if (!checked)
        return rue_fail(error, RUE_INCONCLUSIVE, "cannot check %s: %s", checks->path,
                        checks->count ? checks->at[0].skipped : "it recommends no configuration");
    if (busy && confirmed + unclear == checked)
        return rue_fail(error, RUE_INCONCLUSIVE,
                        "it is unclear whether %s holds here: check again when the machine is idle",
                        checks->path);
    return rue_fail(error, RUE_INCONCLUSIVE, "%s %s hold here: tune again, with --prior %s to start from it",
                    checks->path, confirmed + unclear == checked ? "may not" : "does not",
                    rue_shell_word(checks->path, word));
}

static rue_status show_checks(const struct rue_checks *checks, const struct rue_options *options, bool holds,
                              rue_error *error)
{
    struct rue_page page = {0};
    const char *junit = rue_options_text(options, "junit");
    rue_status status = junit ? rue_output_write_file("--junit", junit, RUE_CHECK_JUNIT_MARK,
                                                      rue_checks_write_junit, checks, error)
                              : RUE_OK;
    if (status != RUE_OK) return status;
    if (rue_options_flag(options, "json"))
        return rue_json_write(rue_checks_json(checks, holds), stdout, error);
    rue_checks_put(checks, &page);
    return rue_terminal_show(&page, 0, error);
}

static rue_status run_check(const struct rue_options *options, rue_error *error)
{
    struct rue_recommendation *earlier;
    const char *junit = rue_options_text(options, "junit");
    rue_status status = junit ? rue_output_check_file("--junit", junit, RUE_CHECK_JUNIT_MARK, error) : RUE_OK;
    if (status != RUE_OK) return status;
    status = rue_recommendation_read(rue_options_arguments(options)[0], &earlier, error);
    if (status != RUE_OK) return status;
    struct rue_variant_findings *parts = calloc(earlier->count + 1, sizeof *parts);
    struct rue_checks checks = {.path = earlier->path,
                                .parts = {.variants = parts, .variant_count = earlier->count},
                                .at = calloc(earlier->count + 1, sizeof *checks.at)};
    for (size_t i = 0; parts && i < earlier->count; i++) parts[i] = earlier->at[i].found;
    struct rue_progress progress = rue_progress_open(rue_options_flag(options, "quiet"));
    rue_error verdict = {0};
    rue_suspension_install();
    status = parts && checks.at ? check_all(options, earlier, &progress, &checks, error)
                                : rue_fail_memory(error, "a check", earlier->count);
    rue_progress_close(&progress);
    rue_status judged = status == RUE_OK ? judge(&checks, &verdict) : status;
    if (status == RUE_OK) status = show_checks(&checks, options, judged == RUE_OK, error);
    if (status == RUE_OK && judged != RUE_OK) status = rue_fail(error, judged, "%s", verdict.message);
    free(parts);
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
        "  rue check recommendation.json photos/ --json\n"
        "  rue check rue-out/photos --max-regret 3% --junit check.xml\n\n"
        "FILE is a recommendation.json, or the folder of a study. Exit code 0: it holds. Exit code 5:\n"
        "it does not hold, or the check was not conclusive. A uniformly slower machine is reported; the\n"
        "recommendation then holds as long as no other configuration seems better.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_check,
};
