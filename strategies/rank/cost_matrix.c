#include "cost_matrix.h"

#include <assert.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "units.h"

static const char no_reason[] = "";

rue_status rue_cost_matrix_open(const struct rue_config *configs, size_t config_count,
                                const char *const *models, size_t model_count, struct rue_cost_matrix **out,
                                rue_error *error)
{
    size_t cell_count;
    *out = NULL;
    if (__builtin_mul_overflow(config_count, model_count, &cell_count))
        return rue_fail_memory(error, "the cost matrix", SIZE_MAX);
    struct rue_cost_matrix *matrix = calloc(1, sizeof *matrix);
    if (!matrix) return rue_fail_memory(error, "the cost matrix", sizeof *matrix);
    matrix->config_count = config_count;
    matrix->model_count = model_count;
    /* One element more than needed, because calloc(0) may return NULL for an empty matrix. */
    matrix->configs = calloc(config_count + 1, sizeof *matrix->configs);
    matrix->models = calloc(model_count + 1, sizeof *matrix->models);
    matrix->cells = calloc(cell_count + 1, sizeof *matrix->cells);
    if (!matrix->configs || !matrix->models || !matrix->cells) goto out_of_memory;
    if (config_count > 0) memcpy(matrix->configs, configs, config_count * sizeof *configs);
    for (size_t m = 0; m < model_count; m++)
        if (!(matrix->models[m] = strdup(models[m]))) goto out_of_memory;
    for (size_t i = 0; i < cell_count; i++)
        matrix->cells[i] = (struct rue_cell){
            .median_ns = NAN, .estimate_sd = NAN, .first_batch_ns = NAN, .reason = no_reason};
    *out = matrix;
    return RUE_OK;

out_of_memory:
    rue_cost_matrix_close(matrix);
    return rue_fail_memory(error, "the cost matrix",
                           (unsigned long long)cell_count * sizeof(struct rue_cell));
}

static void reason_free(struct rue_cell *cell)
{
    if (cell->reason && cell->reason != no_reason) free((char *)cell->reason);
}

void rue_cost_matrix_close(struct rue_cost_matrix *matrix)
{
    if (!matrix) return;
    for (size_t i = 0; matrix->cells && i < matrix->model_count * matrix->config_count; i++) {
        free(matrix->cells[i].times_ns);
        free(matrix->cells[i].first_batches_ns);
        reason_free(&matrix->cells[i]);
    }
    for (size_t m = 0; matrix->models && m < matrix->model_count; m++) free(matrix->models[m]);
    free(matrix->scratch);
    free(matrix->cells);
    free(matrix->models);
    free(matrix->configs);
    free(matrix);
}

static struct rue_cell *cell_at(const struct rue_cost_matrix *matrix, size_t model, size_t config)
{
    assert(model < matrix->model_count && config < matrix->config_count);
    return &matrix->cells[model * matrix->config_count + config];
}

const struct rue_cell *rue_cost_matrix_cell(const struct rue_cost_matrix *matrix, size_t model, size_t config)
{
    return cell_at(matrix, model, config);
}

size_t rue_cost_matrix_model(const struct rue_cost_matrix *matrix, const char *name)
{
    for (size_t m = 0; m < matrix->model_count; m++)
        if (strcmp(matrix->models[m], name) == 0) return m;
    return SIZE_MAX;
}

size_t rue_cost_matrix_config(const struct rue_cost_matrix *matrix, const struct rue_config *config)
{
    for (size_t c = 0; c < matrix->config_count; c++)
        if (rue_config_equal(&matrix->configs[c], config)) return c;
    return SIZE_MAX;
}

/* Appends a value, and makes the scratch memory large enough to sort all of them. */
static rue_status append_value(struct rue_cost_matrix *matrix, double **values, size_t *count,
                               size_t *capacity, double value, rue_error *error)
{
    rue_status status =
        rue_array_grow(values, capacity, *count + 1, sizeof **values, "repeats of a trial", error);
    if (status == RUE_OK)
        status = rue_array_grow(&matrix->scratch, &matrix->scratch_capacity, *count + 1, sizeof **values,
                                "repeats of a trial", error);
    if (status == RUE_OK) (*values)[(*count)++] = value;
    return status;
}

static double values_median(struct rue_cost_matrix *matrix, const double *values, size_t count)
{
    memcpy(matrix->scratch, values, count * sizeof *values);
    return gsl_stats_median(matrix->scratch, 1, count);
}

static void set_reason(struct rue_cell *cell, const char *reason)
{
    char *copy = reason && *reason ? strndup(reason, RUE_REASON_BYTES - 1) : NULL;
    reason_free(cell);
    cell->reason = copy ? copy : no_reason;
}

static void set_late_reason(const struct rue_cost_matrix *matrix, struct rue_cell *cell)
{
    char reason[RUE_REASON_BYTES], limit[RUE_UNIT_TEXT_BYTES], first[RUE_UNIT_TEXT_BYTES];
    rue_format_duration(matrix->first_limit_ns, limit, sizeof limit);
    if (isnan(cell->first_batch_ns))
        snprintf(reason, sizeof reason, "the time of its first batch is unknown, and the limit is %s", limit);
    else
        snprintf(reason, sizeof reason, "its first batch %s after %s, and the limit is %s",
                 cell->first_count ? "came" : "is expected",
                 rue_format_duration((uint64_t)fmin(cell->first_batch_ns, 1e18), first, sizeof first), limit);
    set_reason(cell, reason);
}

/* A cell with a time is ok, unless it is late. */
static void update_cell_state(const struct rue_cost_matrix *matrix, struct rue_cell *cell)
{
    if (isnan(cell->median_ns)) return;
    bool late = matrix->first_limit_ns && !(cell->first_batch_ns <= (double)matrix->first_limit_ns);
    if (late)
        set_late_reason(matrix, cell);
    else if (cell->late)
        set_reason(cell, NULL);
    cell->late = late;
    cell->state = late ? RUE_CELL_INFEASIBLE : RUE_CELL_OK;
}

static rue_status check_cell_time(const struct rue_cost_matrix *matrix, size_t model, double time_ns,
                                  rue_error *error)
{
    if (isfinite(time_ns) && time_ns > 0) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "a trial of %s reported %g ns for its job; a time must be positive",
                    matrix->models[model], time_ns);
}

static rue_status add_time(struct rue_cost_matrix *matrix, struct rue_cell *cell, size_t model,
                           double time_ns, bool predicted, rue_error *error)
{
    rue_status status = check_cell_time(matrix, model, time_ns, error);
    if (status != RUE_OK) return status;
    bool measured = cell->repeats > 0 && !cell->predicted;
    if (predicted && measured) return RUE_OK;
    if (cell->predicted && !predicted) cell->repeats = 0;
    cell->predicted = predicted;
    return append_value(matrix, &cell->times_ns, &cell->repeats, &cell->capacity, time_ns, error);
}

/* What is predicted from the longest trials can be above what a result holds. */
static double limit_time(double time_ns)
{
    return isfinite(time_ns) ? fmin(time_ns, RUE_TRIAL_FIELD_MAX) : time_ns;
}

rue_status rue_cost_matrix_add_repeats(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                       const double *times_ns, size_t count, bool predicted, rue_error *error)
{
    struct rue_cell *cell = cell_at(matrix, model, config);
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < count; i++)
        status = add_time(matrix, cell, model, limit_time(times_ns[i]), predicted, error);
    if (cell->repeats == 0) return status;
    cell->median_ns = values_median(matrix, cell->times_ns, cell->repeats);
    update_cell_state(matrix, cell);
    return status;
}

rue_status rue_cost_matrix_add(struct rue_cost_matrix *matrix, size_t model, size_t config, double time_ns,
                               bool predicted, rue_error *error)
{
    return rue_cost_matrix_add_repeats(matrix, model, config, &time_ns, 1, predicted, error);
}

/* Whether the cell has an estimate and no trial. */
static bool is_estimated(const struct rue_cell *cell)
{
    return cell->state == RUE_CELL_OK && !cell->times_ns;
}

rue_status rue_cost_matrix_estimate(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                    double time_ns, double sd, size_t repeats, bool predicted,
                                    rue_error *error)
{
    struct rue_cell *cell = cell_at(matrix, model, config);
    if (cell->state != RUE_CELL_MISSING && !is_estimated(cell)) return RUE_OK;
    rue_status status = check_cell_time(matrix, model, time_ns, error);
    if (status != RUE_OK) return status;
    cell->median_ns = limit_time(time_ns);
    cell->estimate_sd = sd;
    cell->repeats = repeats;
    cell->predicted = predicted;
    update_cell_state(matrix, cell);
    return RUE_OK;
}

void rue_cost_matrix_add_failure(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                 enum rue_outcome outcome, const char *reason)
{
    struct rue_cell *cell = cell_at(matrix, model, config);
    assert(outcome != RUE_TRIAL_OK && outcome < RUE_OUTCOME_COUNT);
    cell->missed++;
    cell->infeasible += outcome == RUE_TRIAL_INFEASIBLE;
    if (cell->late) return;
    set_reason(cell, reason);
    if (is_estimated(cell)) { /* the trial refutes the estimate */
        cell->state = RUE_CELL_MISSING;
        cell->median_ns = cell->estimate_sd = NAN;
        cell->repeats = 0;
        cell->predicted = false;
    }
    enum rue_cell_state state = outcome == RUE_TRIAL_INFEASIBLE ? RUE_CELL_INFEASIBLE : RUE_CELL_FAILED;
    if (state > cell->state) cell->state = state;
}

rue_status rue_cost_matrix_add_first_batch(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                           double first_batch_ns, rue_error *error)
{
    struct rue_cell *cell = cell_at(matrix, model, config);
    if (!isfinite(first_batch_ns) || first_batch_ns < 0)
        return rue_fail(error, RUE_USAGE, "a trial of %s reported its first batch after %g ns",
                        matrix->models[model], first_batch_ns);
    rue_status status = append_value(matrix, &cell->first_batches_ns, &cell->first_count,
                                     &cell->first_capacity, first_batch_ns, error);
    if (status != RUE_OK) return status;
    cell->first_batch_ns = values_median(matrix, cell->first_batches_ns, cell->first_count);
    update_cell_state(matrix, cell);
    return RUE_OK;
}

void rue_cost_matrix_estimate_first_batch(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                          double first_batch_ns)
{
    struct rue_cell *cell = cell_at(matrix, model, config);
    if (cell->first_count > 0) return;
    cell->first_batch_ns = limit_time(first_batch_ns);
    update_cell_state(matrix, cell);
}

bool rue_cost_matrix_earliest_first_batch(const struct rue_cost_matrix *matrix, size_t *config,
                                          double *first_batch_ns)
{
    bool found = false;
    for (size_t c = 0; c < matrix->config_count; c++) {
        double latest = 0;
        for (size_t m = 0; m < matrix->model_count; m++) {
            double first = cell_at(matrix, m, c)->first_batch_ns;
            latest = isnan(first) ? INFINITY : fmax(latest, first);
        }
        if (!isfinite(latest) || (found && latest >= *first_batch_ns)) continue;
        found = true;
        *config = c;
        *first_batch_ns = latest;
    }
    return found;
}
