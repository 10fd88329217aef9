#include "commands.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "json_document.h"
#include "study_options.h"
#include "suspension.h"
#include "terminal.h"

enum { RUNNER, BUDGET, TRIAL_TIMEOUT, MAX_MEMORY, JSON, QUIET };

static const struct rue_option options_table[] = {
    [RUNNER] = {"runner", RUE_OPTION_COMMAND, "CMD", NULL,
                "the runner that made it, where that was not rue's own", 0, 0, NULL,
                .set_by = RUE_SET_BY_USER},
    [BUDGET] = {"budget", RUE_OPTION_DURATION, "TIME", "30s", "time for all of it, such as 30s", 0, 0, NULL,
                .set_by = RUE_SET_BY_FLAG},
    [TRIAL_TIMEOUT] = RUE_STUDY_OPTION_TRIAL_TIMEOUT,
    [MAX_MEMORY] = RUE_STUDY_OPTION_MAX_MEMORY,
    [JSON] = {"json", RUE_OPTION_FLAG, NULL, NULL, "what was found as JSON on standard output", 0, 0, NULL},
    [QUIET] = {"quiet", RUE_OPTION_FLAG, NULL, NULL, "no progress", 0, 0, NULL},
};

/* All parts of a recommendation, and what was found of each. */
struct checks {
    const struct rue_recommendation *earlier;
    size_t count;
    struct rue_check *at; /* [count] */
};

static void name_part(const struct rue_recommended *part, char *out, size_t bytes)
{
    rue_variant_describe(&part->found.variant, out, bytes);
}

/* ---- shown ---- */

static void show_trials(const struct rue_check *check)
{
    for (size_t i = 0; i < check->trial_count; i++) {
        const struct rue_check_trial *trial = &check->trials[i];
        char label[RUE_CONFIG_TEXT_BYTES];
        rue_config_label(&trial->config, label);
        if (trial->outcome != RUE_TRIAL_OK)
            rue_terminal_say(stdout, "  %s on %s: %s: %s", label, trial->model,
                             rue_outcome_names[trial->outcome], trial->reason);
        else if (trial->expected_s > 0)
            rue_terminal_say(stdout, "  %s on %s: %.3g s for %llu images, expected %.3g s", label,
                             trial->model, trial->measured_s, (unsigned long long)trial->images,
                             trial->expected_s);
        else
            rue_terminal_say(stdout, "  %s on %s: %.3g s for %llu images", label, trial->model,
                             trial->measured_s, (unsigned long long)trial->images);
    }
}

static void show(const struct checks *checks)
{
    for (size_t i = 0; i < checks->count; i++) {
        const struct rue_check *check = &checks->at[i];
        char name[128], sentence[RUE_ERROR_MESSAGE_BYTES];
        name_part(&checks->earlier->at[i], name, sizeof name);
        rue_check_describe(check, sentence, sizeof sentence);
        for (size_t d = 0; d < check->difference_count; d++)
            rue_terminal_say(stdout, "%s: not as it was: %s", name, check->differences[d]);
        rue_terminal_say(stdout, "%s: %s", name, sentence);
        show_trials(check);
    }
}

static json_t *trial_json(struct rue_json_document *document, const struct rue_check_trial *trial)
{
    json_t *object = json_object();
    rue_json_put(document, object, "model", rue_json_text(trial->model));
    rue_json_put(document, object, "config", rue_json_config(document, &trial->config, true));
    rue_json_put(document, object, "images", rue_json_integer(trial->images));
    rue_json_put(document, object, "status", json_string(rue_outcome_names[trial->outcome]));
    rue_json_put(document, object, "reason", rue_json_text_or_null(trial->reason));
    rue_json_put(document, object, "end_to_end_ns", rue_json_nanoseconds(trial->measured_s * 1e9));
    rue_json_put(document, object, "expected_ns", rue_json_nanoseconds(trial->expected_s * 1e9));
    return object;
}

static json_t *check_json(struct rue_json_document *document, const struct rue_recommended *part,
                          const struct rue_check *check)
{
    static const char *const verdicts[] = {[RUE_RECHECK_HOLDS] = "holds",
                                           [RUE_RECHECK_BEATEN] = "beaten",
                                           [RUE_RECHECK_UNSURE] = "unsure",
                                           [RUE_RECHECK_FAILED] = "failed",
                                           [RUE_RECHECK_UNTRIED] = "unchecked"};
    char name[128], sentence[RUE_ERROR_MESSAGE_BYTES];
    json_t *object = json_object(), *differences = json_array(), *trials = json_array();
    bool checked = !check->skipped[0], told = checked && check->findings.verdict != RUE_RECHECK_UNTRIED;
    name_part(part, name, sizeof name);
    rue_check_describe(check, sentence, sizeof sentence);
    for (size_t d = 0; d < check->difference_count; d++)
        rue_json_push(document, differences, rue_json_text(check->differences[d]));
    for (size_t i = 0; i < check->trial_count; i++)
        rue_json_push(document, trials, trial_json(document, &check->trials[i]));
    rue_json_put(document, object, "variant", rue_json_text(name));
    rue_json_put(document, object, "verdict", json_string(verdicts[check->findings.verdict]));
    rue_json_put(document, object, "sentence", rue_json_text(sentence));
    rue_json_put(document, object, "config",
                 checked ? rue_json_config(document, &check->config, true) : json_null());
    rue_json_put(document, object, "best",
                 told ? rue_json_config(document, &check->best, true) : json_null());
    rue_json_put(document, object, "excess_ratio",
                 told ? rue_json_real(check->findings.excess_ratio) : json_null());
    rue_json_put(document, object, "time_ratio",
                 told ? rue_json_real(check->findings.time_ratio) : json_null());
    bool compared = check->gain.confidence > 0;
    rue_json_put(document, object, "baseline",
                 compared ? rue_json_config(document, &check->baseline, true) : json_null());
    rue_json_put(document, object, "baseline_speedup_ratio",
                 compared ? rue_json_real(check->gain.ratio) : json_null());
    rue_json_put(document, object, "whole_jobs", json_boolean(check->findings.whole_jobs));
    rue_json_put(document, object, "differences", differences);
    rue_json_put(document, object, "trials", trials);
    return object;
}

static rue_status show_json(const struct checks *checks, bool holds, rue_error *error)
{
    struct rue_json_document document = {0};
    json_t *root = json_object(), *list = json_array();
    rue_json_put(&document, root, "format", json_string("rue.check/1"));
    rue_json_put(&document, root, "recommendation", rue_json_text(checks->earlier->path));
    rue_json_put(&document, root, "holds", json_boolean(holds));
    for (size_t i = 0; i < checks->count; i++)
        rue_json_push(&document, list, check_json(&document, &checks->earlier->at[i], &checks->at[i]));
    rue_json_put(&document, root, "checks", list);
    rue_status status = rue_json_write(&document, root, stdout, error);
    json_decref(root);
    return status;
}

/* ---- the command ---- */

static rue_status check_all(const struct rue_options *options, struct rue_recommendation *earlier,
                            struct rue_progress *progress, struct checks *out, rue_error *error)
{
    const char *data = rue_options_argument_count(options) > 1 ? rue_options_argument(options, 1) : NULL;
    size_t some = 0;
    for (size_t i = 0; i < earlier->count; i++) some += !*rue_check_obstacle(&earlier->at[i], data);
    struct rue_check_goal goal = {.earlier = earlier,
                                  .data = data,
                                  .runner = rue_options_text(options, RUNNER),
                                  .budget_ns = rue_options_number(options, BUDGET) / (some ? some : 1),
                                  .trial_timeout_ns = rue_options_number(options, TRIAL_TIMEOUT),
                                  .memory_bytes = rue_options_number(options, MAX_MEMORY),
                                  .command_line = rue_options_command_line(options),
                                  .progress = progress};
    rue_status status = RUE_OK;
    for (; status == RUE_OK && out->count < earlier->count; out->count += status == RUE_OK) {
        goal.part = &earlier->at[out->count];
        status = rue_check_run(&goal, &out->at[out->count], error);
    }
    return status;
}

/* Of everything that was checked: one part that does not hold is enough. */
static rue_status judge(const struct checks *checks, rue_error *error)
{
    size_t held = 0, checked = 0;
    for (size_t i = 0; i < checks->count; i++) {
        checked += checks->at[i].findings.verdict != RUE_RECHECK_UNTRIED;
        held += rue_check_holds(&checks->at[i]);
    }
    if (checked && held == checked) return RUE_OK;
    if (!checked)
        return rue_fail(error, RUE_INCONCLUSIVE, "nothing of %s could be checked: %s", checks->earlier->path,
                        checks->count ? checks->at[0].skipped : "it recommends nothing");
    return rue_fail(error, RUE_INCONCLUSIVE,
                    "%s does not hold here: tune again, with --prior %s to start from it",
                    checks->earlier->path, checks->earlier->path);
}

static rue_status run(const struct rue_options *options, rue_error *error)
{
    struct rue_recommendation *earlier;
    rue_status status = rue_recommendation_read(rue_options_argument(options, 0), &earlier, error);
    if (status != RUE_OK) return status;
    struct checks checks = {.earlier = earlier, .at = calloc(earlier->count + 1, sizeof *checks.at)};
    struct rue_progress progress = rue_progress_open(rue_options_flag(options, QUIET));
    rue_error verdict = {0};
    rue_suspension_install();
    status = checks.at ? check_all(options, earlier, &progress, &checks, error)
                       : rue_fail_memory(error, "a check", earlier->count);
    rue_progress_close(&progress);
    if (status == RUE_OK) {
        rue_status judged = judge(&checks, &verdict);
        if (rue_options_flag(options, JSON))
            status = show_json(&checks, judged == RUE_OK, error);
        else
            show(&checks);
        if (status == RUE_OK && judged != RUE_OK) status = rue_fail(error, judged, "%s", verdict.message);
    }
    free(checks.at);
    rue_recommendation_close(earlier);
    return status;
}

const struct rue_command rue_command_check = {
    .name = "check",
    .arguments = "FILE [DATA]",
    .summary = "Make a few trials: does a recommendation still hold here?",
    .details = "  rue check rue-out/photos/recommendation.json\n"
               "  rue check rue-out/photos\n"
               "  rue check recommendation.json photos/ --json\n\n"
               "FILE is a recommendation.json, or the folder of a study. Exit code 0: it holds; 5: it does\n"
               "not, or cannot be relied on. A machine that is slower all over is told of, and the\n"
               "recommendation holds as long as no other configuration seems better.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run,
};
