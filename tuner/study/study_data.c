/* The data of a study: those of the goal, and a converted sample for comparison. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "advice.h"
#include "fetcher.h"
#include "interrupt.h"
#include "json_number.h"
#include "machine.h"
#include "made_with.h"
#include "model.h"
#include "note.h"
#include "prepare.h"
#include "program_name.h"
#include "sampler.h"
#include "shards.h"
#include "source.h"
#include "study_costs.h"
#include "study_opening.h"
#include "study_prior.h"
#include "subset.h"
#include "units.h"

#include "recommendation_file.h"

enum { SAMPLE_FLOOR = 128 };

/* Fails for a cold study if the runner cannot prove that its trials are cold. */
static rue_status check_cold_cache(const struct rue_study_setup *setup,
                                   const struct rue_study_variant *variant, rue_error *error)
{
    const char *name = variant->variant.path[0] ? variant->variant.path : "the runner's data";
    if (strcmp(variant->workload.cache, RUE_CACHE_COLD) != 0 ||
        strcmp(variant->opened.cache, RUE_CACHE_COLD) == 0)
        return RUE_OK;
    if (variant->opened.cache_reason[0])
        return rue_fail(error, RUE_INFEASIBLE, "%s cannot be read cold: %s; give --cache warm or as-is", name,
                        variant->opened.cache_reason);
    return rue_fail(error, RUE_INFEASIBLE,
                    "%s cannot be read cold: trials of the runner %s are %s; give --cache warm or as-is",
                    name, rue_study_hello(setup)->runner, variant->opened.cache);
}

/* The most images of an epoch that one rank loads; of a rank whose others are elsewhere, its own. */
static uint64_t epoch_images(const struct rue_study_variant *variant)
{
    const struct rue_sampler even = {.items = variant->opened.images,
                                     .rank = variant->workload.rank,
                                     .world_size = variant->workload.world_size};
    return variant->opened.share_images ? variant->opened.share_images : rue_sampler_share(&even);
}

/* A cold trial has at most one epoch, because data that are read a second time are in memory. */
static rue_status check_epoch(const struct rue_study_setup *setup, const struct rue_study_variant *variant,
                              rue_error *error)
{
    char has[RUE_UNIT_TEXT_BYTES], job[RUE_UNIT_TEXT_BYTES];
    uint64_t epoch = epoch_images(variant), loaders = rue_workload_loaders(&variant->workload);
    if (strcmp(variant->workload.cache, RUE_CACHE_COLD) != 0 || variant->job_images <= epoch) return RUE_OK;
    bool own = variant->workload.remote_ranks || setup->goal.loader.deployment.numbers.count;
    uint64_t images = own ? epoch : variant->opened.images;
    char shorter[64] = "remove --epochs";
    if (setup->goal.job.epochs <= 1)
        snprintf(shorter, sizeof shorter, "give --images %" PRIu64 " or less", images);
    return rue_fail(error, RUE_USAGE,
                    "%s has %s images, too few for a cold job of %s, because repeated images come from "
                    "memory; %s, or give --cache warm or as-is",
                    variant->variant.path, rue_format_count(images, has, sizeof has),
                    rue_format_count(variant->job_images * loaders, job, sizeof job), shorter);
}

/* A sample is one file, and too small for a rank whose others are elsewhere. */
static void unshare_sample(struct rue_workload *workload)
{
    workload->share = RUE_SHARE_STRIDED;
    if (!workload->remote_ranks) return;
    workload->remote_ranks = false;
    workload->rank = 0;
    workload->world_size = 1;
}

/* Whether a model that computes can take the items. */
static rue_status check_input(const struct rue_opened *opened, rue_error *error)
{
    const struct rue_model_input input = {.item_values = opened->item_values};
    if (opened->views < 2) return rue_model_check_input(&input, error);
    return rue_fail(error, RUE_USAGE,
                    "models that compute take one view of an image, and --augment asks for %" PRIu32
                    ": use simulated models",
                    opened->views);
}

static rue_status check_items(const struct rue_study_setup *setup, const struct rue_study_variant *variant,
                              rue_error *error)
{
    rue_status status = RUE_OK;
    rue_error why = {0};
    for (size_t m = 0; status == RUE_OK && m < setup->model_count; m++)
        if (setup->models[m].profile.consumer != RUE_CONSUMER_SLEEP)
            status = check_input(&variant->opened, &why);
    return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s: %s", variant->variant.path, why.message);
}

/* Without options, launchers may bind a rank to one core. Workers gain nothing then. */
static void note_bound_rank(const struct rue_study_setup *setup, struct rue_opened *opened)
{
    const char *machine = rue_study_hello(setup)->machine_json;
    int bound = rue_json_number(machine, "affinity_cpus"), online = rue_json_number(machine, "online_cpus"),
        loaders = rue_json_number(machine, "loaders"), nodes = rue_json_number(machine, "nodes");
    if (!setup->goal.loader.deployment.launcher.words || bound != 1 ||
        online <= (nodes > 0 ? loaders / nodes : 1))
        return;
    rue_note_add(opened->note, sizeof opened->note,
                 "each rank may use only 1 of %d CPUs: if training gets more, start ranks as it does (srun "
                 "--cpus-per-task, mpirun --bind-to none)",
                 online);
}

/* Fixes the length of the job, the same for all variants. */
static rue_status fix_job(struct rue_study_setup *setup, struct rue_study_variant *variant, rue_error *error)
{
    const struct rue_study_goal *goal = &setup->goal;
    const struct rue_deployment *deployment = &goal->loader.deployment;
    uint64_t epochs = goal->job.epochs ? goal->job.epochs : 1, own = rue_study_hello(setup)->images;
    if (deployment->numbers.count) variant->workload.world_size = (int)rue_deployment_most_ranks(deployment);
    bool whole = deployment->numbers.count && strcmp(variant->workload.cache, RUE_CACHE_WARM) == 0,
         is_own = !goal->data.count && own; /* the runner knows its job */
    uint64_t most = is_own ? 0 : rue_study_share(setup, goal->job.epoch_most),
             epoch = is_own  ? own
                     : whole ? variant->opened.images
                             : epoch_images(variant);
    if (epochs > 1 && epoch > RUE_STUDY_JOB_MAX / epochs)
        return rue_fail(error, RUE_USAGE,
                        "--epochs: %" PRIu64 " epochs of %" PRIu64 " images are too long a job; give fewer",
                        epochs, epoch);
    variant->job_images = setup->requested_images ? setup->requested_images
                          : setup->variant_count  ? setup->variants[0].job_images
                          : most && most < epoch  ? most
                                                  : epochs * epoch;
    return RUE_OK;
}

/* Lets the runner open a variant, and fixes the workload of its trials. */
static rue_status open_variant(struct rue_study_setup *setup, struct rue_study_variant *variant,
                               rue_error *error)
{
    const struct rue_study_goal *goal = &setup->goal;
    variant->workload = goal->loader.workload;
    if (variant->sample) unshare_sample(&variant->workload);
    uint64_t limit = variant->sample ? 0 : setup->requested_images;
    const char *data = variant->variant.path[0] ? variant->variant.path : "the runner's data";
    rue_progress_show(setup->progress, "opening %s", data);
    rue_status status = rue_runners_open_data(setup->host.runners, &variant->variant, &variant->workload,
                                              limit, &variant->opened, error);
    if (status == RUE_OK && variant->variant.subset[0] && !variant->opened.has_subset)
        status = rue_fail(error, RUE_USAGE, "the runner %s cannot load a subset: remove --subset",
                          rue_study_hello(setup)->runner);
    if (status != RUE_OK) return status;
    note_bound_rank(setup, &variant->opened);
    if (variant->opened.note[0]) rue_progress_note(setup->progress, "%s: %s", data, variant->opened.note);
    status = check_items(setup, variant, error);
    if (status == RUE_OK) status = check_cold_cache(setup, variant, error);
    if (status != RUE_OK) return status;
    if (strcmp(variant->workload.cache, RUE_CACHE_WARM) == 0 &&
        strcmp(variant->opened.cache, RUE_CACHE_WARM) != 0 && goal->data.count) {
        const char *why = variant->opened.cache_reason;
        rue_progress_note(setup->progress, "%s: trials may read the data from memory or from storage%s%s",
                          variant->variant.path, why[0] ? ": " : "", why);
        memcpy(variant->workload.cache, variant->opened.cache, sizeof variant->workload.cache);
    }
    variant->workload.item_values = variant->opened.item_values;
    variant->workload.chunk_cache_bytes = variant->opened.chunk_cache_bytes;
    if (!variant->variant.dtype[0])
        memcpy(variant->variant.dtype, variant->opened.dtype, sizeof variant->variant.dtype);
    if (!variant->opened.digest[0])
        snprintf(variant->opened.digest, sizeof variant->opened.digest, "%" PRIu64, variant->opened.images);
    status = fix_job(setup, variant, error);
    if (status != RUE_OK) return status;
    setup->variant_count++;
    return goal->data.count ? check_epoch(setup, variant, error) : RUE_OK;
}

/* Of a preprocessed image. */
static uint64_t sample_item_bytes(const struct rue_study_setup *setup)
{
    const struct rue_workload *workload = &setup->goal.loader.workload;
    const struct rue_geometry geometry = rue_workload_geometry(workload);
    uint32_t shape[3];
    return rue_geometry_shape(&geometry, shape) * rue_dtype_bytes[workload->batch_dtype];
}

/* How many images to convert: at most half of the data, but SAMPLE_FLOOR if they exist, as fewer would stay
 * in the CPU's caches; at most 1/4 of the free memory and disk. */
static uint64_t sample_size(const struct rue_study_setup *setup, uint64_t images)
{
    const uint64_t image_bytes = sample_item_bytes(setup);
    uint64_t count = setup->goal.data.sample_images, memory = rue_machine_available_bytes();
    uint64_t max_bytes = memory ? memory / 4 : UINT64_MAX;
    struct statvfs disk;
    if (statvfs(setup->place.folder, &disk) == 0 && (uint64_t)disk.f_bavail * disk.f_frsize / 4 < max_bytes)
        max_bytes = (uint64_t)disk.f_bavail * disk.f_frsize / 4;
    uint64_t half = images / 2 > SAMPLE_FLOOR ? images / 2 : SAMPLE_FLOOR;
    if (count > half) count = half;
    if (count > images) count = images;
    if (count > max_bytes / image_bytes) count = max_bytes / image_bytes;
    return count;
}

/* Other runners may change their working directory, so they get absolute paths. */
static rue_status absolute_path(const char *path, char *out, rue_error *error)
{
    char working_folder[PATH_MAX];
    bool pattern = rue_shards_is_pattern(path);
    if (pattern && (path[0] == '/' || getcwd(working_folder, sizeof working_folder)) &&
        snprintf(out, PATH_MAX, "%s%s%s", path[0] == '/' ? "" : working_folder, path[0] == '/' ? "" : "/",
                 path) < PATH_MAX)
        return RUE_OK;
    if (!pattern && realpath(path, out)) return RUE_OK;
    return rue_fail(error, RUE_DATA, "cannot open %s: %s", path, strerror(errno));
}

static rue_status open_sample_folder(struct rue_study_setup *setup, rue_error *error)
{
    char path[PATH_MAX];
    rue_study_sample_name(setup, path);
    setup->place.part_lock = rue_part_open(path, setup->place.part);
    if (setup->place.part_lock >= 0) return RUE_OK;
    return rue_fail(error, RUE_STORE, "cannot convert a sample in %s: %s%s", setup->place.folder,
                    strerror(errno), rue_advice_or(errno, "; choose another folder with --out"));
}

/* The number of images in the sample to compare raw data with; 0: none, which is reported if one was
 * requested. */
static uint64_t choose_sample_images(const struct rue_study_setup *setup)
{
    const struct rue_study_variant *raw = &setup->variants[0];
    if (setup->goal.data.count != 1 || !setup->goal.data.sample_images || raw->variant.mode != RUE_RAW ||
        !setup->goal.data.modes[RUE_PREPROCESSED])
        return 0;
    if (rue_workload_trains(&raw->workload)) {
        rue_progress_note(setup->progress,
                          "preprocessed data are skipped: --transform train crops at random");
        return 0;
    }
    uint64_t count = sample_size(setup, raw->opened.images);
    bool cold = strcmp(raw->workload.cache, RUE_CACHE_COLD) == 0;
    if (count == 0)
        rue_progress_note(setup->progress,
                          "preprocessed data are skipped: there is no space for a converted sample");
    if (!cold || rue_study_share(setup, count) >= raw->job_images) return count;
    if (count > 0)
        rue_progress_note(setup->progress,
                          "preprocessed data are skipped: a sample of %" PRIu64
                          " images is too small for a cold job of %" PRIu64
                          ", because repeated images come from memory; give --images %" PRIu64
                          " or less, or raw and preprocessed data",
                          count, raw->job_images * rue_workload_loaders(&raw->workload), count);
    return 0;
}

/* Converts a sample of `count` images and opens it. */
static rue_status convert_sample(struct rue_study_setup *setup, struct rue_study_variant *variant,
                                 uint64_t count, rue_error *error)
{
    const struct rue_workload *workload = &setup->goal.loader.workload;
    const struct rue_prepare_options options = {.source = setup->goal.data.keys,
                                                .format = "tensor",
                                                .mode = RUE_PREPROCESSED,
                                                .dtype = (int)workload->batch_dtype,
                                                .split = "",
                                                .images = count,
                                                .seed = workload->seed,
                                                .max_pixels = workload->max_pixels,
                                                .geometry = rue_workload_geometry(workload),
                                                .orientation = workload->orientation,
                                                .bad_images = workload->bad_images};
    struct rue_prepared done = {0};
    struct rue_progress progress = rue_progress_open(setup->progress->quiet);
    rue_status status = rue_prepare_convert(setup->variants[0].variant.path, setup->place.sample_path,
                                            &options, &progress, &done, error);
    rue_progress_close(&progress);
    if (status == RUE_OK) status = absolute_path(setup->place.sample_path, variant->variant.path, error);
    if (status != RUE_OK) return status;
    variant->opened = (struct rue_opened){0};
    variant->build_s_per_image = (double)done.elapsed_ns / 1e9 / (double)done.images;
    return open_variant(setup, variant, error);
}

/* Converts a sample of the raw data, to compare raw with preprocessed, unless the budget is too small for any
 * study. A dry run converts nothing and assumes that the sample loads like the raw data (study_costs.c). */
rue_status rue_study_add_sample(struct rue_study_setup *setup, struct rue_study_ledger *ledger,
                                rue_error *error)
{
    const struct rue_study_variant *raw = &setup->variants[0];
    struct rue_study_variant *variant = &setup->variants[setup->variant_count];
    char images[RUE_UNIT_TEXT_BYTES], all[RUE_UNIT_TEXT_BYTES], size[RUE_UNIT_TEXT_BYTES];
    enum rue_dtype dtype = setup->goal.loader.workload.batch_dtype;
    uint64_t count = choose_sample_images(setup);
    rue_status status = rue_study_check_smallest(setup, ledger, setup->variant_count + (count > 0), error);
    if (status != RUE_OK || count == 0) return status;
    *variant = *raw;
    variant->sample = true;
    variant->variant = (struct rue_variant){.mode = RUE_PREPROCESSED, .format = "tensor"};
    snprintf(variant->variant.dtype, sizeof variant->variant.dtype, "%s", rue_dtype_names[dtype]);
    if (setup->goal.output.dry_run) {
        variant->opened.images = count;
        variant->opened.digest[0] = 0;
        setup->variant_count++;
        rue_progress_note(setup->progress, "a dry run does not convert a sample: the plan assumes that "
                                           "preprocessed data load like raw data");
        return RUE_OK;
    }
    status = open_sample_folder(setup, error);
    if (status != RUE_OK) return status;
    snprintf(setup->place.sample_path, sizeof setup->place.sample_path, "%s/%s", setup->place.part,
             RUE_STUDY_SAMPLE);
    rue_interrupt_guard_file(setup->place.sample_path);
    rue_progress_note(setup->progress,
                      "converting %s of %s images to compare with preprocessed data (%s, removed at the end)",
                      rue_format_count(count, images, sizeof images),
                      rue_format_count(raw->opened.images, all, sizeof all),
                      rue_format_bytes(count * sample_item_bytes(setup), size, sizeof size));
    rue_error why = {0};
    status = convert_sample(setup, variant, count, &why);
    if (status != RUE_INFEASIBLE && status != RUE_MEMORY)
        return status == RUE_OK ? RUE_OK : rue_fail(error, status, "%s", why.message);
    rue_progress_note(setup->progress, "preprocessed data are skipped: %s", why.message);
    return RUE_OK;
}

/* The variant that is most similar to the checked one; RUE_NONE: none. */
static size_t find_checked_variant(const struct rue_hello *hello, const struct rue_recommended *checked)
{
    size_t found = RUE_NONE;
    int most = -1;
    for (size_t v = 0; checked && v < hello->variant_count; v++) {
        int similarity = rue_study_variant_similarity(&hello->variants[v], &checked->found.variant);
        if (hello->variants[v].mode != checked->found.variant.mode || similarity <= most) continue;
        most = similarity;
        found = v;
    }
    return found;
}

/* Chooses from the runner's own data. */
static rue_status choose_runner_data(struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_hello *hello = rue_study_hello(setup);
    if (!hello->variant_count)
        return rue_fail(
            error, RUE_USAGE,
            "DATA is missing: give a folder of images, an archive or a database as the first argument");
    size_t checked = find_checked_variant(hello, setup->goal.search.checked);
    for (size_t i = 0; i < hello->variant_count; i++) {
        if (!setup->goal.data.modes[hello->variants[i].mode] || (checked != RUE_NONE && i != checked))
            continue;
        if (setup->chosen_count == RUE_STUDY_VARIANTS_MAX)
            return rue_fail(
                error, RUE_USAGE,
                "the runner %s has more than %d variants of data; choose with --mode, or offer fewer",
                hello->runner, RUE_STUDY_VARIANTS_MAX);
        setup->variants[setup->chosen_count++].variant = hello->variants[i];
    }
    if (setup->chosen_count) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "the runner %s has no data of the mode given with --mode",
                    hello->runner);
}

/* Makes the path of the file that a subset names absolute. */
static rue_status find_subset_file(char subset[RUE_VARIANT_SUBSET_BYTES], rue_error *error)
{
    char found[PATH_MAX];
    const char *path = rue_subset_path(subset);
    if (!path || !realpath(path, found)) return RUE_OK; /* opening the data reports the error */
    if (snprintf(subset, RUE_VARIANT_SUBSET_BYTES, "@%s", found) < RUE_VARIANT_SUBSET_BYTES) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "the path %.64s... of --subset is too long: move the file", found);
}

/* Chooses one of the given data. */
static rue_status choose_path(struct rue_study_setup *setup, const char *path, rue_error *error)
{
    struct rue_variant variant;
    rue_status status = rue_source_detect(path, &setup->goal.data.keys, &variant, error);
    if (status == RUE_OK && !setup->goal.data.modes[variant.mode])
        return rue_fail(error, RUE_USAGE, "%s is %s data, which --mode excludes: leave out one of the two",
                        path, rue_mode_names[variant.mode]);
    if (status == RUE_OK && variant.mode != RUE_RAW && rue_workload_trains(&setup->goal.loader.workload))
        return rue_fail(error, RUE_USAGE,
                        "--transform train: %s holds preprocessed images, whose crop is fixed: give the "
                        "images themselves",
                        path);
    if (status == RUE_OK) status = absolute_path(path, variant.path, error);
    if (status == RUE_OK) status = find_subset_file(variant.subset, error);
    for (size_t i = 0; status == RUE_OK && i < setup->chosen_count; i++)
        if (strcmp(setup->variants[i].variant.path, variant.path) == 0)
            return rue_fail(error, RUE_USAGE, "%s is given twice; remove one", path);
    if (status == RUE_OK) setup->variants[setup->chosen_count++].variant = variant;
    return status;
}

/* Nothing has been written or opened before this. */
rue_status rue_study_choose_data(struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_study_goal *goal = &setup->goal;
    rue_status status = RUE_OK;
    if (!goal->data.count) return choose_runner_data(setup, error);
    for (size_t i = 0; status == RUE_OK && i < goal->data.count; i++)
        status = choose_path(setup, goal->data.paths[i], error);
    return status;
}

/* Makes the variants of each number of ranks from those of the data. */
static rue_status add_ranks(struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_rank_numbers *numbers = &setup->goal.loader.deployment.numbers;
    for (size_t i = 0; i < numbers->count * setup->chosen_count; i++) {
        struct rue_study_variant *data = &setup->variants[i % setup->chosen_count];
        uint64_t images = data->job_images, count = (uint64_t)numbers->at[i / setup->chosen_count];
        if (images < count)
            return rue_fail(error, RUE_USAGE,
                            "--ranks: %" PRIu64 " ranks cannot share a job of %" PRIu64
                            " images; raise --images, or give smaller numbers",
                            count, images);
        struct rue_study_variant *shared = count == 1 ? data : &setup->variants[setup->variant_count++];
        *shared = *data;
        shared->workload.world_size = (int)count;
        if (count == 1) continue;
        setup->variants[setup->variant_count++] = *shared;
        shared->job_images = (images + count - 1) / count;
    }
    return RUE_OK;
}

/* Preprocessed images are those that the workload asks for. Beside raw images they are the same as those. */
static rue_status check_made_with(const struct rue_study_setup *setup, rue_error *error)
{
    const struct rue_workload *workload = &setup->goal.loader.workload;
    const struct rue_geometry geometry = rue_workload_geometry(workload);
    rue_status status = RUE_OK;
    bool raw = false;
    for (size_t i = 0; i < setup->chosen_count; i++) raw |= setup->variants[i].variant.mode == RUE_RAW;
    for (size_t i = 0; status == RUE_OK && i < setup->chosen_count; i++)
        status = rue_made_with_check(setup->variants[i].variant.path, setup->variants[i].opened.made_with,
                                     &geometry, workload->orientation, raw, error);
    return status;
}

rue_status rue_study_open_data(struct rue_study_setup *setup, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = 0; status == RUE_OK && i < setup->chosen_count; i++)
        status = open_variant(setup, &setup->variants[i], error);
    if (status == RUE_OK) status = check_made_with(setup, error);
    return status == RUE_OK ? add_ranks(setup, error) : status;
}
