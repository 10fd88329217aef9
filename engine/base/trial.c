#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rue_measure_names[RUE_MEASURE_COUNT] = {"joint", "load", "compute"};
const char *const rue_outcome_names[RUE_OUTCOME_COUNT] = {"ok", "infeasible", "failed", "timeout"};
const char *const rue_bad_images_names[RUE_BAD_COUNT + 1] = {"fail", "replace", NULL};

const char *const rue_decode_names[RUE_DECODE_COUNT + 1] = {"exact", "fast", NULL};

const struct rue_trial_field rue_trial_fields[] = {
#define X(name, text) {#name, offsetof(struct rue_trial_result, name), false, text},
    RUE_TRIAL_INTEGERS(X)
#undef X
#define X(name, text) {#name, offsetof(struct rue_trial_result, name), true, text},
        RUE_TRIAL_REALS(X)
#undef X
};
const size_t rue_trial_field_count = sizeof rue_trial_fields / sizeof *rue_trial_fields;

struct rue_workload rue_workload_default(void)
{
    return (struct rue_workload){.shuffle = true,
                                 .seed = 1,
                                 .world_size = 1,
                                 .transform = "eval",
                                 .cache = RUE_CACHE_WARM,
                                 .bad_images = RUE_BAD_FAIL,
                                 .max_pixels = RUE_MAX_PIXELS_DEFAULT};
}

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
    free(result->batch_ready_ns);
    free(result->batch_load_ns);
    free(result->batch_compute_ns);
    result->batch_ready_ns = result->batch_load_ns = result->batch_compute_ns = NULL;
    result->ready_count = result->load_count = result->compute_count = 0;
}

void rue_trial_result_add_reason(struct rue_trial_result *result, const char *text)
{
    size_t used = strlen(result->reason);
    if (*text) snprintf(result->reason + used, sizeof result->reason - used, "%s%s", used ? "; " : "", text);
}
