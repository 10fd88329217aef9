#include "recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"

enum { BATCHES_LEAST = 8, JOBS_TOLD = 8 };

static int compare_cells(const struct rue_tally_trial *a, const struct rue_tally_trial *b)
{
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    if (a->model != b->model) return a->model < b->model ? -1 : 1;
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++)
        if (a->config.value[k] != b->config.value[k]) return a->config.value[k] < b->config.value[k] ? -1 : 1;
    return 0;
}

/* The times of a cell stay in the order of the table. */
static int compare_trials(const void *left, const void *right)
{
    const struct rue_tally_trial *a = left, *b = right;
    int order = compare_cells(a, b);
    return order ? order : (a->images > b->images) - (a->images < b->images);
}

/* ---- the job ---- */

static uint64_t job_of(const struct rue_table *table, size_t group)
{
    return table->tally.groups[group].facts.job.images;
}

static rue_status fail_jobs(const struct rue_table *table, uint64_t images, rue_error *error)
{
    char jobs[256] = "";
    uint64_t told[JOBS_TOLD];
    size_t count = 0, used = 0;
    for (size_t g = 0; g < table->tally.group_count && count < JOBS_TOLD; g++) {
        bool known = false;
        for (size_t i = 0; i < count; i++) known |= told[i] == job_of(table, g);
        if (known || !job_of(table, g)) continue;
        told[count++] = job_of(table, g);
        used += (size_t)snprintf(jobs + used, sizeof jobs - used, "%s%" PRIu64, used ? ", " : "",
                                 job_of(table, g));
    }
    if (images)
        return rue_fail(error, RUE_USAGE,
                        "%s has no times of jobs of %" PRIu64 " images, but of %s: say so with --images",
                        table->name, images, jobs);
    return rue_fail(error, RUE_USAGE,
                    "%s has times of jobs of different lengths, %s images: choose one with --images",
                    table->name, jobs);
}

/* J: what the rows say, where they say it, else `images`, else 0. */
static rue_status find_job(const struct rue_table *table, uint64_t images, uint64_t *out, rue_error *error)
{
    bool any_unknown = false, fits = false;
    *out = images;
    for (size_t g = 0; g < table->tally.group_count; g++) {
        uint64_t job = job_of(table, g);
        if (!images && *out && job && job != *out) return fail_jobs(table, 0, error);
        if (!images && job) *out = job;
        any_unknown |= job == 0;
        fits |= job == images;
    }
    return !images || fits || any_unknown ? RUE_OK : fail_jobs(table, images, error);
}

/* ---- what the table has ---- */

static rue_status fail_many(const struct rue_recording *recording, const char *what, rue_error *error)
{
    return rue_fail(error, RUE_DATA, "%s has more than %d %s: keep the rows of those that matter",
                    recording->table.name, RUE_HELLO_LIST_MAX, what);
}

static rue_status add_variant(struct rue_recording *recording, size_t group, rue_error *error)
{
    const struct rue_variant_findings *facts = &recording->table.tally.groups[group].facts;
    struct rue_variant *variant = &recording->variants[recording->variant_count];
    if (recording->variant_count == RUE_HELLO_LIST_MAX) return fail_many(recording, "data modes", error);
    *variant = facts->variant;
    if (!variant->format[0]) strcpy(variant->format, RUE_TABLE_FORMAT);
    if (strlen(facts->label) >= sizeof variant->path)
        return rue_fail(error, RUE_DATA, "%s: the mode '%.40s...' has a name that is too long: shorten it",
                        recording->table.name, facts->label);
    snprintf(variant->path, sizeof variant->path, "%s", facts->label);
    recording->groups[recording->variant_count++] = group;
    return RUE_OK;
}

static rue_status add_model(struct rue_recording *recording, size_t model, rue_error *error)
{
    const char *name = recording->table.tally.models.texts[model];
    for (size_t i = 0; i < recording->model_count; i++)
        if (recording->models[i] == model) return RUE_OK;
    if (recording->model_count == RUE_HELLO_LIST_MAX) return fail_many(recording, "models", error);
    if (strlen(name) >= RUE_MODEL_NAME_BYTES)
        return rue_fail(error, RUE_DATA,
                        "%s: the model '%.40s...' has a name of more than %d bytes: shorten it",
                        recording->table.name, name, RUE_MODEL_NAME_BYTES - 1);
    recording->models[recording->model_count++] = model;
    return RUE_OK;
}

static rue_status add_values(struct rue_recording *recording, const struct rue_config *config,
                             rue_error *error)
{
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++) {
        int value = config->value[k];
        if (!recording->knobs[k] || rue_space_has(&recording->space, k, value)) continue;
        if (!rue_space_add(&recording->space, k, value))
            return rue_fail(error, RUE_DATA,
                            "%s has more than %d values of %s: keep the rows of those that matter",
                            recording->table.name, RUE_SPACE_VALUES_MAX, rue_own_knobs.at[k]->name);
    }
    return RUE_OK;
}

static rue_status find_knobs(struct rue_recording *recording, rue_error *error)
{
    recording->space = rue_space_default(&rue_own_knobs);
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++) {
        recording->knobs[k] = recording->table.columns.field[RUE_COLUMN_KNOBS + k] != SIZE_MAX;
        if (recording->knobs[k]) recording->space.count[k] = 0;
        if (!recording->knobs[k] && rue_own_knobs.at[k]->always_shown)
            return rue_fail(
                error, RUE_DATA,
                "%s: no column %s, without which there is no configuration to choose; name it with "
                "--map %s=COLUMN, or add it",
                recording->table.name, rue_own_knobs.at[k]->name, rue_own_knobs.at[k]->name);
    }
    return RUE_OK;
}

/* Keeps the trials of the job, sorted. */
static rue_status keep_trials(struct rue_recording *recording, rue_error *error)
{
    const struct rue_tally *tally = &recording->table.tally;
    rue_status status = RUE_OK;
    recording->trials = calloc(tally->trial_count, sizeof *recording->trials);
    if (!recording->trials)
        return rue_fail_memory(error, "trials", tally->trial_count * sizeof *recording->trials);
    for (size_t g = 0; status == RUE_OK && g < tally->group_count; g++)
        if (!job_of(&recording->table, g) || job_of(&recording->table, g) == recording->job_images)
            status = add_variant(recording, g, error);
    for (size_t i = 0; status == RUE_OK && i < tally->trial_count; i++) {
        const struct rue_tally_trial *trial = &tally->trials[i];
        uint64_t job = job_of(&recording->table, trial->group);
        if (job && job != recording->job_images) continue;
        recording->trials[recording->trial_count] = *trial;
        recording->trials[recording->trial_count++].images = i;
        status = add_model(recording, trial->model, error);
        if (status == RUE_OK) status = add_values(recording, &trial->config, error);
    }
    if (status != RUE_OK) return status;
    qsort(recording->trials, recording->trial_count, sizeof *recording->trials, compare_trials);
    recording->answers = recording->trial_count;
    for (size_t i = 0, first = 0; i < recording->trial_count; i++) {
        if (i + 1 < recording->trial_count &&
            compare_cells(&recording->trials[i], &recording->trials[i + 1]) == 0)
            continue;
        if (i + 1 - first < recording->answers) recording->answers = i + 1 - first;
        first = i + 1;
    }
    return RUE_OK;
}

static void assume_job(struct rue_recording *recording)
{
    int count = recording->space.count[RUE_BATCH_SIZE];
    uint64_t largest = (uint64_t)recording->space.values[RUE_BATCH_SIZE][count - 1];
    recording->assumed = true;
    recording->job_images = RUE_RECORDING_IMAGES;
    if (recording->job_images < BATCHES_LEAST * largest) recording->job_images = BATCHES_LEAST * largest;
}

rue_status rue_recording_open(const char *path, const char *map, uint64_t images, struct rue_recording **out,
                              rue_error *error)
{
    if (strcmp(path, "-") == 0)
        return rue_fail(
            error, RUE_USAGE,
            "--table -: the table is read twice, which the standard input cannot be; save it in a "
            "file");
    struct rue_recording *recording = calloc(1, sizeof *recording);
    if (!recording) return rue_fail_memory(error, "a table", sizeof *recording);
    rue_status status = rue_table_read(path, map, &recording->table, error);
    if (status != RUE_OK) {
        free(recording);
        return status;
    }
    status = find_job(&recording->table, images, &recording->job_images, error);
    if (status == RUE_OK) status = find_knobs(recording, error);
    if (status == RUE_OK) status = keep_trials(recording, error);
    if (status == RUE_OK && !recording->job_images) assume_job(recording);
    if (status != RUE_OK) {
        rue_recording_close(recording);
        return status;
    }
    *out = recording;
    return RUE_OK;
}

void rue_recording_close(struct rue_recording *recording)
{
    if (!recording) return;
    rue_table_close(&recording->table);
    free(recording->trials);
    free(recording);
}

void rue_recording_name(const struct rue_recording *recording, char *out, size_t bytes)
{
    snprintf(out, bytes, RUE_IMPORTED "%.60s replayed #%016" PRIx64, recording->table.name,
             recording->table.digest);
}

/* ---- cells ---- */

static size_t group_of(const struct rue_recording *recording, const struct rue_variant *variant)
{
    for (size_t v = 0; v < recording->variant_count; v++) {
        const struct rue_variant *own = &recording->variants[v];
        if (strcmp(own->path, variant->path) == 0 && strcmp(own->format, variant->format) == 0 &&
            (!variant->dtype[0] || strcmp(own->dtype, variant->dtype) == 0))
            return recording->groups[v];
    }
    return SIZE_MAX;
}

void rue_recording_digest(const struct rue_recording *recording, const struct rue_variant *variant,
                          char out[32])
{
    size_t group = group_of(recording, variant);
    snprintf(out, 32, "%016" PRIx64, rue_hash(recording->table.digest, &group, sizeof group));
}

/* The first trial of the cell, and how many there are. */
static const struct rue_tally_trial *find_cell(const struct rue_recording *recording,
                                               const struct rue_variant *variant, const char *model,
                                               const struct rue_config *config, size_t *count)
{
    struct rue_tally_trial key = {
        .group = group_of(recording, variant), .model = SIZE_MAX, .config = *config};
    for (size_t i = 0; i < recording->model_count; i++)
        if (strcmp(recording->table.tally.models.texts[recording->models[i]], model) == 0)
            key.model = recording->models[i];
    for (size_t k = 0; k < RUE_OWN_KNOB_COUNT; k++)
        if (!recording->knobs[k]) key.config.value[k] = RUE_KNOB_UNKNOWN;
    size_t low = 0, high = recording->trial_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_cells(&recording->trials[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < recording->trial_count &&
           compare_cells(&recording->trials[low + *count], &key) == 0)
        ++*count;
    return &recording->trials[low];
}

const struct rue_tally_trial *rue_recording_trial(const struct rue_recording *recording,
                                                  const struct rue_variant *variant, const char *model,
                                                  const struct rue_config *config, uint64_t nth)
{
    size_t count;
    const struct rue_tally_trial *first = find_cell(recording, variant, model, config, &count);
    return count ? &first[nth % count] : NULL;
}

size_t rue_recording_count(const struct rue_recording *recording, const struct rue_variant *variant,
                           const char *model, const struct rue_config *config)
{
    size_t count;
    find_cell(recording, variant, model, config, &count);
    return count;
}
