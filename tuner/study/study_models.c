/* The models of a study. */
#include <stdlib.h>
#include <string.h>

#include "device_table.h"
#include "study_opening.h"
#include "suggest.h"
#include "units.h"
#include "word_list.h"

#include "recommendation_file.h"

static const char default_models[] = "resnet18,resnet50,efficientnet_v2_s,vit_b_16";

/* "resnet50" becomes "resnet50@h100" if a device was given. RUE_USAGE: the name is too long. */
static rue_status add_device(const struct rue_study_setup *setup, const char *spec,
                             char out[RUE_MODEL_NAME_BYTES], rue_error *error)
{
    const char *device = setup->goal.models.device;
    bool add = device && strcmp(spec, "none") != 0 && strncmp(spec, "sleep:", 6) != 0 && !strchr(spec, '@');
    int length = snprintf(out, RUE_MODEL_NAME_BYTES, "%s%s%s", spec, add ? "@" : "", add ? device : "");
    if (length < RUE_MODEL_NAME_BYTES) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "model name '%.40s...' is too long: it has at most %d characters", out,
                    RUE_MODEL_NAME_BYTES - 1);
}

/* Only rue's own runner has models that compute. */
static rue_status check_work(const struct rue_study_setup *setup, const struct rue_profile *profile,
                             rue_error *error)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    if (profile->consumer == RUE_CONSUMER_SLEEP || strcmp(hello->loader, "rue") == 0) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "the runner %s does not compute %s; remove --runner, or choose a simulated device",
                    hello->runner, profile->name);
}

static bool runner_has(const struct rue_hello *hello, const char *name)
{
    for (size_t i = 0; i < hello->model_count; i++)
        if (strcmp(hello->models[i], name) == 0) return true;
    return false;
}

/* A model of that name is the runner's, or else rue's. */
static rue_status add_model(struct rue_study_setup *setup, const char *typed, rue_error *error)
{
    bool built_in = !runner_has(rue_study_hello(setup), typed);
    char spec[RUE_MODEL_NAME_BYTES];
    if (setup->model_count == RUE_STUDY_MODELS_MAX)
        return rue_fail(error, RUE_USAGE, "more than %d models; give fewer", RUE_STUDY_MODELS_MAX);
    struct rue_study_model *model = &setup->models[setup->model_count];
    *model = (struct rue_study_model){.known = built_in};
    snprintf(model->name, sizeof model->name, "%s", typed);
    if (built_in) {
        rue_status status = add_device(setup, typed, spec, error);
        if (status == RUE_OK) status = rue_device_table_model(spec, &model->profile, error);
        if (status == RUE_OK) status = check_work(setup, &model->profile, error);
        if (status != RUE_OK) return status;
        model->known = model->profile.consumer != RUE_CONSUMER_CUDA;
        memcpy(model->name, model->profile.name, sizeof model->name);
        rue_profile_json(&model->profile, model->profile_json);
    }
    for (size_t i = 0; i < setup->model_count; i++)
        if (strcmp(setup->models[i].name, model->name) == 0)
            return rue_fail(error, RUE_USAGE, "--model: %s is named twice; remove one", model->name);
    setup->model_count++;
    return RUE_OK;
}

/* A model that is not the runner's must be in the catalogue. A table has times of its own models only. */
static rue_status check_known(const struct rue_study_setup *setup, const char *spec, rue_error *error)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    const char *names[RUE_HELLO_LIST_MAX];
    char near[RUE_SUGGESTION_BYTES];
    rue_error why = {0};
    struct rue_profile profile;
    if (!hello->model_count || runner_has(hello, spec)) return RUE_OK;
    if (!setup->host.recording && rue_device_table_model(spec, &profile, &why) == RUE_OK) return RUE_OK;
    for (size_t i = 0; i < hello->model_count; i++) names[i] = hello->models[i];
    rue_did_you_mean(spec, names, hello->model_count, "", near);
    return rue_fail(error, RUE_USAGE, "the runner %s does not know the model '%s'%s%s%s", hello->runner, spec,
                    near, *near || !*why.message ? "" : "; in rue's catalogue: ", *near ? "" : why.message);
}

/* Chooses the models of the checked study, except those that no longer exist. */
static rue_status choose_checked(struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    const struct rue_recommended *earlier = setup->goal.search.checked;
    rue_status status = RUE_OK;
    for (size_t m = 0; status == RUE_OK && m < earlier->matrix->model_count; m++) {
        const char *name = earlier->matrix->models[m];
        struct rue_profile profile;
        if (runner_has(hello, name) || rue_device_table_model(name, &profile, NULL) == RUE_OK)
            status = add_model(setup, name, error);
        else
            rue_progress_note(setup->progress, "the model %s is unknown here and is skipped", name);
    }
    if (status != RUE_OK || setup->model_count) return status;
    return rue_fail(
        error, RUE_USAGE,
        "the runner %s does not know any model of the recommendation: give it the step %s (in Python: "
        "models={\"%s\": step})",
        hello->runner, earlier->matrix->models[0], earlier->matrix->models[0]);
}

/* Adds all models of the device table that was given as the device. */
static rue_status add_table_models(struct rue_study_setup *setup, const char *path, rue_error *error)
{
    struct rue_device_table *table = malloc(sizeof *table);
    if (!table) return rue_fail_memory(error, "a device table", sizeof *table);
    rue_status status = rue_device_table_read(path, table, error);
    for (size_t i = 0; status == RUE_OK && i < table->count; i++)
        status = add_model(setup, table->profiles[i].name, error);
    if (status == RUE_OK && table->count == 0)
        status =
            rue_fail(error, RUE_USAGE, "--device: %s has no models; write it again with rue calibrate", path);
    free(table);
    return status;
}

static rue_status choose_requested(struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    const char *list = setup->goal.models.names;
    rue_status status = RUE_OK;
    if (!list && hello->model_count) {
        for (size_t i = 0; status == RUE_OK && i < hello->model_count; i++)
            status = add_model(setup, hello->models[i], error);
        return status;
    }
    if (!list && setup->goal.models.device && rue_device_is_table(setup->goal.models.device))
        return add_table_models(setup, setup->goal.models.device, error);
    char copy[4096], *rest = copy;
    if (!list) list = default_models;
    if (strlen(list) >= sizeof copy)
        return rue_fail(error, RUE_USAGE, "--model: the list is too long: name at most %d models",
                        RUE_STUDY_MODELS_MAX);
    snprintf(copy, sizeof copy, "%s", list);
    for (char *spec; status == RUE_OK && (spec = rue_word_list_next(&rest));) {
        if (!*spec)
            return rue_fail(error, RUE_USAGE,
                            "--model: a name is empty in '%s': separate names with one comma", list);
        status = check_known(setup, spec, error);
        if (status == RUE_OK) status = add_model(setup, spec, error);
    }
    return status;
}

rue_status rue_study_choose_models(struct rue_study_setup *setup, rue_error *error)
{
    const char *names[RUE_STUDY_MODELS_MAX];
    bool simulates = false;
    if (setup->goal.search.checked) return choose_checked(setup, error);
    rue_status status = choose_requested(setup, error);
    if (status != RUE_OK) return status;
    for (size_t m = 0; m < setup->model_count; m++) {
        names[m] = setup->models[m].name;
        simulates |= *setup->models[m].profile_json;
    }
    if (setup->goal.models.device && !simulates)
        return rue_fail(error, RUE_USAGE,
                        "--device: all models are those of the runner %s; remove the option",
                        rue_study_hello(setup)->runner);
    return rue_ranking_rules_check(&setup->goal.search.rules, names, setup->model_count, error);
}

static const uint64_t timeout_ns = 60 * RUE_NS_PER_S;

/* Computes one image; this trial is not stored. Later trials find out whether memory can be page-locked. */
static rue_status try_model(const struct rue_study_setup *setup, const struct rue_study_model *model,
                            rue_error *error)
{
    struct rue_trial_result result;
    struct rue_trial_request request = {.measure = RUE_COMPUTE,
                                        .config = rue_config_default(),
                                        .workload = setup->goal.loader.workload,
                                        .batches = 1,
                                        .limits = {.time_ns = timeout_ns}};
    request.config.value[RUE_PIN_MEMORY] = false;
    snprintf(request.model, sizeof request.model, "%s", model->name);
    rue_progress_show(setup->progress, "trying %s", model->name);
    rue_status status = rue_runner_trial(&setup->host.runners->at[0], &request, model->profile_json,
                                         timeout_ns, &result, error);
    if (status != RUE_OK) return status;
    if (result.outcome != RUE_TRIAL_OK)
        status = rue_fail(error, RUE_INFEASIBLE, "%s", result.reason);
    else if (result.reason[0])
        rue_progress_note(setup->progress, "%s: %s", model->name, result.reason);
    rue_trial_result_close(&result);
    return status;
}

rue_status rue_study_try_models(const struct rue_study_setup *setup, rue_error *error)
{
    for (size_t m = 0; m < setup->model_count; m++)
        if (setup->models[m].profile.consumer == RUE_CONSUMER_CUDA)
            return try_model(setup, &setup->models[m], error);
    return RUE_OK;
}
