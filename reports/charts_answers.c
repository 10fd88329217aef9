#include <math.h>
#include <stdio.h>

#include "answers.h"
#include "charts.h"

/* ---- regret against memory ---- */

static bool is_on_front(const struct rue_answers *answers, size_t config)
{
    for (size_t i = 0; i < answers->front_count; i++)
        if (answers->front[i] == config) return true;
    return false;
}

static void put_memory_row(struct rue_page *page, const struct rue_variant_findings *variant, size_t config,
                           bool front)
{
    const struct rue_table_column row[] = {
        {"config", "batch size/workers", .config = &variant->matrix->configs[config]},
        {"memory_bytes", "batches in flight", RUE_UNIT_BYTES,
         .number = variant->answers->memory_bytes[config]},
        {"regret", "mean regret", RUE_UNIT_PERCENT,
         .number = variant->selection->rows[config].mean_regret_ratio},
        {"group", "group", .text = front ? "nothing is better in both" : "others"},
    };
    rue_page_row(page, config == variant->selection->recommended, row, sizeof row / sizeof *row);
    rue_page_mark(page, front ? RUE_ROW_JOINED : RUE_ROW_PLAIN);
}

/* The front is in the order of regret, so of memory. */
static void put_memory(struct rue_page *page, const struct rue_chart_subject *subject)
{
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_answers *answers = variant->answers;
    if (!answers || !answers->memory_bytes) return;
    rue_page_table(page);
    for (size_t i = 0; i < answers->front_count; i++) put_memory_row(page, variant, answers->front[i], true);
    for (size_t i = 0; i < variant->selection->ranked_count; i++)
        if (!is_on_front(answers, variant->selection->ranked[i]))
            put_memory_row(page, variant, variant->selection->ranked[i], false);
    rue_charts_add(
        page, subject,
        &(struct rue_chart){.kind = RUE_CHART_POINTS,
                            .name = "front",
                            .title = "Regret against memory",
                            .note = "memory of the batches in flight; the line is the Pareto front",
                            .x = "memory_bytes",
                            .value = "regret",
                            .series = "group",
                            .log_x = true,
                            .from_zero = true});
}

/* ---- votes against regret ---- */

static void put_votes(struct rue_page *page, const struct rue_chart_subject *subject)
{
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_selection *selection = variant->selection;
    char header[48];
    snprintf(header, sizeof header, "in top %zu (models)", selection->top_n);
    if (selection->recommended == RUE_NONE || selection->top_n_winner == selection->recommended) return;
    rue_page_table(page);
    for (size_t i = 0; i < selection->ranked_count; i++) {
        size_t config = selection->ranked[i], votes = selection->rows[config].top_n_count;
        const struct rue_table_column row[] = {
            {"config", "batch size/workers", .config = &variant->matrix->configs[config]},
            {"votes", header, RUE_UNIT_COUNT, .number = (double)votes},
            {"regret", "mean regret", RUE_UNIT_PERCENT, .number = selection->rows[config].mean_regret_ratio},
        };
        if (votes) rue_page_row(page, config == selection->recommended, row, sizeof row / sizeof *row);
    }
    rue_charts_add(
        page, subject,
        &(struct rue_chart){
            .kind = RUE_CHART_POINTS,
            .name = "votes",
            .title = "Votes and regret disagree",
            .note = "votes: models for which it is among the fastest; circle: recommended, by regret",
            .x = "votes",
            .value = "regret",
            .from_zero = true});
}

/* ---- the answer by length of the job ---- */

static void put_length(struct rue_page *page, const struct rue_variant_findings *variant,
                       const struct rue_job_interval *interval, enum rue_knob knob)
{
    const struct rue_config *config = &variant->matrix->configs[interval->config];
    const uint64_t ends[] = {interval->from_images, interval->to_images};
    for (int i = 0; i < 2; i++) {
        const struct rue_table_column row[] = {
            {"images", "images of the job", RUE_UNIT_SCALED, .number = (double)ends[i]},
            {"knob", "knob", .text = knob == RUE_BATCH_SIZE ? "batch size" : "workers"},
            {"best", "best value", RUE_UNIT_COUNT, .number = config->value[knob]},
            {"config", "configuration", .config = config},
        };
        rue_page_row(page, false, row, sizeof row / sizeof *row);
    }
}

static void put_lengths(struct rue_page *page, const struct rue_chart_subject *subject)
{
    static const enum rue_knob knobs[] = {RUE_BATCH_SIZE, RUE_NUM_WORKERS};
    const struct rue_job_lengths *lengths = &subject->variant->lengths;
    if (lengths->count < 2) return;
    rue_page_table(page);
    for (size_t k = 0; k < sizeof knobs / sizeof *knobs; k++)
        for (size_t i = 0; i < lengths->count; i++)
            put_length(page, subject->variant, &lengths->at[i], knobs[k]);
    rue_charts_add(page, subject,
                   &(struct rue_chart){.kind = RUE_CHART_LINES,
                                       .name = "length",
                                       .title = "The best configuration over the length of the job",
                                       .note = "predicted",
                                       .x = "images",
                                       .value = "best",
                                       .series = "knob",
                                       .log_x = true,
                                       .log_y = true});
}

/* ---- model by model ---- */

static const struct rue_config *config_at(const struct rue_variant_findings *variant, size_t config)
{
    return config == RUE_NONE ? NULL : &variant->matrix->configs[config];
}

static void put_models(struct rue_page *page, const struct rue_chart_subject *subject)
{
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_selection *selection = variant->selection;
    size_t config = selection->recommended;
    if (config == RUE_NONE || selection->model_count < 2) return;
    rue_page_gap(page);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "The recommended configuration, model by model:");
    rue_page_table(page);
    for (size_t m = 0; m < selection->model_count; m++) {
        const struct rue_config *best = config_at(variant, selection->best_of_model[m]);
        const struct rue_table_column row[] = {
            {"model", "model", .text = variant->matrix->models[m]},
            {"time_ns", "time", RUE_UNIT_DURATION,
             .number = rue_cost_matrix_cell(variant->matrix, m, config)->median_ns},
            {"regret", "regret", RUE_UNIT_PERCENT,
             .number = rue_selection_regret(selection, variant->matrix, m, config)},
            {"best", "best of this model", .config = best, .text = best ? NULL : "none"},
            {"best_ns", "its time", RUE_UNIT_DURATION, .number = selection->best_ns[m]},
        };
        rue_page_row(page, false, row, sizeof row / sizeof *row);
    }
}

/* The smallest set; one of a single configuration says nothing new. */
static void put_set(struct rue_page *page, const struct rue_chart_subject *subject)
{
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_config_set *set = variant->answers ? variant->answers->set : NULL;
    if (!set || set->config_count < 2) return;
    rue_page_gap(page);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page,
            "If each model may have its own configuration, these %zu keep every model within %.3g %% of its "
            "best:",
            set->config_count, 100 * set->epsilon_ratio);
    rue_page_table(page);
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        size_t chosen = set->chosen[m];
        const struct rue_config *config = config_at(variant, chosen);
        const struct rue_table_column row[] = {
            {"model", "model", .text = variant->matrix->models[m]},
            {"config", "configuration", .config = config, .text = config ? NULL : "none"},
            {"regret", "regret", RUE_UNIT_PERCENT,
             .number = config ? rue_selection_regret(variant->selection, variant->matrix, m, chosen) : NAN},
        };
        rue_page_row(page, false, row, sizeof row / sizeof *row);
    }
}

void rue_charts_answers(struct rue_page *page, const struct rue_chart_subject *subject)
{
    put_models(page, subject);
    put_set(page, subject);
    put_votes(page, subject);
    put_memory(page, subject);
    put_lengths(page, subject);
}

/* ---- payback ---- */

void rue_charts_payback(struct rue_page *page, const struct rue_findings *findings,
                        const struct rue_comparison *comparison)
{
    const struct rue_variant_findings *sides[] = {comparison->before, comparison->after};
    double images = (double)comparison->before->data.images,
           build_ns = comparison->after->data.build_s_per_image * images * 1e9;
    struct rue_payback payback =
        rue_comparison_payback(comparison, &comparison->saving, comparison->mean_speedup_ratio);
    double last = isfinite(payback.epochs) && payback.epochs < 1000 ? ceil(2 * fmax(payback.epochs, 2)) : 10;
    char name[PATH_MAX + 128], id[64];
    if (!(images > 0 && build_ns > 0 && sides[0]->job.images && sides[1]->job.images)) return;
    snprintf(id, sizeof id, "payback-%td-%td", sides[0] - findings->variants, sides[1] - findings->variants);
    rue_page_table(page);
    for (int side = 0; side < 2; side++) {
        double epoch_ns = 0;
        for (size_t i = 0; i < comparison->row_count; i++)
            epoch_ns += (side ? comparison->rows[i].after_ns : comparison->rows[i].before_ns) /
                        (double)sides[side]->job.images * images / (double)comparison->row_count;
        rue_findings_name_among(findings, sides[side], name, sizeof name);
        for (int i = 0; i <= 10; i++) {
            double epochs = round(last * i / 10);
            const struct rue_table_column row[] = {
                {"epochs", "epochs", RUE_UNIT_COUNT, .number = epochs},
                {"data", "data", .text = name},
                {"total_ns", "total time", RUE_UNIT_DURATION,
                 .number = epochs * epoch_ns + (side ? build_ns : 0)},
            };
            rue_page_row(page, false, row, sizeof row / sizeof *row);
        }
    }
    rue_page_chart(page,
                   &(struct rue_chart){.kind = RUE_CHART_LINES,
                                       .name = id,
                                       .title = "When preparing the data pays back",
                                       .note = "total time of loading and computing, mean over the models; "
                                               "prepared data begin with the time to prepare them",
                                       .x = "epochs",
                                       .value = "total_ns",
                                       .series = "data",
                                       .from_zero = true});
}
