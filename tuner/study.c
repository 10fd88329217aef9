#include "study.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "catalogue.h"
#include "clock.h"
#include "hash.h"
#include "interrupt.h"
#include "machine.h"
#include "prepare.h"
#include "source.h"
#include "units.h"

enum { SAMPLE_FLOOR = 128 };

static const char default_models[] = "resnet18,resnet50,efficientnet_v2_s,vit_b_16";

/* ---- the folder of the study ---- */

/* "photos" of "/data/photos/": letters, digits, '.', '_' and '-' alone. */
static void study_name(const char *data, char *out, size_t bytes)
{
    size_t length = strlen(data), used = 0;
    while (length > 1 && data[length - 1] == '/') length--;
    size_t begin = length;
    while (begin > 0 && data[begin - 1] != '/') begin--;
    for (size_t i = begin; i < length && used + 1 < bytes; i++) {
        bool plain = strchr("._-", data[i]) || (data[i] >= '0' && data[i] <= '9') ||
                     ((data[i] | 32) >= 'a' && (data[i] | 32) <= 'z');
        out[used++] = plain ? data[i] : '_';
    }
    out[used] = 0;
    if (!out[0] || out[0] == '.') snprintf(out, bytes, "data");
}

static rue_status make_folders(char *path, rue_error *error)
{
    for (char *at = path + 1;; at++) {
        char kept = *at;
        if (kept && kept != '/') continue;
        *at = 0;
        int failed = mkdir(path, 0777);
        int why = errno;
        *at = kept;
        if (failed && why != EEXIST)
            return rue_fail(error, RUE_STORE, "cannot create %s: %s; choose another folder with --out", path,
                            strerror(why));
        if (!kept) return RUE_OK;
    }
}

static const char sample_name[] = "sample.tensor";

/* A tuner that was killed leaves its converted sample behind, whole or in part. The folder is locked. */
static void remove_leftovers(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    while (folder && (entry = readdir(folder)))
        if (strncmp(entry->d_name, sample_name, sizeof sample_name - 1) == 0)
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder) closedir(folder);
}

/* Whether the reports in the folder are about data at another path. */
static bool is_about_other_data(const char *folder, const char *path)
{
    char file[PATH_MAX + 32];
    snprintf(file, sizeof file, "%s/recommendation.json", folder);
    json_t *report = json_load_file(file, 0, NULL),
           *first = json_array_get(json_object_get(report, "recommendations"), 0);
    const char *other = json_string_value(json_object_get(json_object_get(first, "variant"), "path"));
    bool differs = other && strcmp(other, path) != 0;
    json_decref(report);
    return differs;
}

/* rue-out/<name of the data>, with a number behind it where that is taken by data of the same name elsewhere.
 */
static void choose_folder(struct rue_study *study)
{
    char name[128];
    const struct rue_study_goal *goal = study->goal;
    if (goal->out) {
        snprintf(study->folder, sizeof study->folder, "%s", goal->out);
        return;
    }
    study_name(goal->data ? goal->data : rue_runner_hello(study->runner)->loader, name, sizeof name);
    snprintf(study->folder, sizeof study->folder, "rue-out/%s", name);
    for (int number = 2; number < 1000 && is_about_other_data(study->folder, study->variants[0].variant.path);
         number++)
        snprintf(study->folder, sizeof study->folder, "rue-out/%s-%d", name, number);
}

static rue_status open_folder(struct rue_study *study, rue_error *error)
{
    choose_folder(study);
    rue_status status = make_folders(study->folder, error);
    if (status != RUE_OK) return status;
    study->folder_lock = open(study->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (study->folder_lock < 0)
        return rue_fail(error, RUE_STORE, "cannot open the folder %s: %s", study->folder, strerror(errno));
    if (flock(study->folder_lock, LOCK_EX | LOCK_NB) != 0)
        return rue_fail(
            error, RUE_STORE,
            "another 'rue tune' is at work in %s: wait for it, or choose another folder with --out",
            study->folder);
    remove_leftovers(study->folder);
    return RUE_OK;
}

static rue_status open_store(struct rue_study *study, rue_error *error)
{
    char path[PATH_MAX + 16];
    snprintf(path, sizeof path, "%s/study.db", study->folder);
    rue_status status = rue_store_open(path, study->goal->fresh, &study->store, error);
    if (status == RUE_OK) status = rue_store_count(study->store, &study->found_trials, error);
    if (status == RUE_OK && study->found_trials)
        rue_progress_note(study->progress,
                          "%s holds %" PRIu64 " trials: what fits is reused (--fresh starts over)", path,
                          study->found_trials);
    if (status == RUE_OK)
        status =
            rue_store_begin_run(study->store, study->goal->command_line, RUE_VERSION, study->started, error);
    return status;
}

/* ---- models ---- */

static rue_status add_model(struct rue_study *study, const char *spec, bool ours, rue_error *error)
{
    if (study->model_count == RUE_STUDY_MODELS_MAX)
        return rue_fail(error, RUE_USAGE, "more than %d models", RUE_STUDY_MODELS_MAX);
    struct rue_study_model *model = &study->models[study->model_count];
    *model = (struct rue_study_model){.known = ours};
    snprintf(model->name, sizeof model->name, "%s", spec);
    if (ours) {
        rue_status status = rue_catalogue_find(spec, &model->profile, error);
        if (status != RUE_OK) return status;
        memcpy(model->name, model->profile.name, sizeof model->name);
        rue_profile_json(&model->profile, model->profile_json);
    }
    for (size_t i = 0; i < study->model_count; i++)
        if (strcmp(study->models[i].name, model->name) == 0)
            return rue_fail(error, RUE_USAGE, "--model: %s is named twice", model->name);
    study->model_count++;
    return RUE_OK;
}

static bool runner_has(const struct rue_hello *hello, const char *name)
{
    for (size_t i = 0; i < hello->model_count; i++)
        if (strcmp(hello->models[i], name) == 0) return true;
    return false;
}

static rue_status choose_models(struct rue_study *study, rue_error *error)
{
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    const char *list = study->goal->models;
    rue_status status = RUE_OK;
    if (!list && hello->model_count) {
        for (size_t i = 0; status == RUE_OK && i < hello->model_count; i++)
            status = add_model(study, hello->models[i], false, error);
        return status;
    }
    char copy[4096], *save = NULL;
    if (!list) list = default_models;
    if (strlen(list) >= sizeof copy) return rue_fail(error, RUE_USAGE, "--model: the list is too long");
    snprintf(copy, sizeof copy, "%s", list);
    for (char *spec = strtok_r(copy, ",", &save); status == RUE_OK && spec;
         spec = strtok_r(NULL, ",", &save)) {
        if (hello->model_count && !runner_has(hello, spec))
            return rue_fail(
                error, RUE_USAGE,
                "the runner %s does not know the model '%s'; without --model all of its models are used",
                hello->runner, spec);
        status = add_model(study, spec, hello->model_count == 0, error);
    }
    if (status == RUE_OK && study->model_count == 0)
        return rue_fail(error, RUE_USAGE, "--model: the list is empty");
    return status;
}

/* ---- data ---- */

/* Has the runner open a variant and fixes what the trials on it will be. */
static rue_status open_variant(struct rue_study *study, struct rue_study_variant *variant, rue_error *error)
{
    const struct rue_study_goal *goal = study->goal;
    variant->workload = goal->workload;
    uint64_t wanted = variant->sample || !goal->images ? 0 : goal->images;
    rue_progress_show(study->progress, "opening %s",
                      variant->variant.path[0] ? variant->variant.path : "the runner's data");
    rue_status status = rue_runner_open_data(study->runner, &variant->variant, &variant->workload, wanted,
                                             &variant->opened, error);
    if (status != RUE_OK) return status;
    if (strcmp(variant->workload.cache, "warm") == 0 && strcmp(variant->opened.cache, "warm") != 0 &&
        goal->data) {
        rue_progress_note(study->progress,
                          "%s does not fit in half of the free memory: trials read it as it is, warm or cold",
                          variant->variant.path);
        snprintf(variant->workload.cache, sizeof variant->workload.cache, "%s", variant->opened.cache);
    }
    if (!variant->variant.dtype[0])
        snprintf(variant->variant.dtype, sizeof variant->variant.dtype, "%s", variant->opened.dtype);
    if (!variant->opened.digest[0])
        snprintf(variant->opened.digest, sizeof variant->opened.digest, "%" PRIu64, variant->opened.images);
    variant->job_images = goal->images           ? goal->images
                          : study->variant_count ? study->variants[0].job_images
                                                 : variant->opened.images;
    study->variant_count++;
    return RUE_OK;
}

/* How many images to convert for the comparison: a sample, never more than half of a data set that is not
 * tiny (so few records would stay in the processor's caches), in a quarter of the free memory and disk at
 * most. */
static uint64_t sample_size(const struct rue_study *study, uint64_t images)
{
    const uint64_t image_bytes = UINT64_C(4) * 3 * 224 * 224;
    uint64_t count = study->goal->sample_images, room = rue_machine_available_bytes() / 4;
    struct statvfs disk;
    if (statvfs(study->folder, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize / 4 < room)
        room = (uint64_t)disk.f_bavail * disk.f_frsize / 4;
    uint64_t half = images / 2 > SAMPLE_FLOOR ? images / 2 : SAMPLE_FLOOR;
    if (count > half) count = half;
    if (count > images) count = images;
    if (room && count > room / image_bytes) count = room / image_bytes;
    return count;
}

/* The runner starts in our folder, but a foreign one may change it: it is told absolute paths. */
static rue_status absolute_path(const char *path, char *out, rue_error *error)
{
    if (realpath(path, out)) return RUE_OK;
    return rue_fail(error, RUE_DATA, "cannot open %s: %s", path, strerror(errno));
}

/* Converts a sample of the raw data, so that raw can be compared with preprocessed. */
static rue_status add_sample(struct rue_study *study, rue_error *error)
{
    const struct rue_study_variant *raw = &study->variants[0];
    struct rue_study_variant *variant = &study->variants[study->variant_count];
    uint64_t count = sample_size(study, raw->opened.images);
    char images[RUE_UNIT_TEXT_BYTES], all[RUE_UNIT_TEXT_BYTES], size[RUE_UNIT_TEXT_BYTES];
    if (count == 0) {
        rue_progress_note(study->progress, "no room to convert a sample: preprocessed data are not compared");
        return RUE_OK;
    }
    snprintf(study->sample_path, sizeof study->sample_path, "%s/%s", study->folder, sample_name);
    rue_interrupt_guard_file(study->sample_path);
    rue_progress_note(
        study->progress,
        "to compare with preprocessed data, %s of %s images are converted (%s, removed at the end)",
        rue_format_count(count, images, sizeof images), rue_format_count(raw->opened.images, all, sizeof all),
        rue_format_bytes(count * 602112, size, sizeof size));
    struct rue_prepare_options options = {.dtype = RUE_FLOAT32,
                                          .images = count,
                                          .seed = study->goal->workload.seed,
                                          .max_pixels = study->goal->max_pixels,
                                          .bad_images = study->goal->workload.bad_images,
                                          .overwrite = true};
    struct rue_prepared done = {0};
    struct rue_progress progress = rue_progress_open(study->progress->quiet);
    rue_status status =
        rue_prepare_tensor(raw->variant.path, study->sample_path, &options, &progress, &done, error);
    rue_progress_close(&progress);
    if (status != RUE_OK) return status;
    *variant = (struct rue_study_variant){
        .sample = true, .build_s_per_image = (double)done.elapsed_ns / 1e9 / (double)done.images};
    variant->variant = (struct rue_variant){.mode = RUE_PREPROCESSED, .format = "tensor", .dtype = "float32"};
    status = absolute_path(study->sample_path, variant->variant.path, error);
    return status == RUE_OK ? open_variant(study, variant, error) : status;
}

/* Says what the first variant is; nothing has been written or opened yet. */
static rue_status choose_data(struct rue_study *study, rue_error *error)
{
    const struct rue_study_goal *goal = study->goal;
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    struct rue_study_variant *first = &study->variants[0];
    if (!goal->data) {
        if (!hello->variant_count)
            return rue_fail(error, RUE_USAGE, "give the folder or tensor file to tune for: rue tune DATA");
        for (size_t i = 0; i < hello->variant_count && study->chosen_count < RUE_STUDY_VARIANTS_MAX; i++)
            if (goal->modes[hello->variants[i].mode])
                study->variants[study->chosen_count++].variant = hello->variants[i];
        if (study->chosen_count) return RUE_OK;
        return rue_fail(error, RUE_USAGE, "the runner %s has no data of the mode that --mode asks for",
                        hello->runner);
    }
    study->chosen_count = 1;
    const struct rue_source_ops *format;
    rue_status status = rue_source_detect(goal->data, &format, error);
    if (status != RUE_OK) return status;
    if (!goal->modes[format->mode])
        return rue_fail(error, RUE_USAGE, "%s is %s data, which --mode leaves out", goal->data,
                        rue_mode_names[format->mode]);
    first->variant.mode = format->mode;
    snprintf(first->variant.format, sizeof first->variant.format, "%s", format->format);
    return absolute_path(goal->data, first->variant.path, error);
}

static rue_status open_data(struct rue_study *study, rue_error *error)
{
    const struct rue_study_goal *goal = study->goal;
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < study->chosen_count; i++) {
        status = open_variant(study, &study->variants[i], error);
        if (!goal->data && !goal->images && hello->images) study->variants[i].job_images = hello->images;
    }
    return status;
}

static bool wants_sample(const struct rue_study *study)
{
    return study->goal->data && study->variants[0].variant.mode == RUE_RAW &&
           study->goal->modes[RUE_PREPROCESSED];
}

/* ---- life ---- */

static void now_text(char *out, size_t bytes)
{
    struct tm parts;
    time_t now = time(NULL);
    strftime(out, bytes, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
}

/* Whose measurements these are: rows are reused only for the same runner on the same machine. Long names are
 * cut, so a hash of all of it tells them apart. */
static void identify(struct rue_study *study)
{
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    const char *command = study->goal->runner;
    if (command) {
        uint64_t hash = rue_hash(RUE_HASH_START, hello->runner, strlen(hello->runner) + 1);
        snprintf(study->runner_identity, sizeof study->runner_identity, "%.50s: %.50s #%016" PRIx64,
                 hello->runner, command, rue_hash(hash, command, strlen(command)));
    } else {
        snprintf(study->runner_identity, sizeof study->runner_identity, "%s", hello->runner);
    }
    snprintf(study->machine_identity, sizeof study->machine_identity, "%016" PRIx64,
             rue_hash(RUE_HASH_START, hello->machine_json, strlen(hello->machine_json)));
}

static rue_status open_all(struct rue_study *study, rue_error *error)
{
    const struct rue_study_goal *goal = study->goal;
    rue_status status = rue_runner_open(goal->runner, goal->max_pixels, &study->runner, error);
    if (status != RUE_OK) return status;
    identify(study);
    status = choose_models(study, error);
    const struct rue_hello *hello = rue_runner_hello(study->runner);
    if (status == RUE_OK) status = choose_data(study, error);
    /* Wrong values are told before anything is written or read, those that depend on J before the sample. */
    if (status == RUE_OK) status = rue_study_space(goal, hello, UINT64_MAX, &study->space, error);
    if (status == RUE_OK) status = open_folder(study, error);
    if (status == RUE_OK) status = open_data(study, error);
    if (status == RUE_OK)
        status = rue_study_space(goal, hello, study->variants[0].job_images, &study->space, error);
    if (status == RUE_OK && wants_sample(study)) status = add_sample(study, error);
    return status == RUE_OK ? open_store(study, error) : status;
}

rue_status rue_study_open(const struct rue_study_goal *goal, struct rue_progress *progress,
                          struct rue_study **out, rue_error *error)
{
    struct rue_study *study = calloc(1, sizeof *study);
    if (!study) return rue_fail_memory(error, "a study", sizeof *study);
    study->goal = goal;
    study->progress = progress;
    study->start_ns = rue_clock_now_ns();
    study->folder_lock = -1;
    study->memory_bytes = goal->memory_bytes ? goal->memory_bytes : rue_machine_available_bytes() / 5 * 4;
    now_text(study->started, sizeof study->started);
    rue_status status = open_all(study, error);
    if (status != RUE_OK) return rue_study_close(study), status;
    *out = study;
    return RUE_OK;
}

void rue_study_close(struct rue_study *study)
{
    if (!study) return;
    rue_runner_close(study->runner);
    rue_store_close(study->store);
    if (study->sample_path[0]) unlink(study->sample_path);
    rue_interrupt_guard_file(NULL);
    if (study->folder_lock >= 0) close(study->folder_lock);
    for (size_t v = 0; v < study->variant_count; v++) rue_cost_matrix_close(study->matrices[v]);
    free(study->configs);
    free(study->rows);
    free(study);
}

uint64_t rue_study_spent_ns(const struct rue_study *study)
{
    if (rue_runner_hello(study->runner)->virtual_clock) return study->virtual_ns;
    return rue_clock_now_ns() - study->start_ns;
}
