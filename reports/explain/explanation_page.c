/* An explanation in words and tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "explanation.h"
#include "json_document.h"
#include "json_findings.h"
#include "prose.h"
#include "units.h"
#include "verdict.h"

#define PERCENT RUE_PROSE_PERCENT

static const char *const part_names[RUE_PART_COUNT] = {"starting", "waiting for data", "copying", "computing",
                                                       "shutting down"};

static const struct rue_config *config_at(const struct rue_explanation *explanation, size_t config)
{
    return &explanation->variant->matrix->configs[config];
}

static bool is_recommended(const struct rue_explanation *explanation)
{
    return explanation->config == explanation->variant->selection->recommended;
}

/* "mean regret", or "regret" of the only model. */
static const char *regret_words(const struct rue_explanation *explanation)
{
    const struct rue_selection *selection = explanation->variant->selection;
    if (selection->model_count == 1) return "regret";
    return selection->objective == RUE_OBJECTIVE_WORST ? "worst regret" : "mean regret";
}

static const char *on_average(const struct rue_explanation *explanation)
{
    return explanation->variant->matrix->model_count > 1 ? " on average" : "";
}

/* ---- against the best ---- */

static void say_unranked(struct rue_page *page, const struct rue_explanation *explanation)
{
    const struct rue_variant_findings *variant = explanation->variant;
    const struct rue_ranking_row *row = &variant->selection->rows[explanation->config];
    size_t model = rue_findings_first_miss(variant, explanation->config);
    rue_say_config(page, config_at(explanation, explanation->config));
    rue_say(page, " is not ranked: it ");
    rue_say(page, row->infeasible ? "is infeasible" : row->failed ? "failed" : "was not measured");
    if (model != RUE_NONE) {
        if (!variant->models_unnamed) rue_say(page, " on %s", variant->matrix->models[model]);
        rue_say_reason(page, ": ", rue_cost_matrix_cell(variant->matrix, model, explanation->config)->reason,
                       "");
    }
    rue_say(page, ".");
}

static void say_rank(struct rue_page *page, const struct rue_explanation *explanation)
{
    const struct rue_ranking_row *row = &explanation->variant->selection->rows[explanation->config];
    rue_say_config(page, config_at(explanation, explanation->config));
    rue_say(page, " has rank %zu of %zu and " PERCENT " %s%s.", explanation->rank,
            explanation->variant->selection->ranked_count, 100 * explanation->own_value,
            regret_words(explanation),
            rue_findings_basis(row) == RUE_BASIS_PREDICTED
                ? " (predicted: it was not measured on every model)"
                : "");
}

static void say_verdict(struct rue_page *page, const struct rue_explanation *explanation)
{
    const struct rue_variant_findings *variant = explanation->variant;
    bool recommended = is_recommended(explanation);
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    if (!explanation->rank) return say_unranked(page, explanation);
    rue_say_config(page, config_at(explanation, explanation->config));
    if (recommended) rue_say(page, " is the recommended configuration");
    if (explanation->other == RUE_NONE) return rue_say(page, recommended ? "." : " is the only ranked one.");
    char times[RUE_UNIT_TEXT_BYTES];
    rue_format_times(recommended ? 1 / explanation->loss.ratio : explanation->loss.ratio, times,
                     sizeof times);
    bool known = explanation->loss.ratio > 0;
    if (recommended) {
        bool first = explanation->rank == 1;
        rue_say(page, first ? ". The next best one is " : ". ");
        rue_say_config(page, config_at(explanation, explanation->other));
        if (!first) rue_say(page, " is predicted to be better, but it was not measured on every model");
        if (known)
            rue_say(page, "%s takes%s %s times as long", first ? ", which" : ". It", on_average(explanation),
                    times);
        return rue_say(page, ".");
    }
    if (known)
        rue_say(page, " takes%s %s times as long as ", on_average(explanation), times);
    else
        rue_say(page, " is not as good as ");
    rue_say_config(page, config_at(explanation, explanation->other));
    rue_say(page,
            variant->selection->recommended == RUE_NONE ? ", the best one." : ", which is recommended.");
}

/* Whether the difference is within noise. */
static void say_noise(struct rue_page *page, const struct rue_explanation *explanation)
{
    const struct rue_speedup *loss = &explanation->loss;
    if (!explanation->rank || explanation->other == RUE_NONE) return;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (loss->confidence == 0)
        return rue_say(page, "It is unknown whether the difference is within noise: %s.",
                       rue_findings_is_unsteady(explanation->findings) ? "the machine was not steady"
                                                                       : "times have no interval");
    bool within = loss->low <= 1 && loss->high >= 1, recommended = is_recommended(explanation);
    double low = recommended ? 1 / loss->high : loss->low, high = recommended ? 1 / loss->low : loss->high;
    if (explanation->noise_is_measured)
        rue_say(page, within ? "The difference is within noise" : "The difference is more than noise");
    else
        rue_say(
            page,
            "Noise is unknown: nothing was measured twice. If times vary by 4%s%%, as usual, the difference "
            "is %s",
            RUE_NO_BREAK, within ? "within noise" : "more than noise");
    char times[2][RUE_UNIT_TEXT_BYTES];
    rue_say(page, " (%s to %s times as long with %.3g" RUE_NO_BREAK "%% confidence).",
            rue_format_times(low, times[0], sizeof *times), rue_format_times(high, times[1], sizeof *times),
            100 * loss->confidence);
}

/* ---- parts ---- */

/* Waiting for data or copying, if it is not small: the model could run faster. Else the largest part. */
static size_t find_bound(const struct rue_job_parts *time)
{
    const double small_share = 0.1, *ns = time->ns;
    size_t largest = 0, waiting = ns[RUE_PART_COPY] > ns[RUE_PART_WAIT] ? RUE_PART_COPY : RUE_PART_WAIT;
    for (size_t i = 1; i < RUE_PART_COUNT; i++)
        if (ns[i] > ns[largest]) largest = i;
    return ns[waiting] < small_share * time->total_ns ? largest : waiting;
}

/* Says " 50 % of its time is computing, 43 % waiting for data": without parts below 0.5 %. */
static void say_shares(struct rue_page *page, const double shares[RUE_PART_COUNT])
{
    bool said[RUE_PART_COUNT] = {false};
    for (size_t i = 0; i < RUE_PART_COUNT; i++) {
        size_t largest = RUE_NONE;
        for (size_t j = 0; j < RUE_PART_COUNT; j++)
            if (!said[j] && shares[j] >= 0.005 && (largest == RUE_NONE || shares[j] > shares[largest]))
                largest = j;
        if (largest == RUE_NONE) return;
        said[largest] = true;
        rue_say(page, "%s%.0f" RUE_NO_BREAK "%%%s %s", i ? ", " : " ", 100 * shares[largest],
                i ? "" : " of its time is", part_names[largest]);
    }
}

static void say_no_parts(struct rue_page *page, const struct rue_explanation *explanation)
{
    const struct rue_variant_findings *variant = explanation->variant;
    if (variant->goal != RUE_GOAL_TIME)
        rue_say(page, "The study compares %s, so its parts are not compared.", rue_goal_words[variant->goal]);
    else if (variant->label)
        rue_say(page, "The times are those of a table, whole jobs only. Where the time goes is unknown.");
    else if (isfinite(explanation->models[0].own.total_ns))
        rue_say(page, "Where the time goes is unknown: the runner does not report the parts of a trial.");
    else
        rue_say(page, "Where the time goes is unknown: no trial of it ended, and the study has no forecast.");
}

/* Says "Loading bounds it" or "Loading bounds 3 models, computing 1": what bounds most models first. */
static void say_bounds(struct rue_page *page, const size_t counts[RUE_PART_COUNT], size_t models)
{
    static const char *const first[RUE_PART_COUNT] = {"The start", "Loading", "Copying", "Computing",
                                                      "The shut-down"},
                             *const further[RUE_PART_COUNT] = {"the start", "loading", "copying", "computing",
                                                               "the shut-down"};
    bool said[RUE_PART_COUNT] = {false};
    for (size_t left = models; left;) {
        size_t most = RUE_NONE;
        for (size_t i = 0; i < RUE_PART_COUNT; i++)
            if (!said[i] && (most == RUE_NONE || counts[i] > counts[most])) most = i;
        if (counts[most] == models) return rue_say(page, "%s bounds it", first[most]);
        if (left == models)
            rue_say(page, "%s bounds %zu model%s", first[most], counts[most], rue_prose_plural(counts[most]));
        else
            rue_say(page, ", %s %zu", further[most], counts[most]);
        said[most] = true;
        left -= counts[most];
    }
}

static void say_parts(struct rue_page *page, const struct rue_explanation *explanation)
{
    double shares[RUE_PART_COUNT] = {0};
    size_t known = 0, predicted = 0, bounds[RUE_PART_COUNT] = {0};
    for (size_t m = 0; m < explanation->variant->matrix->model_count; m++) {
        const struct rue_job_parts *own = &explanation->models[m].own;
        if (own->basis == RUE_PARTS_UNKNOWN) continue;
        for (size_t i = 0; i < RUE_PART_COUNT; i++) shares[i] += own->ns[i] / own->total_ns;
        bounds[find_bound(own)]++;
        known++;
        predicted += own->basis == RUE_PARTS_PREDICTED;
    }
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (!known) return say_no_parts(page, explanation);
    for (size_t i = 0; i < RUE_PART_COUNT; i++) shares[i] /= (double)known;
    say_bounds(page, bounds, known);
    rue_say(page, ":%s", on_average(explanation));
    say_shares(page, shares);
    rue_say(page, "%s.",
            predicted == known ? " (predicted)"
            : predicted        ? " (predicted for some models)"
                               : "");
}

/* In which part it loses. */
static void say_losses(struct rue_page *page, const struct rue_explanation *explanation)
{
    double losses[RUE_PART_COUNT] = {0}, total_ns = 0, gained_ns = 0;
    size_t known = 0;
    for (size_t m = 0; m < explanation->variant->matrix->model_count; m++) {
        const struct rue_explained_model *model = &explanation->models[m];
        if (model->own.basis == RUE_PARTS_UNKNOWN || model->other.basis == RUE_PARTS_UNKNOWN) continue;
        for (size_t i = 0; i < RUE_PART_COUNT; i++) losses[i] += model->own.ns[i] - model->other.ns[i];
        total_ns += model->own.total_ns - model->other.total_ns;
        known++;
    }
    if (!known || is_recommended(explanation) || total_ns <= 0) return;
    char text[RUE_UNIT_TEXT_BYTES];
    size_t worst = 0;
    for (size_t i = 0; i < RUE_PART_COUNT; i++) {
        if (losses[i] > losses[worst]) worst = i;
        gained_ns += fmax(0, -losses[i]);
    }
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "It loses ");
    rue_say_unbroken(page, rue_format_duration((uint64_t)(total_ns / (double)known), text, sizeof text));
    rue_say(page, "%s, mainly in %s (", known > 1 ? " on average" : "", part_names[worst]);
    rue_say_unbroken(page, rue_format_duration((uint64_t)(losses[worst] / (double)known), text, sizeof text));
    rue_say(page, ")");
    if (gained_ns > 0.05 * total_ns) {
        rue_say(page, "; other parts are ");
        rue_say_unbroken(page, rue_format_duration((uint64_t)(gained_ns / (double)known), text, sizeof text));
        rue_say(page, " shorter");
    }
    rue_say(page, ".");
}

static void put_model_parts(struct rue_page *page, const char *model, const struct rue_job_parts *own)
{
    static const char *const bounds[RUE_PART_COUNT] = {"start", "loading", "copying", "computing",
                                                       "shut-down"},
                             *const sources[] = {NULL, "measured", "predicted"};
    const struct rue_table_column row[] = {
        {"model", "model", .text = model},
        {"time_ns", "time", RUE_UNIT_DURATION, .number = own->total_ns},
    };
    const struct rue_table_column more[] = {
        {"bound", "bound by", .text = bounds[find_bound(own)]},
        {"source", "parts are", .text = sources[own->basis]},
    };
    struct rue_job_parts shown = *own;
    if (shown.ns[RUE_PART_COPY] == 0) shown.ns[RUE_PART_COPY] = NAN; /* nothing was copied to a device */
    rue_page_row(page, false, row, sizeof row / sizeof *row);
    rue_parts_put(page, shown.ns);
    rue_page_put(page, more, sizeof more / sizeof *more);
}

static void put_parts(struct rue_page *page, const struct rue_explanation *explanation)
{
    rue_page_table(page);
    for (size_t m = 0; m < explanation->variant->matrix->model_count; m++) {
        const struct rue_job_parts *own = &explanation->models[m].own;
        if (own->basis != RUE_PARTS_UNKNOWN)
            put_model_parts(page, explanation->variant->matrix->models[m], own);
    }
}

/* Adds the parts of the difference between two times: for people as shares of the other one. */
static void put_part_losses(struct rue_page *page, const struct rue_job_parts *own,
                            const struct rue_job_parts *other)
{
    static const struct {
        const char *key, *header;
        int drop;
    } parts[RUE_PART_COUNT] = {{"first_batch_difference_ns", "in the start", 2},
                               {"load_wait_difference_ns", "waiting", 2},
                               {"h2d_difference_ns", "copying", 1},
                               {"compute_difference_ns", "computing", 2},
                               {"shutdown_difference_ns", "shut-down", 1}};
    for (size_t i = 0; i < RUE_PART_COUNT; i++) {
        double ns = own->ns[i] - other->ns[i];
        const struct rue_table_column columns[] = {
            {NULL, parts[i].header, RUE_UNIT_PERCENT, .number = ns / other->total_ns, .drop = parts[i].drop},
            {parts[i].key, NULL, RUE_UNIT_DURATION, .number = ns},
        };
        rue_page_put(page, columns, sizeof columns / sizeof *columns);
    }
}

/* Per model, against the other configuration. */
static void put_losses(struct rue_page *page, const struct rue_explanation *explanation)
{
    const char *other = is_recommended(explanation) ? "of the next" : "of the best";
    rue_page_table(page);
    for (size_t m = 0; m < explanation->variant->matrix->model_count; m++) {
        const struct rue_explained_model *model = &explanation->models[m];
        double own_ns = model->own.total_ns, other_ns = model->other.total_ns;
        const struct rue_table_column row[] = {
            {"model", "model", .text = explanation->variant->matrix->models[m]},
            {"time_ns", "time", RUE_UNIT_DURATION, .number = own_ns},
            {"other_time_ns", other, RUE_UNIT_DURATION, .number = other_ns},
            {"regret_ratio", "regret", RUE_UNIT_PERCENT, .number = model->regret_ratio},
            {"longer_ratio", "longer by", RUE_UNIT_PERCENT, .number = own_ns / other_ns - 1},
        };
        rue_page_row(page, false, row, sizeof row / sizeof *row);
        put_part_losses(page, &model->own, &model->other);
    }
}

/* ---- what would have to change ---- */

static void say_loading(struct rue_page *page, const struct rue_explanation *explanation)
{
    char times[RUE_UNIT_TEXT_BYTES];
    if (isnan(explanation->loading_ratio)) return;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (isfinite(explanation->loading_ratio))
        return rue_say(page,
                       "Its loading would have to be %s times as fast to be as good as the best, whose time "
                       "stays the same.",
                       rue_format_times(explanation->loading_ratio, times, sizeof times));
    rue_say(page,
            "Faster loading alone does not make it win: if loading took no time, it would still have " PERCENT
            " %s.",
            100 * explanation->loading_floor, regret_words(explanation));
}

/* How the time changes with another configuration; NaN: unknown. */
static double speedup(const struct rue_explanation *explanation, size_t config)
{
    const struct rue_variant_findings *variant = explanation->variant;
    double sum = 0, weights = 0;
    for (size_t m = 0; m < variant->matrix->model_count; m++) {
        double weight = rue_objective_weight(variant->selection->weights, m);
        sum += weight * log(rue_cost_matrix_cell(variant->matrix, m, explanation->config)->median_ns /
                            rue_cost_matrix_cell(variant->matrix, m, config)->median_ns);
        weights += weight;
    }
    return exp(sum / weights);
}

static bool is_better(const struct rue_explanation *explanation, size_t config)
{
    const struct rue_selection *selection = explanation->variant->selection;
    return !explanation->rank || rue_selection_is_better(selection, config, explanation->config);
}

static int knob_value(const struct rue_explanation *explanation, size_t config, size_t knob)
{
    return config_at(explanation, config)->value[knob];
}

static void say_alternative(struct rue_page *page, const struct rue_explanation *explanation, size_t knob)
{
    const double clear_gain = 1.05;
    size_t config = rue_explanation_alternative(explanation, knob);
    if (config == RUE_NONE) return;
    const struct rue_knob_info *info =
        rue_config_knobs(config_at(explanation, explanation->config))->at[knob];
    int value = knob_value(explanation, explanation->config, knob),
        other = knob_value(explanation, config, knob);
    double ratio = speedup(explanation, config);
    char text[RUE_KNOB_TEXT_BYTES], times[RUE_UNIT_TEXT_BYTES];
    rue_knob_format(info, value, text);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (!is_better(explanation, config))
        rue_say(page, "With the other knobs as they are, no other %s is better than %s.", info->name, text);
    else if (knob == RUE_NUM_WORKERS && other > value && ratio > clear_gain)
        rue_say(page, "With %d worker%s in place of %d it is %s times as fast, so loading limits it.", other,
                rue_prose_plural((uint64_t)other), value, rue_format_times(ratio, times, sizeof times));
}

static void put_alternatives(struct rue_page *page, const struct rue_explanation *explanation)
{
    const struct rue_knobs *knobs = rue_config_knobs(config_at(explanation, explanation->config));
    const struct rue_selection *selection = explanation->variant->selection;
    rue_page_table(page);
    for (size_t k = 0; k < knobs->count; k++) {
        size_t config = rue_explanation_alternative(explanation, k);
        if (config == RUE_NONE || !is_better(explanation, config)) continue;
        const struct rue_ranking_row *own = &selection->rows[config];
        const struct rue_table_column row[] = {
            {"knob", "change", .text = knobs->at[k]->name},
            {"config", "configuration", .config = config_at(explanation, config)},
            {"speedup_ratio", "times as fast", RUE_UNIT_TIMES, .number = speedup(explanation, config)},
            {"mean_regret_ratio", "mean regret", RUE_UNIT_PERCENT, .number = own->mean_regret_ratio},
            {"max_regret_ratio", "worst regret", RUE_UNIT_PERCENT, .number = own->max_regret_ratio},
        };
        rue_page_row(page, config == selection->recommended, row, sizeof row / sizeof *row);
    }
}

static void say_range(struct rue_page *page, uint64_t from, uint64_t to, const char *answer)
{
    char first[RUE_UNIT_TEXT_BYTES], last[RUE_UNIT_TEXT_BYTES];
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "For jobs of %s to %s images it is %s the best one (predicted).",
            rue_format_count(from, first, sizeof first), rue_format_count(to, last, sizeof last), answer);
}

/* Whether another length of the job makes it the best one. */
static void say_lengths(struct rue_page *page, const struct rue_explanation *explanation)
{
    const struct rue_job_lengths *lengths = &explanation->variant->lengths;
    bool ever = false;
    for (size_t i = 0; i < lengths->count; i++) {
        const struct rue_job_interval *at = &lengths->at[i];
        if (at->config != explanation->config) continue;
        say_range(page, at->from_images, at->to_images, "probably");
        ever = true;
    }
    if (lengths->count && !ever)
        say_range(page, lengths->at[0].from_images, lengths->at[lengths->count - 1].to_images, "never");
}

/* ---- all ---- */

static void put_heading(struct rue_page *page, const char *text)
{
    rue_page_heading(page, 2);
    rue_say(page, "%s", text);
}

void rue_explanation_put(struct rue_page *page, const struct rue_explanation *explanation)
{
    const struct rue_knobs *knobs = rue_config_knobs(config_at(explanation, explanation->config));
    if (rue_findings_is_unsteady(explanation->findings)) {
        rue_page_sentence(page, RUE_LOOK_BOLD, 0);
        rue_verdict_partial(page, explanation->findings);
    }
    say_verdict(page, explanation);
    if (explanation->rank) {
        rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
        say_rank(page, explanation);
    }
    say_noise(page, explanation);
    rue_page_gap(page);
    put_heading(page, "Where the time goes");
    say_parts(page, explanation);
    put_parts(page, explanation);
    rue_page_gap(page);
    if (explanation->other != RUE_NONE) {
        put_heading(page, is_recommended(explanation) ? "Against the next best one" : "Against the best one");
        say_losses(page, explanation);
        put_losses(page, explanation);
        rue_page_gap(page);
    }
    if (is_recommended(explanation) || rue_findings_withholds_ratios(explanation->findings)) return;
    put_heading(page, "What would have to change");
    say_loading(page, explanation);
    for (size_t k = 0; k < knobs->count; k++) say_alternative(page, explanation, k);
    if (explanation->rank) say_lengths(page, explanation);
    put_alternatives(page, explanation);
    const struct rue_section *changes = rue_page_last_table(page);
    if (!changes || changes->row_count || explanation->rank) return rue_page_gap(page);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "No ranked configuration differs from it in one knob only.");
    rue_page_gap(page);
}

static json_t *table_json(void (*put)(struct rue_page *page, const struct rue_explanation *explanation),
                          const struct rue_explanation *explanation)
{
    struct rue_page page = {0};
    put(&page, explanation);
    return rue_page_json_table(&page);
}

json_t *rue_explanation_json(const struct rue_explanation *explanation)
{
    static const char *const loading[] = {"possible", "impossible", "unknown"};
    const struct rue_variant_findings *variant = explanation->variant;
    const struct rue_selection *selection = explanation->variant->selection;
    const struct rue_ranking_row *row = &selection->rows[explanation->config];
    const struct rue_speedup *loss = &explanation->loss;
    bool known = loss->confidence > 0, ranked = explanation->rank;
    double ratio = explanation->loading_ratio;
    char name[PATH_MAX + 128];
    struct rue_page page = {0};
    rue_findings_name_among(explanation->findings, variant, name, sizeof name);
    rue_explanation_put(&page, explanation);
    json_t *sentences = rue_json_sentences(&page);
    rue_page_close(&page);
    json_t *noise = rue_json_make("source:t within:o",
                                  known ? explanation->noise_is_measured ? "measured" : "assumed" : "unknown",
                                  known ? json_boolean(loss->low <= 1 && loss->high >= 1) : json_null());
    json_t *object =
        rue_json_make("variant:t config:o recommended:b rank:N ranked_configs:n mean_regret_ratio:r "
                      "max_regret_ratio:r votes:n",
                      name, rue_json_config_at(variant, explanation->config), is_recommended(explanation),
                      explanation->rank, selection->ranked_count, ranked ? row->mean_regret_ratio : NAN,
                      ranked ? row->max_regret_ratio : NAN, row->top_n_count);
    rue_json_add(&object,
                 "compared_with:o time_ratio:r time_ratio_low:r time_ratio_high:r confidence:r noise:o",
                 rue_json_config_at(variant, explanation->other), loss->ratio > 0 ? loss->ratio : NAN,
                 known ? loss->low : NAN, known ? loss->high : NAN, known ? loss->confidence : NAN, noise);
    rue_json_add(&object, "faster_loading:t loading_speedup_ratio:r parts:o models:o changes:o sentences:o",
                 loading[isnan(ratio) ? 2 : isinf(ratio)], ratio, table_json(put_parts, explanation),
                 table_json(put_losses, explanation), table_json(put_alternatives, explanation), sentences);
    return object;
}
