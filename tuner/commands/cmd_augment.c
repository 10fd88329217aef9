#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "augment_rows.h"
#include "commands.h"
#include "output.h"
#include "recipe_json.h"

enum { SETS_AT_ONCE = 1024, RANKS_MAX = (1 << 24) - 2 };

static const char *const format_names[] = {"jsonl", "csv", "npy", NULL};
static const struct rue_augment_format *const formats[] = {&rue_augment_jsonl, &rue_augment_csv,
                                                           &rue_augment_npy};

static const struct rue_option options_table[] = {
    {"preset", RUE_OPTION_TEXT, "NAME", "mild", "recipe by name, such as simclr", .set_by = RUE_SET_BY_FLAG,
     .more = "mild crops and flips as torchvision's training references do; moderate and aggressive also "
             "change rotation, brightness, contrast, noise and scale. Others are recipes of public training "
             "scripts."},
    {"recipe", RUE_OPTION_PATH, "FILE.json", NULL, "your own probabilities and ranges",
     .set_by = RUE_SET_BY_FLAG, .more = "docs/augmentation.md describes the file."},
    {"view", RUE_OPTION_COUNT, "V", "0", "which view, for recipes with several", .max = RUE_VIEWS_MAX - 1,
     .set_by = RUE_SET_BY_FLAG},
    {"first", RUE_OPTION_COUNT, "ITEM", "0", "first item; any is found at once", .max = INT64_MAX,
     .set_by = RUE_SET_BY_FLAG},
    {"count", RUE_OPTION_COUNT, "N", "0", "number of items of all ranks; 0: no end", .max = INT64_MAX,
     .set_by = RUE_SET_BY_FLAG, .more = "1e9 is 1000000000."},
    {"seed", RUE_OPTION_COUNT, "K", "1", "seed", .max = INT64_MAX},
    {"epoch", RUE_OPTION_COUNT, "E", "0", "epoch, which changes all parameters", .max = UINT32_MAX,
     .set_by = RUE_SET_BY_FLAG},
    {"rank", RUE_OPTION_COUNT, "R", "0", "print the items R, R + N, R + 2 N ... of N ranks", .max = RANKS_MAX,
     .set_by = RUE_SET_BY_FLAG},
    {"world", RUE_OPTION_COUNT, "N", "1", "number of ranks", .min = 1, .max = RANKS_MAX + 1,
     .set_by = RUE_SET_BY_FLAG},
    {"per-rank", RUE_OPTION_FLAG, NULL, NULL, "give each rank other parameters for the same item",
     .set_by = RUE_SET_BY_FLAG,
     .more = "Otherwise the parameters of an item are the same on any number of ranks."},
    {"format", RUE_OPTION_WORD, "FORMAT", "jsonl", "jsonl (JSON lines), csv or npy", .words = format_names,
     .set_by = RUE_SET_BY_FLAG,
     .more = "npy is an array of records for numpy.load, with all digits, and needs --count."},
    {"output", RUE_OPTION_OUTPUT, "FILE", NULL, "write to FILE [standard output]", .set_by = RUE_SET_BY_FLAG,
     .more = "It needs --count."},
};

struct stream {
    struct rue_augment_origin origin;
    uint64_t first, stride, count; /* count 0 with `endless` */
    bool endless;
    const struct rue_augment_format *format;
};

/* Shares of n items among N ranks: the first n % N ranks have one more. */
static uint64_t count_share(uint64_t items, uint64_t rank, uint64_t world)
{
    return items / world + (rank < items % world);
}

static rue_status read_recipe(const struct rue_options *options, struct rue_augment_origin *out,
                              rue_error *error)
{
    const char *file = rue_options_text(options, "recipe");
    uint32_t view = (uint32_t)rue_options_number(options, "view");
    struct rue_views views;
    rue_error why = {0};
    rue_status status = file ? rue_views_read_file(file, &views, &why)
                             : rue_views_parse(rue_options_text(options, "preset"), &views, &why);
    if (status != RUE_OK) return rue_fail(error, status, "--%s: %s", file ? "recipe" : "preset", why.message);
    if (view >= views.count)
        return rue_fail(error, RUE_USAGE,
                        "--view %" PRIu32 " is out of range: the last view of the recipe is %" PRIu32, view,
                        views.count - 1);
    if (view && out->key.stream)
        return rue_fail(error, RUE_USAGE, "--view and --per-rank exclude each other: give one of them");
    out->key.stream += view;
    out->recipe = views.at[view].recipe;
    const struct rue_geometry usual = rue_geometry_default(),
                              size = rue_view_geometry(&views.at[view], &usual);
    out->width = size.width;
    out->height = size.height;
    return RUE_OK;
}

static rue_status read_stream(const struct rue_options *options, struct stream *out, rue_error *error)
{
    uint64_t rank = rue_options_number(options, "rank"), world = rue_options_number(options, "world"),
             count = rue_options_number(options, "count");
    bool endless = count == 0;
    if (rank && !rue_options_given(options, "world"))
        return rue_fail(error, RUE_USAGE, "--rank %llu needs the number of ranks: add --world",
                        (unsigned long long)rank);
    if (rank >= world)
        return rue_fail(error, RUE_USAGE, "--rank %llu is out of range: with --world %llu it is 0 to %llu",
                        (unsigned long long)rank, (unsigned long long)world, (unsigned long long)world - 1);
    if (rue_options_text(options, "recipe") && rue_options_given(options, "preset"))
        return rue_fail(error, RUE_USAGE, "--preset and --recipe exclude each other: give one of them");
    int format = rue_options_word(options, "format");
    if (endless && (formats[format] == &rue_augment_npy || rue_options_text(options, "output")))
        return rue_fail(error, RUE_USAGE, "%s needs the number of items: give --count N",
                        rue_options_text(options, "output") ? "--output" : "--format npy");
    *out = (struct stream){
        .origin.key = {rue_options_number(options, "seed"), (uint32_t)rue_options_number(options, "epoch"),
                       rue_options_flag(options, "per-rank") ? (uint32_t)rank + 1 : 0},
        .first = rue_options_number(options, "first") + rank,
        .stride = world,
        .count = count_share(count, rank, world),
        .endless = endless,
        .format = formats[format],
    };
    rue_status status = read_recipe(options, &out->origin, error);
    if (status != RUE_OK) return status;
    if (rue_recipe_has_operations(&out->origin.recipe) && !formats[format]->has_operations)
        return rue_fail(error, RUE_USAGE,
                        "--format %s has no columns for the operations of this recipe: use jsonl",
                        formats[format]->name);
    return RUE_OK;
}

static bool write_whole(int fd, const char *bytes, size_t count)
{
    while (count) {
        ssize_t written = write(fd, bytes, count);
        if (written < 0 && errno != EINTR) return false;
        if (written > 0) bytes += written, count -= (size_t)written;
    }
    return true;
}

/* Writes all sets. RUE_STORE with errno. */
static rue_status write_stream(const struct stream *stream, int fd, rue_error *error)
{
    struct rue_augmentation sets[SETS_AT_ONCE];
    const struct rue_augment_format *format = stream->format;
    size_t bytes = RUE_AUGMENT_HEAD_BYTES + SETS_AT_ONCE * format->row_bytes;
    char *text = malloc(bytes);
    if (!text) return rue_fail_memory(error, "the output", bytes);
    bool written = write_whole(fd, text, format->head(text, stream->count));
    for (uint64_t done = 0; written && (stream->endless || done < stream->count); done += SETS_AT_ONCE) {
        uint64_t left = stream->endless ? SETS_AT_ONCE : stream->count - done;
        size_t count = left < SETS_AT_ONCE ? (size_t)left : SETS_AT_ONCE;
        rue_augmentation_draw(&stream->origin.recipe, &stream->origin.key,
                              stream->first + done * stream->stride, stream->stride, sets, count);
        written = write_whole(fd, text, format->rows(text, &stream->origin, sets, count));
    }
    int number = errno;
    free(text);
    errno = number;
    return written ? RUE_OK : RUE_STORE;
}

static rue_status render_stream(const void *context, FILE *file, rue_error *error)
{
    return write_stream(context, fileno(file), error);
}

static rue_status run_augment(const struct rue_options *options, rue_error *error)
{
    struct stream stream;
    rue_status status = read_stream(options, &stream, error);
    const char *path = rue_options_text(options, "output");
    if (status != RUE_OK) return status;
    return rue_output_write_file("--output", path ? path : "/dev/stdout", stream.format->mark, render_stream,
                                 &stream, error);
}

const struct rue_command rue_command_augment = {
    .name = "augment",
    .arguments = "",
    .summary = "Print random parameters of augmentation.",
    .details =
        "  rue augment --count 1e6 --preset moderate --format csv\n"
        "  rue augment --rank 3 --world 8 --epoch 5 | head -3\n\n"
        "Each item has a crop (area, ratio, place), a flip and other parameters for training on images.\n"
        "They depend only on recipe, view, seed, epoch and item: the same on any number of ranks, in any "
        "order.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_augment,
};
