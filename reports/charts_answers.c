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
    rue_page_row(page, config == variant->selection->recommended);
    rue_put_config(page, &variant->matrix->configs[config]);
    rue_put_number(page, variant->answers->memory_bytes[config]);
    rue_put_number(page, variant->selection->rows[config].mean_regret_ratio);
    rue_put_text(page, front ? "nothing is better in both" : "others");
    rue_put_text(page, front ? "line" : "");
}

/* The front is in the order of regret, so of memory. */
static void put_memory(struct rue_page *page, const struct rue_chart_subject *subject)
{
    static const struct rue_table_column columns[] = {
        {.header = "batch size/workers", .unit = RUE_UNIT_CONFIG},
        {.header = "batches in flight", .unit = RUE_UNIT_BYTES},
        {.header = "mean regret", .unit = RUE_UNIT_PERCENT},
        {.header = "group"},
        {.header = NULL}};
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_answers *answers = variant->answers;
    char id[RUE_CHART_NAME_BYTES];
    if (!answers || !answers->memory_bytes) return;
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    rue_page_chart(
        page, &(struct rue_chart){.kind = RUE_CHART_POINTS,
                                  .name = rue_chart_name(subject, "front", id),
                                  .title = "Regret against memory",
                                  .note = "memory of the batches in flight; the line is the Pareto front",
                                  .x = 2,
                                  .value = 3,
                                  .series = 4,
                                  .state = 5,
                                  .log_x = true,
                                  .from_zero = true});
    for (size_t i = 0; i < answers->front_count; i++) put_memory_row(page, variant, answers->front[i], true);
    for (size_t i = 0; i < variant->selection->ranked_count; i++)
        if (!is_on_front(answers, variant->selection->ranked[i]))
            put_memory_row(page, variant, variant->selection->ranked[i], false);
}

/* ---- votes against regret ---- */

static void put_votes(struct rue_page *page, const struct rue_chart_subject *subject)
{
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_selection *selection = variant->selection;
    char votes[48], title[128], id[RUE_CHART_NAME_BYTES];
    snprintf(votes, sizeof votes, "in top %zu (models)", selection->top_n);
    const struct rue_table_column columns[] = {{.header = "batch size/workers", .unit = RUE_UNIT_CONFIG},
                                               {.header = votes, .unit = RUE_UNIT_COUNT},
                                               {.header = "mean regret", .unit = RUE_UNIT_PERCENT}};
    if (selection->recommended == RUE_NONE || selection->top_n_winner == selection->recommended) return;
    snprintf(title, sizeof title, "Votes and regret disagree");
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    rue_page_chart(
        page, &(struct rue_chart){
                  .kind = RUE_CHART_POINTS,
                  .name = rue_chart_name(subject, "votes", id),
                  .title = title,
                  .note = "votes: models for which it is among the fastest; circle: recommended, by regret",
                  .x = 2,
                  .value = 3,
                  .from_zero = true});
    for (size_t i = 0; i < selection->ranked_count; i++) {
        size_t config = selection->ranked[i];
        if (!selection->rows[config].top_n_count) continue;
        rue_page_row(page, config == selection->recommended);
        rue_put_config(page, &variant->matrix->configs[config]);
        rue_put_number(page, (double)selection->rows[config].top_n_count);
        rue_put_number(page, selection->rows[config].mean_regret_ratio);
    }
}

/* ---- the answer by length of the job ---- */

static void put_length(struct rue_page *page, const struct rue_variant_findings *variant,
                       const struct rue_job_interval *interval, enum rue_knob knob)
{
    const struct rue_config *config = &variant->matrix->configs[interval->config];
    const uint64_t ends[] = {interval->from_images, interval->to_images};
    for (int i = 0; i < 2; i++) {
        rue_page_row(page, false);
        rue_put_number(page, (double)ends[i]);
        rue_put_text(page, knob == RUE_BATCH_SIZE ? "batch size" : "workers");
        rue_put_number(page, config->value[knob]);
        rue_put_config(page, config);
    }
}

static void put_lengths(struct rue_page *page, const struct rue_chart_subject *subject)
{
    static const struct rue_table_column columns[] = {{.header = "images of the job", .unit = RUE_UNIT_COUNT},
                                                      {.header = "knob"},
                                                      {.header = "best value", .unit = RUE_UNIT_COUNT},
                                                      {.header = "configuration", .unit = RUE_UNIT_CONFIG}};
    static const enum rue_knob knobs[] = {RUE_BATCH_SIZE, RUE_NUM_WORKERS};
    const struct rue_job_lengths *lengths = &subject->variant->lengths;
    char id[RUE_CHART_NAME_BYTES];
    if (lengths->count < 2) return;
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    rue_page_chart(page, &(struct rue_chart){.kind = RUE_CHART_LINES,
                                             .name = rue_chart_name(subject, "length", id),
                                             .title = "The best configuration over the length of the job",
                                             .note = "predicted",
                                             .x = 1,
                                             .value = 3,
                                             .series = 2,
                                             .log_x = true,
                                             .log_y = true});
    for (size_t k = 0; k < sizeof knobs / sizeof *knobs; k++)
        for (size_t i = 0; i < lengths->count; i++)
            put_length(page, subject->variant, &lengths->at[i], knobs[k]);
}

/* ---- model by model ---- */

static void put_config(struct rue_page *page, const struct rue_variant_findings *variant, size_t config)
{
    if (config == RUE_NONE)
        rue_put_text(page, "none");
    else
        rue_put_config(page, &variant->matrix->configs[config]);
}

static void put_models(struct rue_page *page, const struct rue_chart_subject *subject)
{
    static const struct rue_table_column columns[] = {
        {.header = "model"},
        {.header = "time", .unit = RUE_UNIT_DURATION},
        {.header = "regret", .unit = RUE_UNIT_PERCENT},
        {.header = "best of this model", .unit = RUE_UNIT_CONFIG},
        {.header = "its time", .unit = RUE_UNIT_DURATION}};
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_selection *selection = variant->selection;
    size_t config = selection->recommended;
    if (config == RUE_NONE || selection->model_count < 2) return;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page, "The recommended configuration, model by model:");
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    for (size_t m = 0; m < selection->model_count; m++) {
        rue_page_row(page, false);
        rue_put_text(page, variant->matrix->models[m]);
        rue_put_number(page, rue_cost_matrix_cell(variant->matrix, m, config)->median_ns);
        rue_put_number(page, rue_selection_regret(selection, variant->matrix, m, config));
        put_config(page, variant, selection->best_of_model[m]);
        rue_put_number(page, selection->best_ns[m]);
    }
}

/* The smallest set; one of a single configuration says nothing new. */
static void put_set(struct rue_page *page, const struct rue_chart_subject *subject)
{
    static const struct rue_table_column columns[] = {{.header = "model"},
                                                      {.header = "configuration", .unit = RUE_UNIT_CONFIG},
                                                      {.header = "regret", .unit = RUE_UNIT_PERCENT}};
    const struct rue_variant_findings *variant = subject->variant;
    const struct rue_config_set *set = variant->answers ? variant->answers->set : NULL;
    if (!set || set->config_count < 2) return;
    rue_page_sentence(page, RUE_LOOK_PLAIN, 0);
    rue_say(page,
            "If each model may have its own configuration, these %zu keep every model within %.3g %% of its "
            "best:",
            set->config_count, 100 * set->epsilon_ratio);
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    for (size_t m = 0; m < variant->selection->model_count; m++) {
        size_t chosen = set->chosen[m];
        double regret =
            chosen == SIZE_MAX ? NAN : rue_selection_regret(variant->selection, variant->matrix, m, chosen);
        rue_page_row(page, false);
        rue_put_text(page, variant->matrix->models[m]);
        put_config(page, variant, chosen == SIZE_MAX ? RUE_NONE : chosen);
        rue_put_number(page, regret);
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
    static const struct rue_table_column columns[] = {{.header = "epochs", .unit = RUE_UNIT_COUNT},
                                                      {.header = "data"},
                                                      {.header = "total time", .unit = RUE_UNIT_DURATION}};
    const struct rue_variant_findings *sides[] = {comparison->before, comparison->after};
    double images = (double)comparison->before->data.images,
           build_ns = comparison->after->data.build_s_per_image * images * 1e9;
    struct rue_payback payback =
        rue_comparison_payback(comparison, &comparison->saving, comparison->mean_speedup_ratio);
    double last = isfinite(payback.epochs) && payback.epochs < 1000 ? ceil(2 * fmax(payback.epochs, 2)) : 10;
    char name[PATH_MAX + 128], id[64];
    if (!(images > 0 && build_ns > 0 && sides[0]->job.images && sides[1]->job.images)) return;
    snprintf(id, sizeof id, "payback-%td-%td", sides[0] - findings->variants, sides[1] - findings->variants);
    rue_page_table(page, columns, sizeof columns / sizeof *columns);
    rue_page_chart(page,
                   &(struct rue_chart){.kind = RUE_CHART_LINES,
                                       .name = id,
                                       .title = "When preparing the data pays back",
                                       .note = "total time of loading and computing, mean over the models; "
                                               "prepared data begin with the time to prepare them",
                                       .x = 1,
                                       .value = 3,
                                       .series = 2,
                                       .from_zero = true});
    for (int side = 0; side < 2; side++) {
        double epoch_ns = 0;
        for (size_t i = 0; i < comparison->row_count; i++)
            epoch_ns += (side ? comparison->rows[i].after_ns : comparison->rows[i].before_ns) /
                        (double)sides[side]->job.images * images / (double)comparison->row_count;
        rue_findings_name_among(findings, sides[side], name, sizeof name);
        for (int i = 0; i <= 10; i++) {
            double epochs = round(last * i / 10);
            rue_page_row(page, false);
            rue_put_number(page, epochs);
            rue_put_text(page, name);
            rue_put_number(page, epochs * epoch_ns + (side ? build_ns : 0));
        }
    }
}
