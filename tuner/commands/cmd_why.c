#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "explanation.h"
#include "json_document.h"
#include "knob_list.h"
#include "program_name.h"
#include "prose.h"
#include "record.h"
#include "shell_quote.h"
#include "study_options.h"
#include "terminal.h"

/* As the options of `rue tune`, with one value each. */
#define KNOB_OPTION(name, help)                                                                           \
    {                                                                                                     \
        name, RUE_OPTION_LIST, "N", NULL, help " [as recommended]", 0, 0, NULL, .set_by = RUE_SET_BY_FLAG \
    }

static const struct rue_option options_table[] = {
    KNOB_OPTION("batch-size", "images in a batch"),
    KNOB_OPTION("num-workers", "loader workers"),
    KNOB_OPTION("prefetch-factor", "batches in flight per worker"),
    KNOB_OPTION("parallelism", "batch or sample"),
    KNOB_OPTION("pin-memory", "page-locked batches, true or false"),
    {"knob", RUE_OPTION_SETTINGS, "NAME=VALUE", NULL, "any knob, such as read=item; repeatable",
     .set_by = RUE_SET_BY_FLAG},
    {RUE_STUDY_OPTION_JSON},
};

/* The study, and the configuration that was asked for. */
struct request {
    const struct rue_record *record;
    const struct rue_findings *findings;
    const struct rue_knob_choices *choices;
    int values[RUE_KNOBS_MAX]; /* [knobs] of the choices */
    bool given[RUE_KNOBS_MAX];
};

/* ---- the configuration ---- */

static rue_status read_values(struct request *request, rue_error *error)
{
    const struct rue_knobs *knobs = rue_findings_knobs(request->findings);
    struct rue_space space = rue_space_default(knobs);
    for (size_t i = 0; i < request->choices->count; i++) {
        const struct rue_knob_choice *choice = &request->choices->at[i];
        int knob = rue_knob_find(knobs, choice->name);
        if (knob < 0)
            return rue_fail(error, RUE_USAGE, "%s: the loader of %s has no knob '%s'", choice->origin,
                            request->record->store, choice->name);
        rue_status status = rue_knob_list_parse(&space, (size_t)knob, choice->values, choice->origin, error);
        if (status != RUE_OK) return status;
        if (space.count[knob] != 1)
            return rue_fail(error, RUE_USAGE, "%s: %s needs one value here, not %d", choice->origin,
                            choice->name, space.count[knob]);
        request->values[knob] = space.values[knob][0];
        request->given[knob] = true;
    }
    return RUE_OK;
}

/* The configuration with the given values, and others from the best one. */
static struct rue_config make_config(const struct request *request,
                                     const struct rue_variant_findings *variant)
{
    const struct rue_selection *selection = variant->selection;
    size_t best = selection->recommended != RUE_NONE ? selection->recommended
                  : selection->ranked_count          ? selection->ranked[0]
                                                     : 0;
    struct rue_config config = variant->matrix->configs[best];
    const struct rue_knobs *knobs = rue_config_knobs(&config);
    for (size_t k = 0; k < knobs->count; k++)
        if (request->given[k]) config.value[k] = request->values[k];
    return config;
}

/* Without workers, knobs that need them have no effect, so one value of them stands for all. */
static bool is_same(const struct rue_config *a, const struct rue_config *b)
{
    const struct rue_knobs *knobs = rue_config_knobs(a);
    for (size_t k = 0; k < knobs->count; k++) {
        bool idle = knobs->at[k]->needs_workers && !a->value[RUE_NUM_WORKERS];
        if (!idle && a->value[k] != b->value[k]) return false;
    }
    return true;
}

static size_t find_column(const struct rue_variant_findings *variant, const struct rue_config *config)
{
    for (size_t c = 0; c < variant->matrix->config_count; c++)
        if (is_same(config, &variant->matrix->configs[c])) return c;
    return RUE_NONE;
}

/* ---- a configuration that cannot be explained ---- */

static bool has_value(const struct rue_cost_matrix *matrix, size_t knob, int value)
{
    for (size_t c = 0; c < matrix->config_count; c++)
        if (matrix->configs[c].value[knob] == value) return true;
    return false;
}

/* "1, 2, 4": the values of the knob, as many as fit. */
static void list_values(const struct rue_cost_matrix *matrix, size_t knob, char *out, size_t bytes)
{
    const struct rue_knob_info *info = rue_config_knobs(&matrix->configs[0])->at[knob];
    struct rue_space space = rue_space_default(rue_config_knobs(&matrix->configs[0]));
    space.count[knob] = 0;
    for (size_t c = 0; c < matrix->config_count; c++)
        if (!rue_space_has_value(&space, knob, matrix->configs[c].value[knob]))
            rue_space_add(&space, knob, matrix->configs[c].value[knob]);
    size_t used = 0;
    for (int i = 0; i < space.count[knob] && used < bytes; i++) {
        char text[RUE_KNOB_TEXT_BYTES];
        rue_knob_format(info, space.values[knob][i], text);
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i ? ", " : "", text);
    }
}

static rue_status fail_unknown(const struct request *request, rue_error *error)
{
    const struct rue_variant_findings *variant = &request->findings->variants[0];
    if (!request->findings->variant_count || !variant->matrix->config_count)
        return rue_fail(error, RUE_INCONCLUSIVE, "%s has no configuration to explain",
                        request->record->store);
    const struct rue_config config = make_config(request, variant);
    const struct rue_knobs *knobs = rue_config_knobs(&config);
    char text[RUE_CONFIG_TEXT_BYTES], value[RUE_KNOB_TEXT_BYTES], values[128], word[RUE_SHELL_WORD_BYTES];
    rue_config_describe(&config, text);
    for (size_t k = 0; k < knobs->count; k++) {
        if (!request->given[k] || has_value(variant->matrix, k, config.value[k])) continue;
        rue_knob_format(knobs->at[k], config.value[k], value);
        list_values(variant->matrix, k, values, sizeof values);
        return rue_fail(error, RUE_USAGE, "%s %s is not in %s, which has only %s", knobs->at[k]->name, value,
                        request->record->store, values);
    }
    return rue_fail(
        error, RUE_USAGE, "%s is not in %s: give other values; to list all configurations: %s show --json %s",
        text, request->record->store, rue_program_name(), rue_shell_word(request->record->folder, word));
}

static rue_status fail_unmeasured(const struct request *request, size_t v, size_t config, rue_error *error)
{
    const struct rue_variant_findings *variant = &request->findings->variants[v];
    const struct rue_ranking_row *row = &variant->selection->rows[config];
    size_t model = rue_findings_first_miss(variant, config);
    const char *reason =
        model == RUE_NONE ? "" : rue_cost_matrix_cell(variant->matrix, model, config)->reason;
    char text[RUE_CONFIG_TEXT_BYTES];
    rue_config_describe(&variant->matrix->configs[config], text);
    return rue_fail(error, row->infeasible ? RUE_INFEASIBLE : RUE_INCONCLUSIVE, "%s %s%s%s%s%s", text,
                    row->infeasible ? "is infeasible"
                    : row->failed
                        ? "failed"
                        : "was not measured, and cannot be predicted (a larger --budget measures more)",
                    model == RUE_NONE || variant->models_unnamed ? "" : " on ",
                    model == RUE_NONE || variant->models_unnamed ? "" : variant->matrix->models[model],
                    reason[0] ? ": " : "", reason);
}

/* ---- output ---- */

static rue_status show_page(const struct request *request, struct rue_explanation *const *explanations,
                            rue_error *error)
{
    struct rue_page page = {0};
    for (size_t v = 0; v < request->findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &request->findings->variants[v];
        if (!explanations[v]) continue;
        if (!rue_findings_is_only(request->findings, variant)) {
            rue_page_heading(&page, 1);
            rue_say_variant(&page, request->findings, variant);
        }
        rue_explanation_put(&page, explanations[v]);
        rue_page_gap(&page);
    }
    return rue_terminal_show(&page, RUE_TABLE_COLUMNS, error);
}

static rue_status show_json(const struct request *request, struct rue_explanation *const *explanations,
                            rue_error *error)
{
    json_t *list = json_array();
    for (size_t v = 0; v < request->findings->variant_count; v++)
        if (explanations[v]) rue_json_push(&list, rue_explanation_json(explanations[v]));
    return rue_json_write(
        rue_json_make("format:t study:t variants:o", "rue.why/1", request->record->folder, list), stdout,
        error);
}

/* Explains the configuration for each variant that has it. */
static rue_status explain_variants(const struct request *request, const struct rue_breakdown *breakdown,
                                   struct rue_explanation **explanations, rue_error *error)
{
    size_t explained = 0, failed = RUE_NONE, failed_config = RUE_NONE;
    rue_status status = RUE_OK;
    for (size_t v = 0; status == RUE_OK && v < request->findings->variant_count; v++) {
        const struct rue_variant_findings *variant = &request->findings->variants[v];
        if (!variant->matrix->config_count) continue;
        const struct rue_config config = make_config(request, variant);
        size_t column = find_column(variant, &config);
        if (column == RUE_NONE) continue;
        if (variant->selection->rows[column].covered == 0) {
            failed = v;
            failed_config = column;
            continue;
        }
        status = rue_explanation_open(request->findings, breakdown, v, column, &explanations[v], error);
        explained += status == RUE_OK;
    }
    if (status != RUE_OK || explained) return status;
    return failed == RUE_NONE ? fail_unknown(request, error)
                              : fail_unmeasured(request, failed, failed_config, error);
}

static rue_status explain(const struct request *request, const struct rue_options *options,
                          const struct rue_breakdown *breakdown, rue_error *error)
{
    size_t count = request->findings->variant_count;
    struct rue_explanation **explanations = calloc(count + 1, sizeof *explanations);
    if (!explanations) return rue_fail_memory(error, "explanations", count * sizeof *explanations);
    rue_status status = explain_variants(request, breakdown, explanations, error);
    if (status == RUE_OK)
        status = rue_options_flag(options, "json") ? show_json(request, explanations, error)
                                                   : show_page(request, explanations, error);
    for (size_t v = 0; v < count; v++) rue_explanation_close(explanations[v]);
    free(explanations);
    return status;
}

static rue_status explain_record(struct rue_record *record, const struct rue_options *options,
                                 rue_error *error)
{
    struct rue_findings *findings;
    struct rue_breakdown *breakdown = NULL;
    struct rue_knob_choices choices;
    rue_status status = rue_knob_choices_read(options, &choices, error);
    if (status == RUE_OK) status = rue_record_findings(record, &record->last->rules, &findings, error);
    if (status != RUE_OK) return status;
    struct request request = {.record = record, .findings = findings, .choices = &choices};
    status = read_values(&request, error);
    if (status == RUE_OK) status = rue_breakdown_open(findings, &breakdown, error);
    if (status == RUE_OK) status = rue_record_check_list(record, error);
    if (status == RUE_OK) status = explain(&request, options, breakdown, error);
    rue_breakdown_close(breakdown);
    rue_findings_close(findings);
    return status;
}

static rue_status run_why(const struct rue_options *options, rue_error *error)
{
    struct rue_record record;
    rue_status status = rue_record_read(rue_options_arguments(options)[0], &record, error);
    if (status != RUE_OK) return status;
    status = rue_record_check(&record, "explain", error);
    if (status == RUE_OK) status = explain_record(&record, options, error);
    rue_record_close(&record);
    return status;
}

const struct rue_command rue_command_why = {
    .name = "why",
    .arguments = "STUDY",
    .summary = "Explain why a configuration of a study is not the best one.",
    .details =
        "  rue why rue-out/photos --batch-size 256 --num-workers 2\n"
        "  rue why rue-out/photos --num-workers 0 --json\n\n"
        "Shows where its time goes, and what it loses against the best configuration on each model and\n"
        "in which part. Says whether that is more than noise, and what would have to change. Knobs\n"
        "that are not given have the values of the recommended one. Nothing is measured.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_why,
};
