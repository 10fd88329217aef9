#include "recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "findings_fill.h"
#include "hash.h"

enum { BATCHES_MIN = 8, JOBS_LISTED = 8 };

/* ---- the job ---- */

static uint64_t group_job(const struct rue_table *table, size_t group)
{
    return table->tally.groups[group].job.images;
}

static rue_status fail_jobs(const struct rue_table *table, uint64_t images, rue_error *error)
{
    char jobs[256] = "";
    uint64_t named[JOBS_LISTED];
    size_t count = 0, used = 0;
    for (size_t g = 0; g < table->tally.group_count && count < JOBS_LISTED; g++) {
        bool known = false;
        for (size_t i = 0; i < count; i++) known |= named[i] == group_job(table, g);
        if (known || !group_job(table, g)) continue;
        named[count++] = group_job(table, g);
        used += (size_t)snprintf(jobs + used, sizeof jobs - used, "%s%" PRIu64, used ? ", " : "",
                                 group_job(table, g));
    }
    if (images)
        return rue_fail(error, RUE_USAGE,
                        "%s has no times for jobs of %" PRIu64
                        " images, only of %s; give one of these with --images",
                        table->name, images, jobs);
    return rue_fail(error, RUE_USAGE,
                    "%s has times for jobs of several lengths (%s images); choose one with --images",
                    table->name, jobs);
}

/* The job of the rows; if they have none, `images`, or 0. */
static rue_status find_job(const struct rue_table *table, uint64_t images, uint64_t *out, rue_error *error)
{
    bool any_unknown = false, fits = false;
    *out = images;
    for (size_t g = 0; g < table->tally.group_count; g++) {
        uint64_t job = group_job(table, g);
        if (!images && *out && job && job != *out) return fail_jobs(table, 0, error);
        if (!images && job) *out = job;
        any_unknown |= job == 0;
        fits |= job == images;
    }
    return !images || fits || any_unknown ? RUE_OK : fail_jobs(table, images, error);
}

/* ---- contents ---- */

static rue_status fail_many(const struct rue_recording *recording, const char *what, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s has more than %d %s; remove rows that are not needed",
                    recording->table.name, RUE_HELLO_LIST_MAX, what);
}

static rue_status add_variant(struct rue_recording *recording, const struct rue_variant_findings *found,
                              rue_error *error)
{
    struct rue_variant *variant = &recording->variants[recording->variant_count];
    if (recording->variant_count == RUE_HELLO_LIST_MAX) return fail_many(recording, "data modes", error);
    *variant = found->variant;
    if (!variant->format[0]) strcpy(variant->format, RUE_TABLE_FORMAT);
    snprintf(variant->path, sizeof variant->path, "%s", found->label);
    recording->found[recording->variant_count++] = found;
    return RUE_OK;
}

static rue_status list_recorded_models(struct rue_recording *recording, rue_error *error)
{
    const struct rue_names *models = &recording->table.tally.models;
    for (size_t m = 0; m < models->count; m++) {
        bool known = false;
        for (size_t v = 0; !known && v < recording->variant_count; v++)
            known = rue_cost_matrix_model(recording->found[v]->matrix, models->texts[m]) != RUE_NONE;
        if (known && recording->model_count == RUE_HELLO_LIST_MAX)
            return fail_many(recording, "models", error);
        if (known) recording->models[recording->model_count++] = models->texts[m];
    }
    return RUE_OK;
}

static rue_status add_values(struct rue_recording *recording, const struct rue_config *config,
                             rue_error *error)
{
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++) {
        int value = config->value[k];
        if (!recording->knobs[k] || rue_space_has_value(&recording->space, k, value)) continue;
        if (!rue_space_add(&recording->space, k, value))
            return rue_fail(error, RUE_DATA,
                            "%s has more than %d values of %s; remove rows that are not needed",
                            recording->table.name, RUE_SPACE_VALUES_MAX, rue_own_knobs.at[k]->name);
    }
    return RUE_OK;
}

static void find_knobs(struct rue_recording *recording)
{
    recording->space = rue_space_default(&rue_own_knobs);
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++) {
        recording->knobs[k] = recording->table.columns.field[RUE_COLUMN_KNOBS + k] != SIZE_MAX;
        if (recording->knobs[k]) recording->space.count[k] = 0;
    }
}

/* Lists what the table has for the job. */
static rue_status list_contents(struct rue_recording *recording, rue_error *error)
{
    rue_status status = rue_tally_make_findings(&recording->table.tally, &recording->findings, error);
    if (status != RUE_OK) return status;
    recording->min_trials = SIZE_MAX;
    for (size_t v = 0; status == RUE_OK && v < recording->findings->variant_count; v++) {
        const struct rue_variant_findings *found = &recording->findings->variants[v];
        const struct rue_cost_matrix *matrix = found->matrix;
        if (found->job.images && found->job.images != recording->job_images) continue;
        status = add_variant(recording, found, error);
        for (size_t c = 0; status == RUE_OK && c < matrix->config_count; c++)
            status = add_values(recording, &matrix->configs[c], error);
        for (size_t i = 0; i < matrix->model_count * matrix->config_count; i++) {
            size_t trials = matrix->cells[i].repeats ? matrix->cells[i].repeats : matrix->cells[i].missed;
            if (trials && trials < recording->min_trials) recording->min_trials = trials;
        }
    }
    return status == RUE_OK ? list_recorded_models(recording, error) : status;
}

static void assume_job(struct rue_recording *recording)
{
    int count = recording->space.count[RUE_BATCH_SIZE];
    uint64_t largest = (uint64_t)recording->space.values[RUE_BATCH_SIZE][count - 1];
    recording->assumed = true;
    recording->job_images = RUE_RECORDING_IMAGES;
    if (recording->job_images < BATCHES_MIN * largest) recording->job_images = BATCHES_MIN * largest;
}

static void describe_runner(struct rue_recording *recording)
{
    struct rue_hello *hello = &recording->hello;
    *hello = (struct rue_hello){.loader = RUE_TABLE_LOADER,
                                .measures = {[RUE_JOINT] = true},
                                .virtual_clock = true,
                                .whole_jobs = true,
                                .answers = recording->min_trials,
                                .model_count = recording->model_count,
                                .variant_count = recording->variant_count,
                                .images = recording->assumed ? 0 : recording->job_images,
                                .has_space = true,
                                .space = recording->space};
    snprintf(hello->runner, sizeof hello->runner, RUE_TABLE_LOADER " %.60s replayed #%016" PRIx64,
             recording->table.name, recording->table.digest);
    memcpy(hello->variants, recording->variants, sizeof hello->variants);
    memcpy(hello->varies, recording->knobs, sizeof recording->knobs);
    for (size_t i = 0; i < recording->model_count; i++)
        snprintf(hello->models[i], sizeof hello->models[i], "%s", recording->models[i]);
}

rue_status rue_recording_open(const char *path, const char *map, uint64_t images, struct rue_recording **out,
                              rue_error *error)
{
    if (strcmp(path, "-") == 0)
        return rue_fail(
            error, RUE_USAGE,
            "--table -: standard input has no file name, which a study needs; save the table in a file");
    struct rue_recording *recording = calloc(1, sizeof *recording);
    if (!recording) return rue_fail_memory(error, "a table", sizeof *recording);
    rue_status status = rue_table_read(path, map, &recording->table, error);
    if (status != RUE_OK) {
        free(recording);
        return status;
    }
    status = find_job(&recording->table, images, &recording->job_images, error);
    find_knobs(recording);
    if (status == RUE_OK) status = list_contents(recording, error);
    if (status == RUE_OK && !recording->job_images) assume_job(recording);
    if (status != RUE_OK) {
        rue_recording_close(recording);
        return status;
    }
    describe_runner(recording);
    *out = recording;
    return RUE_OK;
}

void rue_recording_close(struct rue_recording *recording)
{
    if (!recording) return;
    rue_findings_close(recording->findings);
    rue_table_close(&recording->table);
    free(recording);
}

/* ---- cells ---- */

/* RUE_NONE: the table does not have the variant. */
static size_t find_recorded_variant(const struct rue_recording *recording, const struct rue_variant *variant)
{
    for (size_t v = 0; v < recording->variant_count; v++) {
        const struct rue_variant *own = &recording->variants[v];
        if (strcmp(own->path, variant->path) == 0 && strcmp(own->format, variant->format) == 0 &&
            (!variant->dtype[0] || strcmp(own->dtype, variant->dtype) == 0))
            return v;
    }
    return RUE_NONE;
}

const struct rue_cell *rue_recording_find_cell(const struct rue_recording *recording,
                                               const struct rue_variant *variant, const char *model,
                                               const struct rue_config *config)
{
    size_t number = find_recorded_variant(recording, variant);
    if (number == RUE_NONE) return NULL;
    const struct rue_cost_matrix *matrix = recording->found[number]->matrix;
    const struct rue_config *found =
        bsearch(config, matrix->configs, matrix->config_count, sizeof *config, rue_config_compare);
    size_t row = rue_cost_matrix_model(matrix, model);
    if (!found || row == RUE_NONE) return NULL;
    const struct rue_cell *cell = rue_cost_matrix_cell(matrix, row, (size_t)(found - matrix->configs));
    return cell->state == RUE_CELL_MISSING ? NULL : cell;
}

/* ---- the runner ---- */

static const struct rue_hello *answer_hello(const void *state)
{
    return &((const struct rue_recording *)state)->hello;
}

static rue_status begin_open(void *state, const struct rue_variant *variant,
                             const struct rue_workload *workload, uint64_t images, rue_error *error)
{
    (void)state, (void)variant, (void)workload, (void)images, (void)error;
    return RUE_OK;
}

static rue_status answer_open(void *state, const struct rue_variant *variant,
                              const struct rue_workload *workload, struct rue_opened *out, rue_error *error)
{
    const struct rue_recording *recording = state;
    (void)workload, (void)error;
    out->images = recording->job_images;
    size_t number = find_recorded_variant(recording, variant); /* each has another digest */
    snprintf(out->digest, sizeof out->digest, "%016" PRIx64,
             rue_hash(recording->table.digest, &number, sizeof number));
    return RUE_OK;
}

static void replay_trial(const struct rue_recording *recording, const struct rue_trial_request *request,
                         struct rue_trial_result *result)
{
    char label[RUE_CONFIG_TEXT_BYTES];
    const struct rue_cell *cell =
        rue_recording_find_cell(recording, &request->variant, request->model, &request->config);
    result->cost_ns = 0;
    if (!recording->assumed && request->job_images != recording->job_images) {
        snprintf(result->reason, sizeof result->reason,
                 "the table has jobs of %" PRIu64 " images, not %" PRIu64, recording->job_images,
                 request->job_images);
        return;
    }
    if (!cell) {
        rue_config_label(&request->config, label);
        result->outcome = RUE_TRIAL_INFEASIBLE;
        snprintf(result->reason, sizeof result->reason, "%s has no time for %s with %s",
                 recording->table.name, request->model, label);
        return;
    }
    if (cell->state != RUE_CELL_OK) {
        result->outcome = cell->state == RUE_CELL_INFEASIBLE ? RUE_TRIAL_INFEASIBLE : RUE_TRIAL_FAILED;
        snprintf(result->reason, sizeof result->reason, "%s", cell->reason);
        return;
    }
    double ns = cell->times_ns[request->repeat % cell->repeats];
    if (!rue_trial_field_is_valid(ns)) {
        snprintf(result->reason, sizeof result->reason, "%s: the time is 9 years or more",
                 recording->table.name);
        return;
    }
    result->outcome = RUE_TRIAL_OK;
    result->end_to_end_ns = result->cost_ns = (int64_t)(ns + 0.5);
    result->images = (int64_t)request->job_images;
}

static rue_status answer_trial(void *state, struct rue_trial_request *request, const char *profile,
                               uint64_t timeout_ns, struct rue_trial_result *result, rue_error *error)
{
    (void)profile, (void)timeout_ns, (void)error;
    replay_trial(state, request, result);
    return RUE_OK;
}

const struct rue_runner_ops rue_recording_runner = {
    .hello = answer_hello, .begin_open = begin_open, .finish_open = answer_open, .trial = answer_trial};
