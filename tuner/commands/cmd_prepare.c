#include "commands.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "chunk_options.h"
#include "data_advice.h"
#include "data_options.h"
#include "prepare.h"
#include "program_name.h"
#include "shell_quote.h"
#include "study_options.h"
#include "units.h"

static const struct rue_option options_table[] = {
    {"format", RUE_OPTION_WORD, "FORMAT", NULL, "format of DST [from its name, else tensor]",
     .words = rue_sink_names, .more = RUE_SINK_NAMES "."},
    {"mode", RUE_OPTION_WORD, "MODE", NULL, "raw (images) or preprocessed (tensors) [as SRC]",
     .words = rue_mode_names, .set_by = RUE_SET_BY_FLAG},
    {"dtype", RUE_OPTION_WORD, "DTYPE", NULL, "float32 (normalised) or uint8 (0 to 255) [as SRC]",
     .words = rue_batch_dtype_names,
     .more = "The type of preprocessed images. The default is float32 where SRC is raw."},
    {"shard-size", RUE_OPTION_BYTES, "SIZE", "256M", "start a new shard at SIZE"},
    {"split", RUE_OPTION_TEXT, "NAME", "train", "start of the names of shards"},
    {RUE_CHUNK_SHAPE},
    {RUE_CHUNK_CODEC},
    {RUE_CHUNK_VERSION},
    {RUE_DATA_IMAGE_KEY},
    {RUE_DATA_LABEL_KEY},
    {RUE_DATA_SUBSET},
    {"synthetic", RUE_OPTION_COUNT, "N", NULL, "make N photo-like JPEG files, without SRC", .min = 1,
     .max = 100000000},
    {"images", RUE_OPTION_COUNT, "N", NULL, "convert N images, drawn at random", .min = 1,
     .max = UINT64_C(1) << 40, .set_by = RUE_SET_BY_FLAG, .more = "Of compressed shards, the first N."},
    {"seed", RUE_OPTION_COUNT, "K", "1", "seed for everything that is random", .max = INT64_MAX},
    {"num-workers", RUE_OPTION_COUNT, "W", NULL, "threads [usable CPUs]", .min = 1, .max = 256,
     .set_by = RUE_SET_BY_FLAG},
    {"bad-images", RUE_OPTION_WORD, "WHAT", "fail", "fail, or replace by the next good image",
     .words = rue_bad_images_names},
    {"max-pixels", RUE_OPTION_COUNT, "N", "268435456", "reject images over N pixels, such as 100M", .min = 1,
     .max = UINT64_C(1) << 40},
    {"orientation", RUE_OPTION_WORD, "HOW", "ignore", "ignore, or apply: turn images as EXIF says",
     .words = rue_orientation_names},
    RUE_GEOMETRY_OPTION_ROWS{"force", RUE_OPTION_FLAG, NULL, NULL, "replace an existing file DST",
                             .set_by = RUE_SET_BY_USER},
    {RUE_STUDY_OPTION_QUIET},
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
    if (done->source_images && rue_options_number(options, "images") > done->source_images)
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

/* Options without effect on some destinations. */
static const char *const of_shards[] = {"shard-size", "split", NULL};
static const char *const of_chunks[] = {"chunks", "codec", "zarr-version", NULL};
static const char *const of_tensors[] = {"dtype", NULL};
static const char *const of_sources[] = {
    "format",       "mode",      "dtype",     "shard-size", "split",  "chunks", "codec",
    "zarr-version", "image-key", "label-key", "subset",     "images", NULL};
#define X(at, field, kind, words, least, most, usual, times, written, option, ...) option,
static const char *const of_pixels[] = {"orientation", RUE_WORKLOAD_BY_GEOMETRY(X, ) NULL};
#undef X

static const char *last_given(const struct rue_options *options, const char *const *names)
{
    const char *last = NULL;
    for (; *names; names++)
        if (rue_options_given(options, *names)) last = rue_options_origin(options, *names);
    return last;
}

static rue_status refuse_options(const struct rue_options *options, const char *const *names,
                                 const char *cause, rue_error *error)
{
    for (; *names; names++)
        if (rue_options_given(options, *names))
            return rue_fail(error, RUE_USAGE, "%s has no effect on %s: remove it",
                            rue_options_origin(options, *names), cause);
    return RUE_OK;
}

/* Options without effect are refused; settings without effect are not, as they serve other destinations. */
static rue_status check_format(const struct rue_options *options, const struct rue_sink_ops *sink,
                               rue_error *error)
{
    char cause[64];
    snprintf(cause, sizeof cause, "the format %s", sink->format);
    rue_status status = RUE_OK;
    if (!sink->shards) status = refuse_options(options, of_shards, cause, error);
    if (status == RUE_OK && !sink->chunks) status = refuse_options(options, of_chunks, cause, error);
    if (status == RUE_OK && !sink->has_mode[RUE_PREPROCESSED])
        status = refuse_options(options, of_tensors, cause, error);
    return status;
}

static rue_status check_photos(const struct rue_options *options, rue_error *error)
{
    static const char cause[] = "--synthetic, which makes JPEG files";
    rue_status status = refuse_options(options, of_sources, cause, error);
    return status == RUE_OK ? refuse_options(options, of_pixels, cause, error) : status;
}

static int word_or_default(const struct rue_options *options, const char *option, int fallback)
{
    return rue_options_text(options, option) ? rue_options_word(options, option) : fallback;
}

/* Of a source and a destination only `path` was given. */
static rue_status fail_single(const char *path, rue_error *error)
{
    char made[PATH_MAX], from[RUE_SHELL_WORD_BYTES], to[RUE_SHELL_WORD_BYTES];
    size_t length = strlen(path);
    if (rue_sink_for_path(path))
        return rue_fail(error, RUE_USAGE, "give the data to convert before the destination %s", path);
    while (length > 1 && path[length - 1] == '/') length--;
    bool named = path[length - 1] != '.' && path[length - 1] != '/';
    snprintf(made, sizeof made, "%.*s.tensor", named ? (int)length : 4, named ? path : "data");
    return rue_fail(error, RUE_USAGE, "give a destination after the source: %s prepare %s %s",
                    rue_program_name(), rue_shell_word(path, from), rue_shell_word(made, to));
}

static rue_status prepare(const struct rue_options *options, struct rue_progress *progress,
                          struct rue_prepared *done, rue_error *error)
{
    int arguments = rue_options_argument_count(options);
    uint64_t photos = rue_options_number(options, "synthetic"), seed = rue_options_number(options, "seed");
    if (strcmp(rue_options_arguments(options)[arguments - 1], "-") == 0)
        return rue_fail(error, RUE_USAGE, "'-' is not a destination: data have no standard output");
    if (photos && arguments == 2)
        return rue_fail(error, RUE_USAGE, "--synthetic reads no source: give only the destination");
    rue_status status = photos ? check_photos(options, error) : RUE_OK;
    if (status != RUE_OK) return status;
    if (photos)
        return rue_prepare_synthetic(photos, seed, rue_options_arguments(options)[0], progress, done, error);
    if (arguments == 1) return fail_single(rue_options_arguments(options)[0], error);
    const char *destination = rue_options_arguments(options)[1];
    const struct rue_sink_ops *named = rue_sink_for_path(destination);
    const char *format = rue_options_text(options, "format");
    struct rue_workload workload = rue_workload_from_options(options);
    status = rue_workload_check_geometry(&workload, error);
    if (status != RUE_OK) return status;
    struct rue_prepare_options job = {
        .format = format  ? format
                  : named ? named->format
                          : "tensor",
        .mode = word_or_default(options, "mode", RUE_MODE_COUNT),
        .dtype = word_or_default(options, "dtype", RUE_DTYPE_COUNT),
        .dtype_given = rue_options_given(options, "dtype"),
        .split = rue_options_text(options, "split"),
        .shard_bytes = rue_options_number(options, "shard-size"),
        .images = rue_options_number(options, "images"),
        .seed = seed,
        .num_workers = (int)rue_options_number(options, "num-workers"),
        .max_pixels = workload.max_pixels,
        .geometry = rue_workload_geometry(&workload),
        .orientation = (enum rue_orientation)rue_options_word(options, "orientation"),
        .bad_images = (enum rue_bad_images)rue_options_word(options, "bad-images"),
        .overwrite = rue_options_flag(options, "force"),
        .given_geometry = last_given(options, of_pixels),
    };
    job.given_key = rue_data_options_given_key(options);
    status = check_split(job.split, error);
    if (status == RUE_OK) status = rue_chunk_options_read(options, &job.chunks, error);
    if (status == RUE_OK) status = check_format(options, rue_sink_find(job.format), error);
    if (status == RUE_OK) status = rue_data_options_keys(options, &job.source, error);
    if (status != RUE_OK) return status;
    const char *source = rue_options_arguments(options)[0];
    status = rue_prepare_convert(source, destination, &job, progress, done, error);
    return rue_data_advise(status, source, error);
}

static rue_status run_prepare(const struct rue_options *options, rue_error *error)
{
    bool quiet = rue_options_flag(options, "quiet");
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
    .run = run_prepare,
};
