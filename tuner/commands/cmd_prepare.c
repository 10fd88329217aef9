#include "commands.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "chunk_options.h"
#include "data_advice.h"
#include "data_options.h"
#include "prepare.h"
#include "study_options.h"
#include "units.h"

enum {
    FORMAT,
    MODE,
    DTYPE,
    SHARD_SIZE,
    SPLIT,
    CHUNKS,
    IMAGE_KEY = CHUNKS + RUE_CHUNK_OPTIONS,
    LABEL_KEY,
    SUBSET,
    SYNTHETIC,
    IMAGES,
    SEED,
    NUM_WORKERS,
    BAD_IMAGES,
    MAX_PIXELS,
    ORIENTATION,
    GEOMETRY,
    FORCE = GEOMETRY + RUE_GEOMETRY_OPTIONS,
    QUIET
};

static const struct rue_option options_table[] = {
    [FORMAT] = {"format", RUE_OPTION_WORD, "FORMAT", NULL, "format of DST [from its name, else tensor]", 0, 0,
                rue_sink_names, .more = RUE_SINK_NAMES "."},
    [MODE] = {"mode", RUE_OPTION_WORD, "MODE", NULL, "raw (images) or preprocessed (tensors) [as SRC]", 0, 0,
              rue_mode_names, .set_by = RUE_SET_BY_FLAG},
    [DTYPE] = {"dtype", RUE_OPTION_WORD, "DTYPE", NULL, "float32 (normalised) or uint8 (0 to 255) [as SRC]",
               0, 0, rue_batch_dtype_names,
               .more = "The type of preprocessed images. The default is float32 where SRC is raw."},
    [SHARD_SIZE] = {"shard-size", RUE_OPTION_BYTES, "SIZE", "256M", "start a new shard at SIZE", 1, 0, NULL},
    [SPLIT] = {"split", RUE_OPTION_TEXT, "NAME", "train", "start of the names of shards", 0, 0, NULL},
    RUE_CHUNK_OPTION_ROWS(CHUNKS)[IMAGE_KEY] = {RUE_DATA_IMAGE_KEY},
    [LABEL_KEY] = {RUE_DATA_LABEL_KEY},
    [SUBSET] = {RUE_DATA_SUBSET},
    [SYNTHETIC] = {"synthetic", RUE_OPTION_COUNT, "N", NULL, "make N photo-like JPEG files, without SRC", 1,
                   100000000, NULL},
    [IMAGES] = {"images", RUE_OPTION_COUNT, "N", NULL, "convert N images, drawn at random", 1,
                UINT64_C(1) << 40, NULL, .set_by = RUE_SET_BY_FLAG,
                .more = "Of compressed shards, the first N."},
    [SEED] = {"seed", RUE_OPTION_COUNT, "K", "1", "seed for everything that is random", 0, INT64_MAX, NULL},
    [NUM_WORKERS] = {"num-workers", RUE_OPTION_COUNT, "W", NULL, "threads [usable CPUs]", 1, 256, NULL,
                     .set_by = RUE_SET_BY_FLAG},
    [BAD_IMAGES] = {"bad-images", RUE_OPTION_WORD, "WHAT", "fail", "fail, or replace by the next good image",
                    0, 0, rue_bad_images_names},
    [MAX_PIXELS] = {"max-pixels", RUE_OPTION_COUNT, "N", "268435456",
                    "reject images over N pixels, such as 100M", 1, UINT64_C(1) << 40, NULL},
    [ORIENTATION] = {"orientation", RUE_OPTION_WORD, "HOW", "ignore",
                     "ignore, or apply: turn images as EXIF says", 0, 0, rue_orientation_names},
    RUE_GEOMETRY_OPTION_ROWS(GEOMETRY)[FORCE] = {"force", RUE_OPTION_FLAG, NULL, NULL,
                                                 "replace an existing file DST", 0, 0, NULL,
                                                 .set_by = RUE_SET_BY_USER},
    [QUIET] = {RUE_STUDY_OPTION_QUIET},
};

static void report_prepared(const struct rue_prepared *done, const struct rue_options *options,
                            struct rue_progress *progress)
{
    const char *path = rue_options_arguments(options)[rue_options_argument_count(options) - 1];
    char before[RUE_UNIT_TEXT_BYTES], after[RUE_UNIT_TEXT_BYTES], time[RUE_UNIT_TEXT_BYTES],
        count[RUE_UNIT_TEXT_BYTES];
    rue_format_bytes(done->bytes_before, before, sizeof before);
    rue_format_bytes(done->bytes_after, after, sizeof after);
    rue_format_duration(done->elapsed_ns, time, sizeof time);
    rue_format_count(done->images, count, sizeof count);
    if (done->listed)
        rue_progress_note(progress, "%s: %s images listed in %s", path, count, time);
    else if (done->bytes_before)
        rue_progress_note(progress, "%s: %s images converted in %s, %s became %s", path, count, time, before,
                          after);
    else
        rue_progress_note(progress, "%s: %s photos made in %s, %s", path, count, time, after);
    if (done->source_images && rue_options_number(options, IMAGES) > done->source_images)
        rue_progress_note(progress, "%s has only %s images", rue_options_arguments(options)[0],
                          rue_format_count(done->source_images, count, sizeof count));
    if (done->note[0]) rue_progress_note(progress, "%s", done->note);
    if (done->bad_images)
        rue_progress_note(progress, "%" PRIu64 " images could not be decoded and were replaced by others",
                          done->bad_images);
}

/* A split becomes part of file names. */
static rue_status check_split(const char *split, rue_error *error)
{
    if (split[0] && split[0] != '.' && strlen(split) <= 64 && !strpbrk(split, "/%{}\\")) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "--split: '%.64s' is not a name for files: give one such as train",
                    split);
}

static rue_status refuse_option(const struct rue_options *options, size_t option, const char *cause,
                                rue_error *error)
{
    if (!rue_options_given(options, option)) return RUE_OK;
    return rue_fail(error, RUE_USAGE, "%s has no effect on %s: remove it",
                    rue_options_origin(options, option), cause);
}

/* Options without effect are refused; settings without effect are not, as they serve other destinations. */
static rue_status check_format(const struct rue_options *options, const struct rue_sink_ops *sink,
                               rue_error *error)
{
    char cause[64];
    snprintf(cause, sizeof cause, "the format %s", sink->format);
    rue_status status = RUE_OK;
    if (!sink->shards) status = refuse_option(options, SHARD_SIZE, cause, error);
    if (status == RUE_OK && !sink->shards) status = refuse_option(options, SPLIT, cause, error);
    for (size_t i = CHUNKS; status == RUE_OK && i < CHUNKS + RUE_CHUNK_OPTIONS && !sink->chunks; i++)
        status = refuse_option(options, i, cause, error);
    if (status == RUE_OK && !sink->has_mode[RUE_PREPROCESSED])
        status = refuse_option(options, DTYPE, cause, error);
    return status;
}

static rue_status refuse_geometry(const struct rue_options *options, const char *cause, rue_error *error)
{
    rue_status status = RUE_OK;
    for (size_t i = ORIENTATION; status == RUE_OK && i < GEOMETRY + RUE_GEOMETRY_OPTIONS; i++)
        status = refuse_option(options, i, cause, error);
    return status;
}

static rue_status check_photos(const struct rue_options *options, rue_error *error)
{
    static const char cause[] = "--synthetic, which makes JPEG files";
    rue_status status = RUE_OK;
    for (size_t i = FORMAT; status == RUE_OK && i < SYNTHETIC; i++)
        status = refuse_option(options, i, cause, error);
    if (status == RUE_OK) status = refuse_option(options, IMAGES, cause, error);
    return status == RUE_OK ? refuse_geometry(options, cause, error) : status;
}

static int word_or_default(const struct rue_options *options, size_t option, int fallback)
{
    return rue_options_text(options, option) ? rue_options_word(options, option) : fallback;
}

static rue_status prepare(const struct rue_options *options, struct rue_progress *progress,
                          struct rue_prepared *done, rue_error *error)
{
    int arguments = rue_options_argument_count(options);
    uint64_t photos = rue_options_number(options, SYNTHETIC), seed = rue_options_number(options, SEED);
    if (strcmp(rue_options_arguments(options)[arguments - 1], "-") == 0)
        return rue_fail(error, RUE_USAGE, "'-' is not a destination: data have no standard output");
    if (photos && arguments == 2)
        return rue_fail(error, RUE_USAGE, "--synthetic reads no source: give only the destination");
    rue_status status = photos ? check_photos(options, error) : RUE_OK;
    if (status != RUE_OK) return status;
    if (photos)
        return rue_prepare_synthetic(photos, seed, rue_options_arguments(options)[0], progress, done, error);
    if (arguments == 1)
        return rue_fail(error, RUE_USAGE, "give a source and a destination: rue prepare SRC DST");
    const char *destination = rue_options_arguments(options)[1];
    const struct rue_sink_ops *named = rue_sink_for_path(destination);
    const char *format = rue_options_text(options, FORMAT);
    struct rue_workload workload = rue_workload_from_options(options);
    status = rue_workload_check_geometry(&workload, error);
    if (status != RUE_OK) return status;
    struct rue_prepare_options job = {
        .format = format  ? format
                  : named ? named->format
                          : "tensor",
        .mode = word_or_default(options, MODE, RUE_MODE_COUNT),
        .dtype = word_or_default(options, DTYPE, RUE_DTYPE_COUNT),
        .dtype_given = rue_options_given(options, DTYPE),
        .split = rue_options_text(options, SPLIT),
        .shard_bytes = rue_options_number(options, SHARD_SIZE),
        .images = rue_options_number(options, IMAGES),
        .seed = seed,
        .num_workers = (int)rue_options_number(options, NUM_WORKERS),
        .max_pixels = workload.max_pixels,
        .geometry = rue_workload_geometry(&workload),
        .orientation = (enum rue_orientation)rue_options_word(options, ORIENTATION),
        .bad_images = (enum rue_bad_images)rue_options_word(options, BAD_IMAGES),
        .overwrite = rue_options_flag(options, FORCE),
    };
    for (size_t i = ORIENTATION; i < GEOMETRY + RUE_GEOMETRY_OPTIONS; i++)
        if (rue_options_given(options, i)) job.given_geometry = rue_options_origin(options, i);
    job.given_key = rue_data_options_given_key(options, IMAGE_KEY, LABEL_KEY);
    status = check_split(job.split, error);
    if (status == RUE_OK) status = rue_chunk_options_read(options, CHUNKS, &job.chunks, error);
    if (status == RUE_OK) status = check_format(options, rue_sink_find(job.format), error);
    if (status == RUE_OK)
        status = rue_data_options_keys(options, IMAGE_KEY, LABEL_KEY, SUBSET, &job.source, error);
    if (status != RUE_OK) return status;
    const char *source = rue_options_arguments(options)[0];
    status = rue_prepare_convert(source, destination, &job, progress, done, error);
    return rue_data_advise(status, source, error);
}

static rue_status run_prepare(const struct rue_options *options, rue_error *error)
{
    bool quiet = rue_options_flag(options, QUIET);
    struct rue_progress progress = rue_progress_open(quiet);
    struct rue_prepared done = {0};
    rue_status status = prepare(options, &progress, &done, error);
    rue_progress_close(&progress);
    if (status == RUE_OK && !quiet) report_prepared(&done, options, &progress);
    return status;
}

const struct rue_command rue_command_prepare = {
    .name = "prepare",
    .arguments = "[SRC] DST",
    .summary = "Convert a data set to another format, or make a synthetic one.",
    .details = "  rue prepare photos/ photos.tensor --dtype uint8\n"
               "  rue prepare photos/ photos.lmdb\n"
               "  rue prepare photos/ tars/ --format webdataset\n"
               "  rue prepare photos/ list.csv\n" RUE_CHUNK_EXAMPLE "  rue prepare --synthetic 2000 demo/",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run_prepare,
};
