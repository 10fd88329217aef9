#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prose.h"
#include "units.h"

#define NB      RUE_NO_BREAK
#define PERCENT RUE_PROSE_PERCENT

/* ---- nothing recommended ---- */

static int compare_reasons(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The most frequent of the sorted reasons; of those named equally often the first in the alphabet. */
static void say_most_frequent(struct rue_page *page, const char *const *reasons, size_t count)
{
    const char *most = NULL;
    size_t cells = 0;
    for (size_t start = 0, i = 0; i < count; i++) {
        if (strcmp(reasons[i], reasons[start]) != 0) start = i;
        if (i - start + 1 <= cells) continue;
        cells = i - start + 1;
        most = reasons[start];
    }
    if (most) rue_say(page, "; most frequent reason (%zu cell%s): %s", cells, rue_prose_plural(cells), most);
}

void rue_verdict_why_none(struct rue_page *page, const struct rue_variant_findings *variant)
{
    static const char *const words[][2] = {[RUE_CELL_MISSING] = {"was not measured", "were not measured"},
                                           [RUE_CELL_FAILED] = {"failed", "failed"},
                                           [RUE_CELL_INFEASIBLE] = {"is infeasible", "are infeasible"}};
    const struct rue_cost_matrix *matrix = variant->matrix;
    size_t configs = matrix->config_count, cells = matrix->model_count * configs, count = 0,
           counts[RUE_CELL_OK + 1] = {0};
    const char **reasons = calloc(cells + 1, sizeof *reasons), *comma = "";
    page->failed |= !reasons;
    for (size_t i = 0; reasons && i < cells; i++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(matrix, i / configs, i % configs);
        counts[cell->state]++;
        if (cell->state != RUE_CELL_OK && cell->reason[0]) reasons[count++] = cell->reason;
    }
    rue_say(page, "no configuration was measured on every model");
    if (counts[RUE_CELL_OK] < cells) /* else it is predicted, at best */
        rue_say(page, ": of %zu cell%s (a model with a configuration) ", cells, rue_prose_plural(cells));
    for (int state = RUE_CELL_OK; state-- > 0;) {
        if (counts[state] == 0) continue;
        rue_say(page, "%s%zu %s", comma, counts[state], words[state][counts[state] > 1]);
        comma = ", ";
    }
    if (reasons) {
        qsort(reasons, count, sizeof *reasons, compare_reasons);
        say_most_frequent(page, reasons, count);
    }
    free(reasons);
}

/* ---- the recommended configuration ---- */

static const char *missed_word(const struct rue_cell *cell)
{
    if (cell->infeasible == 0) return "failed";
    if (cell->infeasible < cell->missed) return "failed or were infeasible";
    return cell->missed == 1 ? "was infeasible" : "were infeasible";
}

/* Repeats of the recommended configuration that were not ok, of the model by name first: it may not be as
 * sound as its regret. */
static void say_missed_repeats(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_cost_matrix *matrix = variant->matrix;
    size_t config = variant->selection->recommended, first = RUE_NONE, more = 0;
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        if (rue_cost_matrix_cell(matrix, m, config)->missed == 0) continue;
        more += first != RUE_NONE;
        if (first == RUE_NONE || strcmp(matrix->models[m], matrix->models[first]) < 0) first = m;
    }
    if (first == RUE_NONE) return;
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, first, config);
    rue_say(page, "; %zu" NB "of" NB "%zu repeats %s", cell->missed, cell->missed + cell->repeats,
            missed_word(cell));
    rue_say_reason(page, ": ", cell->reason, "");
    if (variant->selection->model_count > 1) rue_say(page, " (%s)", matrix->models[first]);
    if (more) rue_say(page, ", and some of %zu more model%s", more, rue_prose_plural(more));
}

static void say_claim(struct rue_page *page, const struct rue_claim_findings *claim)
{
    if (claim->confidence == 0) return;
    rue_say(page, " %s is better by more than " PERCENT " (%.0f" NB "%%).",
            claim->measured_only ? "None of the configurations measured" : "No configuration of the space",
            rue_prose_bound_percent(claim->bound_ratio), 100 * claim->confidence);
    if (claim->prediction_error_ratio > 0)
        rue_say(page,
                " Predictions were off by %.1f" NB
                "times their own uncertainty: nothing is claimed about other configurations.",
                claim->prediction_error_ratio);
}

/* What the objective is about comes first, and its interval with it. */
static void say_regrets(struct rue_page *page, const struct rue_variant_findings *variant,
                        const struct rue_ranking_row *row)
{
    const struct rue_selection *selection = variant->selection;
    const struct rue_regret_interval *interval = &variant->interval;
    const char *model = variant->matrix->models[row->worst_model], *unit = NB "%";
    double mean = 100 * row->mean_regret_ratio, worst = 100 * row->max_regret_ratio;
    bool one = selection->model_count == 1, has_worst = rue_findings_has_worst(row);
    char over[64];
    snprintf(over, sizeof over, " %smean regret over %zu models", selection->weights ? "weighted " : "",
             selection->model_count);
    if (!one && selection->objective == RUE_OBJECTIVE_WORST) {
        rue_say(page, PERCENT " regret at worst%s%s", worst, has_worst ? ", of " : "",
                has_worst ? model : "");
        rue_say_interval(page, interval->confidence, 100 * interval->worst_low, 100 * interval->worst_high,
                         unit);
        rue_say(page, ", " PERCENT "%s", mean, over);
        return;
    }
    if (one)
        rue_say(page, PERCENT " regret%s%s", mean, variant->models_unnamed ? "" : " for ",
                variant->models_unnamed ? "" : model);
    else
        rue_say(page, PERCENT "%s", mean, over);
    rue_say_interval(page, interval->confidence, 100 * interval->mean_low, 100 * interval->mean_high, unit);
    if (!one && has_worst) rue_say(page, ", worst %s" NB PERCENT, model, worst);
}

/* Where that is limited: when it comes at the latest. */
static void say_first_batch(struct rue_page *page, const struct rue_variant_findings *variant)
{
    char text[RUE_UNIT_TEXT_BYTES];
    double latest = 0;
    if (!variant->matrix->first_limit_ns) return;
    for (size_t m = 0; m < variant->selection->model_count; m++)
        latest =
            fmax(latest,
                 rue_cost_matrix_cell(variant->matrix, m, variant->selection->recommended)->first_batch_ns);
    rue_say(page, "; its first batch comes within ");
    rue_say_unbroken(page, rue_format_duration((uint64_t)latest, text, sizeof text));
}

static void say_job(struct rue_page *page, uint64_t images)
{
    char count[RUE_UNIT_TEXT_BYTES];
    if (images)
        rue_say(page, "; job of %s" NB "image%s", rue_format_count(images, count, sizeof count),
                rue_prose_plural(images));
}

/* ---- beside what people use anyway ---- */

/* "1.31 times as fast as workers = CPUs, 32/4 (95 % CI 1.24 to 1.39)." */
static void say_ratio(struct rue_page *page, const struct rue_variant_findings *variant, size_t other,
                      const struct rue_speedup *gain, const char *as)
{
    const struct rue_ranking_row *rows = variant->selection->rows;
    const struct rue_ranking_row *one = &rows[other], *best = &rows[variant->selection->recommended];
    const char *from = !one->repeats || !best->repeats     ? ", predicted"
                       : one->predicted || best->predicted ? ", from trials cut short"
                                                           : "";
    rue_say(page, "%.2f" NB "times as fast", gain->ratio);
    if (variant->goal != RUE_GOAL_TIME) rue_say(page, " in %s", rue_goal_words[variant->goal]);
    rue_say(page, "%s%s (%.3g" NB "%%" NB "CI %.2f" NB "to" NB "%.2f%s).", as[0] ? " as " : "", as,
            100 * gain->confidence, gain->low, gain->high, from);
}

enum { NAME_BYTES = RUE_CONFIG_TEXT_BYTES + 64 };

/* "PyTorch's default, 32/0" */
static const char *name_baseline(const struct rue_variant_findings *variant,
                                 const struct rue_baseline_row *row, char out[NAME_BYTES])
{
    char label[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(&variant->matrix->configs[row->config], label);
    snprintf(out, NAME_BYTES, "%s, %s", row->name, label);
    return out;
}

/* Why a baseline cannot be compared: it does not run on a model. False where it was not measured alone. */
static bool say_missed_baseline(struct rue_page *page, const struct rue_variant_findings *variant,
                                const struct rue_baseline_row *row, const char *name)
{
    size_t model = rue_findings_first_miss(variant, row->config);
    if (model == RUE_NONE) return false;
    const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, model, row->config);
    if (cell->state == RUE_CELL_MISSING) return false;
    rue_say(page, " It was not compared with %s, which %s for %s%s%s.", name,
            cell->state == RUE_CELL_INFEASIBLE ? "is infeasible" : "failed", variant->matrix->models[model],
            cell->reason[0] ? ": " : "", cell->reason);
    return true;
}

/* False where nothing is known of it. */
static bool say_baseline(struct rue_page *page, const struct rue_variant_findings *variant,
                         const struct rue_baseline_row *row)
{
    const struct rue_baseline_findings *baselines = &variant->baselines;
    bool recommended = row->config == variant->selection->recommended;
    char name[NAME_BYTES], found[RUE_CONFIG_TEXT_BYTES];
    name_baseline(variant, row, name);
    if (recommended && baselines->found == row->config) {
        rue_say(page, " It is the same as %s.", name);
    } else if (recommended) {
        rue_config_label(&variant->matrix->configs[baselines->found], found);
        rue_say(page,
                " The recommendation stays %s: the best is %s, which is not proven to be faster; it is ",
                name, found);
        say_ratio(page, variant, baselines->found, &baselines->found_gain, "");
    } else if (row->gain.confidence == 0) {
        return say_missed_baseline(page, variant, row, name);
    } else if (rue_speedup_is_proven(&row->gain)) {
        rue_say(page, " It is ");
        say_ratio(page, variant, row->config, &row->gain, name);
    } else {
        rue_say(page, " It is not proven to be faster than %s: it is ", name);
        say_ratio(page, variant, row->config, &row->gain, "");
    }
    return true;
}

static void say_baselines(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_baseline_findings *baselines = &variant->baselines;
    char name[NAME_BYTES];
    size_t unmeasured = 0;
    const struct rue_baseline_row *rows[RUE_BASELINES_MAX];
    if (variant->selection->recommended == RUE_NONE) return;
    for (size_t i = 0; i < baselines->count; i++)
        if (!say_baseline(page, variant, &baselines->rows[i])) rows[unmeasured++] = &baselines->rows[i];
    for (size_t i = 0; i < unmeasured; i++)
        rue_say(page, "%s%s", i ? " and " : " The budget has no room for whole jobs of ",
                name_baseline(variant, rows[i], name));
    if (unmeasured) rue_say(page, ": what is gained over %s is not known.", unmeasured > 1 ? "them" : "it");
}

void rue_verdict_use(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    if (selection->recommended == RUE_NONE) {
        rue_say(page, "No configuration could be recommended for ");
        rue_say_variant(page, findings, variant);
        rue_say(page, " data: ");
        rue_verdict_why_none(page, variant);
        rue_say(page, ".");
        return;
    }
    const struct rue_ranking_row *row = &selection->rows[selection->recommended];
    rue_say(page, findings->run.partial ? "So far: use " : "Use ");
    rue_say_config(page, &variant->matrix->configs[selection->recommended]);
    if (variant->job.gpus > 1) rue_say(page, " on each of %" PRIu64 NB "GPUs", variant->job.gpus);
    rue_say(page, " for ");
    rue_say_variant(page, findings, variant);
    rue_say(page, " data: ");
    say_regrets(page, variant, row);
    if (variant->goal != RUE_GOAL_TIME) rue_say(page, " in %s", rue_goal_words[variant->goal]);
    if (findings->run.partial && selection->ranked_count < selection->config_count)
        rue_say(page, ", among %zu of %zu configurations", selection->ranked_count, selection->config_count);
    if (row->predicted) rue_say(page, ", predicted from trials that were cut short");
    say_job(page, variant->job.images);
    say_first_batch(page, variant);
    say_missed_repeats(page, variant);
    if (findings->runner.consumer[0])
        rue_say(page, "; inference as on %s.", findings->runner.consumer);
    else if (strcmp(findings->runner.measured_with, "imported") == 0)
        rue_say(page, ".");
    else
        rue_say(page, "; it is not known which device the consumer stands for.");
    say_claim(page, &variant->claim);
    if (rue_findings_is_doubtful(findings))
        rue_say(page, " Low" NB "confidence: the machine was busy with something else.");
    say_baselines(page, variant);
}

void rue_verdict_overall(struct rue_page *page, const struct rue_overall *overall)
{
    const struct rue_selection *selection = overall->selection;
    bool all = strcmp(overall->over, "all") == 0;
    if (overall->best == RUE_NONE) return;
    const struct rue_ranking_row *row = &selection->rows[overall->best];
    rue_say(page, "One configuration for all %zu %s%svariants%s: ", overall->part_count,
            all ? "" : overall->over, all ? "" : " ",
            overall->best == selection->recommended ? "" : ", predicted and not measured on every model");
    rue_say_config(page, &overall->matrix->configs[overall->best]);
    rue_say(page, ": " PERCENT " mean regret over %zu scenarios, worst " PERCENT " (",
            100 * row->mean_regret_ratio, selection->model_count, 100 * row->max_regret_ratio);
    for (size_t p = 0; p < overall->part_count; p++)
        rue_say(page, "%s%s " PERCENT, p ? ", " : "", overall->parts[p].name,
                100 * overall->parts[p].mean_regret_ratio);
    rue_say(page, ").");
    const struct rue_variant_findings joined = {.matrix = overall->matrix,
                                                .selection = selection,
                                                .goal = overall->goal,
                                                .baselines = overall->baselines};
    say_baselines(page, &joined);
}

/* ---- beside raw data ---- */

/* Storage and the time of converting, where they are known. */
static void say_price(struct rue_page *page, const struct rue_comparison *comparison)
{
    const struct rue_variant_findings *raw = comparison->before, *preprocessed = comparison->after;
    char a[RUE_UNIT_TEXT_BYTES], b[RUE_UNIT_TEXT_BYTES];
    double images = (double)raw->data.images;
    if (raw->data.bytes && preprocessed->data.bytes && raw->data.images && preprocessed->data.images) {
        double bytes = (double)preprocessed->data.bytes / (double)preprocessed->data.images * images;
        rue_say(page, " They take ");
        rue_say_unbroken(page, rue_format_bytes((uint64_t)bytes, a, sizeof a));
        rue_say(page, " on the disk instead of ");
        rue_say_unbroken(page, rue_format_bytes(raw->data.bytes, b, sizeof b));
        rue_say(page, ".");
    }
    double build_ns = preprocessed->data.build_s_per_image * images * (double)RUE_NS_PER_S;
    if (!(build_ns >= 1) || build_ns > 1e18) return;
    rue_say(page, " Converting all %s images takes about ", rue_format_count(raw->data.images, a, sizeof a));
    rue_say_unbroken(page, rue_format_duration((uint64_t)build_ns, b, sizeof b));
    struct rue_payback payback =
        rue_comparison_payback(comparison, &comparison->saving, comparison->mean_speedup_ratio);
    if (payback.epochs < 1e9) {
        rue_say(page, ", which pays off ");
        rue_say_payback(page, payback.epochs, payback.confidence, payback.low, payback.high);
    }
    rue_say(page, ".");
}

void rue_verdict_comparison(struct rue_page *page, const struct rue_comparison *comparison)
{
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < comparison->row_count; i++) {
        least = fmin(least, comparison->rows[i].speedup_ratio);
        most = fmax(most, comparison->rows[i].speedup_ratio);
    }
    rue_say(page, "Preprocessed data make the job %.2f times as fast", comparison->mean_speedup_ratio);
    if (comparison->row_count > 1)
        rue_say(page, " on average (geometric mean over %zu models, from %.2f to %.2f)",
                comparison->row_count, least, most);
    rue_say(page, ".");
    say_price(page, comparison);
}

void rue_verdict_loader(struct rue_page *page, const struct rue_findings *findings)
{
    bool own = strcmp(findings->runner.measured_with, "rue") == 0;
    if (own)
        rue_say(page, "Measured with rue's own loader, whose workers are threads; PyTorch's are processes, "
                      "so its best num_workers can differ.");
    if (findings->variant_count && findings->variants[0].replayed.table_s > 0)
        rue_say(page, "The times are those of a table.");
    else if (findings->runner.virtual_clock)
        rue_say(page, "%sThe times are those of a simulated machine.", own ? " " : "");
}

void rue_verdict_partial(struct rue_page *page, const struct rue_findings *findings)
{
    const char *why = findings->run.partial_reason;
    if (findings->run.partial) rue_say(page, "Partial results: %s.", why[0] ? why : "the run ended early");
}
