#include "verdict.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prose.h"
#include "units.h"

#define NB      RUE_NO_BREAK
#define PERCENT RUE_PROSE_PERCENT

void rue_verdict_why_none(struct rue_page *page, const struct rue_variant_findings *variant)
{
    static const char *const words[][2] = {[RUE_CELL_MISSING] = {"was not measured", "were not measured"},
                                           [RUE_CELL_FAILED] = {"failed", "failed"},
                                           [RUE_CELL_INFEASIBLE] = {"is infeasible", "are infeasible"}};
    const struct rue_cost_matrix *matrix = variant->matrix;
    size_t configs = matrix->config_count, cells = matrix->model_count * configs,
           counts[RUE_CELL_OK + 1] = {0}, lead = 0, equal = 0;
    const char *reason = "", *comma = ""; /* the reason of most cells, if there is one; else any */
    for (size_t i = 0; i < cells; i++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(matrix, i / configs, i % configs);
        counts[cell->state]++;
        if (cell->state == RUE_CELL_OK || !cell->reason[0]) continue;
        if (lead == 0) reason = cell->reason;
        lead += strcmp(reason, cell->reason) == 0 ? 1 : -1;
    }
    bool unused = counts[RUE_CELL_MISSING] == cells && variant->trials.ok;
    rue_say(page, unused ? "the run ended before it could use the stored trials"
                         : "no configuration was measured on every model");
    if (counts[RUE_CELL_OK] < cells && !unused) /* if all cells are ok, the times are predictions */
        rue_say(page, ": of %zu cell%s (a model with a configuration) ", cells, rue_prose_plural(cells));
    for (int state = RUE_CELL_OK; state-- > 0;) {
        if (counts[state] == 0 || unused) continue;
        rue_say(page, "%s%zu %s", comma, counts[state], words[state][counts[state] > 1]);
        comma = ", ";
    }
    for (size_t i = 0; i < cells; i++)
        equal += strcmp(rue_cost_matrix_cell(matrix, i / configs, i % configs)->reason, reason) == 0;
    if (reason[0]) rue_say(page, "; reason of %zu cell%s: %s", equal, rue_prose_plural(equal), reason);
}

/* ---- the recommended configuration ---- */

static void say_regrets(struct rue_page *page, const struct rue_variant_findings *variant,
                        const struct rue_ranking_row *row)
{
    const struct rue_selection *selection = variant->selection;
    const struct rue_regret_interval *interval = &variant->interval;
    const char *model = variant->matrix->models[row->worst_model], *unit = NB "%";
    double mean = 100 * row->mean_regret_ratio, worst = 100 * row->max_regret_ratio;
    if (selection->config_count == 1) return rue_say(page, "the only configuration, so nothing was compared");
    bool by_worst = selection->objective == RUE_OBJECTIVE_WORST, has_worst = rue_findings_has_worst(row);
    if (selection->model_count == 1) {
        bool alone = strcmp(model, "none") == 0; /* batches are loaded and not consumed */
        rue_say(page, PERCENT " regret%s%s", mean,
                variant->models_unnamed ? ""
                : alone                 ? " without a model"
                                        : " for ",
                variant->models_unnamed || alone ? "" : model);
        rue_say_interval(page, interval->confidence, 100 * interval->mean_low, 100 * interval->mean_high,
                         unit);
        return;
    }
    if (by_worst) {
        rue_say(page, "worst model " PERCENT " regret", worst);
        rue_say_interval(page, interval->confidence, 100 * interval->worst_low, 100 * interval->worst_high,
                         unit);
        rue_say(page, "%s%s, ", has_worst ? " for " : "", has_worst ? model : "");
    }
    rue_say(page, PERCENT " %smean regret over %zu models", mean, selection->weights ? "weighted " : "",
            selection->model_count);
    if (by_worst) return;
    rue_say_interval(page, interval->confidence, 100 * interval->mean_low, 100 * interval->mean_high, unit);
    if (has_worst) rue_say(page, ", worst model" NB PERCENT " (%s)", worst, model);
}

static void say_first_batch(struct rue_page *page, const struct rue_variant_findings *variant)
{
    char text[RUE_UNIT_TEXT_BYTES];
    double latest = 0;
    if (!variant->matrix->first_limit_ns) return;
    for (size_t m = 0; m < variant->selection->model_count; m++)
        latest =
            fmax(latest,
                 rue_cost_matrix_cell(variant->matrix, m, variant->selection->recommended)->first_batch_ns);
    rue_say(page, "; the first batch arrives within ");
    rue_say_unbroken(page, rue_format_duration((uint64_t)latest, text, sizeof text));
}

void rue_verdict_data(struct rue_page *page, const struct rue_findings *findings,
                      const struct rue_variant_findings *variant)
{
    if (!findings || rue_findings_is_only(findings, variant)) return;
    rue_say(page, " for ");
    rue_say_variant(page, findings, variant);
    rue_say(page, " data");
}

const char *rue_verdict_lead(const struct rue_findings *findings, const struct rue_variant_findings *variant)
{
    if (!rue_findings_is_decided(findings, variant))
        return rue_findings_is_unsteady(findings) ? "Best so far: " : "Not decided. Best so far: ";
    return findings->run.partial ? "So far: use " : "Use ";
}

void rue_verdict_use(struct rue_page *page, const struct rue_findings *findings,
                     const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    if (selection->recommended == RUE_NONE) {
        rue_say(page, "No configuration could be recommended");
        rue_verdict_data(page, findings, variant);
        rue_say(page, ": ");
        rue_verdict_why_none(page, variant);
        rue_say(page, ".");
        return;
    }
    const struct rue_ranking_row *row = &selection->rows[selection->recommended];
    enum rue_basis basis = rue_findings_basis(row);
    rue_say(page, "%s", rue_verdict_lead(findings, variant));
    rue_say_recommended(page, variant);
    char loaders[RUE_DEPLOYMENT_TEXT_BYTES];
    if (rue_deployment_loaders(&variant->job.deployment) > 1)
        rue_say(page, "%s", rue_deployment_say(&variant->job.deployment, NULL, NB, loaders));
    rue_verdict_data(page, findings, variant);
    rue_say(page, ": ");
    say_regrets(page, variant, row);
    if (variant->goal != RUE_GOAL_TIME) rue_say(page, " in %s", rue_goal_words[variant->goal]);
    if (findings->run.partial && selection->ranked_count < selection->config_count)
        rue_say(page, ", among %zu of %zu configurations", selection->ranked_count, selection->config_count);
    if (basis == RUE_BASIS_TRUNCATED) rue_say(page, ", estimated from runs shorter than the job");
    if (basis == RUE_BASIS_PREDICTED) rue_say(page, ", as predicted");
    say_first_batch(page, variant);
    rue_say(page, ".");
    if (basis == RUE_BASIS_PREDICTED)
        rue_say(page, " It was not measured on every model: confirm it with a larger budget.");
}

void rue_verdict_confidence(struct rue_page *page, const struct rue_findings *findings)
{
    const char *const causes[][2] = {{"before the first trial", findings->changes.busy_before},
                                     {"after the last trial", findings->changes.busy_after},
                                     {"over all trials", findings->changes.disturbance}};
    const char *separator = "Low" NB "confidence, because the machine was busy: ";
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        if (!causes[i][1][0]) continue;
        rue_say(page, "%s%s, %s", separator, causes[i][0], causes[i][1]);
        separator = "; ";
    }
    if (separator[0] == ';') rue_say(page, ". Intervals and bounds do not cover this.");
}

void rue_verdict_overall(struct rue_page *page, const struct rue_overall *overall)
{
    const struct rue_selection *selection = overall->selection;
    bool every_mode = strcmp(overall->scope, "all") == 0;
    if (selection->recommended == RUE_NONE) return;
    const struct rue_ranking_row *row = &selection->rows[selection->recommended];
    rue_say(page, "One configuration for ");
    if (overall->part_count == 2)
        rue_say(page, "both ");
    else
        rue_say(page, "all %zu ", overall->part_count);
    rue_say(page, "%s%svariants: ", every_mode ? "" : overall->scope, every_mode ? "" : " ");
    rue_say_config(page, &overall->matrix->configs[selection->recommended]);
    rue_say(page, ", with " PERCENT " mean regret (", 100 * row->mean_regret_ratio);
    for (size_t p = 0; p < overall->part_count; p++)
        rue_say(page, "%s%s " PERCENT, p ? ", " : "", overall->parts[p].name,
                100 * overall->parts[p].mean_regret_ratio);
    rue_say(page, "), worst model " PERCENT ".", 100 * row->max_regret_ratio);
    if (rue_findings_basis(row) == RUE_BASIS_PREDICTED) rue_say(page, " This is predicted.");
}

/* ---- evidence for the recommendation ---- */

static void put_missed_repeats(struct rue_page *page, const struct rue_variant_findings *variant)
{
    const struct rue_cost_matrix *matrix = variant->matrix;
    size_t config = variant->selection->recommended, models = variant->selection->model_count, first = 0;
    while (first < models && rue_cost_matrix_cell(matrix, first, config)->missed == 0) first++;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    if (first == models) return;
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, first, config);
    rue_say(page, "Recommended configuration: %zu" NB "of" NB "%zu repeats gave no time", cell->missed,
            cell->missed + cell->repeats);
    rue_say_reason(page, ": ", cell->reason, "");
    if (models > 1) rue_say(page, " (%s)", matrix->models[first]);
    rue_say(page, ".");
}

static void put_claim(struct rue_page *page, const struct rue_variant_findings *variant, bool steady)
{
    const struct rue_claim_findings *claim = &variant->claim;
    size_t least, most;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_findings_repeats(variant, &least, &most);
    if (steady && claim->confidence == 0 && most == 1 && variant->selection->config_count > 1 &&
        !variant->label)
        rue_say(page, "One repeat, so the uncertainty is unknown (--repeats 3 shows it).");
    if (claim->confidence == 0) return;
    rue_say(page,
            "No other %sconfiguration is more than %.1f" NB "points better (%.3g" NB "%%" NB "confidence).",
            claim->measured_only ? "measured " : "", rue_findings_bound_percent(claim->bound_ratio),
            100 * claim->confidence);
    if (claim->prediction_error_ratio > 0)
        rue_say(page, " Predictions were unreliable, so this is only about measured configurations.");
}

enum { NAME_BYTES = RUE_CONFIG_TEXT_BYTES + 64 };

/* "PyTorch's default, 32/0" */
static const char *name_baseline(const struct rue_variant_findings *variant, const char *name, size_t config,
                                 char out[NAME_BYTES])
{
    char label[RUE_CONFIG_TEXT_BYTES];
    rue_config_label(&variant->matrix->configs[config], label);
    snprintf(out, NAME_BYTES, "%s, %s", name, label);
    return out;
}

/* "1.29 of at most 1.31 times as fast as workers = CPUs, 32/4 (95 % CI 1.24 to 1.34). ", or "(measured
 * once). " At most: `perfect_ratio` times more, with a perfect loader; 0: unknown. */
static void say_ratio(struct rue_page *page, const struct rue_variant_findings *variant, size_t other,
                      const struct rue_speedup *gain, double perfect_ratio, const char *baseline)
{
    const struct rue_ranking_row *rows = variant->selection->rows;
    const struct rue_ranking_row *row = &rows[other], *best = &rows[variant->selection->recommended];
    const char *basis = !row->repeats || !best->repeats     ? ", predicted"
                        : row->predicted || best->predicted ? ", from short runs"
                                                            : "";
    char times[RUE_UNIT_TEXT_BYTES], interval[RUE_GAIN_BYTES];
    rue_say(page, "%s" NB, rue_format_times(gain->ratio, times, sizeof times));
    if (perfect_ratio > 0)
        rue_say(page, "of at most" NB "%s" NB,
                rue_format_times(gain->ratio * perfect_ratio, times, sizeof times));
    rue_say(page, "times as fast%s%s", baseline[0] ? " as " : "", baseline);
    if (variant->goal != RUE_GOAL_TIME) rue_say(page, " in %s", rue_goal_words[variant->goal]);
    rue_say(page, " (%s%s). ", rue_prose_gain_interval(gain, interval), basis);
}

static void say_baseline(struct rue_page *page, const struct rue_variant_findings *variant,
                         const struct rue_baseline_row *row, double perfect_ratio, const char *subject)
{
    const struct rue_baseline_findings *baselines = &variant->baselines;
    bool recommended = row->config == variant->selection->recommended;
    char name[NAME_BYTES];
    name_baseline(variant, row->name, row->config, name);
    if (recommended && baselines->found == row->config) {
        rue_say(page, "%s is the same as %s. ", subject, row->name);
    } else if (recommended) {
        rue_say(page, "%s stays %s. ", subject, name);
        name_baseline(variant, "The best", baselines->found, name);
        const char *judged = rue_prose_judge_gain(&baselines->found_gain); /* "" if measured once */
        rue_say(page, "%s, is %s: it is ", name, judged[0] ? judged : "not proven to be faster");
        say_ratio(page, variant, baselines->found, &baselines->found_gain, 0, "");
    } else if (!(row->gain.ratio > 0)) {
        rue_say(page, "%s was not compared with %s, which was not measured on every model. ", subject, name);
    } else if (rue_speedup_is_proven(&row->gain) || !(row->gain.confidence > 0)) {
        rue_say(page, "%s is ", subject);
        say_ratio(page, variant, row->config, &row->gain, perfect_ratio, name);
    } else {
        bool better =
            rue_selection_is_better(variant->selection, variant->selection->recommended, row->config);
        rue_say(page, "%s %sis %s than %s: it is ", subject, better ? "has less regret, but " : "",
                rue_prose_judge_gain(&row->gain), name);
        say_ratio(page, variant, row->config, &row->gain, perfect_ratio, "");
    }
}

static void put_baselines(struct rue_page *page, const struct rue_variant_findings *variant,
                          const struct rue_waiting *waiting)
{
    bool known = waiting->models == variant->selection->model_count;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    for (size_t i = 0; i < variant->baselines.count; i++)
        say_baseline(page, variant, &variant->baselines.rows[i], known ? waiting->perfect_ratio : 0,
                     i ? "It" : "The recommendation");
}

void rue_verdict_evidence(struct rue_page *page, const struct rue_variant_findings *variant,
                          const struct rue_waiting *waiting, bool steady)
{
    put_missed_repeats(page, variant);
    if (steady) put_baselines(page, variant, waiting);
    put_claim(page, variant, steady);
}

void rue_verdict_partial(struct rue_page *page, const struct rue_findings *findings)
{
    const char *why = findings->run.partial_reason;
    char affected[RUE_WHY_NOT_BYTES];
    if (rue_findings_is_unsteady(findings))
        rue_say(page, "Not reliable: %s; %s.%s", rue_findings_say_affected(findings, affected),
                findings->run.accepts_busy ? "accepted by --accept-busy if it was measured on every model"
                                           : "run again when the machine is idle",
                findings->run.partial ? " " : "");
    if (findings->run.partial) rue_say(page, "Partial results: %s.", why[0] ? why : "the run ended early");
}
