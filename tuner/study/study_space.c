#include "study_space.h"

#include "json_number.h"
#include "knob_list.h"
#include "machine.h"

int rue_study_usable_cpus(const struct rue_hello *hello)
{
    int cpus = rue_json_number(hello->machine_json, "usable_cpus");
    if (cpus <= 0) cpus = rue_json_number(hello->machine_json, "cpus");
    if (cpus > 0) return cpus;
    /* This machine's say nothing of one that is simulated or was elsewhere: as many as it has workers for. */
    const int *workers = hello->space.values[RUE_NUM_WORKERS], count = hello->space.count[RUE_NUM_WORKERS];
    if (hello->virtual_clock && hello->knobs[RUE_NUM_WORKERS])
        return workers[count - 1] > 1 ? workers[count - 1] : 1;
    return rue_machine_read().usable_cpus;
}

/* Batch sizes by doubling; workers 0, 1, 2, 4, ... to twice the usable CPUs, and the CPUs themselves. */
static void default_values(struct rue_space *space, enum rue_knob knob, int cpus)
{
    if (knob == RUE_BATCH_SIZE) {
        space->count[knob] = 0;
        for (int b = 16; b <= 256; b *= 2) rue_space_add(space, knob, b);
    } else if (knob == RUE_NUM_WORKERS) {
        int most = rue_knobs[knob].max;
        space->count[knob] = 0;
        rue_space_add(space, knob, 0);
        for (int w = 1; w <= 2 * cpus && w <= most; w *= 2) rue_space_add(space, knob, w);
        rue_space_add(space, knob, cpus < most ? cpus : most);
    }
}

/* A batch cannot be larger than the job. */
static rue_status bound_batch_size(struct rue_space *space, const char *asked_by, uint64_t job_images,
                                   rue_error *error)
{
    int *count = &space->count[RUE_BATCH_SIZE], *values = space->values[RUE_BATCH_SIZE];
    while (*count > 0 && (uint64_t)values[*count - 1] > job_images) {
        if (asked_by)
            return rue_fail(
                error, RUE_USAGE,
                "%s: batches of %d are larger than the job of %llu images: leave them out, or raise --images",
                asked_by, values[*count - 1], (unsigned long long)job_images);
        --*count;
    }
    if (*count == 0) rue_space_add(space, RUE_BATCH_SIZE, (int)job_images);
    return RUE_OK;
}

/* Values that a limit leaves. */
static rue_status bound_workers(struct rue_space *space, const struct rue_study_goal *goal, rue_error *error)
{
    int *count = &space->count[RUE_NUM_WORKERS], *values = space->values[RUE_NUM_WORKERS];
    const char *asked_by = goal->knobs[RUE_NUM_WORKERS] ? goal->knob_origins[RUE_NUM_WORKERS] : NULL;
    while (goal->limits_workers && *count > 0 && values[*count - 1] > goal->max_workers) {
        if (asked_by)
            return rue_fail(error, RUE_USAGE,
                            "%s: %d workers are more than %s %d allows: leave them out, or raise the limit",
                            asked_by, values[*count - 1], goal->max_workers_origin, goal->max_workers);
        --*count;
    }
    if (*count > 0) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "%s %d: the runner has no fewer than %d workers; raise the limit",
                    goal->max_workers_origin, goal->max_workers, values[0]);
}

/* It matters to models on a GPU, and to runners that name it in their space: elsewhere both values would be
 * measured as one, and noise would choose. */
rue_status rue_study_check_pinning(const struct rue_study *study, rue_error *error)
{
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    if (!study->goal->knobs[RUE_PIN_MEMORY] || hello->has_space) return RUE_OK; /* a space says it itself */
    for (size_t m = 0; m < study->model_count; m++)
        if (study->models[m].profile.consumer == RUE_CONSUMER_CUDA) return RUE_OK;
    return rue_fail(error, RUE_USAGE,
                    "%s: no model here computes on a GPU, so that it makes no difference where batches lie; "
                    "name one, such as resnet50@cuda, or leave it out",
                    study->goal->knob_origins[RUE_PIN_MEMORY]);
}

rue_status rue_study_space(const struct rue_study_goal *goal, const struct rue_hello *hello,
                           uint64_t job_images, struct rue_space *out, rue_error *error)
{
    int cpus = rue_study_usable_cpus(hello);
    *out = hello->has_space ? hello->space : rue_space_default();
    for (int k = 0; k < RUE_KNOB_COUNT; k++) {
        bool variable = !hello->has_space || hello->knobs[k];
        if (goal->knobs[k] && !variable)
            return rue_fail(error, RUE_USAGE, "%s: the runner %s cannot vary that; leave it out",
                            goal->knob_origins[k], hello->runner);
        if (goal->knobs[k]) {
            rue_status status = rue_knob_list_parse(out, k, goal->knobs[k], goal->knob_origins[k], error);
            if (status != RUE_OK) return status;
        } else if (!hello->has_space) {
            default_values(out, k, cpus);
        }
    }
    rue_status status = bound_workers(out, goal, error);
    if (status != RUE_OK) return status;
    const char *asked_by = goal->knobs[RUE_BATCH_SIZE] ? goal->knob_origins[RUE_BATCH_SIZE] : NULL;
    return bound_batch_size(out, asked_by, job_images, error);
}

bool rue_study_repeats_another(const struct rue_space *space, const struct rue_config *config)
{
    if (config->value[RUE_NUM_WORKERS] > 0) return false;
    static const enum rue_knob of_workers[] = {RUE_PREFETCH_FACTOR, RUE_PARALLELISM};
    for (size_t i = 0; i < sizeof of_workers / sizeof *of_workers; i++)
        if (config->value[of_workers[i]] != space->values[of_workers[i]][0]) return true;
    return false;
}

size_t rue_study_config_count(const struct rue_study *study)
{
    size_t count = 0;
    for (size_t i = 0, size = rue_space_size(&study->space); i < size; i++) {
        struct rue_config config = rue_space_at(&study->space, i);
        count += !rue_study_repeats_another(&study->space, &config);
    }
    return count;
}
