#include "trial_failures.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

rue_status rue_study_check_data(const struct rue_trial_result *result, rue_error *error)
{
    if (result->outcome != RUE_TRIAL_FAILED || !result->data_fault) return RUE_OK;
    return rue_fail(error, RUE_DATA,
                    "%s; remove or replace the file, or continue without it: --bad-images replace",
                    result->reason);
}

static const char *name_data(const struct rue_study_setup *setup, size_t variant)
{
    const char *path = setup->variants[variant].variant.path;
    return path[0] ? path : "the runner's data";
}

rue_status rue_study_fail_probe(const struct rue_study_setup *setup, size_t variant,
                                const struct rue_trial_result *result, rue_error *error)
{
    if (result->outcome == RUE_TRIAL_INFEASIBLE)
        return rue_fail(error, RUE_INFEASIBLE, "the smallest batch size is infeasible: %s%s", result->reason,
                        result->refused == 1
                            ? "" /* the reason says what to do */
                            : "; give smaller batches with --batch-size, or raise --max-memory");
    return rue_fail(error, RUE_INFEASIBLE,
                    "the first trials on %s failed: %s; fix this, then run the same command to continue",
                    name_data(setup, variant), result->reason);
}

/* Of a model or a loader. */
struct failures {
    bool succeeds; /* in one trial */
    size_t count;
    const char *reason; /* of the last failure */
};

static void count_failure(struct failures *failures, const struct rue_trial_result *result)
{
    failures->succeeds |= result->outcome == RUE_TRIAL_OK;
    if (result->outcome != RUE_TRIAL_FAILED && result->outcome != RUE_TRIAL_TIMEOUT) return;
    failures->count++;
    failures->reason = result->reason;
}

static rue_status check_failures(const struct failures *failures, const char *what, const char *name,
                                 rue_error *error)
{
    if (failures->succeeds || failures->count == 0) return RUE_OK;
    return rue_fail(error, RUE_INFEASIBLE,
                    "%s %s failed %zu time%s and never succeeded: %s; fix this, then run the same command to "
                    "continue",
                    what, name, failures->count, failures->count == 1 ? "" : "s", failures->reason);
}

rue_status rue_study_check_failures(const struct rue_study_setup *setup,
                                    const struct rue_study_ledger *ledger, rue_error *error)
{
    struct failures models[RUE_STUDY_MODELS_MAX] = {0}, loaders[RUE_STUDY_VARIANTS_MAX] = {0};
    rue_status status = RUE_OK;
    for (size_t i = 0; i < ledger->row_count; i++) {
        const struct rue_ledger_row *row = &ledger->rows[i];
        const struct rue_trial_result *result = &row->trial.result;
        enum rue_measure measure = row->trial.measure;
        if (row->discarded) continue;
        if (measure != RUE_LOAD) count_failure(&models[row->model], result);
        if (measure == RUE_LOAD || (measure == RUE_JOINT && result->outcome == RUE_TRIAL_OK))
            count_failure(&loaders[row->variant], result);
    }
    for (size_t v = 0; status == RUE_OK && v < setup->variant_count; v++)
        status = check_failures(&loaders[v], "loading", name_data(setup, v), error);
    for (size_t m = 0; status == RUE_OK && m < setup->model_count; m++)
        status = check_failures(&models[m], "the model", setup->models[m].name, error);
    return status;
}

enum { SAME_FAILURES_MAX = 5 };

/* The next character of a reason that is not part of a number (process, file, address, exit code), because
 * numbers do not describe the failure. */
static char next_significant(const char **at)
{
    while (isdigit((unsigned char)**at)) {
        bool hexadecimal = (*at)[0] == '0' && (*at)[1] == 'x';
        *at += hexadecimal ? 2 + strspn(*at + 2, "0123456789abcdefABCDEF") : strspn(*at, "0123456789");
    }
    return **at ? *(*at)++ : 0;
}

static bool is_same_failure(const char *a, const char *b)
{
    for (;;) {
        char one = next_significant(&a), other = next_significant(&b);
        if (one != other) return false;
        if (!one) return true;
    }
}

rue_status rue_same_failures_count(struct rue_same_failures *failures, const struct rue_trial_result *result,
                                   rue_error *error)
{
    if (result->outcome == RUE_TRIAL_INFEASIBLE) return RUE_OK;
    bool failed = result->outcome == RUE_TRIAL_FAILED || result->outcome == RUE_TRIAL_TIMEOUT;
    bool is_repeat = failed && is_same_failure(failures->reason, result->reason);
    failures->in_a_row = failed ? (is_repeat ? failures->in_a_row + 1 : 1) : 0;
    snprintf(failures->reason, sizeof failures->reason, "%s", failed ? result->reason : "");
    if (failures->in_a_row < SAME_FAILURES_MAX) return RUE_OK;
    return rue_fail(
        error, RUE_INFEASIBLE,
        "stopped after %d identical failures: %s; fix this, then run the same command to continue",
        failures->in_a_row, result->reason);
}
