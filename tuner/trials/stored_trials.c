#include "stored_trials.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "interrupt.h"

rue_status rue_study_is_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               struct rue_flight *flight, size_t nth, bool *stored, rue_error *error)
{
    struct rue_store_trial trial;
    rue_flight_complete(setup, flight);
    rue_status status = rue_store_find_trial(ledger->store, &flight->origin, &flight->request,
                                             (struct rue_store_position){.nth = nth}, &trial, error);
    *stored = trial.id;
    rue_trial_result_close(&trial.result);
    return status;
}

/* Limit of stored trials that a strategy observes: its time grows with the cube of their number, and more
 * trials hardly change its estimates. */
enum { OBSERVED_MAX = 500 };

/* A stored row that a strategy can observe. */
struct stored {
    uint64_t id;
    struct rue_question question;
    size_t newer; /* rows of the same cell after it */
};

struct stored_list {
    struct stored *at; /* [count] */
    size_t count, capacity;
    struct rue_question question; /* of the visited cell */
};

static rue_status add_stored(void *context, uint64_t id, const struct rue_trial_result *result,
                             rue_error *error)
{
    struct stored_list *list = context;
    if (result->outcome != RUE_TRIAL_OK || result->images <= 0) return RUE_OK;
    rue_status status =
        rue_array_grow(&list->at, &list->capacity, list->count + 1, sizeof *list->at, "stored trials", error);
    if (status != RUE_OK) return status;
    struct stored *stored = &list->at[list->count++];
    *stored = (struct stored){.id = id, .question = list->question};
    if (stored->question.measure == RUE_COMPUTE)
        stored->question.batches = (uint64_t)result->batches;
    else
        stored->question.images = (uint64_t)result->images;
    return RUE_OK;
}

static struct rue_flight stored_flight(const struct rue_study_setup *setup, size_t variant,
                                       const struct rue_question *question)
{
    return (struct rue_flight){
        .at = {.variant = variant, .model = question->measure == RUE_LOAD ? RUE_NONE : question->scenario},
        .request = {.measure = question->measure,
                    .config = setup->configs[question->config],
                    .images = 1,
                    .batches = 1}};
}

/* Collects all rows of one cell, of any length, oldest first. */
static rue_status collect_cell(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                               size_t variant, struct rue_question question, struct stored_list *list,
                               rue_error *error)
{
    size_t first = list->count;
    struct rue_flight flight = stored_flight(setup, variant, &question);
    list->question = question;
    rue_status status = rue_interrupt_status();
    if (status == RUE_OK) status = rue_flight_visit_stored(setup, ledger, &flight, add_stored, list, error);
    for (size_t i = first; i < list->count; i++) list->at[i].newer = list->count - 1 - i;
    return status;
}

static rue_status collect_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 size_t variant, struct stored_list *list, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t c = 0; status == RUE_OK && c < setup->config_count; c++) {
        struct rue_question question = {.measure = RUE_LOAD, .config = c, .stored = true};
        status = collect_cell(setup, ledger, variant, question, list, error);
        for (size_t i = 0; status == RUE_OK && i < 2 * setup->model_count; i++) {
            question.measure = i % 2 ? RUE_JOINT : RUE_COMPUTE;
            question.scenario = i / 2;
            status = collect_cell(setup, ledger, variant, question, list, error);
        }
    }
    return status;
}

/* The newest row of every cell first. */
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

static rue_status observe_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                 size_t variant, void *state, struct stored *stored, rue_error *error)
{
    struct rue_question *question = &stored->question;
    struct rue_flight flight = stored_flight(setup, variant, question);
    rue_status status = rue_flight_load(setup, ledger, &flight, stored->id, error);
    if (status == RUE_OK && flight.answered) {
        struct rue_ledger_row *row = &ledger->rows[flight.row];
        row->trial.images = question->images;
        if (question->measure == RUE_JOINT) row->config = question->config;
        question->trial = stored->id;
        question->node = rue_study_find_node(setup, flight.result.ranks);
        setup->plan.strategy->observe(state, question, &flight.result);
    }
    rue_trial_result_close(&flight.result);
    return status;
}

rue_status rue_study_observe_stored(const struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                    size_t variant, void *state, rue_error *error)
{
    struct stored_list list = {0};
    if (ledger->found_trials == 0) return RUE_OK;
    rue_status status = collect_stored(setup, ledger, variant, &list, error);
    if (list.count > OBSERVED_MAX) {
        ledger->stored_unobserved = true;
        qsort(list.at, list.count, sizeof *list.at, compare_newer);
        list.count = OBSERVED_MAX;
    }
    if (list.count > 0) qsort(list.at, list.count, sizeof *list.at, compare_ids);
    for (size_t i = 0; status == RUE_OK && i < list.count; i++) {
        status = rue_interrupt_status();
        if (status == RUE_OK) status = observe_stored(setup, ledger, variant, state, &list.at[i], error);
    }
    for (size_t i = 0; setup->plan.strategy->shift && i < ledger->speeds.count; i++)
        setup->plan.strategy->shift(state, ledger->speeds.at[i].since, ledger->speeds.at[i].slowdown);
    ledger->probe_rows = ledger->row_count;
    free(list.at);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s", rue_status_text(status));
}
