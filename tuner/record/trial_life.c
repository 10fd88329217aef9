#include "trial_life.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "job_time.h"
#include "program_name.h"
#include "shell_quote.h"

/* The first and the last number, for the message. */
static rue_status find_trial(const struct rue_record *record, uint64_t id, struct rue_store_trial *out,
                             rue_error *error)
{
    uint64_t first = 0, last = 0, count = 0;
    for (bool found = true; found;) {
        rue_trial_result_close(&out->result);
        rue_status status = rue_store_next_trial(record->copy, &found, out, error);
        if (status != RUE_OK || (found && out->id == id)) return status;
        if (!found) break;
        if (!count++) first = out->id;
        last = out->id;
    }
    char word[RUE_SHELL_WORD_BYTES];
    if (!count) return rue_fail(error, RUE_USAGE, "--trial %" PRIu64 ": %s has no trials", id, record->store);
    return rue_fail(error, RUE_USAGE,
                    "--trial %" PRIu64 ": %s has no such trial, only %" PRIu64 " from %" PRIu64 " to %" PRIu64
                    "; to list them: %s show %s --trials",
                    id, record->store, count, first, last, rue_program_name(),
                    rue_shell_word(record->store, word));
}

/* Ranked again, the variants are in another order than those of the last run. */
static const struct rue_variant_findings *find_variant(const struct rue_record *record,
                                                       const struct rue_findings *findings,
                                                       const struct rue_store_trial *trial)
{
    size_t number = rue_record_variant(record, trial);
    for (size_t v = 0; findings && number != RUE_NONE && v < findings->variant_count; v++)
        if (strcmp(findings->variants[v].scenario, record->last->at[number].found.scenario) == 0)
            return &findings->variants[v];
    return NULL;
}

static void find_expectation(struct rue_trial_life *life)
{
    const struct rue_trial_request *request = &life->row.request;
    const struct rue_trial_result *result = &life->row.result;
    const struct rue_cost_matrix *matrix = life->variant ? life->variant->matrix : NULL;
    uint64_t job = request->job_images;
    if (request->measure != RUE_JOINT) return;
    if (result->outcome == RUE_TRIAL_OK)
        life->job_ns = job ? rue_job_time_ns(result, job, request->workload.drop_last, &life->extended)
                           : (double)result->end_to_end_ns;
    if (!matrix || life->variant->goal != RUE_GOAL_TIME) return;
    size_t model = rue_cost_matrix_model(matrix, request->model),
           config = rue_cost_matrix_config(matrix, &request->config);
    if (model != SIZE_MAX && config != SIZE_MAX) life->cell = rue_cost_matrix_cell(matrix, model, config);
}

rue_status rue_trial_life_read(const struct rue_record *record, const struct rue_findings *findings,
                               uint64_t id, struct rue_trial_life *out, rue_error *error)
{
    struct rue_store_trial trial = {.result = rue_trial_result_empty()};
    *out = (struct rue_trial_life){.study = record->name, .findings = findings, .job_ns = NAN};
    rue_status status = find_trial(record, id, &trial, error);
    out->row = rue_record_row(record, &trial);
    out->of_table = out->row.label;
    out->row.label = NULL; /* of `trial` */
    if (status != RUE_OK) return status;
    memcpy(out->recorded, trial.recorded, sizeof out->recorded);
    memcpy(out->runner, trial.origin.runner, sizeof out->runner);
    memcpy(out->machine, trial.origin.machine, sizeof out->machine);
    const struct rue_findings *last = record->last ? &record->last->found : NULL;
    out->own_runner = last && rue_findings_runner_is_own(last) && strcmp(last->runner.name, out->runner) == 0;
    out->of_sample = rue_record_is_sample(&trial);
    out->variant = find_variant(record, findings, &trial);
    find_expectation(out);
    return RUE_OK;
}

void rue_trial_life_close(struct rue_trial_life *life)
{
    rue_trial_result_close(&life->row.result);
}
