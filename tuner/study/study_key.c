#include "study_key.h"

#include <inttypes.h>
#include <string.h>

#include "hash.h"

/* Whether another variant, of the study or beside it, has the same data in the same format: a copy, on
 * another disk perhaps. */
static bool has_copy(const struct rue_study *study, size_t index)
{
    const struct rue_study_variant *own = &study->variants[index];
    if (study->goal->has_copy) return true;
    for (size_t v = 0; v < study->variant_count; v++) {
        const struct rue_study_variant *other = &study->variants[v];
        if (v != index && strcmp(other->opened.digest, own->opened.digest) == 0 &&
            other->variant.mode == own->variant.mode &&
            strcmp(other->variant.format, own->variant.format) == 0 &&
            strcmp(other->variant.dtype, own->variant.dtype) == 0)
            return true;
    }
    return false;
}

struct rue_store_scenario rue_study_scenario(const struct rue_study *study, size_t variant_index,
                                             size_t model_index)
{
    const struct rue_study_variant *variant = &study->variants[variant_index];
    struct rue_store_scenario scenario = {
        .variant = variant->variant, .workload = variant->workload, .job_images = variant->job_images};
    snprintf(scenario.data_digest, sizeof scenario.data_digest, "%s", variant->opened.digest);
    /* Elsewhere data are known by what they hold, not by where they lie. */
    if (has_copy(study, variant_index)) {
        const char *path = variant->variant.path;
        snprintf(scenario.data_digest, sizeof scenario.data_digest, "%.20s-%08" PRIx32,
                 variant->opened.digest, (uint32_t)rue_hash(RUE_HASH_START, path, strlen(path)));
    }
    snprintf(scenario.runner, sizeof scenario.runner, "%s", study->runner_identity);
    snprintf(scenario.machine, sizeof scenario.machine, "%s", study->machine_identity);
    if (model_index == RUE_NONE) return scenario;
    const struct rue_study_model *model = &study->models[model_index];
    snprintf(scenario.model, sizeof scenario.model, "%s", model->name);
    snprintf(scenario.model_profile, sizeof scenario.model_profile, "%s", model->profile_json);
    return scenario;
}

void rue_study_key(const struct rue_study *study, size_t variant, char out[RUE_KEPT_KEY_BYTES])
{
    char workload[RUE_WORKLOAD_TEXT_BYTES], whole[RUE_STORE_KEY_BYTES];
    struct rue_store_scenario scenario = rue_study_scenario(study, variant, RUE_NONE);
    rue_workload_canonical(&scenario.workload, workload);
    rue_store_scenario_key(&scenario, workload, whole);
    rue_kept_key(whole, out);
}
