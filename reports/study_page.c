#include "study_page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "prose.h"
#include "rank_scaling.h"
#include "report_parts.h"
#include "units.h"
#include "verdict.h"

/* ---- how to use it ---- */

/* In Python's syntax. */
static void say_torch(struct rue_page *page, const struct rue_findings *findings,
                      const struct rue_config *config)
{
    const struct rue_knobs *knobs = rue_config_knobs(config);
    rue_say(page, "DataLoader(dataset");
    for (size_t k = 0; k < knobs->count; k++) {
        const struct rue_knob_info *knob = knobs->at[k];
        const char *quote = knob->kind == RUE_KIND_CATEGORY ? "\"" : "";
        char value[RUE_KNOB_TEXT_BYTES];
        if (!rue_findings_gives_torch(findings, config, k)) continue;
        rue_knob_format(knob, config->value[k], value);
        if (knob->kind == RUE_KIND_FLAG) value[0] = config->value[k] ? 'T' : 'F';
        rue_say(page, ", %s=%s%s%s", knob->torch, quote, value, quote);
    }
    rue_say(page, ")");
}

/* The line of code, if PyTorch's loader was measured; else where a job reads the answer. */
static void put_use(struct rue_page *page, const struct rue_findings *findings)
{
    bool torch = strcmp(findings->runner.measured_with, "torch") == 0;
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        if (!torch || !rue_findings_is_decided(findings, variant)) continue;
        rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
        rue_say(page, "In PyTorch: ");
        say_torch(page, findings, &variant->matrix->configs[variant->selection->recommended]);
    }
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (!torch && findings->folder[0])
        rue_say(page, "Python reads it with rue_tuner.load(\"%s\"), other programs from recommendation.json.",
                findings->folder);
}

/* "raw folder: ". Says nothing and returns false if these are the only data. */
static bool say_subject(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_variant_findings *variant)
{
    bool named = !rue_findings_is_only(findings, variant);
    if (named) rue_say_variant(page, findings, variant);
    rue_say(page, "%s", named ? ": " : "");
    return named;
}

/* Warns if nothing was repeated. */
static void put_single(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_variant_findings *variant)
{
    size_t least, most;
    rue_findings_repeats(variant, &least, &most);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (most != 1 || variant->claim.confidence > 0 || variant->selection->recommended == RUE_NONE) return;
    bool named = say_subject(page, findings, variant);
    rue_say(page,
            "%s was measured twice, so the uncertainty is unknown: configurations with almost the "
            "same regret can be equally good.",
            named ? "nothing" : "Nothing");
}

/* What is certain, and what it took. */
static void put_certainty(struct rue_page *page, const struct rue_findings *findings,
                          const struct rue_breakdown *breakdown)
{
    char text[RUE_UNIT_TEXT_BYTES];
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        put_single(page, findings, variant);
        rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
        if (!(variant->claim.confidence > 0) || rue_findings_is_unsteady(findings)) continue;
        bool named = say_subject(page, findings, variant);
        rue_say(page,
                "%s other %sconfiguration is more than %.1f" RUE_NO_BREAK "points better (%.3g" RUE_NO_BREAK
                "%% confidence).",
                named ? "no" : "No", variant->claim.measured_only ? "measured " : "",
                rue_prose_bound_percent(variant->claim.bound_ratio), 100 * variant->claim.confidence);
    }
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (!breakdown->trial_count || !(findings->run.duration_s > 0)) return;
    rue_say(page, "Found with %zu trials", breakdown->trial_count);
    if (findings->run.reused_trials)
        rue_say(page, ", %zu of them from earlier runs", findings->run.reused_trials);
    rue_say(page, "; the last run took %s on %d CPU%s.",
            rue_format_duration((uint64_t)(findings->run.duration_s * 1e9), text, sizeof text),
            findings->machine.usable_cpus, rue_prose_plural((uint64_t)findings->machine.usable_cpus));
}

/* ---- how it was found ---- */

static void put_fact(struct rue_page *page, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void put_fact(struct rue_page *page, const char *name, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (!text[0]) return;
    const struct rue_table_column row[] = {{NULL, "what", .text = name}, {NULL, "value", .text = text}};
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

static void put_provenance(struct rue_page *page, const struct rue_findings *findings,
                           const struct rue_breakdown *breakdown)
{
    const struct rue_run_findings *run = &findings->run;
    const struct rue_machine_findings *machine = &findings->machine;
    char text[RUE_UNIT_TEXT_BYTES] = "", memory[RUE_UNIT_TEXT_BYTES] = "";
    rue_page_heading(page, 1);
    rue_say(page, "How it was measured");
    rue_page_table(page);
    put_fact(page, "command", "%s", run->command_line);
    put_fact(page, "started", "%s", run->started);
    if (run->duration_s > 0)
        put_fact(page, "took", "%s",
                 rue_format_duration((uint64_t)(run->duration_s * 1e9), text, sizeof text));
    if (breakdown->trial_count) put_fact(page, "trials", "%zu", breakdown->trial_count);
    if (run->reused_trials) put_fact(page, "of earlier runs", "%zu trials", run->reused_trials);
    put_fact(page, "strategy", "%s%s%s", run->strategy, run->strategy_why[0] ? ": " : "", run->strategy_why);
    if (breakdown->trial_count) put_fact(page, "seed", "%" PRIu64, run->seed);
    put_fact(page, "loader", "%s%s%s%s", findings->runner.measured_with, findings->runner.name[0] ? " (" : "",
             findings->runner.name, findings->runner.name[0] ? ")" : "");
    put_fact(page, "times of models", "%s", findings->runner.consumer);
    put_fact(page, "CPU", "%s", machine->cpu);
    if (machine->usable_cpus) put_fact(page, "usable CPUs", "%d", machine->usable_cpus);
    if (machine->memory_bytes)
        put_fact(page, "memory", "%s", rue_format_bytes(machine->memory_bytes, memory, sizeof memory));
    put_fact(page, "kernel", "%s", machine->kernel);
    put_fact(page, "libraries", "%s", machine->libraries);
    put_fact(page, "rue", "%s", run->rue_version);
    for (size_t v = 0; v < findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &findings->variants[v];
        if (variant->job.deployment.ranks > 1 && rue_findings_compares_ranks(findings)) continue;
        if (variant->variant.path[0] && !variant->data.sample)
            put_fact(page, "data", "%s", variant->variant.path);
        put_fact(page, "digest", "%s", variant->data.digest);
    }
}

/* ---- the page ---- */

static void put_variant(struct rue_page *page, const struct rue_findings *findings, size_t v,
                        const struct rue_breakdown *breakdown)
{
    struct rue_chart_subject subject;
    rue_chart_subject_make(findings, v, &subject);
    rue_page_heading(page, 1);
    rue_say(page, "%s", subject.name[0] ? subject.name : "Configurations");
    rue_charts_grid(page, &subject);
    rue_page_heading(page, 2);
    rue_say(page, "Ranking");
    rue_parts_variant(page, findings, subject.variant, false);
    rue_charts_answers(page, &subject);
    rue_page_heading(page, 2);
    rue_say(page, "Where the time goes");
    rue_charts_breakdown(page, &subject, breakdown);
    rue_page_heading(page, 2);
    rue_say(page, "Times of all configurations");
    rue_charts_times(page, &subject);
}

static rue_status put_comparisons(struct rue_page *page, const struct rue_findings *findings,
                                  rue_error *error)
{
    struct rue_comparison_walk walk = {0};
    rue_page_heading(page, 1);
    rue_say(page, "Raw against preprocessed data");
    rue_status status = rue_parts_comparisons(page, findings, true, error);
    for (struct rue_comparison *comparison = NULL; status == RUE_OK; rue_comparison_close(comparison)) {
        status = rue_comparison_next(findings, &walk, &comparison, error);
        if (status != RUE_OK || !comparison) return status;
        rue_charts_payback(page, findings, comparison);
    }
    return status;
}

static rue_status put_page(struct rue_page *page, const struct rue_findings *findings,
                           const struct rue_breakdown *breakdown, rue_error *error)
{
    bool bounds = false, ranks = rue_findings_compares_ranks(findings);
    rue_status status = rue_parts_verdict(page, findings, false, error);
    if (ranks) {
        rue_rank_scaling_put(page, findings, true);
    } else {
        put_certainty(page, findings, breakdown);
        put_use(page, findings);
        for (size_t v = 0; v < findings->variant_count; v++)
            bounds |= findings->variants[v].claim.confidence > 0;
        rue_verdict_background(page, findings, bounds);
        for (size_t v = 0; v < findings->variant_count; v++) put_variant(page, findings, v, breakdown);
    }
    if (status == RUE_OK) status = put_comparisons(page, findings, error);
    rue_page_heading(page, 1);
    rue_say(page, "Trials");
    rue_charts_timeline(page, findings, breakdown);
    put_provenance(page, findings, breakdown);
    return status;
}

rue_status rue_study_page_make(const struct rue_findings *findings, struct rue_page *page, rue_error *error)
{
    struct rue_breakdown *breakdown;
    rue_status status = rue_breakdown_open(findings, &breakdown, error);
    if (status != RUE_OK) return status;
    status = put_page(page, findings, breakdown, error);
    rue_breakdown_close(breakdown);
    return status;
}
