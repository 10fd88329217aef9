#include "check_page.h"

#include <math.h>

#include "json_document.h"
#include "prose.h"
#include "section.h"
#include "units.h"
#include "verdict.h"

static const double times_differ_ratio = 1.2;

bool rue_check_is_disturbed(const struct rue_check *check)
{
    return rue_findings_is_doubtful(&(struct rue_findings){.changes = check->changes});
}

static void say_trials(struct rue_page *page, const struct rue_check *check)
{
    double ratio = check->findings.time_ratio;
    char times[RUE_UNIT_TEXT_BYTES];
    rue_say(page, check->findings.whole_jobs
                      ? " Whole jobs were measured on every model."
                      : " Only a few trials fitted the budget, not whole jobs on every model.");
    if (ratio >= times_differ_ratio || ratio <= 1 / times_differ_ratio)
        rue_say(page, " Trials take %s times as long here.", rue_format_times(ratio, times, sizeof times));
}

/* Adds nothing if no baseline was measured. */
static void say_check_gain(struct rue_page *page, const struct rue_check *check)
{
    char label[RUE_CONFIG_TEXT_BYTES], times[RUE_UNIT_TEXT_BYTES], interval[RUE_GAIN_BYTES];
    const struct rue_speedup *gain = &check->gain;
    if (gain->confidence == 0) return;
    rue_config_label(&check->baseline, label);
    rue_say(page, " It is %s times as fast as %s, %s (%s).",
            rue_format_times(gain->ratio, times, sizeof times), check->baseline_name, label,
            rue_prose_gain_interval(gain, interval));
}

/* Trials of other configurations may have failed as well. */
static void say_failed(struct rue_page *page, const struct rue_check *check, const char *config)
{
    for (size_t i = 0; i < check->trial_count; i++) {
        const struct rue_trial_row *trial = &check->trials[i];
        if (trial->result.outcome == RUE_TRIAL_OK ||
            !rue_config_equal(&trial->request.config, &check->config))
            continue;
        rue_say(page, "does not hold here: %s %s: %s.", config,
                trial->result.outcome == RUE_TRIAL_INFEASIBLE ? "is infeasible" : "failed",
                trial->result.reason);
        return;
    }
    rue_say(page, "does not hold here: %s failed.", config);
}

/* What disturbed the check: without it, the answer would seem surer than it is. */
static void say_caveat(struct rue_page *page, const struct rue_check *check)
{
    const struct rue_findings disturbed = {.changes = check->changes};
    if (!rue_check_is_disturbed(check)) return;
    rue_say(page, " ");
    rue_verdict_partial(page, &disturbed);
    rue_say(page, rue_findings_is_unsteady(&disturbed) ? " " : "");
    rue_verdict_confidence(page, &disturbed);
}

void rue_check_say(struct rue_page *page, const struct rue_check *check)
{
    char config[RUE_CONFIG_TEXT_BYTES], best[RUE_CONFIG_TEXT_BYTES];
    const struct rue_recheck_findings *found = &check->findings;
    rue_config_describe(&check->config, config);
    rue_config_describe(&check->best, best);
    switch (found->verdict) {
    case RUE_RECHECK_HOLDS:
        if (found->tried == 1)
            rue_say(page, "still holds here: %s runs as before; it is the only configuration.", config);
        else
            rue_say(page, "still holds here: %s is within %.1f %% of the best of %zu configurations.", config,
                    rue_findings_bound_percent(found->excess_ratio), found->tried);
        say_check_gain(page, check);
        say_trials(page, check);
        say_caveat(page, check);
        break;
    case RUE_RECHECK_BEATEN:
        rue_say(page, "does not hold here: %s is probably better than %s", best, config);
        if (!isnan(found->excess_ratio))
            rue_say(page, " by %.1f points of %s regret", 100 * found->excess_ratio,
                    check->worst ? "worst" : "mean");
        rue_say(page, ".");
        say_trials(page, check);
        say_caveat(page, check);
        break;
    case RUE_RECHECK_UNSURE:
        if (isnan(found->time_ratio)) {
            rue_say(page, "cannot be checked here: it has no times to compare these trials with.");
            break;
        }
        if (rue_check_is_disturbed(check))
            rue_say(page, "unclear, because other programs use the machine: check again when it is idle.");
        else
            rue_say(page, "may not hold here: times differ from the study, and %s may be better than %s.",
                    rue_config_equal(&check->best, &check->config) ? "another" : best, config);
        say_trials(page, check);
        say_caveat(page, check);
        break;
    case RUE_RECHECK_FAILED:
        say_failed(page, check, config);
        break;
    case RUE_RECHECK_UNTRIED:
        rue_say(page, "not checked: %s.", check->skipped[0] ? check->skipped : "no trial was made");
        break;
    }
}

void rue_checks_name(const struct rue_checks *checks, size_t part, char out[RUE_CHECK_NAME_BYTES])
{
    rue_findings_name_among(&checks->parts, &checks->parts.variants[part], out, RUE_CHECK_NAME_BYTES);
}

static json_t *trials_json(const struct rue_check *check)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    for (size_t i = 0; i < check->trial_count; i++) {
        const struct rue_trial_row *trial = &check->trials[i];
        bool ok = trial->result.outcome == RUE_TRIAL_OK;
        double expected_ns = check->expected_ns[i] > 0 ? check->expected_ns[i] : NAN;
        const struct rue_table_column row[] = {
            {"model", .text = trial->request.model},
            {"config", .config = &trial->request.config},
            {"images", NULL, RUE_UNIT_COUNT,
             .number = (double)(ok ? (uint64_t)trial->result.images : trial->request.images)},
            {"expected_ns", NULL, RUE_UNIT_DURATION, .number = expected_ns},
            {"end_to_end_ns", NULL, RUE_UNIT_DURATION,
             .number = ok ? (double)trial->result.end_to_end_ns : NAN},
            {"status", .text = rue_outcome_names[trial->result.outcome]},
            {"reason", .text = trial->result.reason},
        };
        rue_page_row(&page, false, row, sizeof row / sizeof *row);
    }
    return rue_page_json_table(&page);
}

/* For the terminal: a row for the configuration of trial `first`, of all its trials. */
static void put_config_trials(struct rue_page *page, const struct rue_check *check, size_t first)
{
    const struct rue_config *config = &check->trials[first].request.config;
    size_t count = 0, timed = 0;
    double log_sum = 0;
    const char *reason = "";
    for (size_t i = first; i < check->trial_count; i++) {
        const struct rue_trial_row *trial = &check->trials[i];
        if (!rue_config_equal(&trial->request.config, config)) continue;
        count++;
        if (!*reason) reason = trial->result.reason;
        if (trial->result.outcome != RUE_TRIAL_OK || !(check->expected_ns[i] > 0)) continue;
        timed++;
        log_sum += log((double)trial->result.end_to_end_ns / check->expected_ns[i]);
    }
    double time_ratio = timed ? exp(log_sum / (double)timed) : NAN;
    const struct rue_table_column row[] = {
        {NULL, "config", .config = config},
        {NULL, "trials", RUE_UNIT_COUNT, .number = (double)count},
        {NULL, "measured / expected time", RUE_UNIT_TIMES, .number = time_ratio},
        {NULL, "note", .text = reason},
    };
    rue_page_row(page, rue_config_equal(config, &check->config), row, sizeof row / sizeof *row);
}

static void put_configs(struct rue_page *page, const struct rue_check *check)
{
    rue_page_table(page);
    for (size_t i = 0; i < check->trial_count; i++) {
        bool listed = false;
        for (size_t j = 0; j < i; j++)
            listed |= rue_config_equal(&check->trials[j].request.config, &check->trials[i].request.config);
        if (!listed) put_config_trials(page, check, i);
    }
}

void rue_checks_put(const struct rue_checks *checks, struct rue_page *page)
{
    for (size_t i = 0; i < checks->count; i++) {
        const struct rue_check *check = &checks->at[i];
        char name[RUE_CHECK_NAME_BYTES];
        rue_checks_name(checks, i, name);
        rue_page_sentence(page, RUE_LOOK_BOLD, 0);
        rue_say(page, "%s: ", name);
        rue_check_say(page, check);
        for (size_t d = 0; d < check->difference_count; d++) {
            rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
            rue_say(page, "Differs from the study: %s.", check->differences[d]);
        }
        put_configs(page, check);
        rue_page_gap(page);
    }
}

static json_t *config_json(bool known, const struct rue_config *config)
{
    return known ? rue_json_config(config, false) : json_null();
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
    json_t *object =
        rue_json_make("variant:t verdict:t sentence:o config:o best:o excess_ratio:r time_ratio:r baseline:o "
                      "baseline_speedup_ratio:r",
                      name, verdicts[found->verdict], rue_page_json_text(&sentence),
                      config_json(checked, &check->config), config_json(has_verdict, &check->best),
                      has_verdict ? found->excess_ratio : NAN, has_verdict ? found->time_ratio : NAN,
                      config_json(compared, &check->baseline), compared ? check->gain.ratio : NAN);
    rue_json_add(&object, "whole_jobs:b low_confidence:b differences:o trials:o", found->whole_jobs,
                 rue_check_is_disturbed(check), differences, trials_json(check));
    return object;
}

json_t *rue_checks_json(const struct rue_checks *checks, bool holds)
{
    json_t *list = json_array(), *unchecked = json_array();
    for (size_t i = 0; i < checks->count; i++) {
        char name[RUE_CHECK_NAME_BYTES];
        rue_checks_name(checks, i, name);
        rue_json_push(&list, check_json(name, &checks->at[i]));
        if (checks->at[i].findings.verdict == RUE_RECHECK_UNTRIED)
            rue_json_push(&unchecked, rue_json_text(name));
    }
    return rue_json_make("format:t recommendation:t holds:b unchecked:o checks:o", "rue.check/1",
                         checks->path, holds, unchecked, list);
}
