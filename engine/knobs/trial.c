#include "trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rue_measure_names[RUE_MEASURE_COUNT + 1] = {"joint", "load", "compute"};
const char *const rue_outcome_names[RUE_OUTCOME_COUNT + 1] = {"ok", "infeasible", "failed", "timeout"};

const struct rue_trial_field rue_trial_fields[] = {
#define X(name, text) {#name, offsetof(struct rue_trial_result, name), false, text},
    RUE_TRIAL_INTEGERS(X)
#undef X
#define X(name, text) {#name, offsetof(struct rue_trial_result, name), true, text},
        RUE_TRIAL_REALS(X)
#undef X
};
const size_t rue_trial_field_count = sizeof rue_trial_fields / sizeof *rue_trial_fields;

struct rue_trial_result rue_trial_result_empty(void)
{
    struct rue_trial_result result = {.outcome = RUE_TRIAL_FAILED, .config = rue_config_default()};
#define X(name, text) result.name = RUE_ABSENT;
    RUE_TRIAL_INTEGERS(X)
#undef X
#define X(name, text) result.name = NAN;
    RUE_TRIAL_REALS(X)
#undef X
    return result;
}

void rue_trial_result_close(struct rue_trial_result *result)
{
#define X(list, count, text) free(result->list);
    RUE_TRIAL_LISTS(X)
#undef X
    free(result->ranks);
    rue_trial_result_drop_lists(result);
}

void rue_trial_result_fail(struct rue_trial_result *result, const char *format, ...)
{
    struct rue_trial_result failed = rue_trial_result_empty();
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(failed.reason, sizeof failed.reason, format, arguments);
    va_end(arguments);
    failed.config = result->config;
    failed.ranks = result->ranks;
    result->ranks = NULL;
    rue_trial_result_close(result);
    *result = failed;
}

void rue_trial_result_drop_lists(struct rue_trial_result *result)
{
#define X(list, count, text) \
    result->list = NULL;     \
    result->count = 0;
    RUE_TRIAL_LISTS(X)
#undef X
    result->ranks = NULL;
}

void rue_trial_result_add_reason(struct rue_trial_result *result, const char *text)
{
    size_t used = strlen(result->reason);
    if (*text) snprintf(result->reason + used, sizeof result->reason - used, "%s%s", used ? "; " : "", text);
}
