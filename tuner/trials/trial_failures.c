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

rue_status rue_study_fail_probe(const struct rue_study_setup *setup, size_t variant,
                                const struct rue_trial_result *result, rue_error *error)
{
    if (result->outcome == RUE_TRIAL_INFEASIBLE)
        return rue_fail(error, RUE_INFEASIBLE, "the smallest batch size is infeasible: %s%s", result->reason,
                        result->refused == 1
                            ? "" /* the reason says what to do */
                            : "; give smaller batches with --batch-size, or raise --max-memory");
    const char *path = setup->variants[variant].variant.path;
    return rue_fail(error, RUE_INFEASIBLE,
                    "the first trials on %s failed: %s; fix this, then run the same command to continue",
                    path[0] ? path : "the runner's data", result->reason);
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
