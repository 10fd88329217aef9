#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "device.h"
#include "json_document.h"
#include "knob_list.h"
#include "model_list.h"
#include "study_options.h"
#include "terminal.h"

static const struct rue_option options_table[] = {
    {"device", RUE_OPTION_TEXT, "NAME", "rtx-a5000", "device, such as h100 or h100:bf16",
     .more = "h100:bf16 is another precision, host:2 computes on 2 CPU threads, and FILE.json is a "
             "device table from rue calibrate."},
    {"batch-size", RUE_OPTION_LIST, "LIST", "1,32,128,512", "batch sizes", .set_by = RUE_SET_BY_FLAG},
    {"devices", RUE_OPTION_FLAG, NULL, NULL, "list the devices"},
    {RUE_STUDY_OPTION_JSON},
};

static double known(double rate)
{
    return rate > 0 ? rate : NAN;
}

static void list_devices(struct rue_page *page)
{
    const struct rue_device *device;
    rue_page_table(page);
    for (size_t i = 0; (device = rue_device_at(i)); i++) {
        const double *flops = device->flops;
        const struct rue_table_column row[] = {
            {"device", "device", .text = device->name},
            {"title", "what it is", .text = device->title, .drop = 2},
            {"fp32_flops_per_s", "fp32", RUE_UNIT_SCALED, .number = known(flops[RUE_FP32])},
            {"fp16_flops_per_s", "fp16", RUE_UNIT_SCALED, .number = known(flops[RUE_FP16])},
            {"bf16_flops_per_s", "bf16", RUE_UNIT_SCALED, .number = known(flops[RUE_BF16])},
            {"fp32_convolution_flops_per_s", "fp32 convolutions", RUE_UNIT_SCALED,
             .number = device->convolution_flops, .drop = 1},
            {"memory_bytes_per_s", "memory bytes/s", RUE_UNIT_SCALED, .number = device->memory_bytes_per_s},
            {"memory_bytes", "memory", RUE_UNIT_BYTES, .number = (double)device->memory_bytes},
            {"launch_ns", "launch", RUE_UNIT_DURATION, .number = device->launch_ns, .drop = 1},
        };
        rue_page_row(page, false, row, sizeof row / sizeof *row);
    }
    rue_page_gap(page);
    rue_page_sentence(page, RUE_LOOK_PLAIN, 2);
    rue_say(page,
            "Rates are operations per second; a multiplication with addition counts as two. Launch is the "
            "least time of a layer. host:2 computes on two CPUs of this machine, cuda:bf16 on its GPU. "
            "FILE.json is a device table that rue calibrate wrote.");
}

/* Reads the device table if the device is one. */
static rue_status open_device(struct rue_model_list *list, struct rue_device_table *table, rue_error *error)
{
    if (!rue_device_is_table(list->device)) return RUE_OK;
    list->measured = table;
    rue_status status = rue_device_table_read(list->device, table, error);
    if (status != RUE_OK || table->count) return status;
    return rue_fail(error, RUE_USAGE, "--device: %s lists no models; write it again with rue calibrate",
                    list->device);
}

static rue_status list_models(const struct rue_options *options, struct rue_page *page, rue_error *error)
{
    struct rue_space space;
    rue_status status = rue_model_list_read_sizes(options, &space, error);
    if (status != RUE_OK) return status;
    struct rue_model_list list = {.device = rue_options_text(options, "device"),
                                  .batch_sizes = space.values[RUE_BATCH_SIZE],
                                  .batch_size_count = (size_t)space.count[RUE_BATCH_SIZE]};
    struct rue_device_table *measured = malloc(sizeof *measured);
    if (!measured) return rue_fail_memory(error, "the list", sizeof *measured);
    status = open_device(&list, measured, error);
    if (status == RUE_OK) status = rue_model_list_put(&list, page, error);
    free(measured);
    return status;
}

static rue_status run_models(const struct rue_options *options, rue_error *error)
{
    struct rue_page page = {0};
    rue_status status = RUE_OK;
    if (rue_options_flag(options, "devices"))
        list_devices(&page);
    else
        status = list_models(options, &page, error);
    if (status == RUE_OK && !rue_options_flag(options, "json")) return rue_terminal_show(&page, 0, error);
    if (status == RUE_OK) status = rue_json_write(rue_page_json_table(&page), stdout, error);
    rue_page_close(&page);
    return status;
}

const struct rue_command rue_command_models = {
    .name = "models",
    .arguments = "",
    .summary = "List the models and the time of a batch on a device.",
    .details = "  rue models\n"
               "  rue models --device h100:bf16 --batch-size 32,256\n"
               "  rue models --devices",
    .options = options_table,
    .option_count = sizeof options_table / sizeof *options_table,
    .run = run_models,
};
