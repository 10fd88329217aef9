/* The terminal's tables and the closing sentence. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "answer_words.h"
#include "batch_best.h"
#include "comparison.h"
#include "prose.h"
#include "report.h"
#include "text_table.h"
#include "units.h"
#include "utf8.h"
#include "verdict.h"
#include "wrap.h"

enum { SHOWN_CONFIGS = 8, BRIEF_CONFIGS = 3, SHOWN_MODELS = 24, NARROWEST = 40, NAME_SHRINKS_TO = 16 };

#define BOLD "\033[1m"
#define DIM  "\033[2m"

/* What all sections write with. */
struct page {
    const struct rue_findings *findings;
    struct rue_report_style style;
    FILE *stream;
    struct rue_text_table *table;
};

static void put_sentence(const struct page *page, const char *text, const char *color, int indent)
{
    if (!text[0]) return;
    if (page->style.color) fputs(color, page->stream);
    rue_wrap(page->stream, text, page->style.columns, indent);
    if (page->style.color && color[0]) fputs("\033[0m", page->stream);
    fputc('\n', page->stream);
}

static void put_gap(const struct page *page)
{
    fputc('\n', page->stream);
}

static void say_more(const struct page *page, size_t count, char *out, size_t bytes)
{
    snprintf(out, bytes, "and %zu more %s", count,
             page->findings->alone ? "(--json lists them)" : "in recommendation.json");
}

static const struct rue_knobs *knobs_of(const struct rue_variant_findings *variant)
{
    return rue_config_knobs(&variant->matrix->configs[0]);
}

/* A knob has a column when it is always shown, where it is known, or its values differ between the
 * configurations. */
static bool knob_shown(const struct rue_variant_findings *variant, size_t knob)
{
    if (knobs_of(variant)->at[knob]->always_shown)
        return variant->matrix->configs[0].value[knob] != RUE_KNOB_UNKNOWN;
    for (size_t c = 1; c < variant->selection->config_count; c++)
        if (variant->matrix->configs[c].value[knob] != variant->matrix->configs[0].value[knob]) return true;
    return false;
}

static void add_column(const struct page *page, const char *header, bool right, int shrink_to, int drop)
{
    struct rue_text_column column = {.right = right, .shrink_to = shrink_to, .drop = drop};
    snprintf(column.header, sizeof column.header, "%s", header);
    rue_text_table_column(page->table, column);
}

static void add_knob_columns(const struct page *page, const struct rue_variant_findings *variant)
{
    const struct rue_knobs *knobs = knobs_of(variant);
    for (size_t k = 0; k < knobs->count; k++)
        if (knob_shown(variant, k))
            add_column(page, knobs->at[k]->name, !knobs->at[k]->words, knobs->at[k]->words ? 6 : 0, 0);
}

/* Fills the knobs' cells; returns the next column. */
static int fill_knobs(const struct page *page, const struct rue_variant_findings *variant, size_t config,
                      int column)
{
    const struct rue_knobs *knobs = knobs_of(variant);
    for (size_t k = 0; k < knobs->count; k++) {
        char value[RUE_KNOB_TEXT_BYTES];
        if (!knob_shown(variant, k)) continue;
        rue_knob_format(knobs->at[k], variant->matrix->configs[config].value[k], value);
        rue_text_table_cell(page->table, column++, "%s", value);
    }
    return column;
}

/* Of one model mean and worst regret are the same, and whose it is the heading says. */
static void add_regret_columns(const struct page *page, const struct rue_variant_findings *variant)
{
    if (variant->selection->model_count == 1) {
        add_column(page, "regret", true, 0, 0);
        return;
    }
    add_column(page, "mean regret", true, 0, 0);
    add_column(page, "worst regret", true, 0, 0);
    add_column(page, "worst model", false, NAME_SHRINKS_TO, 2);
}

static const char *const marks[] = {
    [RUE_BASIS_FULL] = "", [RUE_BASIS_TRUNCATED] = "^", [RUE_BASIS_PREDICTED] = "~"};

/* Fills mean regret, worst regret and whose it is; returns the next column. */
static int fill_regrets(const struct page *page, const struct rue_variant_findings *variant, size_t config,
                        int column)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    const char *mark = marks[rue_findings_basis(row)];
    rue_text_table_cell(page->table, column++, "%s%.1f %%", mark, 100 * row->mean_regret_ratio);
    if (variant->selection->model_count == 1) return column;
    rue_text_table_cell(page->table, column++, "%s%.1f %%", mark, 100 * row->max_regret_ratio);
    if (rue_findings_has_worst(row))
        rue_text_table_cell(page->table, column, "%s", variant->matrix->models[row->worst_model]);
    return column + 1;
}

/* Images per second make sense for one model: over several the slow ones decide. */
static bool rate_shown(const struct rue_variant_findings *variant)
{
    return variant->job.images && variant->selection->model_count == 1 && variant->goal == RUE_GOAL_TIME;
}

static void add_config(const struct page *page, const struct rue_variant_findings *variant, size_t config)
{
    bool best = config == variant->selection->recommended;
    char rate[RUE_UNIT_TEXT_BYTES];
    if (!rue_text_table_row(page->table, best)) return;
    int column = fill_knobs(page, variant, config, 0);
    column = fill_regrets(page, variant, config, column);
    rue_text_table_cell(page->table, column++, "%zu", variant->selection->rows[config].top_n_count);
    if (!rate_shown(variant)) return;
    double ns = rue_cost_matrix_cell(variant->matrix, 0, config)->median_ns;
    double job = (double)variant->job.images * (variant->job.gpus ? (double)variant->job.gpus : 1);
    double images = fmin(job / ns * (double)RUE_NS_PER_S, 1e18);
    rue_text_table_cell(page->table, column, "%s",
                        rue_format_count((uint64_t)(images + 0.5), rate, sizeof rate));
}

static void put_heading(const struct page *page, const struct rue_variant_findings *variant)
{
    char name[RUE_PROSE_NAME_BYTES], clean[RUE_PROSE_NAME_BYTES], count[RUE_UNIT_TEXT_BYTES], job[64] = "",
                                                                                              text[512];
    size_t models = variant->selection->model_count, configs = variant->selection->config_count;
    char loaders[48] = "";
    rue_findings_name_among(page->findings, variant, name, sizeof name);
    rue_utf8_clean(name, page->style.unicode, clean, sizeof clean);
    if (variant->job.images)
        snprintf(job, sizeof job, ", job of %s image%s",
                 rue_format_count(variant->job.images, count, sizeof count),
                 variant->job.images == 1 ? "" : "s");
    if (variant->job.gpus)
        snprintf(loaders, sizeof loaders, " on each of %" PRIu64 " GPU%s", variant->job.gpus,
                 variant->job.gpus == 1 ? "" : "s");
    int used = snprintf(text, sizeof text, "%s: %zu model%s%s%s, %zu configuration%s%s%s", clean, models,
                        models == 1 ? "" : "s", job, loaders, configs, configs == 1 ? "" : "s",
                        variant->goal == RUE_GOAL_TIME ? "" : ", by ",
                        variant->goal == RUE_GOAL_TIME ? "" : rue_goal_words[variant->goal]);
    size_t least, most;
    rue_findings_repeats(variant, &least, &most);
    if (least < most)
        snprintf(text + used, sizeof text - (size_t)used, ", %zu to %zu repeats", least, most);
    else if (most > 1)
        snprintf(text + used, sizeof text - (size_t)used, ", %zu repeats", most);
    put_sentence(page, text, BOLD, 0);
}

static void put_data(const struct page *page, const struct rue_variant_findings *variant)
{
    char path[PATH_MAX], shown[PATH_MAX + 4], facts[160], count[RUE_UNIT_TEXT_BYTES],
        size[RUE_UNIT_TEXT_BYTES] = "";
    if (variant->label) return; /* a table's: where its data lay is not known */
    if (variant->data.bytes) rue_format_bytes(variant->data.bytes, size, sizeof size);
    rue_format_count(variant->data.images, count, sizeof count);
    int used = snprintf(facts, sizeof facts, "%s images%s%s", count, size[0] ? ", " : "", size);
    if (!variant->data.images) facts[used = 0] = 0;
    if (variant->job.decode == RUE_DECODE_FAST)
        used += snprintf(facts + used, sizeof facts - (size_t)used, "%sdecoded fast", used ? ", " : "");
    if (variant->job.batch_dtype != RUE_FLOAT32)
        used += snprintf(facts + used, sizeof facts - (size_t)used, "%sbatches of %s", used ? ", " : "",
                         rue_dtype_names[variant->job.batch_dtype]);
    if (variant->job.cold)
        snprintf(facts + used, sizeof facts - (size_t)used, "%sread cold", used ? ", " : "");
    rue_utf8_clean(variant->data.sample ? "a sample converted for this comparison" : variant->variant.path,
                   page->style.unicode, path, sizeof path);
    if (!path[0] && !facts[0]) return;
    int room = page->style.columns - 4 - (int)strlen(facts);
    if (page->style.columns <= 0) room = INT_MAX;
    /* Spaces must stay as they are in a path, so it is not wrapped. */
    rue_utf8_shorten(path, room < 12 ? page->style.columns - 2 : room, page->style.unicode, shown,
                     sizeof shown);
    if (page->style.color) fputs(DIM, page->stream);
    const char *between = !shown[0] || !facts[0] ? "" : room < 12 ? "\n  " : ", ";
    fprintf(page->stream, "  %s%s%s", shown, between, facts);
    fputs(page->style.color ? "\033[0m\n" : "\n", page->stream);
}

/* What is in the table so far. */
struct listed {
    size_t count;
    bool has[RUE_BASIS_PREDICTED + 1];
};

/* Below the table: how many more there are, and what the marks stand for. */
static void put_rest(const struct page *page, const struct listed *listed, size_t rest)
{
    static const char *const words[] = {
        [RUE_BASIS_TRUNCATED] = "^: from trials that were cut short", [RUE_BASIS_PREDICTED] = "~: predicted"};
    char more[96], text[256];
    struct rue_prose prose = rue_prose_start(text, sizeof text);
    say_more(page, rest, more, sizeof more);
    rue_prose_say(&prose, "%s", rest ? more : "");
    for (int b = RUE_BASIS_TRUNCATED; b <= RUE_BASIS_PREDICTED; b++)
        if (listed->has[b]) rue_prose_say(&prose, "%s%s", prose.used ? "; " : "", words[b]);
    put_sentence(page, text, DIM, 2);
}

static void list_config(const struct page *page, const struct rue_variant_findings *variant, size_t config,
                        struct listed *listed)
{
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    add_config(page, variant, config);
    listed->count++;
    listed->has[rue_findings_basis(row)] = true;
}

static bool is_among_first(const struct rue_selection *selection, size_t count, size_t config)
{
    for (size_t i = 0; i < count; i++)
        if (selection->ranked[i] == config) return true;
    return false;
}

/* The first ones, and those that the words are about: estimates may rank before what is recommended. */
static void put_configs(const struct page *page, const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    size_t most = page->style.brief ? BRIEF_CONFIGS : SHOWN_CONFIGS;
    size_t shown = selection->ranked_count < most ? selection->ranked_count : most;
    char votes[48];
    struct listed listed = {0};
    rue_text_table_clear(page->table, page->style.unicode);
    add_knob_columns(page, variant);
    add_regret_columns(page, variant);
    snprintf(votes, sizeof votes, "top-%zu", selection->top_n);
    add_column(page, votes, true, 0, 0);
    if (rate_shown(variant)) add_column(page, "images/s", true, 0, 1);
    for (size_t i = 0; i < shown; i++) list_config(page, variant, selection->ranked[i], &listed);
    if (!is_among_first(selection, shown, selection->recommended))
        list_config(page, variant, selection->recommended, &listed);
    if (selection->top_n_winner != selection->recommended &&
        !is_among_first(selection, shown, selection->top_n_winner))
        list_config(page, variant, selection->top_n_winner, &listed);
    rue_text_table_print(page->table, &page->style, page->stream);
    put_rest(page, &listed, selection->ranked_count - listed.count);
}

static void put_batch_sizes(const struct page *page, const struct rue_variant_findings *variant)
{
    struct rue_batch_best best = {0};
    rue_text_table_clear(page->table, page->style.unicode);
    add_knob_columns(page, variant);
    add_regret_columns(page, variant);
    while (rue_batch_best_next(variant, &best)) {
        if (best.config == RUE_NONE) continue;
        bool chosen = best.config == variant->selection->recommended;
        if (!rue_text_table_row(page->table, chosen)) break;
        fill_regrets(page, variant, best.config, fill_knobs(page, variant, best.config, 0));
    }
    /* With one configuration a batch size there is nothing to choose. */
    if (page->table->row_count < 2 || page->table->row_count == (int)variant->selection->config_count) return;
    put_gap(page);
    put_sentence(page, "The best workers for each batch size:", "", 2);
    rue_text_table_print(page->table, &page->style, page->stream);
}

/* A sentence about a variant; answers whether there was one. */
static bool put_noted(const struct page *page, const char *text)
{
    put_sentence(page, text, "", 2);
    return text[0];
}

/* What is to be known of the trials, and in full also what else they tell. */
static void put_notes(const struct page *page, const struct rue_variant_findings *variant)
{
    char text[RUE_VERDICT_BYTES];
    rue_verdict_replayed(variant, text, sizeof text);
    bool noted = put_noted(page, text);
    rue_verdict_replaced(variant, text, sizeof text);
    noted |= put_noted(page, text);
    rue_verdict_disturbed(variant, text, sizeof text);
    noted |= put_noted(page, text);
    rue_verdict_cache(variant, text, sizeof text);
    noted |= put_noted(page, text);
    rue_verdict_late(variant, text, sizeof text);
    noted |= put_noted(page, text);
    rue_verdict_above(variant, text, sizeof text);
    noted |= put_noted(page, text);
    rue_verdict_votes(variant, page->style.unicode, text, sizeof text);
    noted |= put_noted(page, text);
    if (!page->style.brief) {
        rue_verdict_lengths(variant, text, sizeof text);
        noted |= put_noted(page, text);
    }
    rue_verdict_unranked(variant, page->style.unicode, text, sizeof text);
    noted |= put_noted(page, text);
    if (noted || page->style.brief) put_gap(page);
}

static void put_variant(const struct page *page, const struct rue_variant_findings *variant)
{
    char text[RUE_VERDICT_BYTES];
    bool brief = page->style.brief, ranked = variant->selection->recommended != RUE_NONE;
    put_heading(page, variant);
    put_data(page, variant);
    if (!brief || !ranked) put_gap(page);
    if (!ranked) return; /* the closing sentence says why */
    put_configs(page, variant);
    if (!brief) {
        put_batch_sizes(page, variant);
        put_gap(page);
        rue_answer_words(variant, page->style.unicode, text, sizeof text);
        put_sentence(page, text, "", 2);
        if (text[0]) put_gap(page);
    }
    put_notes(page, variant);
}

static void put_comparison_heading(const struct page *page, const struct rue_comparison *comparison,
                                   bool same_job)
{
    const struct rue_variant_findings *sides[] = {comparison->raw, comparison->preprocessed};
    char name[RUE_PROSE_NAME_BYTES], names[2][RUE_PROSE_NAME_BYTES], labels[2][RUE_CONFIG_TEXT_BYTES],
        text[1024], job[RUE_UNIT_TEXT_BYTES];
    for (int i = 0; i < 2; i++) {
        rue_findings_name_among(page->findings, sides[i], name, sizeof name);
        rue_utf8_clean(name, page->style.unicode, names[i], sizeof names[i]);
        rue_config_label(&sides[i]->matrix->configs[sides[i]->selection->recommended], labels[i]);
    }
    rue_format_count(sides[0]->job.images, job, sizeof job);
    snprintf(text, sizeof text, "%s (%s) against %s (%s), each at its winner: time ", names[0], labels[0],
             names[1], labels[1]);
    size_t used = strlen(text);
    if (!same_job)
        snprintf(text + used, sizeof text - used, "per image");
    else if (sides[0]->job.images)
        snprintf(text + used, sizeof text - used, "of the job of %s image%s", job,
                 sides[0]->job.images == 1 ? "" : "s");
    else
        snprintf(text + used, sizeof text - used, "of the job");
    put_sentence(page, text, BOLD, 0);
}

/* Times are those of the job, or of one image where the two jobs are not equally long. */
static void put_comparison_table(const struct page *page, const struct rue_comparison *comparison,
                                 bool same_job)
{
    double raw_images = same_job ? 1 : (double)comparison->raw->job.images;
    double preprocessed_images = same_job ? 1 : (double)comparison->preprocessed->job.images;
    char time[RUE_UNIT_TEXT_BYTES], more[96];
    rue_text_table_clear(page->table, page->style.unicode);
    add_column(page, "model", false, NAME_SHRINKS_TO, 0);
    add_column(page, "raw", true, 0, 0);
    add_column(page, "preprocessed", true, 0, 0);
    add_column(page, "speed-up", true, 0, 0);
    for (size_t i = 0; i < comparison->row_count && i < SHOWN_MODELS; i++) {
        const struct rue_comparison_row *row = &comparison->rows[i];
        if (!rue_text_table_row(page->table, false)) break;
        rue_text_table_cell(page->table, 0, "%s", row->model);
        rue_format_duration((uint64_t)(row->raw_ns / raw_images), time, sizeof time);
        rue_text_table_cell(page->table, 1, "%s", time);
        rue_format_duration((uint64_t)(row->preprocessed_ns / preprocessed_images), time, sizeof time);
        rue_text_table_cell(page->table, 2, "%s", time);
        rue_text_table_cell(page->table, 3, "%.2f x", row->speedup_ratio);
    }
    rue_text_table_print(page->table, &page->style, page->stream);
    if (comparison->row_count <= SHOWN_MODELS) return;
    say_more(page, comparison->row_count - SHOWN_MODELS, more, sizeof more);
    put_sentence(page, more, DIM, 2);
}

static void put_comparison(const struct page *page, const struct rue_comparison *comparison)
{
    char text[RUE_VERDICT_BYTES];
    bool same_job = comparison->raw->job.images == comparison->preprocessed->job.images;
    if (!page->style.brief) {
        put_comparison_heading(page, comparison, same_job);
        put_gap(page);
        put_comparison_table(page, comparison, same_job);
        put_gap(page);
    }
    rue_verdict_comparison(comparison, text, sizeof text);
    put_sentence(page, text, "", 2);
    put_gap(page);
}

/* Of several raw and preprocessed variants there are many pairs: `rue compare` is for those. */
static bool has_one_pair(const struct rue_findings *findings)
{
    size_t counts[RUE_MODE_COUNT] = {0};
    for (size_t v = 0; v < findings->variant_count; v++) counts[findings->variants[v].variant.mode]++;
    return counts[RUE_RAW] == 1 && counts[RUE_PREPROCESSED] == 1;
}

static rue_status put_comparisons(const struct page *page, rue_error *error)
{
    if (page->style.brief && !has_one_pair(page->findings)) return RUE_OK;
    struct rue_comparison_walk walk = {0};
    for (;;) {
        struct rue_comparison *comparison;
        rue_status status = rue_comparison_next(page->findings, &walk, &comparison, error);
        if (status != RUE_OK || !comparison) return status;
        put_comparison(page, comparison);
        rue_comparison_close(comparison);
    }
}

/* Of a sample that was converted to be compared nobody asks for an answer that it shares; neither of a
 * table's modes, unless all is wanted. */
static bool wants_overall(const struct page *page)
{
    bool chosen = true;
    for (size_t v = 0; v < page->findings->variant_count; v++)
        chosen &= !page->findings->variants[v].data.sample && page->findings->variants[v].variant.path[0];
    return chosen || !page->style.brief;
}

static rue_status put_closing(const struct page *page, rue_error *error)
{
    char text[RUE_VERDICT_BYTES];
    bool recommended = false;
    for (size_t v = 0; v < page->findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &page->findings->variants[v];
        rue_status status =
            rue_verdict_use(page->findings, variant, page->style.unicode, text, sizeof text, error);
        if (status != RUE_OK) return status;
        put_sentence(page, text, BOLD, 0);
        recommended |= variant->selection->recommended != RUE_NONE;
    }
    for (size_t i = 0; i < page->findings->overall_count && wants_overall(page); i++) {
        rue_verdict_overall(&page->findings->overall[i], page->style.unicode, text, sizeof text);
        put_sentence(page, text, BOLD, 0);
    }
    if (!recommended) return RUE_OK;
    rue_verdict_loader(page->findings, text, sizeof text);
    size_t used = strlen(text);
    if (page->style.brief)
        snprintf(text + used, sizeof text - used, "%sMore: rue show STUDY --details.", used ? " " : "");
    put_sentence(page, text, DIM, 0);
    return RUE_OK;
}

/* What happened to the machine on the way. */
static void put_notices(const struct page *page)
{
    const struct rue_findings *findings = page->findings;
    const char *const facts[][2] = {{"before the first trial", findings->changes.busy_before},
                                    {"after the last trial", findings->changes.busy_after},
                                    {"over all trials", findings->changes.disturbance}};
    char text[RUE_NOTICE_TEXT_BYTES], sentence[RUE_NOTICE_TEXT_BYTES + 64];
    for (size_t i = 0; i < findings->changes.notice_count; i++) {
        rue_notice_text(&findings->changes.notices[i], text, sizeof text);
        snprintf(sentence, sizeof sentence, "Note: %s.", text);
        put_sentence(page, sentence, BOLD, 0);
    }
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        if (!facts[i][1][0]) continue;
        snprintf(sentence, sizeof sentence, "Note: %s, %s.", facts[i][0], facts[i][1]);
        put_sentence(page, sentence, BOLD, 0);
    }
    if (findings->changes.notice_count || rue_findings_is_doubtful(findings)) put_gap(page);
}

static rue_status put_all(const struct page *page, rue_error *error)
{
    const struct rue_findings *findings = page->findings;
    char partial[RUE_VERDICT_BYTES];
    rue_verdict_partial(findings, page->style.unicode, partial, sizeof partial);
    put_sentence(page, partial, BOLD, 0);
    if (partial[0]) put_gap(page);
    put_notices(page);
    for (size_t v = 0; v < findings->variant_count; v++) put_variant(page, &findings->variants[v]);
    rue_status status = put_comparisons(page, error);
    if (status == RUE_OK) status = put_closing(page, error);
    if (partial[0]) put_gap(page);
    put_sentence(page, partial, BOLD, 0);
    return status;
}

/* A run and its store tell of the variants in different orders: the table has one of its own. */
static rue_status render(const struct rue_findings *findings, const struct rue_report_style *style,
                         FILE *stream, rue_error *error)
{
    struct rue_findings sorted = *findings;
    size_t bytes = (findings->variant_count + 1) * sizeof *sorted.variants;
    struct page page = {&sorted, *style, stream, calloc(1, sizeof(struct rue_text_table))};
    sorted.variants = malloc(bytes);
    rue_status status = RUE_OK;
    if (!page.table || !sorted.variants) status = rue_fail_memory(error, "the table", bytes);
    if (status == RUE_OK) {
        if (page.style.columns > 0 && page.style.columns < NARROWEST) page.style.columns = NARROWEST;
        for (size_t v = 0; v < findings->variant_count; v++) sorted.variants[v] = findings->variants[v];
        qsort(sorted.variants, findings->variant_count, sizeof *sorted.variants, rue_findings_compare);
        status = put_all(&page, error);
    }
    free(sorted.variants);
    free(page.table);
    return status == RUE_OK ? rue_report_finish(stream, error) : status;
}

const struct rue_report rue_report_table = {.name = "table", .file = NULL, .render = render};
