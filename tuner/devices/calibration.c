#include "calibration.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "runners.h"
#include "sort.h"
#include "word_list.h"

/* ---- models ---- */

/* Finds the model's profile on the device, for the runner, and its name in the table. */
static rue_status find_model(const struct rue_calibration_goal *goal, const char *typed,
                             struct rue_profile *on_device, char name[RUE_MODEL_NAME_BYTES], rue_error *error)
{
    char spec[RUE_MODEL_NAME_BYTES];
    bool sleeps = strncmp(typed, "sleep:", 6) == 0;
    if (strchr(typed, '@'))
        return rue_fail(error, RUE_USAGE,
                        "model '%s' names a device: give the model alone, and the device with --device",
                        typed);
    int length = snprintf(spec, sizeof spec, "%s%s%s", typed, sleeps ? "" : "@", sleeps ? "" : goal->device);
    if (length >= (int)sizeof spec)
        return rue_fail(error, RUE_USAGE, "model name '%.40s...' is too long", spec);
    rue_status status = rue_device_table_model(spec, on_device, error);
    if (status != RUE_OK) return status;
    size_t plain = sleeps ? strlen(on_device->name) : strcspn(on_device->name, "@");
    snprintf(name, RUE_MODEL_NAME_BYTES, "%.*s", (int)plain, on_device->name);
    return RUE_OK;
}

/* ---- times ---- */

static double median_ns(uint64_t *times, size_t count)
{
    rue_sort_integers(times, count);
    return ((double)times[(count - 1) / 2] + (double)times[count / 2]) / 2;
}

struct calibrator {
    const struct rue_calibration_goal *goal;
    struct rue_runners *runners;
    const struct rue_profile *models; /* as requested */
    struct rue_calibration *out;
};

/* Measures one batch size. The model's reason says why it is infeasible; the note is the runner's first. */
static rue_status measure_size(const struct calibrator *c, size_t index, int size, double *batch_ns,
                               rue_error *error)
{
    const struct rue_calibration_goal *goal = c->goal;
    const struct rue_profile *model = &c->models[index];
    char *reason = c->out->reasons[index], *note = c->out->note;
    char profile[RUE_PROFILE_JSON_BYTES];
    struct rue_trial_result result;
    struct rue_trial_request request = {.measure = RUE_COMPUTE,
                                        .config = rue_config_default(),
                                        .workload = rue_workload_default(),
                                        .batches = goal->batches,
                                        .limits = {.time_ns = goal->timeout_ns}};
    snprintf(request.model, sizeof request.model, "%s", model->name);
    request.config.value[RUE_BATCH_SIZE] = size;
    request.config.value[RUE_PIN_MEMORY] = goal->pin_memory;
    rue_profile_json(model, profile);
    rue_status status =
        rue_runner_trial(&c->runners->at[0], &request, profile, 2 * goal->timeout_ns, &result, error);
    *batch_ns = result.compute_count ? median_ns(result.batch_compute_ns, result.compute_count) : 0;
    bool ok = status == RUE_OK && result.outcome == RUE_TRIAL_OK;
    snprintf(reason, RUE_REASON_BYTES, "%s", ok ? "" : result.reason);
    if (ok && !*note) snprintf(note, RUE_REASON_BYTES, "%s", result.reason);
    bool refused = result.outcome == RUE_TRIAL_INFEASIBLE;
    if (status == RUE_OK && !refused && (result.outcome != RUE_TRIAL_OK || !(*batch_ns > 0)))
        status = rue_fail(error, RUE_RUNNER, "%s, batch size %d: %s: %s", model->name, size,
                          rue_outcome_names[result.outcome],
                          *reason ? reason : "the runner reported no batch times");
    rue_trial_result_close(&result);
    return status;
}

static rue_status measure_model(const struct calibrator *c, size_t index, rue_error *error)
{
    const struct rue_calibration_goal *goal = c->goal;
    struct rue_profile *table = &c->out->table.profiles[index];
    const char *reason = c->out->reasons[index];
    table->measured = true;
    for (size_t i = 0; i < goal->batch_size_count; i++) {
        double batch_ns;
        rue_progress_show(goal->progress, "%s, batch size %d", c->models[index].name, goal->batch_sizes[i]);
        rue_status status = measure_size(c, index, goal->batch_sizes[i], &batch_ns, error);
        if (status != RUE_OK) return status;
        if (*reason) break;
        table->batch_size[table->points] = (uint32_t)goal->batch_sizes[i];
        table->batch_ns[table->points++] = batch_ns;
    }
    if (*reason && table->points) table->largest_batch = table->batch_size[table->points - 1];
    return RUE_OK;
}

static rue_status measure_all(const struct calibrator *c, rue_error *error)
{
    size_t points = 0;
    struct rue_calibration *out = c->out;
    const struct rue_hello *hello = c->runners->hello;
    snprintf(out->runner, sizeof out->runner, "%s", hello->runner);
    snprintf(out->machine_json, sizeof out->machine_json, "%s", hello->machine_json);
    char device[sizeof out->title];
    memcpy(device, out->title, sizeof device);
    rue_calibration_title(device, out->on_gpu, out->machine_json, out->title, sizeof out->title);
    for (size_t m = 0; m < out->table.count; m++) {
        rue_status status = measure_model(c, m, error);
        if (status != RUE_OK) return status;
        points += out->table.profiles[m].points;
    }
    if (points) return RUE_OK;
    return rue_fail(error, RUE_INFEASIBLE,
                    "no batch size fits for any model: %s; give smaller ones with --batch-size",
                    out->reasons[0]);
}

static rue_status list_models(const struct rue_calibration_goal *goal, struct rue_profile *models,
                              struct rue_calibration *out, rue_error *error)
{
    char copy[4096], *list = copy;
    if (strlen(goal->models) >= sizeof copy)
        return rue_fail(error, RUE_USAGE, "the list of models is too long: give at most %d",
                        RUE_DEVICE_TABLE_MODELS_MAX);
    snprintf(copy, sizeof copy, "%s", goal->models);
    for (char *typed; (typed = rue_word_list_next(&list));) {
        size_t m = out->table.count;
        if (m == RUE_DEVICE_TABLE_MODELS_MAX)
            return rue_fail(error, RUE_USAGE, "more than %d models: give fewer", RUE_DEVICE_TABLE_MODELS_MAX);
        rue_status status = find_model(goal, typed, &models[m], out->table.profiles[m].name, error);
        if (status != RUE_OK) return status;
        if (rue_device_table_find(&out->table, out->table.profiles[m].name))
            return rue_fail(error, RUE_USAGE, "model %s is listed twice: remove one",
                            out->table.profiles[m].name);
        if (!out->title[0]) snprintf(out->title, sizeof out->title, "%s", models[m].device);
        out->on_gpu |= models[m].consumer == RUE_CONSUMER_CUDA;
        if (!out->precision || models[m].precision != RUE_FP32) /* sleeping models have no precision */
            out->precision = rue_precision_names[models[m].precision];
        out->table.count++;
    }
    if (!out->title[0]) snprintf(out->title, sizeof out->title, "%s", goal->device);
    if (!goal->pin_memory_given || out->on_gpu) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "--pin-memory has no effect on '%s': it is for the GPU of this machine (cuda); remove it",
                    goal->device);
}

rue_status rue_calibration_run(const struct rue_calibration_goal *goal, struct rue_calibration *out,
                               rue_error *error)
{
    struct rue_runners *runners = NULL;
    struct rue_profile *models = calloc(RUE_DEVICE_TABLE_MODELS_MAX, sizeof *models);
    if (!models) return rue_fail_memory(error, "models", RUE_DEVICE_TABLE_MODELS_MAX * sizeof *models);
    *out = (struct rue_calibration){0};
    rue_status status = list_models(goal, models, out, error);
    if (status == RUE_OK)
        status =
            rue_runners_open(&(struct rue_runner_address){0}, &(struct rue_deployment){0}, &runners, error);
    if (status == RUE_OK) status = measure_all(&(struct calibrator){goal, runners, models, out}, error);
    rue_runners_close(runners);
    free(models);
    return status;
}

/* ---- the table ---- */

/* NULL where the machine has different GPUs, as it is unknown which one was used. */
static const char *processor(const json_t *machine, bool on_gpu)
{
    const json_t *gpus = json_object_get(machine, "gpus");
    if (!on_gpu) return json_string_value(json_object_get(machine, "cpu"));
    return json_object_get(machine, "visible_gpus") ? NULL : json_string_value(json_array_get(gpus, 0));
}

void rue_calibration_title(const char *device, bool on_gpu, const char *machine_json, char *out, size_t bytes)
{
    static const char local_gpu[] = "this machine's ";
    snprintf(out, bytes, "%s", device);
    if (strncmp(device, local_gpu, sizeof local_gpu - 1) != 0) return;
    json_t *machine = json_loads(machine_json, 0, NULL);
    const char *name = processor(machine, on_gpu), *options = strchrnul(device, '(');
    if (name && *name)
        snprintf(out, bytes, "%s %s", name, options);
    else
        snprintf(out, bytes, "another machine's %s", device + sizeof local_gpu - 1);
    json_decref(machine);
}

static json_t *model_json(const struct rue_calibration_goal *goal, const struct rue_profile *profile,
                          const char *reason)
{
    json_t *sizes = json_array(), *times = json_array(), *infeasible = json_array();
    for (size_t i = 0; i < goal->batch_size_count; i++) {
        bool measured = i < profile->points;
        rue_json_push(measured ? &sizes : &infeasible, json_integer(goal->batch_sizes[i]));
        if (measured) rue_json_push(&times, rue_json_nanoseconds(profile->batch_ns[i]));
    }
    return rue_json_make("model:t batch_size:o batch_ns:o largest_batch:N infeasible:o reason:T",
                         profile->name, sizes, times, profile->largest_batch, infeasible, reason);
}

json_t *rue_calibration_json(const struct rue_calibration_goal *goal,
                             const struct rue_calibration *calibration)
{
    json_t *models = json_array();
    json_t *root = rue_json_make("format:t title:t device:t precision:t batches:n note:T runner:t machine:o",
                                 RUE_DEVICE_TABLE_FORMAT, calibration->title, goal->device,
                                 calibration->precision, goal->batches, calibration->note,
                                 calibration->runner, rue_json_parse(calibration->machine_json));
    if (calibration->on_gpu) rue_json_put(&root, "pin_memory", json_boolean(goal->pin_memory));
    for (size_t m = 0; m < calibration->table.count; m++)
        if (calibration->table.profiles[m].points)
            rue_json_push(&models,
                          model_json(goal, &calibration->table.profiles[m], calibration->reasons[m]));
    rue_json_put(&root, "models", models);
    return root;
}
