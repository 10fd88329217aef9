#include "study_times.h"

#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "sort.h"
#include "study_keep.h"

enum { REPEATS_LEAST = 3 };

static const double far = 5;         /* standard deviations */
static const double to_sd = 1.4826;  /* from the median of the distances of normal values */
static const double least_sd = 0.01; /* of the logarithm of a time */

/* The first batch is loaded, and nothing else. */
static rue_status correct(struct rue_study *study, struct rue_study_time *time, rue_error *error)
{
    const struct rue_cell *cell =
        rue_cost_matrix_cell(study->outcome.variants[time->variant].matrix, time->model, time->config);
    /* Others may have taken its place: longer trials count in place of shorter ones. */
    if (time->repeat >= cell->repeats || cell->times_ns[time->repeat] != time->told_ns) return RUE_OK;
    bool first = study->setup.goal.search.minimise == RUE_GOAL_FIRST_BATCH;
    struct rue_speed speed = rue_speed_history_at(&study->ledger.speeds, time->ask.trial);
    double ratio = first ? exp(speed.load) : rue_speed_ratio(speed, &time->result);
    time->told_ns = time->cost_ns / ratio;
    return rue_cost_matrix_correct(study->outcome.variants[time->variant].matrix, time->model, time->config,
                                   time->repeat, time->told_ns, error);
}

static struct rue_trial_result without_arrays(const struct rue_trial_result *result)
{
    struct rue_trial_result copy = *result;
    copy.batch_ready_ns = copy.batch_compute_ns = NULL;
    copy.ready_count = copy.compute_count = 0;
    return copy;
}

rue_status rue_study_times_add(struct rue_study_times *times, struct rue_study *study,
                               const struct rue_study_time *time, rue_error *error)
{
    rue_status status =
        rue_array_grow(&times->at, &times->capacity, times->count + 1, sizeof *times->at, "times", error);
    if (status != RUE_OK) return status;
    struct rue_study_time *kept = &times->at[times->count++];
    *kept = *time;
    kept->told_ns = time->cost_ns;
    kept->result = without_arrays(&time->result);
    return correct(study, kept, error);
}

rue_status rue_study_times_shift(struct rue_study_times *times, struct rue_study *study, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < times->count; i++)
        status = correct(study, &times->at[i], error);
    times->again = 0;
    return status;
}

struct rue_study_time *rue_study_times_again(struct rue_study_times *times,
                                             const struct rue_study_ledger *ledger)
{
    while (times->again < times->count) {
        struct rue_study_time *time = &times->at[times->again++];
        if (rue_study_is_unsure(ledger, time->ask.trial)) return time;
    }
    return NULL;
}

rue_status rue_study_time_replace(struct rue_study *study, struct rue_study_time *time, double cost_ns,
                                  const struct rue_trial_result *result, rue_error *error)
{
    time->cost_ns = cost_ns;
    time->result = without_arrays(result);
    time->ask.trial = study->ledger.last_trial;
    return correct(study, time, error);
}

/* How far a time lies from the median of its cell, as a logarithm; 0 where there are too few. */
static double distance(const struct rue_study_outcome *outcome, const struct rue_study_time *time)
{
    const struct rue_cell *cell =
        rue_cost_matrix_cell(outcome->variants[time->variant].matrix, time->model, time->config);
    if (cell->repeats < REPEATS_LEAST || time->repeat >= cell->repeats) return 0;
    return fabs(log(cell->times_ns[time->repeat] / cell->median_ns));
}

void rue_study_times_mark(const struct rue_study_times *times, struct rue_study_ledger *ledger,
                          struct rue_study_outcome *outcome)
{
    double *distances = calloc(times->count + 1, sizeof *distances);
    size_t count = 0;
    for (size_t i = 0; distances && i < times->count; i++) {
        double off = distance(outcome, &times->at[i]);
        if (off > 0) distances[count++] = off; /* the median itself is none */
    }
    if (count > 0) {
        rue_sort_doubles(distances, count);
        double sd = fmax(to_sd * distances[count / 2], least_sd);
        for (size_t i = 0; i < times->count; i++)
            if (distance(outcome, &times->at[i]) > far * sd) rue_study_mark(ledger, times->at[i].ask.trial);
    }
    free(distances);
}

void rue_study_times_close(struct rue_study_times *times)
{
    free(times->at);
}
