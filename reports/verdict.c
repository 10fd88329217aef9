#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "baseline_words.h"
#include "misses.h"
#include "prose.h"
#include "units.h"
#include "utf8.h"

#define NB      RUE_NO_BREAK
#define PERCENT RUE_PROSE_PERCENT

enum { NAMED = 3, REASON_COLUMNS = 100 };

static void say_job(struct rue_prose *prose, uint64_t images)
{
    char count[RUE_UNIT_TEXT_BYTES];
    rue_prose_say(prose, "job of %s" NB "image%s", rue_format_count(images, count, sizeof count),
                  rue_prose_plural(images));
}

static rue_status say_nothing_ranked(struct rue_prose *prose, const struct rue_findings *findings,
                                     const struct rue_variant_findings *variant, bool unicode,
                                     rue_error *error)
{
    struct rue_misses misses;
    rue_status status = rue_misses_count(variant->matrix, &misses, error);
    if (status != RUE_OK) return status;
    char why[1024], clean[1024];
    rue_misses_explain(&misses, why, sizeof why);
    rue_utf8_clean(why, unicode, clean, sizeof clean);
    rue_prose_say(prose, "No configuration could be recommended for ");
    rue_prose_say_variant(prose, findings, variant, unicode);
    rue_prose_say(prose, " data: %s.", clean);
    return RUE_OK;
}

static const char *missed_word(const struct rue_cell *cell)
{
    if (cell->infeasible == 0) return "failed";
    if (cell->infeasible < cell->missed) return "failed or were infeasible";
    return cell->missed == 1 ? "was infeasible" : "were infeasible";
}

/* Repeats of the recommended configuration that were not ok, of the model by name first: it may not be as
 * sound as its regret. */
static void say_missed(struct rue_prose *prose, const struct rue_variant_findings *variant, bool unicode)
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
    char name[RUE_PROSE_NAME_BYTES], clean[RUE_REASON_BYTES], reason[RUE_REASON_BYTES + 4];
    rue_utf8_clean(matrix->models[first], unicode, name, sizeof name);
    rue_utf8_clean(cell->reason, unicode, clean, sizeof clean);
    rue_utf8_shorten(clean, REASON_COLUMNS, unicode, reason, sizeof reason);
    rue_prose_say(prose, "; %zu" NB "of" NB "%zu repeats %s", cell->missed, cell->missed + cell->repeats,
                  missed_word(cell));
    if (reason[0]) rue_prose_say(prose, ": %s", reason);
    if (variant->selection->model_count > 1) rue_prose_say(prose, " (%s)", name);
    if (more) rue_prose_say(prose, ", and some of %zu more model%s", more, rue_prose_plural(more));
}

static void say_claim(struct rue_prose *prose, const struct rue_variant_findings *variant)
{
    if (variant->claim.confidence == 0) return;
    rue_prose_say(prose, " %s is better by more than " PERCENT " (%.0f" NB "%%).",
                  variant->claim.measured_only ? "None of the configurations measured"
                                               : "No configuration of the space",
                  rue_prose_bound_percent(variant->claim.bound_ratio), 100 * variant->claim.confidence);
    if (variant->claim.far_off_ratio > 0)
        rue_prose_say(prose,
                      " Predictions were off by %.1f" NB
                      "times their own uncertainty: nothing is claimed about other configurations.",
                      variant->claim.far_off_ratio);
}

/* " (95 % CI 1.4 to 2.7 %)" */
static void say_interval(struct rue_prose *prose, double confidence, double low, double high)
{
    char from[RUE_PROSE_END_BYTES], to[RUE_PROSE_END_BYTES];
    if (confidence == 0) return;
    rue_prose_end(100 * low, from);
    rue_prose_end(100 * high, to);
    rue_prose_say(prose, " (%.3g" NB "%%" NB "CI ", 100 * confidence);
    if (strcmp(from, to) != 0) rue_prose_say(prose, "%s" NB "to" NB, from);
    rue_prose_say(prose, "%s" NB "%%)", to);
}

/* What the objective is about comes first, and its interval with it. */
static void say_regrets(struct rue_prose *prose, const struct rue_variant_findings *variant,
                        const struct rue_ranking_row *row, const char *model)
{
    const struct rue_selection *selection = variant->selection;
    const struct rue_regret_interval *of = &variant->interval;
    const char *weighted = selection->weights ? "weighted " : "";
    double mean = 100 * row->mean_regret_ratio, worst = 100 * row->max_regret_ratio;
    if (selection->model_count == 1) {
        rue_prose_say(prose, PERCENT, mean);
        rue_prose_say(prose, variant->models_unnamed ? " regret" : " regret for %s", model);
        say_interval(prose, of->confidence, of->mean_low, of->mean_high);
    } else if (selection->objective == RUE_OBJECTIVE_WORST) {
        rue_prose_say(prose, PERCENT " regret at worst", worst);
        if (rue_findings_has_worst(row)) rue_prose_say(prose, ", of %s", model);
        say_interval(prose, of->confidence, of->worst_low, of->worst_high);
        rue_prose_say(prose, ", " PERCENT " %smean regret over %zu models", mean, weighted,
                      selection->model_count);
    } else {
        rue_prose_say(prose, PERCENT " %smean regret over %zu models", mean, weighted,
                      selection->model_count);
        say_interval(prose, of->confidence, of->mean_low, of->mean_high);
        if (rue_findings_has_worst(row)) rue_prose_say(prose, ", worst %s" NB PERCENT, model, worst);
    }
}

/* Where that is limited: when it comes at the latest. */
static void say_first_batch(struct rue_prose *prose, const struct rue_variant_findings *variant)
{
    char text[RUE_UNIT_TEXT_BYTES];
    double latest = 0;
    if (!variant->matrix->first_limit_ns) return;
    for (size_t m = 0; m < variant->selection->model_count; m++)
        latest =
            fmax(latest,
                 rue_cost_matrix_cell(variant->matrix, m, variant->selection->recommended)->first_batch_ns);
    rue_prose_say(prose, "; its first batch comes within ");
    rue_prose_say_unbroken(prose, rue_format_duration((uint64_t)latest, text, sizeof text));
}

rue_status rue_verdict_use(const struct rue_findings *findings, const struct rue_variant_findings *variant,
                           bool unicode, char *out, size_t bytes, rue_error *error)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    const struct rue_selection *selection = variant->selection;
    if (selection->recommended == RUE_NONE)
        return say_nothing_ranked(&prose, findings, variant, unicode, error);
    const struct rue_ranking_row *row = &selection->rows[selection->recommended];
    char model[RUE_PROSE_NAME_BYTES], consumer[RUE_PROSE_NAME_BYTES];
    rue_utf8_clean(variant->matrix->models[row->worst_model], unicode, model, sizeof model);
    rue_utf8_clean(findings->runner.consumer, unicode, consumer, sizeof consumer);
    rue_prose_say(&prose, findings->run.partial ? "So far: use " : "Use ");
    rue_prose_say_config(&prose, &variant->matrix->configs[selection->recommended]);
    if (variant->job.gpus > 1) rue_prose_say(&prose, " on each of %" PRIu64 NB "GPUs", variant->job.gpus);
    rue_prose_say(&prose, " for ");
    rue_prose_say_variant(&prose, findings, variant, unicode);
    rue_prose_say(&prose, " data: ");
    say_regrets(&prose, variant, row, model);
    if (variant->goal != RUE_GOAL_TIME) rue_prose_say(&prose, " in %s", rue_goal_words[variant->goal]);
    if (findings->run.partial && selection->ranked_count < selection->config_count)
        rue_prose_say(&prose, ", among %zu of %zu configurations", selection->ranked_count,
                      selection->config_count);
    if (row->predicted) rue_prose_say(&prose, ", predicted from trials that were cut short");
    if (variant->job.images) rue_prose_say(&prose, "; ");
    if (variant->job.images) say_job(&prose, variant->job.images);
    say_first_batch(&prose, variant);
    say_missed(&prose, variant, unicode);
    if (consumer[0])
        rue_prose_say(&prose, "; inference as on %s.", consumer);
    else if (strcmp(findings->runner.measured_with, "imported") == 0)
        rue_prose_say(&prose, ".");
    else
        rue_prose_say(&prose, "; it is not known which device the consumer stands for.");
    say_claim(&prose, variant);
    if (rue_findings_is_doubtful(findings))
        rue_prose_say(&prose, " Low" NB "confidence: the machine was busy with something else.");
    rue_baseline_words(variant, unicode, prose.out + prose.used, prose.bytes - prose.used);
    return RUE_OK;
}

void rue_verdict_overall(const struct rue_overall *overall, bool unicode, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    const struct rue_selection *selection = overall->selection;
    char name[PATH_MAX];
    bool all = strcmp(overall->over, "all") == 0;
    if (overall->best == RUE_NONE) return;
    const struct rue_ranking_row *row = &selection->rows[overall->best];
    rue_prose_say(&prose, "One configuration for all %zu %svariants%s: ", overall->part_count,
                  all                                 ? ""
                  : strcmp(overall->over, "raw") == 0 ? "raw "
                                                      : "preprocessed ",
                  overall->best == selection->recommended ? ""
                                                          : ", predicted and not measured on every model");
    rue_prose_say_config(&prose, &overall->matrix->configs[overall->best]);
    rue_prose_say(&prose, ": " PERCENT " mean regret over %zu scenarios, worst " PERCENT " (",
                  100 * row->mean_regret_ratio, selection->model_count, 100 * row->max_regret_ratio);
    for (size_t p = 0; p < overall->part_count; p++) {
        rue_utf8_clean(overall->parts[p].name, unicode, name, sizeof name);
        rue_prose_say(&prose, "%s%s " PERCENT, p ? ", " : "", name,
                      100 * overall->parts[p].mean_regret_ratio);
    }
    rue_prose_say(&prose, ").");
    const struct rue_variant_findings joined = {.matrix = overall->matrix,
                                                .selection = selection,
                                                .goal = overall->goal,
                                                .baselines = overall->baselines};
    rue_baseline_words(&joined, unicode, prose.out + prose.used, prose.bytes - prose.used);
}

/* "1.5 points more than 128/12", or that nothing has less. */
static void say_best(struct rue_prose *prose, const struct rue_replayed *replayed, bool worst)
{
    char best[RUE_CONFIG_TEXT_BYTES];
    double own = worst ? replayed->max_regret_ratio : replayed->mean_regret_ratio,
           least = worst ? replayed->best_max_regret_ratio : replayed->best_mean_regret_ratio;
    if (!replayed->knows_best || isnan(own)) {
        rue_prose_say(prose, "; the table lacks times of what is recommended.");
        return;
    }
    rue_config_label(&replayed->best, best);
    rue_prose_say(prose, "; by the whole table what is recommended has " PERCENT " %s regret", 100 * own,
                  worst ? "worst" : "mean");
    if (own > least)
        rue_prose_say(prose, ", %.2g points more than %s.", 100 * (own - least), best);
    else
        rue_prose_say(prose, ", and nothing has less.");
}

void rue_verdict_replayed(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    const struct rue_replayed *replayed = &variant->replayed;
    char spent[RUE_UNIT_TEXT_BYTES], whole[RUE_UNIT_TEXT_BYTES];
    if (!(replayed->table_s > 0)) return;
    rue_prose_say(&prose, "Spent " PERCENT " of the table's %s: %zu trial%s, %s",
                  100 * replayed->spent_s / replayed->table_s,
                  rue_format_duration((uint64_t)(replayed->table_s * 1e9), whole, sizeof whole),
                  replayed->trials, rue_prose_plural(replayed->trials),
                  rue_format_duration((uint64_t)(replayed->spent_s * 1e9), spent, sizeof spent));
    if (variant->selection->recommended == RUE_NONE)
        rue_prose_say(&prose, ".");
    else
        say_best(&prose, replayed, variant->selection->objective == RUE_OBJECTIVE_WORST);
}

void rue_verdict_replaced(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    uint64_t count = variant->trials.bad_images;
    if (count == 0) return;
    rue_prose_say(&prose,
                  "%" PRIu64 " image%s of a trial could not be decoded and %s replaced; trials.csv names %s.",
                  count, rue_prose_plural(count), count == 1 ? "was" : "were", count == 1 ? "it" : "one");
}

void rue_verdict_disturbed(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    uint64_t count = variant->trials.disturbed;
    if (count == 0) return;
    rue_prose_say(&prose, "%" PRIu64 " of %zu trials %s disturbed and count%s little; trials.csv marks %s.",
                  count, variant->trials.ok, count == 1 ? "was" : "were", count == 1 ? "s" : "",
                  count == 1 ? "it" : "them");
}

void rue_verdict_cache(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    uint64_t count = variant->trials.cache_missed;
    if (count == 0) return;
    rue_prose_say(&prose,
                  "%" PRIu64
                  " of %zu trials %s not read from where --cache says, also when repeated; trials.csv "
                  "marks %s (cache_missed) and says why.",
                  count, variant->trials.ok, count == 1 ? "was" : "were", count == 1 ? "it" : "them");
}

void rue_verdict_late(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    const double that_matters = 0.01;
    struct rue_prose prose = rue_prose_start(out, bytes);
    double late = rue_findings_late_ratio(variant);
    if (!(late > that_matters)) return;
    rue_prose_say(&prose,
                  "Simulated models took " PERCENT
                  " longer: the machine was busy ('rue models --null-test' tests it).",
                  100 * late);
}

/* The selection rules recommend nothing else that is not the first: see selection.h. */
void rue_verdict_above(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    const struct rue_selection *selection = variant->selection;
    size_t above = 0;
    char best[RUE_CONFIG_TEXT_BYTES], own[RUE_CONFIG_TEXT_BYTES], more[32] = "";
    if (selection->recommended == RUE_NONE) return;
    size_t measured = variant->baselines.count ? variant->baselines.found : selection->recommended;
    while (selection->ranked[above] != measured) above++;
    if (above == 0) return;
    rue_config_label(&variant->matrix->configs[selection->ranked[0]], best);
    rue_config_label(&variant->matrix->configs[measured], own);
    if (above > 1) snprintf(more, sizeof more, " and %zu more", above - 1);
    rue_prose_say(&prose,
                  "%s%s %s better than %s as predicted, but %s not measured on every model: only a "
                  "configuration that was can be recommended.",
                  best, more, above == 1 ? "is" : "are", own, above == 1 ? "was" : "were");
}

void rue_verdict_votes(const struct rue_variant_findings *variant, bool unicode, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    const struct rue_selection *selection = variant->selection;
    if (selection->recommended == RUE_NONE || selection->top_n_winner == selection->recommended) return;
    const struct rue_ranking_row *winner = &selection->rows[selection->top_n_winner];
    const struct rue_ranking_row *best = &selection->rows[selection->recommended];
    char model[RUE_PROSE_NAME_BYTES];
    rue_utf8_clean(variant->matrix->models[winner->worst_model], unicode, model, sizeof model);
    rue_prose_say(&prose, "The votes disagree: ");
    rue_prose_say_config(&prose, &variant->matrix->configs[selection->top_n_winner]);
    if (selection->top_n == 1)
        rue_prose_say(&prose, " is the fastest");
    else
        rue_prose_say(&prose, " is among the %zu fastest", selection->top_n);
    rue_prose_say(&prose, " for %zu" NB "of" NB "%zu models, the recommended one for %zu. ",
                  winner->top_n_count, selection->model_count, best->top_n_count);
    rue_prose_say(&prose, "A vote does not tell by how much one is slower: ");
    if (selection->objective == RUE_OBJECTIVE_WORST)
        rue_prose_say(&prose, "at worst it costs " PERCENT " (%s) instead of " PERCENT ".",
                      100 * winner->max_regret_ratio, model, 100 * best->max_regret_ratio);
    else
        rue_prose_say(&prose,
                      "on average it costs " PERCENT " instead of " PERCENT ", and up to " PERCENT " (%s).",
                      100 * winner->mean_regret_ratio, 100 * best->mean_regret_ratio,
                      100 * winner->max_regret_ratio, model);
}

/* To two figures: it is a prediction. */
static uint64_t about(uint64_t images)
{
    uint64_t unit = 1;
    while (images / unit >= 100) unit *= 10;
    return (images + unit / 2) / unit * unit;
}

static void say_other_length(struct rue_prose *prose, const struct rue_variant_findings *variant,
                             size_t index, const char *from, uint64_t images, const char *on)
{
    char label[RUE_CONFIG_TEXT_BYTES], text[RUE_UNIT_TEXT_BYTES];
    rue_config_label(&variant->matrix->configs[variant->lengths.at[index].config], label);
    rue_prose_say(prose, "%s" NB "%s" NB "images%s %s is better", from,
                  rue_format_count(about(images), text, sizeof text), on, label);
}

void rue_verdict_lengths(const struct rue_variant_findings *variant, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    const struct rue_job_lengths *lengths = &variant->lengths;
    size_t own = 0;
    if (lengths->count < 2) return;
    while (own + 1 < lengths->count && lengths->at[own].to_images < variant->job.images) own++;
    bool shorter = own > 0, longer = own + 1 < lengths->count;
    rue_prose_say(&prose, "Jobs of other lengths, as predicted: ");
    if (shorter) say_other_length(&prose, variant, own - 1, "below", lengths->at[own].from_images, "");
    if (shorter && longer) rue_prose_say(&prose, ", ");
    if (longer) say_other_length(&prose, variant, own + 1, "from", lengths->at[own + 1].from_images, " on");
    rue_prose_say(&prose, lengths->count > 1 + (size_t)shorter + (size_t)longer
                              ? "; recommendation.json has more, by_job_images."
                              : ".");
}

static void say_miss(struct rue_prose *prose, const struct rue_variant_findings *variant, size_t config,
                     size_t model, bool unicode)
{
    const struct rue_cell *cell = rue_cost_matrix_cell(variant->matrix, model, config);
    char label[RUE_CONFIG_TEXT_BYTES], name[RUE_PROSE_NAME_BYTES], clean[RUE_REASON_BYTES],
        reason[RUE_REASON_BYTES + 4];
    rue_config_label(&variant->matrix->configs[config], label);
    rue_utf8_clean(variant->matrix->models[model], unicode, name, sizeof name);
    rue_utf8_clean(cell->reason, unicode, clean, sizeof clean);
    rue_utf8_shorten(clean, REASON_COLUMNS, unicode, reason, sizeof reason);
    rue_prose_say(prose, "%s %s", label, cell->state == RUE_CELL_INFEASIBLE ? "is infeasible" : "failed");
    if (!variant->models_unnamed) rue_prose_say(prose, " for %s", name);
    if (reason[0]) rue_prose_say(prose, " (%s)", reason);
}

void rue_verdict_unranked(const struct rue_variant_findings *variant, bool unicode, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    const struct rue_selection *selection = variant->selection;
    size_t unranked = selection->config_count - selection->ranked_count, named = 0, unmeasured = 0;
    if (unranked == 0 || selection->ranked_count == 0) return;
    bool limited = variant->matrix->first_limit_ns;
    rue_prose_say(&prose, "Left out, as not every model has run with them%s: %zu of %zu configurations",
                  limited ? " within the limits" : "", unranked, selection->config_count);
    for (size_t c = 0; c < selection->config_count; c++) {
        if (selection->rows[c].ranked) continue;
        size_t model = rue_findings_first_miss(variant, c);
        if (model == RUE_NONE || rue_cost_matrix_cell(variant->matrix, model, c)->state == RUE_CELL_MISSING) {
            unmeasured++;
            continue;
        }
        if (named++ >= NAMED) continue;
        rue_prose_say(&prose, "; ");
        say_miss(&prose, variant, c, model, unicode);
    }
    if (named > NAMED) rue_prose_say(&prose, "; %zu more are infeasible or failed", named - NAMED);
    if (unmeasured) rue_prose_say(&prose, "; %zu not measured on every model", unmeasured);
    rue_prose_say(&prose, ".");
}

/* Storage and the time of converting, where they are known. */
static void say_price(struct rue_prose *prose, const struct rue_comparison *comparison)
{
    const struct rue_variant_findings *raw = comparison->raw, *preprocessed = comparison->preprocessed;
    char a[RUE_UNIT_TEXT_BYTES], b[RUE_UNIT_TEXT_BYTES];
    double images = (double)raw->data.images;
    if (raw->data.bytes && preprocessed->data.bytes && raw->data.images && preprocessed->data.images) {
        double bytes = (double)preprocessed->data.bytes / (double)preprocessed->data.images * images;
        rue_prose_say(prose, " They take ");
        rue_prose_say_unbroken(prose, rue_format_bytes((uint64_t)bytes, a, sizeof a));
        rue_prose_say(prose, " on the disk instead of ");
        rue_prose_say_unbroken(prose, rue_format_bytes(raw->data.bytes, b, sizeof b));
        rue_prose_say(prose, ".");
    }
    double build_ns = preprocessed->data.build_s_per_image * images * (double)RUE_NS_PER_S;
    if (!(build_ns >= 1) || build_ns > 1e18) return;
    rue_prose_say(prose, " Converting all %s images takes about ",
                  rue_format_count(raw->data.images, a, sizeof a));
    rue_prose_say_unbroken(prose, rue_format_duration((uint64_t)build_ns, b, sizeof b));
    double image_jobs = build_ns / (double)raw->job.images; /* over what an image saves: the jobs */
    double jobs = image_jobs / comparison->saved_ns_per_image;
    if (comparison->saved_ns_per_image > 0 && jobs < 1e9) {
        const struct rue_saving_interval *saved = &comparison->saved;
        rue_prose_say(prose, ", which pays off ");
        rue_prose_say_payback(prose, jobs, saved->confidence > 0, "job");
        if (saved->confidence > 0)
            rue_prose_say_payback_interval(prose, saved->confidence, image_jobs / saved->high_ns,
                                           saved->low_ns > 0 ? image_jobs / saved->low_ns : INFINITY);
    }
    rue_prose_say(prose, ".");
}

void rue_verdict_comparison(const struct rue_comparison *comparison, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < comparison->row_count; i++) {
        least = fmin(least, comparison->rows[i].speedup_ratio);
        most = fmax(most, comparison->rows[i].speedup_ratio);
    }
    rue_prose_say(&prose, "Preprocessed data make the job %.2f times as fast",
                  comparison->mean_speedup_ratio);
    if (comparison->row_count > 1)
        rue_prose_say(&prose, " on average (geometric mean over %zu models, from %.2f to %.2f)",
                      comparison->row_count, least, most);
    rue_prose_say(&prose, ".");
    say_price(&prose, comparison);
}

void rue_verdict_loader(const struct rue_findings *findings, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    if (strcmp(findings->runner.measured_with, "rue") == 0)
        rue_prose_say(
            &prose,
            "Measured with rue's own loader, whose workers are threads; PyTorch's are processes, so its best "
            "num_workers can differ.");
    if (findings->variant_count && findings->variants[0].replayed.table_s > 0)
        rue_prose_say(&prose, "The times are those of a table.");
    else if (findings->runner.virtual_clock)
        rue_prose_say(&prose, "%sThe times are those of a simulated machine.", prose.used ? " " : "");
}

void rue_verdict_partial(const struct rue_findings *findings, bool unicode, char *out, size_t bytes)
{
    struct rue_prose prose = rue_prose_start(out, bytes);
    if (!findings->run.partial) return;
    char why[RUE_PROSE_NAME_BYTES];
    rue_utf8_clean(findings->run.partial_reason, unicode, why, sizeof why);
    rue_prose_say(&prose, "Partial results: %s.", why[0] ? why : "the run ended early");
}
