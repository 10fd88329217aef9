#include "baseline_trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "gain.h"
#include "interrupt.h"
#include "study_baselines.h"
#include "study_clock.h"
#include "study_measure.h"
#include "study_strategy.h"
#include "units.h"

enum {
    ATTEMPTS = 3,    /* as what is measured may change what is best */
    NEAR = 8,        /* trials of a pair are no further from each other, references between them included */
    NOISE_ROWS = 512 /* the last ones of the search, that tell noise */
};

static const double most_off = 0.12; /* of logarithms of two short trials: beyond, one was disturbed */

/* ---- pairs ---- */

/* A whole job in the store. */
struct whole {
    uint64_t id;
    double cost_ns;
    bool paired;
};

struct wholes {
    const struct rue_study *study;
    size_t variant;
    struct whole *at; /* [count] in the order of their making */
    size_t count, capacity;
};

/* Whether trials of the search count as well. A strategy that predicts was told all that is stored, and the
 * times of a table are what they are. Else a trial that a configuration was chosen for says too much good of
 * it. */
static bool is_search_counted(const struct rue_study *study)
{
    return rue_study_predicts(study) || study->recording;
}

static bool is_of_search(const struct rue_study *study, uint64_t id)
{
    for (size_t i = 0; i < study->searched_rows; i++)
        if (study->rows[i].id == id) return true;
    return false;
}

static rue_status visit(void *context, uint64_t id, const struct rue_trial_result *result, rue_error *error)
{
    struct wholes *wholes = context;
    const struct rue_study_variant *data = &wholes->study->variants[wholes->variant];
    bool drop_last = data->workload.drop_last, predicted;
    uint64_t job = rue_config_images(&result->config, drop_last, data->job_images);
    if (result->outcome != RUE_TRIAL_OK || result->images < (int64_t)job) return RUE_OK;
    if (!is_search_counted(wholes->study) && is_of_search(wholes->study, id)) return RUE_OK;
    double cost_ns =
        rue_goal_cost_ns(wholes->study->goal->minimise, result, data->job_images, drop_last, &predicted);
    if (!(cost_ns > 0) || !isfinite(cost_ns)) return RUE_OK;
    rue_status status = rue_array_grow(&wholes->at, &wholes->capacity, wholes->count + 1, sizeof *wholes->at,
                                       "whole jobs", error);
    if (status == RUE_OK) wholes->at[wholes->count++] = (struct whole){.id = id, .cost_ns = cost_ns};
    return status;
}

static rue_status collect(struct rue_study *study, size_t variant, size_t model, size_t config,
                          struct wholes *out, rue_error *error)
{
    struct rue_trial_request request = {
        .measure = RUE_JOINT, .config = study->configs[config], .images = 1, .batches = 1};
    *out = (struct wholes){.study = study, .variant = variant};
    return rue_study_walk_stored(study, variant, model, &request, visit, out, error);
}

static uint64_t distance(const struct whole *a, const struct whole *b)
{
    return a->id > b->id ? a->id - b->id : b->id - a->id;
}

struct pairs {
    struct rue_gain_pair *at; /* [count] */
    size_t count, capacity;
};

/* Each whole job of the one with the nearest of the other that no pair has yet. Recorded ones have no order.
 */
static rue_status pair_up(size_t model, uint64_t near, struct wholes *one, struct wholes *other,
                          struct pairs *out, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < one->count; i++) {
        struct whole *nearest = NULL;
        for (size_t k = 0; k < other->count; k++)
            if (!other->at[k].paired &&
                (!nearest || distance(&one->at[i], &other->at[k]) < distance(&one->at[i], nearest)))
                nearest = &other->at[k];
        if (!nearest || distance(&one->at[i], nearest) > near) continue;
        status = rue_array_grow(&out->at, &out->capacity, out->count + 1, sizeof *out->at, "pairs", error);
        if (status != RUE_OK) return status;
        nearest->paired = true;
        out->at[out->count++] =
            (struct rue_gain_pair){.model = model, .log_ratio = log(nearest->cost_ns / one->at[i].cost_ns)};
    }
    return status;
}

/* Adds the pairs of two configurations on a model. */
static rue_status find_pairs(struct rue_study *study, size_t variant, size_t model, size_t one, size_t other,
                             struct pairs *out, rue_error *error)
{
    struct wholes ones = {0}, others = {0};
    rue_status status = collect(study, variant, model, one, &ones, error);
    if (status == RUE_OK) status = collect(study, variant, model, other, &others, error);
    if (status == RUE_OK)
        status = pair_up(model, study->recording ? UINT64_MAX : NEAR, &ones, &others, out, error);
    free(ones.at);
    free(others.at);
    return status;
}

static bool are_repeats(const struct rue_trial_row *a, const struct rue_trial_row *b)
{
    const struct rue_trial_request *x = &a->request, *y = &b->request;
    return x->measure == y->measure && x->images == y->images && rue_config_equal(&x->config, &y->config) &&
           strcmp(x->model, y->model) == 0 && rue_variant_equal(&x->variant, &y->variant);
}

/* What trials of the search, and references between them, differ by from their repeats; each is in one pair.
 */
static struct rue_gain_noise find_noise(const struct rue_study *study)
{
    const struct rue_trial_row *open[NOISE_ROWS];
    size_t open_count = 0, first = study->searched_rows > NOISE_ROWS ? study->searched_rows - NOISE_ROWS : 0;
    struct rue_gain_noise noise = {0};
    for (size_t i = first; i < study->searched_rows; i++) {
        const struct rue_trial_row *row = &study->rows[i];
        size_t k = 0;
        if (row->result.outcome != RUE_TRIAL_OK || row->result.end_to_end_ns <= 0) continue;
        while (k < open_count && !are_repeats(open[k], row)) k++;
        if (k == open_count) {
            open[open_count++] = row;
            continue;
        }
        double off = log((double)row->result.end_to_end_ns / (double)open[k]->result.end_to_end_ns);
        noise.squares += pow(fmin(fabs(off), most_off), 2);
        noise.count++;
        open[k] = open[--open_count];
    }
    return noise;
}

rue_status rue_baseline_gain(struct rue_study *study, size_t variant, size_t one, size_t other,
                             const double *weights, double confidence, struct rue_gain *out, rue_error *error)
{
    struct pairs pairs = {0};
    rue_status status = RUE_OK;
    for (size_t m = 0; status == RUE_OK && m < study->model_count; m++)
        status = find_pairs(study, variant, m, one, other, &pairs, error);
    if (status == RUE_OK)
        rue_gain_find(pairs.at, pairs.count, study->model_count, weights, find_noise(study), confidence, out);
    free(pairs.at);
    return status;
}

/* ---- trials ---- */

/* The comparison of one variant. */
struct comparison {
    struct rue_study *study;
    size_t variant, found; /* column: the best of the search */
    const struct rue_baseline_trials *trials;
    struct rue_baseline_plan plan;
    size_t rounds; /* of pairs that there are to be in all */
};

static rue_status find_best(struct comparison *comparison, rue_error *error)
{
    struct rue_study *study = comparison->study;
    struct rue_selection *selection;
    rue_status status = comparison->trials->update(comparison->trials->context, comparison->variant, error);
    if (status == RUE_OK)
        status = rue_ranking_rules_select(&study->goal->rules, study->matrices[comparison->variant],
                                          &selection, error);
    if (status != RUE_OK) return status;
    comparison->found = selection->recommended;
    rue_selection_close(selection);
    return RUE_OK;
}

/* Whether whole jobs of the configuration, a baseline, can be measured beside what was found. */
static bool is_rival(const struct comparison *comparison, size_t column)
{
    const struct rue_study *study = comparison->study;
    if (column == RUE_NONE || column == comparison->found) return false;
    for (size_t m = 0; m < study->model_count; m++) {
        const struct rue_cell *cell = rue_cost_matrix_cell(study->matrices[comparison->variant], m, column);
        if (cell->missed && cell->state != RUE_CELL_OK) return false;
    }
    return true;
}

static double left_s(const struct rue_study *study)
{
    uint64_t budget_ns = study->goal->budget.time_ns, spent_ns = rue_study_spent_ns(study);
    if (!budget_ns) return INFINITY;
    return budget_ns > spent_ns ? (double)(budget_ns - spent_ns) / 1e9 : 0;
}

static double left_trials(const struct rue_study *study)
{
    size_t budget = study->goal->budget.trials;
    if (!budget) return INFINITY;
    return budget > study->made ? (double)(budget - study->made) : 0;
}

/* What a whole job is expected to cost on all models; one of which nothing is known costs nothing. */
static double models_s(const struct comparison *comparison, size_t config)
{
    const struct rue_baseline_trials *trials = comparison->trials;
    double sum = 0;
    for (size_t m = 0; m < comparison->study->model_count; m++) {
        double job_s = trials->job_s(trials->context, comparison->variant, m, config);
        if (job_s > 0) sum += job_s;
    }
    return sum;
}

/* Variants that are still to be compared share what is left. */
static void plan(struct comparison *comparison)
{
    const struct rue_study *study = comparison->study;
    double cost_s[1 + RUE_BASELINES_MAX] = {models_s(comparison, comparison->found)};
    double share = 1 / (double)(study->variant_count - comparison->variant);
    for (size_t b = 0; b < study->baseline_count; b++) {
        size_t column = study->baselines[b].column;
        if (is_rival(comparison, column)) cost_s[1 + b] = models_s(comparison, column);
    }
    comparison->plan =
        rue_study_plan_baselines(study, cost_s, 1, share * left_s(study), share * left_trials(study));
    comparison->rounds += comparison->plan.rounds;
}

/* The baselines of which the model has no more than `round` pairs; `out` has room for all. */
static rue_status list_lacking(const struct comparison *comparison, size_t model, size_t round, size_t *out,
                               size_t *count, rue_error *error)
{
    struct rue_study *study = comparison->study;
    rue_status status = RUE_OK;
    *count = 0;
    for (size_t b = comparison->plan.first; status == RUE_OK && b < study->baseline_count; b++) {
        struct pairs pairs = {0};
        size_t column = study->baselines[b].column;
        if (!is_rival(comparison, column)) continue;
        status = find_pairs(study, comparison->variant, model, comparison->found, column, &pairs, error);
        if (pairs.count <= round) out[(*count)++] = column;
        free(pairs.at);
    }
    return status;
}

/* What was found first in every other round, last in the others: a machine that drifts favours neither. */
static rue_status measure_model(const struct comparison *comparison, size_t model, size_t round,
                                rue_error *error)
{
    const struct rue_baseline_trials *trials = comparison->trials;
    size_t order[1 + RUE_BASELINES_MAX] = {comparison->found}, count;
    rue_status status = list_lacking(comparison, model, round, order + 1, &count, error);
    if (status != RUE_OK || count == 0) return status;
    for (size_t i = 0; status == RUE_OK && i <= count; i++) {
        size_t config = order[round % 2 ? count - i : i];
        double job_s = trials->job_s(trials->context, comparison->variant, model, config);
        if (job_s > left_s(comparison->study) || left_trials(comparison->study) < 1) return RUE_OK;
        status = rue_interrupt_status();
        if (status != RUE_OK) return rue_fail(error, status, "interrupted");
        status = trials->measure(trials->context, comparison->variant, model, config, error);
    }
    return status;
}

static rue_status measure(const struct comparison *comparison, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t r = 0; status == RUE_OK && r < comparison->rounds; r++)
        for (size_t m = 0; status == RUE_OK && m < comparison->study->model_count; m++)
            status = measure_model(comparison, m, r, error);
    return status;
}

/* ---- the answer ---- */

/* Why the baseline is not compared: the budget. */
static void explain(const struct comparison *comparison, size_t column, struct rue_baseline_findings *out)
{
    char needed[RUE_UNIT_TEXT_BYTES];
    const struct rue_study *study = comparison->study;
    double needed_s = models_s(comparison, comparison->found) + models_s(comparison, column);
    if (study->goal->budget.trials)
        snprintf(out->unknown, sizeof out->unknown, "whole jobs of both on every model are %zu trials",
                 2 * study->model_count);
    else
        snprintf(out->unknown, sizeof out->unknown, "whole jobs of both on every model take about %s",
                 rue_format_duration((uint64_t)(needed_s * 1e9), needed, sizeof needed));
}

/* Whether nothing speaks against recommending the configuration, such as a first batch that comes too late.
 */
static bool is_fit(const struct comparison *comparison, size_t config)
{
    const struct rue_cost_matrix *matrix = comparison->study->matrices[comparison->variant];
    for (size_t m = 0; m < comparison->study->model_count; m++)
        if (rue_cost_matrix_cell(matrix, m, config)->state != RUE_CELL_OK) return false;
    return true;
}

/* Of those that are not proven to be slower, the fastest; RUE_NONE where all are. */
static size_t baseline_to_keep(const struct comparison *comparison,
                               const struct rue_baseline_findings *compared)
{
    size_t best = RUE_NONE;
    for (size_t i = 0; i < compared->count; i++) {
        const struct rue_gain *gain = &compared->rows[i].gain;
        if (gain->pairs == 0 || rue_gain_is_proven(gain)) continue;
        if (!is_fit(comparison, compared->rows[i].config)) continue;
        if (best == RUE_NONE || gain->ratio < compared->rows[best].gain.ratio) best = i;
    }
    return best;
}

/* The gains over every baseline, and why the budget has left out one. */
static rue_status find_gains(const struct comparison *comparison, struct rue_baseline_findings *out,
                             rue_error *error)
{
    const struct rue_study *study = comparison->study;
    double weights[RUE_STUDY_MODELS_MAX];
    rue_status status = RUE_OK;
    for (size_t m = 0; m < study->model_count; m++)
        weights[m] = rue_ranking_rules_weight(&study->goal->rules, study->models[m].name);
    out->unknown[0] = 0;
    for (size_t i = 0; status == RUE_OK && i < out->count; i++) {
        struct rue_baseline_row *row = &out->rows[i];
        row->gain = (struct rue_gain){0};
        if (row->config != comparison->found)
            status = rue_baseline_gain(comparison->study, comparison->variant, comparison->found, row->config,
                                       weights, study->goal->confidence, &row->gain, error);
        if (row->gain.pairs == 0 && is_rival(comparison, row->config)) explain(comparison, row->config, out);
    }
    return status;
}

/* A baseline is recommended in place of what was found: what is gained over the others is its gain. */
static rue_status keep(struct comparison *comparison, const struct rue_baseline_row *row,
                       struct rue_baseline_findings *out, rue_error *error)
{
    out->kept = true;
    out->found = comparison->found;
    out->found_gain = row->gain;
    out->recommended = comparison->found = row->config;
    comparison->rounds = 0;
    plan(comparison);
    rue_status status = measure(comparison, error);
    return status == RUE_OK ? find_gains(comparison, out, error) : status;
}

/* The rows of all baselines, with the gains of what was found. */
static rue_status compare(const struct comparison *comparison, struct rue_baseline_findings *out,
                          rue_error *error)
{
    const struct rue_study *study = comparison->study;
    *out = (struct rue_baseline_findings){0};
    for (size_t b = 0; b < study->baseline_count; b++) {
        const struct rue_study_baseline *baseline = &study->baselines[b];
        if (baseline->column == RUE_NONE) continue;
        struct rue_baseline_row *row = &out->rows[out->count++];
        *row = (struct rue_baseline_row){.config = baseline->column};
        snprintf(row->name, sizeof row->name, "%s", baseline->name);
    }
    return find_gains(comparison, out, error);
}

static rue_status conclude(struct comparison *comparison, rue_error *error)
{
    struct rue_baseline_findings *out = &comparison->study->compared[comparison->variant];
    rue_status status = compare(comparison, out, error);
    size_t kept = baseline_to_keep(comparison, out);
    return status == RUE_OK && kept != RUE_NONE ? keep(comparison, &out->rows[kept], out, error) : status;
}

rue_status rue_baseline_trials_run(struct rue_study *study, size_t variant,
                                   const struct rue_baseline_trials *trials, rue_error *error)
{
    struct comparison comparison = {.study = study, .variant = variant, .trials = trials};
    if (study->baseline_count == 0) return RUE_OK;
    rue_status status = find_best(&comparison, error);
    for (int attempt = 0; status == RUE_OK && attempt < ATTEMPTS && comparison.found != RUE_NONE; attempt++) {
        struct rue_baseline_findings so_far;
        size_t before = comparison.found;
        plan(&comparison);
        status = measure(&comparison, error);
        if (status == RUE_OK) status = find_best(&comparison, error);
        if (status != RUE_OK || comparison.found == RUE_NONE) return status;
        if (comparison.found != before) {
            comparison.rounds = 0;
            continue;
        }
        status = compare(&comparison, &so_far, error);
        if (study->recording || baseline_to_keep(&comparison, &so_far) == RUE_NONE) break;
    }
    return status == RUE_OK && comparison.found != RUE_NONE ? conclude(&comparison, error) : status;
}
