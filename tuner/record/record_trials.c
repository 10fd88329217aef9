#include "record_trials.h"

#include <stdlib.h>

struct rue_record_trials {
    const struct rue_record *record;
    struct rue_store_trial trial; /* current */
    rue_status status;            /* of the end of the list */
    rue_error error;
};

/* The next trial of the last run's circumstances. */
static bool next_trial(void *context, size_t index, struct rue_trial_row *out)
{
    struct rue_record_trials *trials = context;
    struct rue_store_trial *trial = &trials->trial;
    bool found = true;
    (void)index; /* trials come in order */
    do {
        rue_trial_result_close(&trial->result);
        trials->status = rue_store_next_trial(trials->record->copy, &found, trial, &trials->error);
        if (trials->status != RUE_OK || !found) return false;
    } while (rue_record_variant(trials->record, trial) == RUE_NONE);
    *out = rue_record_row(trials->record, trial);
    return true;
}

rue_status rue_record_trials_open(const struct rue_record *record, struct rue_findings *findings,
                                  struct rue_record_trials **out, rue_error *error)
{
    struct rue_record_trials *trials = *out = calloc(1, sizeof *trials);
    if (!trials) return rue_fail_memory(error, "trials", sizeof *trials);
    trials->record = record;
    trials->trial.result = rue_trial_result_empty();
    findings->row_at = next_trial;
    findings->row_context = trials;
    return RUE_OK;
}

rue_status rue_record_trials_close(struct rue_record_trials *trials, rue_error *error)
{
    if (!trials) return RUE_OK;
    rue_status status = trials->status;
    if (status != RUE_OK) rue_fail(error, status, "%s", trials->error.message);
    rue_trial_result_close(&trials->trial.result);
    free(trials);
    return status;
}
