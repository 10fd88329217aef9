#include "commands.h"

#include <inttypes.h>
#include <string.h>

#include "prepare.h"
#include "units.h"

enum { MODE, FORMAT, DTYPE, SYNTHETIC, IMAGES, SEED, NUM_WORKERS, BAD_IMAGES, MAX_PIXELS, FORCE, QUIET };

static const char *const modes[] = {"preprocessed", NULL};
static const char *const formats[] = {"tensor", NULL};
static const char *const dtypes[] = {"float32", "uint8", NULL};
static const char *const bad_images[] = {"fail", "replace", NULL};

static const struct rue_option options_table[] = {
    [MODE] = {"mode", RUE_OPTION_WORD, "MODE", "preprocessed", "what to write", 0, 0, modes, true},
    [FORMAT] = {"format", RUE_OPTION_WORD, "FORMAT", "tensor", "how to write it", 0, 0, formats},
    [DTYPE] = {"dtype", RUE_OPTION_WORD, "DTYPE", "float32", "float32 (normalised) or uint8 (levels)", 0, 0,
               dtypes},
    [SYNTHETIC] = {"synthetic", RUE_OPTION_COUNT, "N", NULL, "make N photo-like JPEG files instead; no SRC",
                   1, 100000000, NULL},
    [IMAGES] = {"images", RUE_OPTION_COUNT, "N", NULL, "convert N images, drawn at random", 1,
                UINT64_C(1) << 40, NULL, true},
    [SEED] = {"seed", RUE_OPTION_COUNT, "K", "1", "of what is random", 0, INT64_MAX, NULL},
    [NUM_WORKERS] = {"num-workers", RUE_OPTION_COUNT, "W", NULL, "threads [every usable CPU]", 1, 256, NULL,
                     true},
    [BAD_IMAGES] = {"bad-images", RUE_OPTION_WORD, "WHAT", "fail", "fail, or replace by the next good image",
                    0, 0, bad_images},
    [MAX_PIXELS] = {"max-pixels", RUE_OPTION_COUNT, "N", "268435456", "refuse images of more pixels", 1,
                    UINT64_C(1) << 40, NULL},
    [FORCE] = {"force", RUE_OPTION_FLAG, NULL, NULL, "replace an existing file", 0, 0, NULL},
    [QUIET] = {"quiet", RUE_OPTION_FLAG, NULL, NULL, "no progress", 0, 0, NULL},
};

static void report(const struct rue_prepared *done, const struct rue_options *options,
                   struct rue_progress *progress)
{
    const char *path = rue_options_argument(options, rue_options_argument_count(options) - 1);
    char before[RUE_UNIT_TEXT_BYTES], after[RUE_UNIT_TEXT_BYTES], time[RUE_UNIT_TEXT_BYTES],
        count[RUE_UNIT_TEXT_BYTES];
    rue_format_bytes(done->bytes_before, before, sizeof before);
    rue_format_bytes(done->bytes_after, after, sizeof after);
    rue_format_duration(done->elapsed_ns, time, sizeof time);
    rue_format_count(done->images, count, sizeof count);
    if (done->bytes_before)
        rue_progress_note(progress, "%s: %s images in %s, %s became %s", path, count, time, before, after);
    else
        rue_progress_note(progress, "%s: %s photos in %s, %s", path, count, time, after);
    if (done->held && rue_options_number(options, IMAGES) > done->held)
        rue_progress_note(progress, "%s holds only %s", rue_options_argument(options, 0),
                          rue_format_count(done->held, count, sizeof count));
    if (done->skipped)
        rue_progress_note(progress, "%" PRIu64 " were left out; one of them is %s", done->skipped,
                          done->skipped_example);
    if (done->bad_images)
        rue_progress_note(progress, "%" PRIu64 " images could not be decoded and were replaced by others",
                          done->bad_images);
}

static rue_status prepare(const struct rue_options *options, struct rue_progress *progress,
                          struct rue_prepared *done, rue_error *error)
{
    int arguments = rue_options_argument_count(options);
    uint64_t photos = rue_options_number(options, SYNTHETIC), seed = rue_options_number(options, SEED);
    if (photos && arguments == 2)
        return rue_fail(error, RUE_USAGE,
                        "--synthetic makes photos from nothing: give the destination alone");
    if (photos)
        return rue_prepare_synthetic(photos, seed, rue_options_argument(options, 0), progress, done, error);
    if (arguments == 1)
        return rue_fail(error, RUE_USAGE, "give a source and a destination: rue prepare SRC DST");
    struct rue_prepare_options what = {
        .dtype = (enum rue_dtype)rue_options_word(options, DTYPE),
        .images = rue_options_number(options, IMAGES),
        .seed = seed,
        .num_workers = (int)rue_options_number(options, NUM_WORKERS),
        .max_pixels = rue_options_number(options, MAX_PIXELS),
        .bad_images = (enum rue_bad_images)rue_options_word(options, BAD_IMAGES),
        .overwrite = rue_options_flag(options, FORCE),
    };
    return rue_prepare_tensor(rue_options_argument(options, 0), rue_options_argument(options, 1), &what,
                              progress, done, error);
}

static rue_status run(const struct rue_options *options, rue_error *error)
{
    bool quiet = rue_options_flag(options, QUIET);
    struct rue_progress progress = rue_progress_open(quiet);
    struct rue_prepared done = {0};
    rue_status status = prepare(options, &progress, &done, error);
    rue_progress_close(&progress);
    if (status == RUE_OK && !quiet) report(&done, options, &progress);
    return status;
}

const struct rue_command rue_command_prepare = {
    .name = "prepare",
    .arguments = "[SRC] DST",
    .summary = "Convert a data set, or make a synthetic one.",
    .details = "  rue prepare photos/ photos.tensor --dtype uint8\n"
               "  rue prepare --synthetic 2000 demo/",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .min_arguments = 1,
    .max_arguments = 2,
    .run = run,
};
