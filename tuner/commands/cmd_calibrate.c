#include <jansson.h>
#include <stdlib.h>

#include "calibration.h"
#include "commands.h"
#include "interrupt.h"
#include "knob_list.h"
#include "model_list.h"
#include "output.h"
#include "shell_quote.h"
#include "study_options.h"
#include "terminal.h"

static const char default_models[] = "resnet18,resnet50,efficientnet_v2_s,vit_b_16";

static const char *const booleans[] = {"false", "true", NULL};

static const struct rue_option options_table[] = {
    {"device", RUE_OPTION_TEXT, "NAME", NULL, "device to measure, as in resnet50@DEVICE",
     .set_by = RUE_SET_BY_FLAG},
    {"batch-size", RUE_OPTION_LIST, "LIST", "1,8,32,64,128,256,512", "batch sizes to measure",
     .set_by = RUE_SET_BY_FLAG},
    {"batches", RUE_OPTION_COUNT, "N", "10", "batches per size; the median counts", .min = 1, .max = 10000,
     .set_by = RUE_SET_BY_FLAG},
    {"pin-memory", RUE_OPTION_WORD, "WORD", "true", "on a GPU, batches in page-locked memory: true or false",
     .words = booleans, .set_by = RUE_SET_BY_FLAG},
    {"trial-timeout", RUE_OPTION_DURATION, "TIME", "2m", "skip a batch size that takes longer than TIME",
     .set_by = RUE_SET_BY_FLAG},
    {"out", RUE_OPTION_OUTPUT, "FILE", "device.json", "the device table to write", .set_by = RUE_SET_BY_FLAG},
    {"json", RUE_OPTION_FLAG, NULL, NULL, "print the device table as well"},
    {RUE_STUDY_OPTION_QUIET},
};

static const char out_option[] = "--out", file_mark[] = "{\n  \"format\": \"rue.device/";

struct page {
    const struct rue_calibration_goal *goal;
    const struct rue_calibration *calibration;
    const char *path;
};

static rue_status write_json(const void *context, FILE *stream, rue_error *error)
{
    const struct page *page = context;
    return rue_json_write(rue_calibration_json(page->goal, page->calibration), stream, error);
}

static void put_sentence(struct rue_page *out, const char *before, const char *text)
{
    rue_page_sentence(out, RUE_LOOK_PLAIN, 0);
    rue_say(out, "%s%s%s", before, before[0] ? ": " : "", text);
}

static rue_status show_calibration(const struct page *page, rue_error *error)
{
    const struct rue_calibration *calibration = page->calibration;
    struct rue_page out = {0};
    char word[RUE_SHELL_WORD_BYTES];
    const struct rue_model_list list = {&calibration->table, NULL, page->goal->batch_sizes,
                                        page->goal->batch_size_count};
    put_sentence(&out, calibration->title, "");
    rue_status status = rue_model_list_put(&list, &out, error);
    put_sentence(&out, "", calibration->note);
    for (size_t m = 0; m < calibration->table.count; m++)
        if (calibration->reasons[m][0])
            put_sentence(&out, calibration->table.profiles[m].name, calibration->reasons[m]);
    put_sentence(&out, "", "Written to ");
    rue_say(&out, "%s. To simulate this device on another machine: --device %s", page->path,
            rue_shell_word(page->path, word));
    if (status != RUE_OK) return rue_page_close(&out), status;
    return rue_terminal_show(&out, 0, error);
}

static rue_status calibrate_device(const struct rue_options *options, const struct rue_calibration_goal *goal,
                                   rue_error *error)
{
    struct rue_calibration *calibration = calloc(1, sizeof *calibration);
    if (!calibration) return rue_fail_memory(error, "a calibration", sizeof *calibration);
    const struct page page = {goal, calibration, rue_options_text(options, "out")};
    rue_status status = rue_calibration_run(goal, calibration, error);
    rue_progress_close(goal->progress);
    rue_interrupt_defer(true);
    if (status == RUE_OK)
        status = rue_output_write_file(out_option, page.path, file_mark, write_json, &page, error);
    rue_interrupt_defer(false);
    if (status == RUE_OK)
        status = rue_options_flag(options, "json") ? write_json(&page, stdout, error)
                                                   : show_calibration(&page, error);
    if (status == RUE_OK) status = rue_report_finish(stdout, error);
    free(calibration);
    return status;
}

static rue_status run_calibrate(const struct rue_options *options, rue_error *error)
{
    struct rue_space space;
    const char *device = rue_options_text(options, "device"), *path = rue_options_text(options, "out");
    if (!device)
        return rue_fail(
            error, RUE_USAGE,
            "--device is missing: give the device to measure, such as host:1 (a CPU) or cuda:bf16");
    if (!rue_device_is_table(path))
        return rue_fail(error, RUE_USAGE, "--out: '%s' is not a device table: give a name that ends in .json",
                        path);
    rue_status status = rue_model_list_read_sizes(options, &space, error);
    if (status == RUE_OK) status = rue_output_check_file(out_option, path, file_mark, error);
    if (status != RUE_OK) return status;
    struct rue_progress progress = rue_progress_open(rue_options_flag(options, "quiet"));
    const struct rue_calibration_goal goal = {
        .models = rue_options_argument_count(options) ? rue_options_arguments(options)[0] : default_models,
        .device = device,
        .batch_sizes = space.values[RUE_BATCH_SIZE],
        .batch_size_count = (size_t)space.count[RUE_BATCH_SIZE],
        .batches = rue_options_number(options, "batches"),
        .timeout_ns = rue_options_number(options, "trial-timeout"),
        .pin_memory = rue_options_word(options, "pin-memory"),
        .pin_memory_given = rue_options_origin(options, "pin-memory")[0] == '-',
        .progress = &progress};
    return calibrate_device(options, &goal, error);
}

const struct rue_command rue_command_calibrate = {
    .name = "calibrate",
    .arguments = "[MODELS]",
    .summary = "Measure the time of batches on a device, to simulate it elsewhere.",
    .details =
        "  rue calibrate resnet50,vit_b_16 --device h100 --out h100.json\n"
        "  rue tune photos/ --device h100.json\n\n"
        "The device table holds the median time of a batch for each model and batch size, after one batch\n"
        "to warm up. It also holds which batch sizes do not fit. Times between two batch sizes are\n"
        "interpolated.",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_calibrate,
};
