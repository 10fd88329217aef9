#include "study_faults.h"

#include <string.h>

#include "advice.h"

bool rue_study_is_data_fault(const struct rue_study *study, size_t variant, enum rue_outcome outcome,
                             const char *reason)
{
    const char *path = study->variants[variant].variant.path;
    return outcome == RUE_TRIAL_FAILED && path[0] && strstr(reason, path);
}

rue_status rue_study_fail_probe(const struct rue_study *study, size_t variant, enum rue_outcome outcome,
                                const char *reason, rue_error *error)
{
    if (rue_study_is_data_fault(study, variant, outcome, reason))
        return rue_fail(error, RUE_DATA,
                        "%s; remove or replace the file, or go on without it: --bad-images replace", reason);
    if (outcome == RUE_TRIAL_INFEASIBLE)
        return rue_fail(
            error, RUE_INFEASIBLE, "even the smallest batch is infeasible: %s%s", reason,
            rue_advice_given(reason) ? "" : "; give smaller ones with --batch-size, or raise --max-memory");
    const char *path = study->variants[variant].variant.path;
    return rue_fail(error, RUE_INFEASIBLE,
                    "no first trial on %s succeeded: %s; once that is mended, run the same command to go on",
                    path[0] ? path : "the runner's data", reason);
}
