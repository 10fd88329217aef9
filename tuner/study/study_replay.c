#include "study_replay.h"

#include <stdlib.h>

#include "array.h"
#include "interrupt.h"
#include "study_measure.h"

struct told {
    uint64_t id;
    struct rue_ask ask;
    struct rue_trial_result result;
};

struct telling {
    struct told *at; /* [count] */
    size_t count, capacity;
};

static rue_status add(struct telling *telling, const struct told *told, rue_error *error)
{
    rue_status status = rue_array_grow(&telling->at, &telling->capacity, telling->count + 1,
                                       sizeof *telling->at, "stored trials", error);
    if (status != RUE_OK) return status;
    telling->at[telling->count++] = *told;
    return RUE_OK;
}

/* All of one cell, the shortest and the longest. */
static rue_status collect_cell(struct rue_study *study, size_t variant, size_t model, struct rue_ask ask,
                               struct telling *telling, rue_error *error)
{
    for (size_t nth = 0;; nth++) {
        struct rue_trial_request request = {
            .measure = ask.measure, .config = study->configs[ask.config], .images = 1, .batches = 1};
        struct told told = {.ask = ask};
        bool found;
        rue_status status = rue_study_take_stored(study, variant, model, &request, nth, &found, &told.id,
                                                  &told.result, error);
        if (status != RUE_OK || !found) return status;
        bool ok = told.result.outcome == RUE_TRIAL_OK && told.result.images > 0;
        if (ok && ask.measure == RUE_COMPUTE) told.ask.batches = (uint64_t)told.result.batches;
        if (ok && ask.measure != RUE_COMPUTE) told.ask.images = (uint64_t)told.result.images;
        if (ok) status = add(telling, &told, error);
        if (ok && status == RUE_OK) continue;
        rue_trial_result_close(&told.result);
        if (status != RUE_OK) return status;
    }
}

static rue_status collect(struct rue_study *study, size_t variant, struct telling *telling, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t c = 0; status == RUE_OK && c < study->config_count; c++) {
        status = rue_interrupt_status();
        struct rue_ask ask = {.measure = RUE_LOAD, .config = c, .stored = true};
        status = collect_cell(study, variant, RUE_NONE, ask, telling, error);
        for (size_t i = 0; status == RUE_OK && i < 2 * study->model_count; i++) {
            ask.measure = i % 2 ? RUE_JOINT : RUE_COMPUTE;
            ask.scenario = i / 2;
            status = collect_cell(study, variant, i / 2, ask, telling, error);
        }
    }
    return status;
}

static int compare_ids(const void *left, const void *right)
{
    const struct told *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

rue_status rue_study_tell_stored(struct rue_study *study, size_t variant, void *state, rue_error *error)
{
    struct telling telling = {0};
    if (study->found_trials == 0) return RUE_OK;
    rue_status status = collect(study, variant, &telling, error);
    if (telling.count > 0) qsort(telling.at, telling.count, sizeof *telling.at, compare_ids);
    for (size_t i = 0; i < telling.count; i++) {
        struct told *told = &telling.at[i];
        told->ask.trial = told->id;
        if (status == RUE_OK) status = rue_interrupt_status();
        if (status == RUE_OK) study->strategy->tell(state, &told->ask, &told->result);
        rue_trial_result_close(&told->result);
    }
    for (size_t i = 0; study->strategy->shift && i < study->speeds.count; i++)
        study->strategy->shift(state, study->speeds.at[i].since, study->speeds.at[i].by);
    study->probe_rows = study->row_count;
    free(telling.at);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s", rue_status_text(status));
}
