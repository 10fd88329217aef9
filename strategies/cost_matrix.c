#include "cost_matrix.h"

#include <assert.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rue_cost_matrix {
    size_t config_count, model_count;
    struct rue_config *configs; /* [config_count] */
    char **models;              /* [model_count], each owned */
    struct rue_cell *cells;     /* [model_count * config_count], a model's cells side by side */
    double *scratch;            /* [scratch_capacity] >= the capacity of every cell: the median reorders it */
    size_t scratch_capacity;
};

static const char no_reason[] = "";

/* What a trial that was not ok makes of a cell. */
static const enum rue_cell_state state_of[RUE_OUTCOME_COUNT] = {
    [RUE_TRIAL_INFEASIBLE] = RUE_CELL_INFEASIBLE,
    [RUE_TRIAL_FAILED] = RUE_CELL_FAILED,
    [RUE_TRIAL_TIMEOUT] = RUE_CELL_FAILED,
};

/* The larger one stays: once judged infeasible, a cell is infeasible whatever fails later, until a repeat is
 * ok. */
static const int weight_of[] = {
    [RUE_CELL_MISSING] = 0, [RUE_CELL_FAILED] = 1, [RUE_CELL_INFEASIBLE] = 2, [RUE_CELL_OK] = 3};

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
    /* One element more than needed: an empty matrix is legal, a NULL from calloc(0) is not an error. */
    matrix->configs = calloc(config_count + 1, sizeof *matrix->configs);
    matrix->models = calloc(model_count + 1, sizeof *matrix->models);
    matrix->cells = calloc(cell_count + 1, sizeof *matrix->cells);
    if (!matrix->configs || !matrix->models || !matrix->cells) goto out_of_memory;
    if (config_count > 0) memcpy(matrix->configs, configs, config_count * sizeof *configs);
    for (size_t m = 0; m < model_count; m++)
        if (!(matrix->models[m] = strdup(models[m]))) goto out_of_memory;
    for (size_t i = 0; i < cell_count; i++)
        matrix->cells[i].median_ns = NAN, matrix->cells[i].reason = no_reason;
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
        reason_free(&matrix->cells[i]);
    }
    for (size_t m = 0; matrix->models && m < matrix->model_count; m++) free(matrix->models[m]);
    free(matrix->scratch);
    free(matrix->cells);
    free(matrix->models);
    free(matrix->configs);
    free(matrix);
}

size_t rue_cost_matrix_configs(const struct rue_cost_matrix *matrix)
{
    return matrix->config_count;
}

size_t rue_cost_matrix_models(const struct rue_cost_matrix *matrix)
{
    return matrix->model_count;
}

const struct rue_config *rue_cost_matrix_config(const struct rue_cost_matrix *matrix, size_t config)
{
    assert(config < matrix->config_count);
    return &matrix->configs[config];
}

const char *rue_cost_matrix_model(const struct rue_cost_matrix *matrix, size_t model)
{
    assert(model < matrix->model_count);
    return matrix->models[model];
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

/* Makes room for one more time in the cell, and for all of its times in the scratch memory. */
static rue_status make_room(struct rue_cost_matrix *matrix, struct rue_cell *cell, rue_error *error)
{
    if (cell->repeats < cell->capacity) return RUE_OK;
    size_t capacity = cell->capacity ? 2 * cell->capacity : 4;
    double *times = realloc(cell->times_ns, capacity * sizeof *times);
    if (!times) return rue_fail_memory(error, "repeats of a trial", capacity * sizeof *times);
    cell->times_ns = times;
    if (matrix->scratch_capacity < capacity) {
        double *scratch = realloc(matrix->scratch, capacity * sizeof *scratch);
        if (!scratch) return rue_fail_memory(error, "repeats of a trial", capacity * sizeof *scratch);
        matrix->scratch = scratch;
        matrix->scratch_capacity = capacity;
    }
    cell->capacity = capacity;
    return RUE_OK;
}

static rue_status check_time(const struct rue_cost_matrix *matrix, size_t model, double time_ns,
                             rue_error *error)
{
    if (isfinite(time_ns) && time_ns > 0) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "a trial of %s says that its job takes %g ns; a time must be positive",
                    matrix->models[model], time_ns);
}

static rue_status add_time(struct rue_cost_matrix *matrix, struct rue_cell *cell, size_t model,
                           double time_ns, bool predicted, rue_error *error)
{
    rue_status status = check_time(matrix, model, time_ns, error);
    if (status != RUE_OK) return status;
    bool measured = cell->state == RUE_CELL_OK && !cell->predicted;
    if (predicted && measured) return RUE_OK;
    status = make_room(matrix, cell, error);
    if (status != RUE_OK) return status;
    if (cell->predicted && !predicted) cell->repeats = 0;
    cell->predicted = predicted;
    cell->state = RUE_CELL_OK;
    cell->times_ns[cell->repeats++] = time_ns;
    return RUE_OK;
}

rue_status rue_cost_matrix_add_repeats(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                       const double *times_ns, size_t count, bool predicted, rue_error *error)
{
    struct rue_cell *cell = cell_at(matrix, model, config);
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < count; i++)
        status = add_time(matrix, cell, model, times_ns[i], predicted, error);
    if (cell->state != RUE_CELL_OK) return status;
    memcpy(matrix->scratch, cell->times_ns, cell->repeats * sizeof *cell->times_ns);
    cell->median_ns = gsl_stats_median(matrix->scratch, 1, cell->repeats);
    return status;
}

rue_status rue_cost_matrix_add(struct rue_cost_matrix *matrix, size_t model, size_t config, double time_ns,
                               bool predicted, rue_error *error)
{
    return rue_cost_matrix_add_repeats(matrix, model, config, &time_ns, 1, predicted, error);
}

rue_status rue_cost_matrix_estimate(struct rue_cost_matrix *matrix, size_t model, size_t config,
                                    double time_ns, size_t repeats, bool predicted, rue_error *error)
{
    struct rue_cell *cell = cell_at(matrix, model, config);
    if (cell->state != RUE_CELL_MISSING) return RUE_OK;
    rue_status status = check_time(matrix, model, time_ns, error);
    if (status != RUE_OK) return status;
    cell->state = RUE_CELL_OK;
    cell->median_ns = time_ns;
    cell->repeats = repeats;
    cell->predicted = predicted;
    return RUE_OK;
}

void rue_cost_matrix_miss(struct rue_cost_matrix *matrix, size_t model, size_t config,
                          enum rue_outcome outcome, const char *reason)
{
    struct rue_cell *cell = cell_at(matrix, model, config);
    assert(outcome != RUE_TRIAL_OK && outcome < RUE_OUTCOME_COUNT);
    char *copy = reason && *reason ? strndup(reason, RUE_REASON_BYTES - 1) : NULL;
    reason_free(cell);
    cell->reason = copy ? copy : no_reason;
    cell->missed++;
    cell->infeasible += outcome == RUE_TRIAL_INFEASIBLE;
    if (weight_of[state_of[outcome]] > weight_of[cell->state]) cell->state = state_of[outcome];
}
