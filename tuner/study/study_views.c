#include "study_views.h"

#include <math.h>
#include <stdlib.h>

#include "disturbance.h"
#include "interrupt.h"
#include "job_time.h"
#include "study_space.h"

enum { REPEATS_LEAST = 3, CELLS_QUICK = 600 };

static const double to_sd = 1.4826;  /* standard deviation / median absolute deviation of normal values */
static const double least_sd = 0.01; /* of the logarithm of a time */

/* ---- matrices ---- */

static bool has_cost(const struct rue_ledger_row *row)
{
    return row->config != RUE_NONE && row->cost_ns > 0 && isfinite(row->cost_ns);
}

/* The cost at the speed before any change of the machine. The first batch is only loaded. */
static double corrected_ns(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                           const struct rue_ledger_row *row)
{
    struct rue_speed speed = rue_speed_history_at(&ledger->speeds, row->trial.id);
    bool first = setup->goal.search.minimise == RUE_GOAL_FIRST_BATCH;
    return row->cost_ns / (first ? exp(speed.load) : rue_speed_ratio(speed, &row->trial.result));
}

static rue_status add_row(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                          const struct rue_ledger_row *row, struct rue_cost_matrix *matrix, rue_error *error)
{
    const struct rue_trial_result *result = &row->trial.result;
    if (result->outcome != RUE_TRIAL_OK) {
        rue_cost_matrix_add_failure(matrix, row->model, row->config, result->outcome, result->reason);
        return RUE_OK;
    }
    rue_status status = RUE_OK;
    if (result->first_batch_ns != RUE_ABSENT)
        status = rue_cost_matrix_add_first_batch(matrix, row->model, row->config,
                                                 (double)result->first_batch_ns, error);
    if (status != RUE_OK || rue_study_predicts(setup)) return status;
    if (has_cost(row))
        return rue_cost_matrix_add(matrix, row->model, row->config, corrected_ns(setup, ledger, row),
                                   row->predicted, error);
    char reason[RUE_REASON_BYTES];
    snprintf(reason, sizeof reason, "the trial was too short to measure %s",
             rue_goal_words[setup->goal.search.minimise]);
    rue_cost_matrix_add_failure(matrix, row->model, row->config, RUE_TRIAL_FAILED, reason);
    return RUE_OK;
}

rue_status rue_study_matrix(const struct rue_study_setup *setup, const struct rue_study_ledger *ledger,
                            size_t variant, struct rue_cost_matrix **out, rue_error *error)
{
    rue_status status = rue_study_open_matrix(setup, out, error);
    if (status != RUE_OK) return status;
    (*out)->first_limit_ns = setup->goal.search.max_first_batch_ns;
    for (size_t i = 0; status == RUE_OK && i < ledger->row_count; i++)
        if (ledger->rows[i].config != RUE_NONE && ledger->rows[i].variant == variant)
            status = add_row(setup, ledger, &ledger->rows[i], *out, error);
    if (status == RUE_OK) return RUE_OK;
    rue_cost_matrix_close(*out);
    *out = NULL;
    return status;
}

/* ---- uncertain and disturbed trials ---- */

size_t rue_study_next_unsure(const struct rue_study_ledger *ledger, size_t from)
{
    for (size_t i = from; i < ledger->row_count; i++)
        if (has_cost(&ledger->rows[i]) && rue_study_is_unsure(ledger, ledger->rows[i].trial.id)) return i;
    return RUE_NONE;
}

/* Distance of a time from the median of its cell, as a logarithm; 0: too few repeats. */
static double cell_error(const struct rue_study *study, const struct rue_ledger_row *row)
{
    const struct rue_cost_matrix *matrix = study->outcome.variants[row->variant].matrix;
    if (!matrix || !has_cost(row)) return 0;
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, row->model, row->config);
    if (cell->repeats < REPEATS_LEAST || cell->predicted != row->predicted) return 0;
    return log(corrected_ns(&study->setup, &study->ledger, row) / cell->median_ns);
}

/* Standard deviation of the errors in all cells, without the medians; infinite if out of memory. */
static double cell_scatter(const struct rue_study *study)
{
    double *distances = calloc(study->ledger.row_count + 1, sizeof *distances), sd = INFINITY;
    size_t count = 0;
    for (size_t i = 0; distances && i < study->ledger.row_count; i++) {
        double off = fabs(cell_error(study, &study->ledger.rows[i]));
        if (off > 0) distances[count++] = off;
    }
    if (count) sd = fmax(to_sd * rue_median(distances, count), least_sd);
    free(distances);
    return sd;
}

/* Distance of a time from what the strategy now expects, as a logarithm. */
static double posterior_error(const struct rue_study *study, const struct rue_ledger_row *row, void *state,
                              double *sd)
{
    const struct rue_trial_result *result = &row->trial.result;
    const struct rue_speed_history *speeds = &study->ledger.speeds;
    struct rue_question question = {
        .measure = RUE_JOINT, .scenario = row->model, .config = row->config, .images = row->trial.images};
    double expected_s;
    if (result->end_to_end_ns <= 0 || !study->setup.plan.strategy->expect(state, &question, &expected_s, sd))
        return 0;
    struct rue_contention contention = rue_study_contention(&study->setup, result);
    *sd = hypot(RUE_STUDY_SPREAD * *sd, contention.sd);
    double former = rue_speed_ratio(rue_speed_history_at(speeds, row->trial.id), result),
           current = rue_speed_ratio(rue_speed_history_at(speeds, SIZE_MAX), result);
    return log((double)result->end_to_end_ns / 1e9 / contention.whole_ratio / expected_s * current / former);
}

void rue_study_mark_disturbed(struct rue_study *study, size_t variant, void *state)
{
    bool predicts = study->setup.plan.strategy->expect;
    double sd = predicts ? 0 : cell_scatter(study);
    if (rue_study_hello(&study->setup)->whole_jobs) return; /* recorded times cannot be disturbed */
    for (size_t i = 0; i < study->ledger.row_count; i++) {
        struct rue_ledger_row *row = &study->ledger.rows[i];
        if (row->config == RUE_NONE || row->variant != variant) continue;
        if (row->trial.result.outcome != RUE_TRIAL_OK) continue;
        double error = predicts ? posterior_error(study, row, state, &sd) : cell_error(study, row);
        row->trial.disturbed = rue_disturbance_is_likely(error, sd);
    }
}

/* ---- lengths ---- */

/* The source of times for other lengths. */
struct source {
    const struct rue_study *study;
    size_t variant;
    void *state;                /* of the strategy */
    struct rue_job_line *lines; /* [cells] of the last trials; NULL: the strategy predicts */
};

static uint64_t consumed_images(const struct source *source, size_t config, uint64_t images)
{
    return rue_config_images(&source->study->setup.configs[config],
                             source->study->setup.variants[source->variant].workload.drop_last, images);
}

/* The strategy's prediction, or the line of the cell's last trial, scaled to the cell's median. */
static double time_s(const void *context, size_t model, size_t config, uint64_t images)
{
    const struct source *source = context;
    const struct rue_study *study = source->study;
    uint64_t length = consumed_images(source, config, images);
    if (study->setup.plan.strategy->job_s)
        return study->setup.plan.strategy->job_s(source->state, model, config, length);
    const struct rue_job_line *line = &source->lines[model * study->setup.config_count + config];
    uint64_t job = consumed_images(source, config, study->setup.variants[source->variant].job_images);
    double cell_ns =
        rue_cost_matrix_cell(study->outcome.variants[source->variant].matrix, model, config)->median_ns;
    return rue_job_line_ns(line, length) * cell_ns / rue_job_line_ns(line, job) / 1e9;
}

/* The newest trial of each cell; NULL if out of memory: then other lengths are not reported. */
static struct rue_job_line *last_lines(const struct rue_study *study, size_t variant)
{
    size_t configs = study->setup.config_count;
    struct rue_job_line *lines = calloc(study->setup.model_count * configs + 1, sizeof *lines);
    for (size_t i = 0; lines && i < study->ledger.row_count; i++) {
        const struct rue_ledger_row *row = &study->ledger.rows[i];
        if (row->variant == variant && has_cost(row)) lines[row->model * configs + row->config] = row->line;
    }
    return lines;
}

rue_status rue_study_find_lengths(struct rue_study *study, size_t variant, void *state, rue_error *error)
{
    struct source source = {study, variant, state, NULL};
    struct rue_selection *selection;
    if (study->setup.goal.search.minimise != RUE_GOAL_TIME) return RUE_OK;
    if (!rue_study_predicts(&study->setup)) source.lines = last_lines(study, variant);
    if (!study->setup.plan.strategy->job_s && !source.lines) return RUE_OK;
    rue_status status = rue_ranking_rules_select(&study->setup.goal.search.rules,
                                                 study->outcome.variants[variant].matrix, &selection, error);
    if (status != RUE_OK) {
        free(source.lines);
        return status;
    }
    /* A search that is short enough is finished after a signal. */
    bool quick = study->setup.model_count * study->setup.config_count <= CELLS_QUICK;
    struct rue_job_length_setup question = {.matrix = study->outcome.variants[variant].matrix,
                                            .selection = selection,
                                            .job_images = study->setup.variants[variant].job_images,
                                            .epsilon_ratio = study->setup.goal.search.epsilon_ratio,
                                            .time_s = time_s,
                                            .context = &source,
                                            .stop = quick ? NULL : rue_interrupt_status};
    if (selection->recommended != RUE_NONE)
        status = rue_job_lengths_find(&question, &study->outcome.variants[variant].lengths, error);
    rue_selection_close(selection);
    free(source.lines);
    bool stopped = status == RUE_INTERRUPTED || status == RUE_TERMINATED;
    return stopped ? RUE_OK : status; /* the answer for this job is still reported */
}
