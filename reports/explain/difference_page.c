/* A difference in words, tables and charts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "charts.h"
#include "difference.h"
#include "json_document.h"
#include "json_findings.h"
#include "prose.h"
#include "units.h"

#define PERCENT RUE_PROSE_PERCENT

enum { CELLS_SHOWN = 10, CELLS_MAX = 5000, MODELS_MAX = 16, FACT_BYTES = 300 };

static const char *const verdicts[] = {"no change", "faster", "slower"};

/* ---- the answers ---- */

static size_t answer_column(const struct rue_difference *difference, size_t side)
{
    return difference->variants[side]->selection->recommended;
}

static const struct rue_config *answer_config(const struct rue_difference *difference, size_t side)
{
    return &difference->variants[side]->matrix->configs[answer_column(difference, side)];
}

static bool is_same_answer(const struct rue_difference *difference)
{
    return answer_column(difference, 0) != RUE_NONE && answer_column(difference, 1) != RUE_NONE &&
           rue_config_equal(answer_config(difference, 0), answer_config(difference, 1));
}

static void say_answers(struct rue_page *page, const struct rue_difference *difference)
{
    rue_page_sentence(page, RUE_LOOK_BOLD, 0);
    for (size_t side = 0; side < 2; side++)
        if (answer_column(difference, side) == RUE_NONE)
            return rue_say(page, "%s recommends no configuration.", difference->findings[side]->folder);
    bool same = is_same_answer(difference);
    rue_say(page, same ? "The recommendation stays " : "The recommendation changes from ");
    rue_say_config(page, answer_config(difference, 0));
    if (!same) {
        rue_say(page, " to ");
        rue_say_config(page, answer_config(difference, 1));
    }
    rue_say(page, ".");
}

/* Why the answer has no regret there. */
static void say_unranked(struct rue_page *page, const struct rue_variant_findings *there, size_t config)
{
    const struct rue_ranking_row *row = config == RUE_NONE ? NULL : &there->selection->rows[config];
    rue_say(page, !row              ? "not in the search space"
                  : row->infeasible ? "infeasible"
                  : row->failed     ? "not ranked, because it failed"
                                    : "not measured on every model");
}

/* What the answer of one study costs in the other one. */
static void say_cost(struct rue_page *page, const struct rue_difference *difference, size_t from)
{
    const struct rue_moved_answer *moved = &difference->moved[from];
    const struct rue_variant_findings *there = difference->variants[!from];
    if (answer_column(difference, from) == RUE_NONE) return;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "In %s, ", difference->findings[!from]->folder);
    rue_say_config(page, answer_config(difference, from));
    if (moved->config == RUE_NONE || !there->selection->rows[moved->config].ranked) {
        rue_say(page, " is ");
        say_unranked(page, there, moved->config);
        return rue_say(page, ".");
    }
    const struct rue_ranking_row *row = &there->selection->rows[moved->config];
    rue_say(page, " has " PERCENT " mean regret", 100 * row->mean_regret_ratio);
    const struct rue_speedup *loss = &moved->loss;
    if (loss->confidence > 0) {
        bool measured =
            rue_findings_noise_is_measured(there, moved->config, answer_column(difference, !from));
        char times[3][RUE_UNIT_TEXT_BYTES];
        rue_say(page,
                " and takes %s times as long as the best (%s to %s with %.3g" RUE_NO_BREAK "%% confidence",
                rue_format_times(loss->ratio, times[0], sizeof *times),
                rue_format_times(loss->low, times[1], sizeof *times),
                rue_format_times(loss->high, times[2], sizeof *times), 100 * loss->confidence);
        rue_say(page, "%s): %s noise", measured ? "" : " if times vary by 4" RUE_NO_BREAK "%, as usual",
                loss->low <= 1 ? "within" : "more than");
    }
    rue_say(page, ".");
}

/* Whether noise alone may have changed the answer. */
static void say_tie(struct rue_page *page, const struct rue_difference *difference)
{
    for (size_t from = 0; from < 2; from++)
        if (is_same_answer(difference) || !(difference->moved[from].loss.confidence > 0) ||
            difference->moved[from].loss.low > 1)
            return;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "In both studies the two are equally good within noise, so neither answer is wrong.");
}

/* ---- the cells ---- */

static void say_incomparable(struct rue_page *page, const struct rue_difference *difference)
{
    const struct rue_variant_findings *a = difference->variants[0], *b = difference->variants[1];
    char first[RUE_UNIT_TEXT_BYTES], second[RUE_UNIT_TEXT_BYTES];
    if (a->goal != b->goal)
        return rue_say(page, "Times are not compared: the goal is %s in the first study, %s in the second.",
                       rue_goal_names[a->goal], rue_goal_names[b->goal]);
    rue_say(page, "Times are not compared: the job has %s images in the first study, %s in the second.",
            rue_format_count(a->job.images, first, sizeof first),
            rue_format_count(b->job.images, second, sizeof second));
}

static bool is_measured(const struct rue_difference *difference, const struct rue_changed_cell *cell)
{
    const struct rue_cost_matrix *before = difference->variants[0]->matrix,
                                 *after = difference->variants[1]->matrix;
    size_t other = rue_cost_matrix_model(after, before->models[cell->model]);
    return rue_cost_matrix_cell(before, cell->model, cell->config[0])->repeats &&
           rue_cost_matrix_cell(after, other, cell->config[1])->repeats;
}

/* How small a change can be seen. */
static void say_resolution(struct rue_page *page, const struct rue_difference *difference)
{
    size_t measured = 0;
    for (size_t i = 0; i < difference->cell_count; i++)
        measured += is_measured(difference, &difference->cells[i]);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (measured < difference->cell_count)
        rue_say(page, "Measured in both studies: %zu cell%s; the others are predicted. ", measured,
                rue_prose_plural(measured));
    if (difference->unknown < difference->cell_count)
        rue_say(page, "Changes of less than a factor of %.3g are within noise (median over the cells).",
                difference->noise_ratio);
}

static void say_cells(struct rue_page *page, const struct rue_difference *difference)
{
    size_t count = difference->cell_count;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    if (!difference->comparable) return say_incomparable(page, difference);
    if (!count) return rue_say(page, "No cell has a time in both studies, so times are not compared.");
    if (difference->unknown == count)
        rue_say(page,
                "Noise is unknown: nothing was measured twice. So a change counts from %.0f" RUE_NO_BREAK
                "%% on.",
                100 * RUE_DIFFERENCE_THRESHOLD);
    else if (difference->unknown)
        rue_say(page,
                "The noise of %zu cell%s is unknown; there a change counts from %.0f" RUE_NO_BREAK "%% on.",
                difference->unknown, rue_prose_plural(difference->unknown), 100 * RUE_DIFFERENCE_THRESHOLD);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "Of %zu common cell%s (a model with a configuration), %zu %s slower and %zu %s faster%s",
            count, rue_prose_plural(count), difference->slower, difference->slower == 1 ? "is" : "are",
            difference->faster, difference->faster == 1 ? "is" : "are",
            difference->unknown < count ? " beyond noise" : "");
    if (difference->unknown < count)
        rue_say(page, " (95" RUE_NO_BREAK "%% confidence for all of them together)");
    rue_say(page, ". At the median, times change by %+.1f" RUE_NO_BREAK "%%.",
            100 * (difference->median_ratio - 1));
    say_resolution(page, difference);
}

/* `charts`: for charts over batch sizes and workers. */
static void put_cell(struct rue_page *page, const struct rue_difference *difference,
                     const struct rue_changed_cell *cell, bool charts)
{
    const struct rue_cost_matrix *before = difference->variants[0]->matrix;
    const struct rue_config *config = &before->configs[cell->config[0]];
    double time_ns = rue_cost_matrix_cell(before, cell->model, cell->config[0])->median_ns;
    const struct rue_change *change = &cell->change;
    bool known = change->confidence > 0;
    const struct rue_table_column row[] = {
        {"model", "model", .text = before->models[cell->model]},
        {"config", "configuration", .config = config, .absent = charts},
        {"batch_size", "batch size", RUE_UNIT_COUNT, .number = config->value[RUE_BATCH_SIZE],
         .absent = !charts},
        {"num_workers", "workers", RUE_UNIT_COUNT, .number = config->value[RUE_NUM_WORKERS],
         .absent = !charts},
        {"before_ns", "time before", RUE_UNIT_DURATION, .number = time_ns},
        {"after_ns", "time after", RUE_UNIT_DURATION, .number = time_ns * change->ratio},
        {"change_ratio", "change", RUE_UNIT_PERCENT, .number = change->ratio - 1},
        {"change_ratio_low", "from", RUE_UNIT_PERCENT, .number = known ? change->low - 1 : NAN},
        {"change_ratio_high", "to", RUE_UNIT_PERCENT, .number = known ? change->high - 1 : NAN},
        {"verdict", "verdict", .text = verdicts[cell->verdict]},
        {"source", "based on", .text = is_measured(difference, cell) ? "" : "predicted"},
    };
    rue_page_row(page, cell->config[1] == answer_column(difference, 1), row, sizeof row / sizeof *row);
    if (cell->verdict == RUE_CHANGE_NONE) rue_page_mark(page, RUE_ROW_UNCHANGED);
}

/* The largest changes first, those beyond noise before others. */
static int compare_changes(const void *left, const void *right)
{
    const struct rue_changed_cell *a = *(const struct rue_changed_cell *const *)left,
                                  *b = *(const struct rue_changed_cell *const *)right;
    bool first = a->verdict != RUE_CHANGE_NONE, second = b->verdict != RUE_CHANGE_NONE;
    double one = fabs(log(a->change.ratio)), other = fabs(log(b->change.ratio));
    if (first != second) return second - first;
    return one > other ? -1 : one < other ? 1 : a < b ? -1 : a > b;
}

static void put_largest(struct rue_page *page, const struct rue_difference *difference, const char *all)
{
    size_t count = difference->cell_count, changed = difference->slower + difference->faster;
    const struct rue_changed_cell **order = calloc(count + 1, sizeof *order);
    if (!order) {
        page->failed = true;
        return;
    }
    for (size_t i = 0; i < count; i++) order[i] = &difference->cells[i];
    qsort(order, count, sizeof *order, compare_changes);
    rue_page_table(page);
    for (size_t i = 0; i < count && i < CELLS_SHOWN && i < changed; i++)
        put_cell(page, difference, order[i], false);
    free(order);
    if (changed <= CELLS_SHOWN) return;
    rue_page_sentence(page, RUE_LOOK_DIM, 0);
    rue_say(page, "The %d largest of %zu changes; all cells: %s.", CELLS_SHOWN, changed, all);
}

/* ---- charts ---- */

/* The mean change of each configuration over the models. */
static void put_means(struct rue_page *page, const struct rue_difference *difference,
                      const struct rue_chart_subject *subject)
{
    const struct rue_cost_matrix *before = difference->variants[0]->matrix;
    size_t configs = before->config_count, *counts = calloc(configs + 1, sizeof *counts),
           *changed = calloc(configs + 1, sizeof *changed),
           *columns_after = calloc(configs + 1, sizeof *columns_after);
    double *sums = calloc(configs + 1, sizeof *sums);
    page->failed |= !counts || !changed || !sums || !columns_after;
    for (size_t i = 0; !page->failed && i < difference->cell_count; i++) {
        const struct rue_changed_cell *cell = &difference->cells[i];
        counts[cell->config[0]]++;
        changed[cell->config[0]] += cell->verdict != RUE_CHANGE_NONE;
        columns_after[cell->config[0]] = cell->config[1];
        sums[cell->config[0]] += log(cell->change.ratio);
    }
    rue_page_table(page);
    for (size_t c = 0; !page->failed && c < configs; c++) {
        if (!counts[c] || !rue_chart_is_in_slice(subject, columns_after[c])) continue;
        const int *value = before->configs[c].value;
        double mean = exp(sums[c] / (double)counts[c]) - 1;
        const struct rue_table_column row[] = {
            {"batch_size", "batch size", RUE_UNIT_COUNT, .number = value[RUE_BATCH_SIZE]},
            {"num_workers", "workers", RUE_UNIT_COUNT, .number = value[RUE_NUM_WORKERS]},
            {"change_ratio", "mean change", RUE_UNIT_PERCENT, .number = mean},
            {"models", "models", RUE_UNIT_COUNT, .number = (double)counts[c]},
            {"changed", "models changed", RUE_UNIT_COUNT, .number = (double)changed[c]},
            {"verdict", "verdict", .text = changed[c] ? "changed" : verdicts[RUE_CHANGE_NONE]},
        };
        rue_page_row(page, columns_after[c] == answer_column(difference, 1), row, sizeof row / sizeof *row);
        if (!changed[c]) rue_page_mark(page, RUE_ROW_UNCHANGED);
    }
    rue_charts_add(page, subject,
                   &(struct rue_chart){.kind = RUE_CHART_HEAT,
                                       .name = "change",
                                       .title = "Change of the time (%), mean over models",
                                       .note = "ring: recommended in the second study; above zero: slower; "
                                               "dot: no model changed",
                                       .x = "batch_size",
                                       .y = "num_workers",
                                       .value = "change_ratio",
                                       .caption = "verdict",
                                       .is_change = true});
    free(changed);
    free(sums);
    free(columns_after);
    free(counts);
}

static void put_charts(struct rue_page *page, const struct rue_difference *difference)
{
    struct rue_chart_subject subject;
    size_t rows = 0;
    rue_chart_subject_make(difference->findings[1],
                           (size_t)(difference->variants[1] - difference->findings[1]->variants), &subject);
    put_means(page, difference, &subject);
    rue_page_table(page);
    for (size_t i = 0; i < difference->cell_count && rows < CELLS_MAX; i++) {
        if (!rue_chart_is_in_slice(&subject, difference->cells[i].config[1])) continue;
        put_cell(page, difference, &difference->cells[i], true);
        rows++;
    }
    if (difference->common_models > 1 && difference->common_models <= MODELS_MAX)
        rue_charts_add(page, &subject,
                       &(struct rue_chart){.kind = RUE_CHART_HEAT,
                                           .name = "change-model",
                                           .title = "Change of the time (%) for each model",
                                           .note = "dot: no change",
                                           .x = "batch_size",
                                           .y = "num_workers",
                                           .value = "change_ratio",
                                           .caption = "verdict",
                                           .panel = "model",
                                           .is_change = true});
}

void rue_difference_put(struct rue_page *page, const struct rue_difference *difference, bool charts)
{
    say_answers(page, difference);
    for (size_t from = 0; from < 2 && !is_same_answer(difference); from++) say_cost(page, difference, from);
    say_tie(page, difference);
    say_cells(page, difference);
    put_largest(page, difference, charts ? "below the maps" : "--json");
    if (charts) put_charts(page, difference);
}

/* ---- circumstances ---- */

static void put_fact(struct rue_page *page, const char *scope, const char *what, const char *first,
                     const char *second)
{
    if (strcmp(first, second) == 0) return;
    char name[PATH_MAX + 512];
    snprintf(name, sizeof name, "%s%s%s", scope, scope[0] ? ": " : "", what);
    const struct rue_table_column row[] = {
        {"what", "what", .text = name},
        {"first", "first study", .text = first[0] ? first : "unknown"},
        {"second", "second study", .text = second[0] ? second : "unknown"},
    };
    rue_page_row(page, false, row, sizeof row / sizeof *row);
}

static void put_amounts(struct rue_page *page, const char *scope, const char *what, uint64_t first,
                        uint64_t second)
{
    char texts[2][RUE_UNIT_TEXT_BYTES] = {"", ""};
    const uint64_t amounts[2] = {first, second};
    for (int i = 0; i < 2; i++) {
        if (amounts[i]) rue_format_count(amounts[i], texts[i], sizeof texts[i]);
    }
    if (first != second) put_fact(page, scope, what, texts[0], texts[1]);
}

/* Lists the members that differ between two objects, `missing` in place of one that is not there; closes
 * both. */
static void put_members(struct rue_page *page, const char *scope, const char *missing, json_t *before,
                        json_t *after)
{
    json_t *keys = before ? json_copy(before) : NULL, *value;
    const char *key;
    page->failed |= !keys || !after || json_object_update(keys, after) != 0;
    json_object_foreach(keys, key, value)
    {
        char texts[2][FACT_BYTES] = {"", ""};
        const json_t *const objects[2] = {before, after};
        for (int i = 0; i < 2; i++) {
            const json_t *member = json_object_get(objects[i], key);
            if (json_is_string(member))
                snprintf(texts[i], sizeof texts[i], "%s", json_string_value(member));
            else if (member)
                rue_json_describe(member, texts[i], sizeof texts[i]);
            else
                snprintf(texts[i], sizeof texts[i], "%s", missing);
        }
        put_fact(page, scope, key, texts[0], texts[1]);
    }
    json_decref(keys);
    json_decref(after);
    json_decref(before);
}

static void put_variant_facts(struct rue_page *page, const struct rue_variant_findings *a,
                              const struct rue_variant_findings *b, const char *scope)
{
    put_amounts(page, scope, "images of the job", a->job.images, b->job.images);
    put_fact(page, scope, "goal", rue_goal_names[a->goal], rue_goal_names[b->goal]);
    for (const struct rue_field *field = rue_deployment_fields; field->name; field++)
        put_amounts(page, scope, field->name, rue_field_number(field, &a->job.deployment),
                    rue_field_number(field, &b->job.deployment));
    put_fact(page, scope, "data digest", a->data.digest, b->data.digest);
    put_fact(page, scope, "layout of the data", a->data.layout, b->data.layout);
    if (a->job.workload_known && b->job.workload_known)
        put_members(page, scope, "default", rue_json_struct(rue_workload_fields, &a->job.workload, NULL),
                    rue_json_struct(rue_workload_fields, &b->job.workload, NULL));
}

static json_t *machine_json(const struct rue_findings *findings)
{
    return findings->machine.json[0] ? rue_json_parse(findings->machine.json) : json_object();
}

static void put_facts(struct rue_page *page, const struct rue_findings *const findings[2])
{
    const struct rue_findings *a = findings[0], *b = findings[1];
    rue_page_table(page);
    put_members(page, "machine", "unknown", machine_json(a), machine_json(b));
    put_fact(page, "", "loader", a->runner.measured_with, b->runner.measured_with);
    put_fact(page, "", "runner", a->runner.name, b->runner.name);
    put_fact(page, "", "times of models", a->runner.consumer, b->runner.consumer);
    put_fact(page, "", "clock", a->runner.virtual_clock ? "simulated" : "real",
             b->runner.virtual_clock ? "simulated" : "real");
    put_fact(page, "", "rue", a->run.rue_version, b->run.rue_version);
    for (size_t v = 0; v < a->variant_count; v++) {
        size_t other = rue_difference_match(findings, v);
        char name[PATH_MAX + 128] = "";
        if (a->variant_count > 1) rue_findings_name_among(a, &a->variants[v], name, sizeof name);
        if (other != RUE_NONE) put_variant_facts(page, &a->variants[v], &b->variants[other], name);
    }
}

/* Names the variants that only one study has. */
static void say_unmatched(struct rue_page *page, const struct rue_findings *const findings[2], size_t side)
{
    const struct rue_findings *const order[2] = {findings[side], findings[!side]};
    for (size_t v = 0; v < order[0]->variant_count; v++) {
        if (rue_difference_match(order, v) != RUE_NONE) continue;
        rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
        rue_say(page, "Only %s has ", order[0]->folder);
        rue_say_variant(page, order[0], &order[0]->variants[v]);
        rue_say(page, " data.");
    }
}

void rue_difference_put_circumstances(struct rue_page *page, const struct rue_findings *const findings[2])
{
    say_unmatched(page, findings, 0);
    say_unmatched(page, findings, 1);
    rue_page_heading(page, 1);
    rue_say(page, "What differs between the studies");
    put_facts(page, findings);
    const struct rue_section *facts = rue_page_last_table(page);
    bool any = facts && facts->row_count;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, any ? "A change of times may come from any of these."
                      : "Nothing that the studies recorded of machine, loader, data and job.");
    for (size_t side = 0; side < 2; side++) {
        if (!rue_findings_is_doubtful(findings[side])) continue;
        rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
        rue_say(page, "The times of %s have low confidence: the machine was busy or changed its speed.",
                findings[side]->folder);
    }
}

json_t *rue_difference_unmatched_json(const struct rue_findings *const findings[2], size_t side)
{
    const struct rue_findings *const order[2] = {findings[side], findings[!side]};
    char name[PATH_MAX + 128];
    json_t *array = json_array();
    for (size_t v = 0; v < order[0]->variant_count; v++) {
        if (rue_difference_match(order, v) != RUE_NONE) continue;
        rue_findings_name_among(order[0], &order[0]->variants[v], name, sizeof name);
        rue_json_push(&array, json_string(name));
    }
    return array;
}

json_t *rue_difference_circumstances_json(const struct rue_findings *const findings[2])
{
    struct rue_page page = {0};
    put_facts(&page, findings);
    return rue_page_json_table(&page);
}

/* ---- JSON ---- */

static json_t *answer_json(const struct rue_difference *difference, size_t side)
{
    return rue_json_config_at(difference->variants[side], answer_column(difference, side));
}

static json_t *moved_json(const struct rue_difference *difference, size_t from)
{
    const struct rue_moved_answer *moved = &difference->moved[from];
    const struct rue_selection *selection = difference->variants[!from]->selection;
    const struct rue_ranking_row *row = moved->config != RUE_NONE && selection->rows[moved->config].ranked
                                            ? &selection->rows[moved->config]
                                            : NULL;
    bool known = moved->loss.confidence > 0;
    return rue_json_make(
        "mean_regret_ratio:r max_regret_ratio:r time_ratio:r time_ratio_low:r time_ratio_high:r",
        row ? row->mean_regret_ratio : NAN, row ? row->max_regret_ratio : NAN,
        known ? moved->loss.ratio : NAN, known ? moved->loss.low : NAN, known ? moved->loss.high : NAN);
}

static json_t *cells_json(const struct rue_difference *difference)
{
    struct rue_page page = {0};
    rue_page_table(&page);
    for (size_t i = 0; i < difference->cell_count; i++)
        put_cell(&page, difference, &difference->cells[i], false);
    return rue_page_json_table(&page);
}

json_t *rue_difference_json(const struct rue_difference *difference)
{
    char name[PATH_MAX + 128];
    struct rue_page page = {0};
    rue_findings_name_among(difference->findings[0], difference->variants[0], name, sizeof name);
    rue_difference_put(&page, difference, false);
    json_t *sentences = rue_json_sentences(&page);
    rue_page_close(&page);
    json_t *object =
        rue_json_make("variant:t first:o second:o same:b first_in_second:o second_in_first:o", name,
                      answer_json(difference, 0), answer_json(difference, 1), is_same_answer(difference),
                      moved_json(difference, 0), moved_json(difference, 1));
    rue_json_add(&object, "comparable:b models:n configs:n slower:n faster:n noise_unknown:n median_ratio:r",
                 difference->comparable, difference->common_models, difference->common_configs,
                 difference->slower, difference->faster, difference->unknown, difference->median_ratio);
    rue_json_add(&object, "cells:o sentences:o", cells_json(difference), sentences);
    return object;
}
