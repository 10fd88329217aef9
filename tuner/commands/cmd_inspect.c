#include "commands.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data_advice.h"
#include "data_options.h"
#include "json_document.h"
#include "rank_shares.h"
#include "residency.h"
#include "sort.h"
#include "study_options.h"
#include "terminal.h"
#include "trial_options.h"
#include "units.h"
#include "utf8.h"
#include "wrap.h"

/* In columns of the terminal: start of values, width of a class's name and of its number of items. */
enum { CLASSES_SHOWN = 12, VALUES_AT = 9, CLASS_COLUMNS = 24, COUNT_COLUMNS = 10 };

static const struct rue_option options_table[] = {
    {"ranks", RUE_OPTION_TEXT, "N|FILE", NULL, "show and check the shares of N ranks",
     .more = "A CSV file with the header " RUE_RANKS_HEADER " gives shares of your own: rank 0 with "
             "0,100,50 loads items 100 to 149. Each item must belong to one rank."},
    {"share", RUE_OPTION_WORD, "HOW", "strided", "how ranks share: strided, contiguous or shards",
     .words = rue_share_names},
    {RUE_DATA_IMAGE_KEY},
    {RUE_DATA_LABEL_KEY},
    {RUE_DATA_SUBSET},
    {RUE_STUDY_OPTION_JSON},
};

struct survey {
    uint64_t count, bytes, smallest, median, largest;
    size_t class_count;
    uint64_t *class_items; /* [class_count] */
    double in_memory_ratio;
};

static rue_status survey_items(const struct rue_source *source, struct survey *out, rue_error *error)
{
    *out = (struct survey){.count = rue_source_count(source), .class_count = rue_source_class_count(source)};
    uint64_t *sizes = malloc(out->count * sizeof *sizes);
    out->class_items = calloc(out->class_count + 1, sizeof *out->class_items);
    rue_status status =
        sizes && out->class_items ? RUE_OK : rue_fail_memory(error, "sizes", out->count * sizeof *sizes);
    for (uint64_t i = 0; status == RUE_OK && i < out->count; i++) {
        int32_t label = rue_source_label(source, i);
        out->bytes += sizes[i] = rue_source_bytes(source, i);
        if (label >= 0 && (size_t)label < out->class_count) out->class_items[label]++;
    }
    if (status == RUE_OK) {
        rue_sort_integers(sizes, out->count);
        out->smallest = sizes[0];
        out->median = sizes[out->count / 2];
        out->largest = sizes[out->count - 1];
    }
    free(sizes);
    return status;
}

/* The share of the data in the page cache now; NaN if the kernel does not report it. */
static rue_status measure_cached_ratio(const struct rue_source *source, struct survey *out, rue_error *error)
{
    const struct rue_workload usual = rue_workload_default();
    const struct rue_sampler order = rue_workload_sampler(&usual);
    struct rue_residency *residency;
    rue_status status = rue_residency_open(source, &order, 0, &residency, error);
    if (status != RUE_OK) return status;
    if (!rue_residency_ratio(residency, &out->in_memory_ratio)) out->in_memory_ratio = NAN;
    rue_residency_close(residency);
    return RUE_OK;
}

static void put_fact(const char *label, const char *text, const struct rue_report_style *style)
{
    rue_wrap_item(stdout, label, text, style->columns, VALUES_AT);
    putchar('\n');
}

static void show_class(const char *name, uint64_t items, const struct rue_report_style *style)
{
    char clean[512], shown[516], count[RUE_UNIT_TEXT_BYTES];
    int available = style->columns - VALUES_AT - COUNT_COLUMNS;
    int width = available < CLASS_COLUMNS && available > 0 ? available : CLASS_COLUMNS;
    rue_utf8_clean(name, style->unicode, clean, sizeof clean);
    rue_utf8_shorten(clean, width, style->unicode, shown, sizeof shown);
    printf("%*s%s%*s %s\n", VALUES_AT, "", shown, width - rue_utf8_width(shown), "",
           rue_format_count(items, count, sizeof count));
}

/* Shape of the items and of chunks, and what the items were made with. */
static void show_storage(const struct rue_source *source, const struct rue_report_style *style)
{
    char text[RUE_MADE_WITH_BYTES + 16], bytes[RUE_UNIT_TEXT_BYTES];
    const char *made_with = rue_source_made_with(source);
    uint32_t shape[3];
    if (!rue_source_shape(source, shape)) return;
    snprintf(text, sizeof text, "%u x %u x %u", shape[0], shape[1], shape[2]);
    put_fact("shape", text, style);
    snprintf(text, sizeof text, "with %s", *made_with ? made_with : "options that are not recorded");
    put_fact("prepared", text, style);
    snprintf(text, sizeof text, "%s, %s on storage", rue_source_blocks(source)->layout,
             rue_format_bytes(rue_source_total_bytes(source), bytes, sizeof bytes));
    if (rue_source_blocks(source)->layout[0]) put_fact("chunks", text, style);
}

static void show_text(const struct rue_source *source, const struct survey *survey)
{
    const struct rue_report_style style = rue_terminal_style(stdout, RUE_TABLE_COLUMNS);
    const struct rue_variant variant = rue_source_variant(source);
    char text[256], path[PATH_MAX];
    char a[RUE_UNIT_TEXT_BYTES], b[RUE_UNIT_TEXT_BYTES], c[RUE_UNIT_TEXT_BYTES], d[RUE_UNIT_TEXT_BYTES];
    rue_utf8_clean(variant.path, style.unicode, path, sizeof path);
    printf("path     %s\n", path); /* on one line, so that it can be copied */
    put_fact("mode", rue_mode_names[variant.mode], &style);
    snprintf(text, sizeof text, "%s%s%s", variant.format, variant.dtype[0] ? ", " : "", variant.dtype);
    put_fact("format", text, &style);
    bool whole = survey->count == rue_source_whole_count(source);
    snprintf(text, sizeof text, "%s%s%s", rue_format_count(survey->count, a, sizeof a), whole ? "" : " of ",
             whole ? "" : rue_format_count(rue_source_whole_count(source), b, sizeof b));
    put_fact("items", text, &style);
    snprintf(text, sizeof text, "%s in total; per item: median %s, smallest %s, largest %s",
             rue_format_bytes(survey->bytes, a, sizeof a), rue_format_bytes(survey->median, b, sizeof b),
             rue_format_bytes(survey->smallest, c, sizeof c), rue_format_bytes(survey->largest, d, sizeof d));
    put_fact("bytes", text, &style);
    show_storage(source, &style);
    snprintf(text, sizeof text, "%.0f %% of the data is in memory", 100 * survey->in_memory_ratio);
    if (!isnan(survey->in_memory_ratio)) put_fact("cache", text, &style);
    char note[RUE_ERROR_MESSAGE_BYTES], clean[RUE_ERROR_MESSAGE_BYTES];
    rue_source_note(source, note, sizeof note);
    rue_utf8_clean(note, style.unicode, clean, sizeof clean);
    if (note[0]) put_fact("note", clean, &style);
    snprintf(text, sizeof text, "%016" PRIx64, rue_source_digest(source));
    put_fact("digest", text, &style);
    snprintf(text, sizeof text, "%zu", survey->class_count);
    put_fact("classes", text, &style);
    for (size_t i = 0; i < survey->class_count && i < CLASSES_SHOWN; i++)
        show_class(rue_source_class_name(source, i), survey->class_items[i], &style);
    if (survey->class_count > CLASSES_SHOWN)
        printf("%*s... and %zu more\n", VALUES_AT, "", survey->class_count - CLASSES_SHOWN);
}

static rue_status show_shares(const struct rue_rank_shares *shares, rue_error *error)
{
    struct rue_page page = {0};
    if (!shares->count) return RUE_OK;
    putchar('\n');
    rue_rank_shares_put(shares, &page);
    return rue_terminal_show(&page, RUE_TABLE_COLUMNS, error);
}

static rue_status print_json(const struct rue_source *source, const struct survey *survey,
                             const struct rue_rank_shares *shares, rue_error *error)
{
    struct rue_variant variant = rue_source_variant(source);
    char digest[32];
    snprintf(digest, sizeof digest, "%016" PRIx64, rue_source_digest(source));
    char note[RUE_ERROR_MESSAGE_BYTES];
    rue_source_note(source, note, sizeof note);
    json_t *classes = json_array();
    for (size_t i = 0; i < survey->class_count; i++)
        rue_json_push(&classes, rue_json_make("name:t items:n", rue_source_class_name(source, i),
                                              survey->class_items[i]));
    json_t *sizes =
        rue_json_make("median:n smallest:n largest:n", survey->median, survey->smallest, survey->largest);
    json_t *object = rue_json_make(
        "path:t mode:t format:t dtype:T items:n bytes:n skipped:n item_bytes:o digest:t classes:o",
        variant.path, rue_mode_names[variant.mode], variant.format, variant.dtype, survey->count,
        survey->bytes, rue_source_skipped(source), sizes, digest, classes);
    uint32_t shape[3];
    if (rue_source_shape(source, shape))
        rue_json_put(&object, "shape", json_pack("[i,i,i]", (int)shape[0], (int)shape[1], (int)shape[2]));
    if (rue_source_made_with(source)[0]) rue_json_add(&object, "made_with:t", rue_source_made_with(source));
    if (rue_source_blocks(source)->layout[0])
        rue_json_add(&object, "layout:t", rue_source_blocks(source)->layout);
    if (survey->count != rue_source_whole_count(source))
        rue_json_add(&object, "whole_items:n", rue_source_whole_count(source));
    if (note[0]) rue_json_add(&object, "note:t", note);
    rue_json_add(&object, "in_memory_ratio:r", survey->in_memory_ratio);
    if (shares->count) rue_json_put(&object, "ranks", rue_rank_shares_json(shares));
    return rue_json_write(object, stdout, error);
}

static rue_status run_inspect(const struct rue_options *options, rue_error *error)
{
    struct rue_source *source;
    struct survey survey = {0};
    struct rue_rank_shares shares = {0};
    const char *ranks = rue_options_text(options, "ranks");
    if (!ranks && rue_options_given(options, "share"))
        return rue_fail(error, RUE_USAGE, "--share needs the number of ranks: add --ranks");
    if (ranks && !rue_ranks_are_counted(ranks) && rue_options_given(options, "share"))
        return rue_fail(error, RUE_USAGE, "--share cannot be used with --ranks %s: the file gives the shares",
                        ranks);
    struct rue_source_options opening = {.sequential = true};
    rue_status status = rue_data_options_keys(options, &opening, error);
    if (status == RUE_OK)
        status = rue_source_open(rue_options_arguments(options)[0], &opening, &source, error);
    if (status != RUE_OK) return rue_data_advise(status, rue_options_arguments(options)[0], error);
    status = rue_data_options_check_key(rue_data_options_given_key(options), source, error);
    if (status == RUE_OK) status = survey_items(source, &survey, error);
    if (status == RUE_OK) status = measure_cached_ratio(source, &survey, error);
    if (status == RUE_OK && ranks)
        status = rue_rank_shares_open(source, ranks, (enum rue_share)rue_options_word(options, "share"),
                                      &shares, error);
    if (status == RUE_OK && rue_options_flag(options, "json"))
        status = print_json(source, &survey, &shares, error);
    else if (status == RUE_OK) {
        show_text(source, &survey);
        status = show_shares(&shares, error);
    }
    rue_rank_shares_close(&shares);
    free(survey.class_items);
    rue_source_close(source);
    return status;
}

const struct rue_command rue_command_inspect = {
    .name = "inspect",
    .arguments = "DATA",
    .summary = "Show the format, items, classes and sizes of a data set.",
    .details = "  rue inspect photos/\n"
               "  rue inspect photos/ --json\n"
               "  rue inspect photos/ --ranks 8",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_inspect,
};
