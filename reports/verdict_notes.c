/* Notes on a variant and on the run, and answers beside the recommendation. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "answers.h"
#include "prose.h"
#include "units.h"
#include "verdict.h"

#define NB      RUE_NO_BREAK
#define PERCENT RUE_PROSE_PERCENT

enum { NAMED_MISSES = 3, NAMED_MODELS = 3, NAMED_CONFIGS = 6 };

static const double less_memory_ratio = 0.5; /* of the recommendation, at most */
static const double more_regret_ratio = 0.1; /* at most, for less memory */

static void say_best(struct rue_page *page, const struct rue_replayed *replayed, bool worst)
{
    char best[RUE_CONFIG_TEXT_BYTES];
    double regret = worst ? replayed->max_regret_ratio : replayed->mean_regret_ratio,
           best_regret = worst ? replayed->best_max_regret_ratio : replayed->best_mean_regret_ratio;
    if (!replayed->knows_best || isnan(regret)) {
        rue_say(page, " The table lacks times of the recommended configuration.");
        return;
    }
    rue_config_label(&replayed->best, best);
    rue_say(page, " By the whole table the recommendation has " PERCENT " %s regret, ", 100 * regret,
            worst ? "worst" : "mean");
    if (regret > best_regret)
        rue_say(page, "%.2g points more than the best, %s.", 100 * (regret - best_regret), best);
    else
        rue_say(page, "the least of all.");
}

static void say_replayed(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_replayed *replayed = &variant->replayed;
    char spent[RUE_UNIT_TEXT_BYTES], table[RUE_UNIT_TEXT_BYTES];
    if (!(replayed->table_s > 0)) return;
    rue_say(page, "The trials took " PERCENT " of the table's %s: %zu trial%s, %s.",
            100 * replayed->spent_s / replayed->table_s,
            rue_format_duration((uint64_t)(replayed->table_s * 1e9), table, sizeof table), replayed->trials,
            rue_prose_plural(replayed->trials),
            rue_format_duration((uint64_t)(replayed->spent_s * 1e9), spent, sizeof spent));
    if (variant->selection->recommended != RUE_NONE)
        say_best(page, replayed, variant->selection->objective == RUE_OBJECTIVE_WORST);
}

static void say_short(struct rue_page *page, const struct rue_variant_findings *variant)
{
    size_t config = variant->selection->recommended, images = variant->job.images;
    if (config != RUE_NONE && images &&
        images <= (size_t)variant->matrix->configs[config].value[RUE_BATCH_SIZE])
        rue_say(page, "The job is one batch, so only its start was compared. For longer jobs, set --images.");
}

static void say_replaced(struct rue_page *page, const struct rue_variant_findings *variant)
{
    uint64_t count = variant->trials.bad_images;
    if (count == 0) return;
    rue_say(page, "%" PRIu64 " image%s of a trial could not be decoded and %s replaced; trials.csv names %s.",
            count, rue_prose_plural(count), count == 1 ? "was" : "were", count == 1 ? "it" : "one");
}

static void say_data(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const char *note = variant->data.note;
    size_t length = strlen(note);
    if (length) rue_say(page, "Note: %s%s", note, note[length - 1] == '.' ? "" : ".");
}

static void say_disturbed(struct rue_page *page, const struct rue_variant_findings *variant)
{
    uint64_t count = variant->trials.disturbed;
    if (count == 0) return;
    rue_say(page, "%" PRIu64 " of %zu trials %s far from the expected time%s.", count, variant->trials.ok,
            count == 1 ? "was" : "were",
            2 * count > variant->trials.ok ? ", so the answer is not reliable"
            : count == 1                   ? " and has a low weight"
                                           : " and have a low weight");
}

static void say_cache(struct rue_page *page, const struct rue_variant_findings *variant)
{
    uint64_t count = variant->trials.cache_missed;
    if (count == 0) return;
    rue_say(page,
            "%" PRIu64 " of %zu trials did not read %s data, even when repeated (cache_missed in trials.csv "
            "gives the reason).",
            count, variant->trials.ok, variant->job.workload.cache);
}

static void say_late(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const double shown_ratio = 0.01, unreliable_ratio = 0.1;
    double late = rue_findings_overshoot_ratio(variant);
    if (!(late > shown_ratio)) return;
    rue_say(page, "The simulated models slept " PERCENT " too long, as no CPU was free to wake them.",
            100 * late);
    if (late > unreliable_ratio)
        rue_say(page, " The times are not reliable: close other programs and repeat this with --fresh.");
}

void rue_verdict_slow_rank(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_slow_rank_findings *slow = &variant->slow_rank;
    char times[RUE_UNIT_TEXT_BYTES];
    if (!(slow->slower_ratio > 0)) return;
    rue_say(page,
            "Rank %" PRIu64 " (%s) sets the time: it takes %s times as long as the median of the others: %s.",
            slow->rank, slow->node, rue_format_times(slow->slower_ratio, times, sizeof times), slow->cause);
}

void rue_verdict_above(struct rue_page *page, const struct rue_variant_findings *variant, bool brief)
{
    const struct rue_selection *selection = variant->selection;
    size_t first = selection->ranked_count ? selection->ranked[0] : RUE_NONE;
    char best[RUE_CONFIG_TEXT_BYTES], recommended[RUE_CONFIG_TEXT_BYTES];
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    if (selection->recommended == RUE_NONE || first == selection->recommended) return;
    rue_config_label(&variant->matrix->configs[first], best);
    rue_config_label(&variant->matrix->configs[selection->recommended], recommended);
    if (!variant->baselines.count || variant->baselines.found != first)
        rue_say(page, "%s is predicted to be better, but it was not measured on every model.", best);
    else if (!brief)
        rue_say(page, "%s has less regret, but it is not proven to be faster than %s.", best, recommended);
}

static void say_votes(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    if (selection->recommended == RUE_NONE || selection->top_n_winner == selection->recommended) return;
    const struct rue_ranking_row *winner = &selection->rows[selection->top_n_winner];
    const struct rue_ranking_row *best = &selection->rows[selection->recommended];
    bool worst = selection->objective == RUE_OBJECTIVE_WORST;
    rue_say_config(page, &variant->matrix->configs[selection->top_n_winner]);
    rue_say(page,
            " has more votes (%zu in place of %zu of %zu models), but its %s regret is " PERCENT
            " in place of " PERCENT ".",
            winner->top_n_count, best->top_n_count, selection->model_count, worst ? "worst" : "mean",
            100 * (worst ? winner->max_regret_ratio : winner->mean_regret_ratio),
            100 * (worst ? best->max_regret_ratio : best->mean_regret_ratio));
}

uint64_t rue_verdict_round_images(uint64_t images)
{
    uint64_t unit = 1;
    while (images / unit >= 100) unit *= 10;
    return (images + unit / 2) / unit * unit;
}

/* "Best by job length (predicted): 32/2 below 1,100 images, 128/8 below 120,000, then 32/4." */
static void say_lengths(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_job_lengths *lengths = &variant->lengths;
    char label[RUE_CONFIG_TEXT_BYTES], text[RUE_UNIT_TEXT_BYTES];
    if (lengths->count < 2) return;
    rue_say(page, "Best by job length (predicted): ");
    for (size_t i = 0; i < lengths->count; i++) {
        rue_config_label(&variant->matrix->configs[lengths->at[i].config], label);
        if (i + 1 == lengths->count)
            rue_say(page, "then %s.", label);
        else
            rue_say(
                page, "%s below" NB "%s%s, ", label,
                rue_format_count(rue_verdict_round_images(lengths->at[i + 1].from_images), text, sizeof text),
                i ? "" : NB "images");
    }
}

static void say_miss(struct rue_page *page, const struct rue_variant_findings *variant, size_t config,
                     size_t model)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, model, config);
    char label[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(&variant->matrix->configs[config], label);
    rue_say(page, "; %s %s", label, cell->state == RUE_CELL_INFEASIBLE ? "is infeasible" : "failed");
    if (!variant->models_unnamed) rue_say(page, " for %s", variant->matrix->models[model]);
    rue_say_reason(page, " (", cell->reason, ")");
}

static void say_unranked(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    size_t unranked = selection->config_count - selection->ranked_count, named = 0, unmeasured = 0;
    if (unranked == 0 || selection->ranked_count == 0) return;
    bool limited = variant->matrix->first_limit_ns;
    rue_say(page, "Not ranked: %zu of %zu configurations, which did not run on every model%s", unranked,
            selection->config_count, limited ? " within the limits" : "");
    for (size_t c = 0; c < selection->config_count; c++) {
        if (selection->rows[c].ranked) continue;
        size_t model = rue_findings_first_miss(variant, c);
        if (model == RUE_NONE || rue_cost_matrix_cell(variant->matrix, model, c)->state == RUE_CELL_MISSING) {
            unmeasured++;
            continue;
        }
        if (named++ >= NAMED_MISSES) continue;
        say_miss(page, variant, c, model);
    }
    if (named > NAMED_MISSES) rue_say(page, "; %zu more are infeasible or failed", named - NAMED_MISSES);
    if (unmeasured) rue_say(page, "; %zu not measured on every model", unmeasured);
    rue_say(page, ".");
}

/* Whether the space has queues of several lengths. */
static bool varies_queue(const struct rue_cost_matrix *matrix)
{
    static const enum rue_knob knobs[] = {RUE_PREFETCH_FACTOR, RUE_MAX_QUEUE_SIZE};
    bool varies = false;
    for (size_t c = 1; c < matrix->config_count; c++)
        for (int k = 0; k < 2; k++)
            varies |= matrix->configs[c].value[knobs[k]] != matrix->configs[0].value[knobs[k]];
    return varies;
}

void rue_verdict_queue(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_variant_findings *variant, bool brief)
{
    const struct rue_queue_findings *queue = &variant->trials.queue;
    size_t trials = queue->bound + queue->uneven + queue->ample;
    char text[RUE_UNIT_TEXT_BYTES];
    if (trials == 0 || variant->selection->recommended == RUE_NONE) return;
    if (brief && !varies_queue(variant->matrix)) return;
    uint64_t window = rue_config_window(&variant->matrix->configs[variant->selection->recommended], 0);
    rue_say(page, "A queue longer than %" PRIu64 " batch%s", window, window == 1 ? "" : "es");
    rue_verdict_data(page, findings, variant);
    if (queue->uneven)
        rue_say(page, " may raise the rate: in %zu of %zu trials it was empty at times and full at others.",
                queue->uneven, trials);
    else if (queue->bound)
        rue_say(page,
                " is only a head start of %s for each further batch, once: loading sets the pace in %zu of "
                "%zu trials.",
                rue_format_duration(queue->batch_ns, text, sizeof text), queue->bound, trials);
    else
        rue_say(page, " gains nothing: it did not run empty.");
}

void rue_verdict_notes(struct rue_page *page, const struct rue_findings *findings,
                       const struct rue_variant_findings *variant, bool brief)
{
    static void (*const notes[])(struct rue_page *, const struct rue_variant_findings *) = {
        say_data,  say_replayed,          say_short, say_replaced, say_disturbed,
        say_cache, rue_verdict_slow_rank, say_late,  say_votes,    say_lengths};
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        if (brief && (notes[i] == say_lengths || notes[i] == say_votes)) continue;
        rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
        notes[i](page, variant);
    }
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_verdict_queue(page, NULL, variant, brief);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_verdict_batches(page, findings, variant, false);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    say_unranked(page, variant);
}

/* ---- answers beside the winner ---- */

static void say_label(struct rue_page *page, const struct rue_variant_findings *variant, size_t config)
{
    char label[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(&variant->matrix->configs[config], label);
    rue_say_unbroken(page, label);
}

/* "128/12 for a, b and 3 more" */
static void say_served(struct rue_page *page, const struct rue_variant_findings *variant, size_t config)
{
    const struct rue_config_set *set = variant->answers->set;
    size_t named = 0;
    say_label(page, variant, config);
    rue_say(page, " for ");
    for (size_t m = 0; m < set->scenario_count; m++) {
        if (set->chosen[m] != config || named++ >= NAMED_MODELS) continue;
        rue_say(page, "%s%s", named > 1 ? ", " : "", variant->matrix->models[m]);
    }
    if (named > NAMED_MODELS) rue_say(page, " and %zu" NB "more", named - NAMED_MODELS);
}

static void say_set(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_config_set *set = variant->answers->set;
    if (variant->selection->model_count < 2 || set->config_count == 0) return;
    bool alone = set->config_count == 1;
    if (!alone)
        rue_say(page, "With these %zu configurations", set->config_count);
    else if (set->configs[0] == variant->selection->recommended)
        rue_say(page, "With the recommended configuration");
    else
        rue_say(page, "With "), say_label(page, variant, set->configs[0]);
    rue_say(page, " every model is within %.3g" NB "%% of its own best", 100 * set->epsilon_ratio);
    for (size_t k = 0; set->config_count > 1 && k < set->config_count && k < NAMED_CONFIGS; k++) {
        rue_say(page, k ? "; " : ": ");
        say_served(page, variant, set->configs[k]);
    }
    if (set->config_count > NAMED_CONFIGS)
        rue_say(page, "; and %zu" NB "more", set->config_count - NAMED_CONFIGS);
    rue_say(page, set->exact ? ". " : " (fewer may do). ");
}

static void say_left_out(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_leave_one_out *estimate = variant->answers->leave_one_out;
    if (!estimate) return;
    rue_say(page,
            "Expect " PERCENT " regret on average for a model that was not measured, " PERCENT
            " at worst (estimated by leaving out each model in turn; worst: %s). ",
            100 * estimate->mean_regret_ratio, 100 * estimate->max_regret_ratio,
            variant->matrix->models[estimate->worst_model]);
}

/* Of the configurations with much less memory, the one with the least regret. */
static void say_memory(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_answers *answers = variant->answers;
    const struct rue_ranking_row *rows = variant->selection->rows;
    size_t best = variant->selection->recommended;
    char low[RUE_UNIT_TEXT_BYTES], high[RUE_UNIT_TEXT_BYTES];
    for (size_t i = 0; i < answers->front_count; i++) {
        size_t config = answers->front[i];
        double cost = rows[config].mean_regret_ratio - rows[best].mean_regret_ratio;
        if (answers->memory_bytes[config] > less_memory_ratio * answers->memory_bytes[best]) continue;
        if (cost > more_regret_ratio) return;
        say_label(page, variant, config);
        rue_say(page, " needs ");
        rue_say_unbroken(page, rue_format_bytes((uint64_t)answers->memory_bytes[config], low, sizeof low));
        rue_say(page, " for loaded batches in place of ");
        rue_say_unbroken(page, rue_format_bytes((uint64_t)answers->memory_bytes[best], high, sizeof high));
        rue_say(page, ", at %.1f" NB "points %s regret. ", 100 * fabs(cost), cost < 0 ? "less" : "more");
        return;
    }
}

void rue_verdict_answers(struct rue_page *page, const struct rue_findings *findings,
                         const struct rue_variant_findings *variant)
{
    if (!variant->answers || variant->selection->recommended == RUE_NONE) return;
    if (rue_findings_withholds_ratios(findings)) return;
    say_set(page, variant);
    say_left_out(page, variant);
    say_memory(page, variant);
}

/* ---- the run ---- */

static void say_regret(struct rue_page *page, bool bounds)
{
    rue_say(page, "32/2 means batch_size 32, num_workers 2. Regret is the extra time over each model's own "
                  "best.");
    if (bounds)
        rue_say(page, " Even the best configuration for all models has some; \"points better\" compares with "
                      "the recommended configuration.");
}

void rue_verdict_simulated(struct rue_page *page, const struct rue_findings *findings)
{
    const char *device = findings->runner.consumer;
    bool slept = false;
    for (size_t v = 0; v < findings->variant_count; v++) slept |= findings->variants[v].trials.meant_ns > 0;
    if (slept && device[0])
        rue_say(page, "Models of the catalogue are simulated: they sleep as long as they take on %s.",
                device);
    else if (slept)
        rue_say(page,
                "Models of the catalogue are simulated: each sleeps as long as its name says a batch takes.");
    else if (device[0])
        rue_say(page, "Model times are those of %s.", device);
    bool imported = strcmp(findings->runner.measured_with, "imported") == 0;
    const char *blank = slept || device[0] ? " " : "";
    if (imported || (findings->variant_count && findings->variants[0].replayed.table_s > 0))
        rue_say(page, "%sThe times are those of a table, so their machine and loader are not known.", blank);
    else if (findings->runner.virtual_clock)
        rue_say(page, "%sThe times are those of a simulated machine.", blank);
}

static void say_crop(struct rue_page *page, const struct rue_findings *findings)
{
    bool crops = false;
    for (size_t v = 0; v < findings->variant_count; v++)
        crops |= findings->variants[v].variant.mode == RUE_PREPROCESSED && !findings->variants[v].label;
    if (crops)
        rue_say(page, "Preprocessed tensors have a fixed crop, so random crops of the original image are not "
                      "possible.");
}

static void say_changes(struct rue_page *page, const struct rue_findings *findings)
{
    size_t count = findings->changes.notice_count;
    char text[RUE_NOTICE_TEXT_BYTES];
    if (count == 0 || rue_findings_is_unsteady(findings)) return;
    rue_notice_text(&findings->changes.notices[0], text, sizeof text);
    if (count > 1)
        snprintf(text, sizeof text, "the machine changed its speed %zu times; times are corrected for it",
                 count);
    rue_say(page, "Note: %s.", text);
}

static void say_contention(struct rue_page *page, const struct rue_findings *findings)
{
    const struct rue_contention_findings *contention = &findings->changes.contention;
    if (!(contention->contended_ratio > 0) || rue_findings_is_unsteady(findings)) return;
    rue_say(page,
            "Note: other programs used %.2g of %d" NB "CPU%s for %.0f" NB
            "%% of the time; the times of those trials are %scorrected.",
            contention->other_cpus, contention->cpus, rue_prose_plural((uint64_t)contention->cpus),
            fmax(1, 100 * contention->contended_ratio),
            rue_findings_corrects_contention(findings) ? "" : "not ");
}

static void say_dropped_nodes(struct rue_page *page, const struct rue_findings *findings)
{
    char text[RUE_NOTICE_TEXT_BYTES * 2];
    for (size_t i = 0; i < findings->changes.dropped_count; i++) {
        rue_dropped_node_text(&findings->changes.dropped[i], text, sizeof text);
        rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
        rue_say(page, "Note: %s.", text);
    }
}

void rue_verdict_background(struct rue_page *page, const struct rue_findings *findings, bool bounds)
{
    static void (*const notes[])(struct rue_page *, const struct rue_findings *) = {rue_verdict_simulated,
                                                                                    say_crop};
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    say_contention(page, findings);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    say_changes(page, findings);
    say_dropped_nodes(page, findings);
    rue_page_sentence(page, RUE_LOOK_DIM, 0);
    say_regret(page, bounds);
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        rue_page_sentence(page, RUE_LOOK_DIM, 0);
        notes[i](page, findings);
    }
}
