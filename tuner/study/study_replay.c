#include "study_replay.h"

#include <stdlib.h>

#include "array.h"
#include "interrupt.h"
#include "study_measure.h"

/* Trials that a strategy is told: its beliefs take time with the cube of their number, and more of them
 * hardly change what it believes. */
enum { TOLD_MAX = 500 };

/* A row of the store that can be told. */
struct stored {
    uint64_t id;
    struct rue_ask ask;
    size_t newer; /* rows of the same cell and length behind it */
};

struct telling {
    struct stored *at; /* [count] */
    size_t count, capacity;
    struct rue_ask ask; /* of the cell whose rows are visited */
};

static rue_status add(void *context, uint64_t id, const struct rue_trial_result *result, rue_error *error)
{
    struct telling *telling = context;
    if (result->outcome != RUE_TRIAL_OK || result->images <= 0) return RUE_OK;
    rue_status status = rue_array_grow(&telling->at, &telling->capacity, telling->count + 1,
                                       sizeof *telling->at, "stored trials", error);
    if (status != RUE_OK) return status;
    struct stored *stored = &telling->at[telling->count++];
    *stored = (struct stored){.id = id, .ask = telling->ask};
    if (stored->ask.measure == RUE_COMPUTE)
        stored->ask.batches = (uint64_t)result->batches;
    else
        stored->ask.images = (uint64_t)result->images;
    return RUE_OK;
}

static struct rue_trial_request request_of(const struct rue_study *study, const struct rue_ask *ask)
{
    return (struct rue_trial_request){
        .measure = ask->measure, .config = study->configs[ask->config], .images = 1, .batches = 1};
}

/* All of one cell, the shortest and the longest. */
static rue_status collect_cell(struct rue_study *study, size_t variant, size_t model, struct rue_ask ask,
                               struct telling *telling, rue_error *error)
{
    struct rue_trial_request request = request_of(study, &ask);
    telling->ask = ask;
    return rue_study_walk_stored(study, variant, model, &request, add, telling, error);
}

static rue_status collect(struct rue_study *study, size_t variant, struct telling *telling, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t c = 0; status == RUE_OK && c < study->config_count; c++) {
        status = rue_interrupt_status();
        struct rue_ask ask = {.measure = RUE_LOAD, .config = c, .stored = true};
        if (status == RUE_OK) status = collect_cell(study, variant, RUE_NONE, ask, telling, error);
        for (size_t i = 0; status == RUE_OK && i < 2 * study->model_count; i++) {
            ask.measure = i % 2 ? RUE_JOINT : RUE_COMPUTE;
            ask.scenario = i / 2;
            status = collect_cell(study, variant, i / 2, ask, telling, error);
        }
    }
    return status;
}

/* By cell and length, newest first. */
static int compare_alike(const void *left, const void *right)
{
    const struct stored *x = left, *y = right;
    const struct rue_ask *a = &x->ask, *b = &y->ask;
    const uint64_t keys[][2] = {{a->measure, b->measure}, {a->scenario, b->scenario}, {a->config, b->config},
                                {a->images, b->images},   {a->batches, b->batches},   {y->id, x->id}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1]) return keys[i][0] < keys[i][1] ? -1 : 1;
    return 0;
}

static bool are_alike(const struct stored *x, const struct stored *y)
{
    const struct rue_ask *a = &x->ask, *b = &y->ask;
    return a->measure == b->measure && a->scenario == b->scenario && a->config == b->config &&
           a->images == b->images && a->batches == b->batches;
}

/* The newest ones of every cell and length first. */
static int compare_newer(const void *left, const void *right)
{
    const struct stored *a = left, *b = right;
    if (a->newer != b->newer) return a->newer < b->newer ? -1 : 1;
    return (a->id < b->id) - (a->id > b->id);
}

static int compare_ids(const void *left, const void *right)
{
    const struct stored *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* Leaves as many as a strategy is told, the newest ones, of every cell and length alike many; in order. */
static void choose(struct telling *telling)
{
    if (telling->count > TOLD_MAX) {
        qsort(telling->at, telling->count, sizeof *telling->at, compare_alike);
        for (size_t i = 1; i < telling->count; i++)
            if (are_alike(&telling->at[i - 1], &telling->at[i]))
                telling->at[i].newer = telling->at[i - 1].newer + 1;
        qsort(telling->at, telling->count, sizeof *telling->at, compare_newer);
        telling->count = TOLD_MAX;
    }
    if (telling->count > 0) qsort(telling->at, telling->count, sizeof *telling->at, compare_ids);
}

static rue_status tell(struct rue_study *study, size_t variant, void *state, struct stored *stored,
                       rue_error *error)
{
    size_t model = stored->ask.measure == RUE_LOAD ? RUE_NONE : stored->ask.scenario;
    struct rue_trial_request request = request_of(study, &stored->ask);
    struct rue_trial_result result;
    bool found;
    rue_status status =
        rue_study_take_stored(study, variant, model, &request, stored->id, &found, &result, error);
    if (status != RUE_OK || !found) return status;
    stored->ask.trial = stored->id;
    study->strategy->tell(state, &stored->ask, &result);
    rue_trial_result_close(&result);
    return RUE_OK;
}

rue_status rue_study_tell_stored(struct rue_study *study, size_t variant, void *state, rue_error *error)
{
    struct telling telling = {0};
    if (study->found_trials == 0) return RUE_OK;
    rue_status status = collect(study, variant, &telling, error);
    study->stored_untold |= telling.count > TOLD_MAX;
    choose(&telling);
    for (size_t i = 0; status == RUE_OK && i < telling.count; i++) {
        status = rue_interrupt_status();
        if (status == RUE_OK) status = tell(study, variant, state, &telling.at[i], error);
    }
    for (size_t i = 0; study->strategy->shift && i < study->speeds.count; i++)
        study->strategy->shift(state, study->speeds.at[i].since, study->speeds.at[i].by);
    study->probe_rows = study->row_count;
    free(telling.at);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s", rue_status_text(status));
}
