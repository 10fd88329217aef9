#include "study_setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hash.h"

/* Whether another variant is a copy: the same data in the same format. */
static bool has_copy(const struct rue_study_setup *setup, size_t index)
{
    const struct rue_study_variant *own = &setup->variants[index];
    for (size_t v = 0; v < setup->variant_count; v++) {
        const struct rue_study_variant *other = &setup->variants[v];
        if (strcmp(other->variant.path, own->variant.path) != 0 &&
            strcmp(other->opened.digest, own->opened.digest) == 0 &&
            other->variant.mode == own->variant.mode &&
            strcmp(other->variant.format, own->variant.format) == 0 &&
            strcmp(other->variant.dtype, own->variant.dtype) == 0)
            return true;
    }
    return false;
}

struct rue_store_origin rue_study_origin(const struct rue_study_setup *setup, size_t variant_index,
                                         size_t model)
{
    const struct rue_study_variant *variant = &setup->variants[variant_index];
    struct rue_store_origin origin = {0};
    snprintf(origin.data_digest, sizeof origin.data_digest, "%s", variant->opened.digest);
    /* Copies are distinguished by path; all other data are identified by their content alone. */
    if (has_copy(setup, variant_index)) {
        const char *path = variant->variant.path;
        snprintf(origin.data_digest, sizeof origin.data_digest, "%.20s-%08" PRIx32, variant->opened.digest,
                 (uint32_t)rue_hash(RUE_HASH_START, path, strlen(path)));
    }
    snprintf(origin.runner, sizeof origin.runner, "%s", setup->host.identity);
    snprintf(origin.machine, sizeof origin.machine, "%s", setup->host.machine);
    if (model == RUE_NONE) return origin;
    snprintf(origin.model_profile, sizeof origin.model_profile, "%s", setup->models[model].profile_json);
    return origin;
}

rue_status rue_study_open_matrix(const struct rue_study_setup *setup, struct rue_cost_matrix **out,
                                 rue_error *error)
{
    const char *names[RUE_STUDY_MODELS_MAX];
    for (size_t m = 0; m < setup->model_count; m++) names[m] = setup->models[m].name;
    return rue_cost_matrix_open(setup->configs, setup->config_count, names, setup->model_count, out, error);
}
