#include "report_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "comparison_table.h"
#include "job_parts.h"
#include "prose.h"
#include "units.h"
#include "verdict.h"

enum { SHOWN_CONFIGS = 10, BRIEF_CONFIGS = 3, NAME_SHRINKS_TO = 16, HEADER_BYTES = 64 };

static const struct rue_knobs *variant_knobs(const struct rue_variant_findings *variant)
{
    return rue_config_knobs(&variant->matrix->configs[0]);
}

static bool knob_shown(const struct rue_variant_findings *variant, size_t knob)
{
    if (variant_knobs(variant)->at[knob]->always_shown) return true;
    for (size_t c = 1; c < variant->selection->config_count; c++)
        if (variant->matrix->configs[c].value[knob] != variant->matrix->configs[0].value[knob]) return true;
    return false;
}

/* "num_workers" becomes "workers". */
static void put_knob(struct rue_page *page, const struct rue_knob_info *knob, int value)
{
    static const char prefix[] = "num_";
    char header[HEADER_BYTES], text[RUE_KNOB_TEXT_BYTES];
    bool counts = strncmp(knob->name, prefix, strlen(prefix)) == 0;
    snprintf(header, sizeof header, "%s", knob->name + (counts ? strlen(prefix) : 0));
    for (char *at = header; *at; at++)
        if (*at == '_') *at = ' ';
    rue_knob_format(knob, value, text);
    const struct rue_table_column column = {
        .header = header, .text = text, .right = !knob->words, .shrink_to = knob->words ? 6 : 0};
    rue_page_put(page, &column, 1);
}

/* For one model mean and worst regret are the same. */
static void put_config(struct rue_page *page, const struct rue_variant_findings *variant, size_t config)
{
    static const char *const bases[] = {[RUE_BASIS_FULL] = "full runs",
                                        [RUE_BASIS_TRUNCATED] = "short runs",
                                        [RUE_BASIS_PREDICTED] = "prediction"};
    const struct rue_knobs *knobs = variant_knobs(variant);
    const struct rue_ranking_row *own = &variant->selection->rows[config];
    const char *worst = rue_findings_has_worst(own) ? variant->matrix->models[own->worst_model] : "";
    bool one = variant->selection->model_count == 1;
    const struct rue_table_column columns[] = {
        {NULL, one ? "regret" : "mean regret", RUE_UNIT_PERCENT, .number = own->mean_regret_ratio},
        {NULL, "worst regret", RUE_UNIT_PERCENT, .number = own->max_regret_ratio, .absent = one},
        {NULL, "worst model", .text = worst, .shrink_to = NAME_SHRINKS_TO, .drop = 2, .absent = one},
        {NULL, "based on", .text = bases[rue_findings_basis(own)], .drop = 4},
    };
    rue_page_row(page, config == variant->selection->recommended, NULL, 0);
    for (size_t k = 0; k < knobs->count; k++)
        if (knob_shown(variant, k)) put_knob(page, knobs->at[k], variant->matrix->configs[config].value[k]);
    rue_page_put(page, columns, sizeof columns / sizeof *columns);
}

static void put_heading(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_variant_findings *variant, bool brief)
{
    char count[RUE_UNIT_TEXT_BYTES];
    size_t models = variant->selection->model_count, configs = variant->selection->config_count, least, most;
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    bool only = rue_findings_is_only(findings, variant);
    if (!only) rue_say_variant(page, findings, variant);
    rue_say(page, "%s%zu model%s", only ? "" : ": ", models, rue_prose_plural(models));
    if (variant->job.images)
        rue_say(page, ", job of %s image%s", rue_format_count(variant->job.images, count, sizeof count),
                rue_prose_plural(variant->job.images));
    rue_say_ranks(page, variant);
    rue_say(page, ", %zu configuration%s", configs, rue_prose_plural(configs));
    if (variant->goal != RUE_GOAL_TIME) rue_say(page, ", by %s", rue_goal_words[variant->goal]);
    rue_findings_repeats(variant, &least, &most);
    if (least < most && !brief)
        rue_say(page, ", up to %zu repeats", most);
    else if (least == most && most > 1)
        rue_say(page, ", %zu repeats", most);
}

static void say_fact(struct rue_page *page, const char **comma, const char *before, const char *text)
{
    rue_say(page, "%s%s%s", *comma, before, text);
    *comma = ", ";
}

static void put_data(struct rue_page *page, const struct rue_variant_findings *variant)
{
    char text[RUE_UNIT_TEXT_BYTES];
    const char *comma = "";
    if (variant->label) return; /* variants of a table have no known path */
    rue_page_sentence(page, RUE_LOOK_DIM, 2);
    rue_say_unbroken(page,
                     variant->data.sample ? "a sample converted for this comparison" : variant->variant.path);
    if (variant->data.sample || variant->variant.path[0]) comma = ", ";
    if (variant->data.images) {
        rue_format_count(variant->data.images, text, sizeof text);
        say_fact(page, &comma, text, " images");
        if (variant->data.bytes)
            say_fact(page, &comma, "", rue_format_bytes(variant->data.bytes, text, sizeof text));
    }
    if (rue_findings_decode(variant) == RUE_DECODE_FAST) say_fact(page, &comma, "", "decoded fast");
    if (variant->job.workload.batch_dtype != RUE_FLOAT32)
        say_fact(page, &comma, "batches of ", rue_dtype_names[variant->job.workload.batch_dtype]);
    uint32_t views = rue_workload_views(&variant->job.workload);
    if (rue_workload_trains(&variant->job.workload)) say_fact(page, &comma, "", "augmented for training");
    if (views > 1) say_fact(page, &comma, rue_format_count(views, text, sizeof text), " views of each");
    if (strcmp(variant->job.workload.cache, RUE_CACHE_COLD) == 0) say_fact(page, &comma, "", "read cold");
}

static void put_listed(struct rue_page *page, const struct rue_variant_findings *variant, size_t config,
                       bool brief)
{
    const struct rue_selection *selection = variant->selection;
    char header[48], votes[48];
    snprintf(header, sizeof header, "in top %zu", selection->top_n);
    snprintf(votes, sizeof votes, "%zu of %zu", selection->rows[config].top_n_count, selection->model_count);
    const struct rue_table_column columns[] = {
        {NULL, header, .text = votes, .right = true, .drop = 2, .absent = brief},
        {NULL, "images/s", RUE_UNIT_COUNT, .number = rue_job_rate(variant, 0, config), .drop = 1,
         .absent = selection->model_count > 1}, /* over several models it would be that of the slowest */
    };
    put_config(page, variant, config);
    rue_page_put(page, columns, sizeof columns / sizeof *columns);
}

/* Lists the first configurations, and configurations that sentences mention. */
static bool is_listed(const struct rue_selection *selection, size_t place, bool brief)
{
    size_t config = selection->ranked[place];
    return place < (brief ? BRIEF_CONFIGS : SHOWN_CONFIGS) || config == selection->recommended ||
           (!brief && config == selection->top_n_winner);
}

static void put_configs(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_variant_findings *variant, bool brief)
{
    const struct rue_selection *selection = variant->selection;
    size_t unlisted = 0;
    rue_page_table(page);
    for (size_t i = 0; i < selection->ranked_count; i++) {
        unlisted += !is_listed(selection, i, brief);
        if (is_listed(selection, i, brief)) put_listed(page, variant, selection->ranked[i], brief);
    }
    rue_page_sentence(page, RUE_LOOK_DIM, 2);
    if (unlisted && !brief)
        rue_say(page, "and %zu more configuration%s%s", unlisted, rue_prose_plural(unlisted),
                findings->unsaved ? " (--json lists them)" : " in recommendation.json");
}

static void put_batch_sizes(struct rue_page *page, const struct rue_variant_findings *variant)
{
    struct rue_batch_best best = {0};
    size_t count = 0;
    while (rue_batch_best_next(variant, &best)) count += best.config != RUE_NONE;
    if (count < 2 || count == variant->selection->config_count) return;
    rue_page_gap(page);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_say(page, "The best workers for each batch size:");
    rue_page_table(page);
    for (best = (struct rue_batch_best){0}; rue_batch_best_next(variant, &best);)
        if (best.config != RUE_NONE) put_config(page, variant, best.config);
}

void rue_parts_ranking(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_variant_findings *variant, bool brief)
{
    put_heading(page, findings, variant, brief);
    put_data(page, variant);
    if (variant->selection->recommended == RUE_NONE) return; /* the closing sentence says why */
    if (!brief) rue_page_gap(page);
    put_configs(page, findings, variant, brief);
    rue_verdict_above(page, variant, brief);
    if (brief) return;
    put_batch_sizes(page, variant);
    rue_page_gap(page);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_verdict_answers(page, findings, variant);
    rue_page_gap(page);
}

void rue_parts_notes(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_breakdown *breakdown, const struct rue_variant_findings *variant,
                     bool brief)
{
    if (variant->selection->recommended == RUE_NONE) return;
    const struct rue_waiting waiting =
        rue_waiting_find(findings, breakdown, variant, variant->selection->recommended);
    rue_verdict_evidence(page, variant, &waiting, !rue_findings_is_unsteady(findings));
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_verdict_waiting(page, variant, &waiting);
    rue_verdict_notes(page, findings, variant, brief);
}

/* `rue compare` shows several pairs. */
static bool has_one_pair(const struct rue_findings *findings)
{
    size_t counts[RUE_MODE_COUNT] = {0};
    for (size_t v = 0; v < findings->variant_count; v++) counts[findings->variants[v].variant.mode]++;
    return counts[RUE_RAW] == 1 && counts[RUE_PREPROCESSED] == 1;
}

rue_status rue_parts_comparisons(struct rue_page *page, const struct rue_findings *findings, bool tables,
                                 rue_error *error)
{
    struct rue_comparison_walk walk = {0};
    for (struct rue_comparison *comparison;; rue_comparison_close(comparison)) {
        rue_status status = rue_comparison_next(findings, &walk, &comparison, error);
        if (status != RUE_OK || !comparison) return status;
        if (tables) rue_comparison_put(page, findings, comparison);
        if (tables) rue_page_gap(page);
        rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
        if (tables != has_one_pair(findings)) rue_verdict_comparison(page, comparison);
        if (tables) rue_page_gap(page);
    }
}

/* Shown if the user gave each variant: not for a converted sample or the modes of a table. */
static bool is_overall_shown(const struct rue_findings *findings, bool brief)
{
    bool by_user = true;
    for (size_t v = 0; v < findings->variant_count; v++)
        by_user &= !findings->variants[v].data.sample && findings->variants[v].variant.path[0];
    return by_user || !brief;
}

rue_status rue_parts_verdict(struct rue_page *page, const struct rue_findings *findings, bool brief,
                             rue_error *error)
{
    bool ranks = rue_findings_compares_ranks(findings); /* it recommends nothing */
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    rue_verdict_partial(page, findings);
    for (size_t v = 0; v < findings->variant_count && !ranks; v++) {
        rue_page_sentence(page, RUE_LOOK_BOLD, 0);
        rue_verdict_use(page, findings, &findings->variants[v]);
    }
    for (size_t i = 0; i < findings->overall_count && is_overall_shown(findings, brief); i++) {
        rue_page_sentence(page, RUE_LOOK_BOLD, 0);
        rue_verdict_overall(page, &findings->overall[i]);
    }
    rue_status status = rue_parts_comparisons(page, findings, false, error);
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    rue_verdict_confidence(page, findings);
    rue_page_gap(page);
    return status;
}
